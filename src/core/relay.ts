/** The end of the core's chain: sets the agent's own tenant and hands the call to the connection in use. */
import type { Call, Handler } from "../call/call.ts";
import { A2AError } from "../call/error.ts";
import { withString } from "../schema/payload.ts";
import type { AgentView } from "./view.ts";

/** The connection to one agent as it is now. */
export interface Connection {
	readonly view: AgentView;
	readonly handler: Handler;
}

/** Thrown when the connection has changed under a call that did nothing yet: the call starts over. */
export class Again extends A2AError {
	constructor() {
		super("UNAVAILABLE", { message: "The connection to the agent was changed" });
	}
}

/**
 * `current` gives the connection in use or throws UNAVAILABLE. `unreachable` is told when a call found
 * nobody there, so that the agent is looked for again.
 */
export function relay(
	current: (call: Call) => Connection,
	unreachable: (call: Call, error: A2AError) => void,
): Handler {
	return async (call) => {
		const { view, handler } = current(call);
		const request = view.tenant === "" ? call.request : withString(call.request, "tenant", view.tenant);
		try {
			return await handler(request === call.request ? call : { ...call, request });
		} catch (thrown) {
			const error = A2AError.from(thrown);
			if (error instanceof Again) throw error;
			if (error.reason === "UNAVAILABLE") unreachable(call, error);
			throw error;
		}
	};
}
