/** The end of the core's chain: sets the agent's own tenant and hands the call to the connection in use. */
import type { Call, Handler } from "../call/call.ts";
import { A2AError } from "../call/error.ts";
import type { Payload } from "../call/payload.ts";
import { mapEach } from "../call/stream.ts";
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
 * nobody there, so that the agent is looked for again; `reached`, when one found it.
 */
export function relay(
	current: (call: Call) => Connection,
	unreachable: (call: Call, error: A2AError) => void,
	reached: (call: Call) => void = () => {},
): Handler {
	return async (call) => {
		const { view, handler } = current(call);
		const request = view.tenant === "" ? call.request : withString(call.request, "tenant", view.tenant);
		const missed = (thrown: unknown): A2AError => {
			const error = A2AError.from(thrown);
			if (error.reason !== "UNAVAILABLE" || error instanceof Again) return error;
			unreachable(call, error);
			return inAWhile(error);
		};
		try {
			const reply = await handler(request === call.request ? call : { ...call, request });
			const { messages } = reply;
			if (!(Symbol.asyncIterator in messages)) {
				reached(call);
				return reply;
			}
			// Some bindings learn only with the first message that nobody is there.
			let begun = false;
			const begin = (message: Payload): Payload => {
				if (!begun) reached(call);
				begun = true;
				return message;
			};
			return { ...reply, messages: mapEach(messages, begin, (thrown) => (begun ? thrown : missed(thrown))) };
		} catch (thrown) {
			throw missed(thrown);
		}
	};
}

/** The gateway's own verdict on an agent that is away (it has a cause; the agent's own words have none) says when to come back. */
function inAWhile(error: A2AError): A2AError {
	if (error.cause === undefined || error.header["retry-after"] !== undefined) return error;
	const { reason, message, details, header, wire, cause } = error;
	return new A2AError(reason, { message, details, header: { ...header, "retry-after": "1" }, wire, cause });
}
