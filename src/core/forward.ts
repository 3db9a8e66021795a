/** What of the client's headers crosses to the agent: a named set, nothing else (issue: credentials until the gateway has its own). */
import type { Call, Header, Middleware } from "../call/call.ts";
import { requestedExtensions } from "./negotiate.ts";
import type { AgentView } from "./view.ts";

/** Trace context crosses unchanged (W3C Trace Context). */
const TRACE = ["traceparent", "tracestate"] as const;

/** Keeps trace context, the extensions named, and the credentials the agent's card declares. */
export function forward(view: (call: Call) => AgentView): Middleware {
	return (next) => (call) => {
		const credentials = view(call).credentials(call.header, call.query);
		const header: Record<string, string> = { ...credentials.header };
		for (const name of TRACE) {
			const value = call.header[name];
			if (value !== undefined) header[name] = value;
		}
		const extensions = requestedExtensions(call.header);
		if (extensions.length > 0) header["a2a-extensions"] = extensions.join(", ");
		return next({ ...call, header: header satisfies Header, query: credentials.query });
	};
}
