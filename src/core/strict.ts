/** Strict mode: what a translation cannot carry is refused instead of reported. */
import type { Call, Middleware } from "../call/call.ts";
import type { AgentView } from "./view.ts";

/** Turns strictness on for the rest of the call. Each hop checks after it has written: a hop of equal form takes back what lifting reported. */
export function strict(view: (call: Call) => AgentView): Middleware {
	return (next) => (call) => {
		if (view(call).strict) call.losses.strict = true;
		return next(call);
	};
}
