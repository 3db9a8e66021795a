/** Refuses what the card says the agent cannot do (rules B1, D1, G20; §3.3.4), told by message types, not by method names. */
import type { DescMethod } from "@bufbuild/protobuf";
import { AgentCardSchema, TaskPushNotificationConfigSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Call, isStream, type Middleware } from "../call/call.ts";
import { A2AError, type Reason } from "../call/error.ts";
import type { Capabilities } from "./view.ts";

interface Need {
	readonly has: (view: Capabilities) => boolean;
	readonly reason: Reason;
	readonly message: string;
}

const needs = new WeakMap<DescMethod, Need | null>();

function needOf(method: DescMethod): Need | null {
	let need = needs.get(method);
	if (need === undefined) {
		need = null;
		if (isStream(method)) {
			need = { has: (v) => v.streaming, reason: "UNSUPPORTED_OPERATION", message: "This agent does not stream" };
		} else if (method.input.name.includes(TaskPushNotificationConfigSchema.name)) {
			need = {
				has: (v) => v.pushNotifications,
				reason: "PUSH_NOTIFICATION_NOT_SUPPORTED",
				message: "This agent does not send push notifications",
			};
		} else if (method.output === AgentCardSchema) {
			need = {
				has: (v) => v.extendedCard,
				reason: "UNSUPPORTED_OPERATION",
				message: "This agent has no extended card",
			};
		}
		needs.set(method, need);
	}
	return need;
}

export function checkCapabilities(view: (call: Call) => Capabilities): Middleware {
	return (next) => (call) => {
		const need = needOf(call.method);
		if (need && !need.has(view(call))) throw new A2AError(need.reason, { message: need.message });
		return next(call);
	};
}
