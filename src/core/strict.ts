/** Strict mode: what a translation cannot carry is refused instead of reported. */
import type { Call, Middleware } from "../call/call.ts";
import { wouldLose } from "../call/error.ts";
import type { AgentView } from "./view.ts";

/** Turns strictness on for the rest of the call, and refuses what reading the request has lost already. */
export function strict(view: (call: Call) => AgentView): Middleware {
	return (next) => (call) => {
		if (view(call).strict) {
			call.losses.strict = true;
			call.losses.check(wouldLose);
		}
		return next(call);
	};
}
