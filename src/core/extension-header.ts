/** The header that lists extensions, under the name each side's version has for it (dialects.md §7). */
import type { Call, Header, Middleware } from "../call/call.ts";

/** The core's name. */
const NAME = "a2a-extensions";

/** Towards the agent: its version's name on requests, the core's on replies. */
export function extensionsTowardsAgent(name: string): Middleware {
	if (name === NAME) return (next) => next;
	return (next) => async (call) => {
		const reply = await next({ ...call, header: renamed(call.header, NAME, name) });
		return { ...reply, header: renamed(reply.header, name, NAME) };
	};
}

/** Towards the client: its version's name on replies. Requests are read under either name. */
export function extensionsTowardsClient(nameOf: (call: Call) => string): Middleware {
	return (next) => async (call) => {
		const reply = await next(call);
		const name = nameOf(call);
		return name === NAME || reply.header[NAME] === undefined
			? reply
			: { ...reply, header: renamed(reply.header, NAME, name) };
	};
}

function renamed(header: Header, from: string, to: string): Header {
	const { [from]: value, ...rest } = header;
	return value === undefined ? header : { ...rest, [to]: value };
}
