/** v0.1 JSON-RPC params, results and stream events ↔ those of v1.0 (dialects.md §3, §8, §11-§13). */
import { randomUUID } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type At, isObject, type Lens, lost, lostBut, misfit, record, step } from "../lens.ts";
import { inlineWebhook, noTenant, struct, webhook, withConfigId } from "../older.ts";
import { mode } from "./card.ts";
import { artifact, keepState, message, restoreState, status, task } from "./data.ts";

const FINAL: ReadonlySet<JsonValue | undefined> = new Set(["completed", "failed", "canceled", "input-required"]);

const statusEvent: Lens = record(
	{ taskId: ["id"], contextId: ["sessionId"], status: ["status", status], metadata: ["metadata", struct] },
	{
		consumed: ["final"],
		lifted: restoreState,
		lowered(older, core) {
			delete older["sessionId"];
			keepState(older, core);
			const inner = older["status"];
			older["final"] = isObject(inner) && FINAL.has(inner["state"]) && !isAuth(core["status"]);
		},
	},
);
/** Waiting for credentials out of band: the stream stays open (§7.6.1). */
function isAuth(value: JsonValue | undefined): boolean {
	return isObject(value) && value["state"] === "TASK_STATE_AUTH_REQUIRED";
}

/** `append` and `lastChunk` sit inside the artifact. */
const artifactEvent: Lens = record(
	{ taskId: ["id"], contextId: ["sessionId"], artifact: ["artifact", artifact], metadata: ["metadata", struct] },
	{
		handled: ["append", "lastChunk"],
		lifted(core, older) {
			const inner = older["artifact"];
			if (!isObject(inner)) return;
			if (inner["append"] === true) core["append"] = true;
			if (inner["lastChunk"] === true) core["lastChunk"] = true;
		},
		lowered(older, core) {
			delete older["sessionId"];
			const inner = older["artifact"];
			if (!isObject(inner)) return;
			inner["append"] = core["append"] === true;
			if (core["lastChunk"] === true) inner["lastChunk"] = true;
		},
	},
);

/** Only status and artifact events exist here; core/identity turns tasks and messages into them first. */
const streamEvent: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		if (isObject(value["artifact"])) return { artifactUpdate: artifactEvent.lift(value, at) ?? {} };
		// Some April samples end a stream with the whole task.
		if ("history" in value || "artifacts" in value) return { task: task.lift(value, at) ?? {} };
		if (isObject(value["status"])) return { statusUpdate: statusEvent.lift(value, at) ?? {} };
		throw misfit(at, "must have a status or an artifact");
	},
	lower(value, at) {
		const core = value as JsonObject;
		const member = ["statusUpdate", "artifactUpdate", "task"].find((name) => core[name] !== undefined);
		if (member === undefined) throw misfit(at, "holds nothing that this version knows");
		lostBut(core, at, member);
		const inner = core[member] as JsonObject;
		const here = step(at, member);
		if (member === "statusUpdate") return statusEvent.lower(inner, here);
		if (member === "artifactUpdate") return artifactEvent.lower(inner, here);
		const { id, status: now, metadata } = inner;
		lostBut(inner, here, "id", "contextId", "status", "metadata");
		return statusEvent.lower(
			{
				...(id !== undefined && { taskId: id }),
				...(now !== undefined && { status: now }),
				...(metadata !== undefined && { metadata }),
			},
			here,
		);
	},
};

const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

const SEND = ["id", "sessionId", "message", "historyLength", "pushNotification", "acceptedOutputModes", "metadata"];

/** TaskSendParams ↔ a send; what v1.0 has under `configuration` stands beside the message. */
const send: Lens = record(
	{ metadata: ["metadata", struct] },
	{
		handled: ["message", "configuration", "tenant"],
		consumed: SEND.filter((name) => name !== "metadata"),
		lifted(core, older, at) {
			const { id, sessionId, message: said, historyLength, pushNotification, acceptedOutputModes } = older;
			if (!text(id)) throw misfit(step(at, "id"), "must be a string that is not empty");
			if (said === undefined || said === null) throw misfit(step(at, "message"), "must be set");
			core["message"] = {
				...(message.lift(said, step(at, "message")) as JsonObject),
				// A client that says the same twice means it twice: a new id each time.
				messageId: randomUUID(),
				taskId: text(id),
				...(text(sessionId) && { contextId: text(sessionId) }),
			};
			core["configuration"] = {
				...(Array.isArray(acceptedOutputModes) && { acceptedOutputModes: acceptedOutputModes.map(mode) }),
				...noneUnlessAsked(historyLength),
				...(isObject(pushNotification) && {
					taskPushNotificationConfig: inlineWebhook.lift(pushNotification, step(at, "pushNotification")) ?? {},
				}),
			};
			if (!isObject(pushNotification)) lost(older, at, "is not an object", "pushNotification");
			if (!Array.isArray(acceptedOutputModes)) lost(older, at, "is not an array", "acceptedOutputModes");
		},
		lowered(older, core, at) {
			const said = isObject(core["message"]) ? core["message"] : {};
			const configuration = isObject(core["configuration"]) ? core["configuration"] : {};
			const here = step(at, "configuration");
			const {
				acceptedOutputModes,
				historyLength,
				taskPushNotificationConfig: config,
				returnImmediately,
			} = configuration;
			lost(core, at, "has no counterpart", "tenant");
			lostBut(
				configuration,
				here,
				"acceptedOutputModes",
				"historyLength",
				"taskPushNotificationConfig",
				"returnImmediately",
			);
			if (returnImmediately === true)
				at.loss(step(here, "returnImmediately").path, "has no counterpart: the agent answers when it answers");
			older["id"] = text(said["taskId"]) || randomUUID();
			if (text(said["contextId"])) older["sessionId"] = text(said["contextId"]);
			older["message"] = message.lower(said, step(at, "message")) ?? {};
			if (acceptedOutputModes !== undefined) older["acceptedOutputModes"] = acceptedOutputModes;
			if (historyLength !== undefined) older["historyLength"] = historyLength;
			if (isObject(config)) {
				const inner = step(here, "taskPushNotificationConfig");
				lost(config, inner, "a task has one config here, without an id", "id");
				older["pushNotification"] = withoutId(inlineWebhook.lower(config, inner));
			}
		},
	},
);

/** 0, null and absent all mean that no history is asked for; v1.0 says that with 0, and leaves it to the server when unset. */
function noneUnlessAsked(historyLength: JsonValue | undefined): JsonObject {
	return { historyLength: historyLength ?? 0 };
}

/** One webhook per task: its id has no member. */
function withoutId(config: JsonValue | undefined): JsonObject {
	const { id: _id, ...older } = config as JsonObject;
	return older;
}

/** `{id, pushNotificationConfig}` ↔ the flat config. */
const taskConfig: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const { id, pushNotificationConfig, ...unknown } = value;
		const flat = webhook.lift(pushNotificationConfig ?? {}, step(at, "pushNotificationConfig")) as JsonObject;
		return { ...unknown, ...flat, taskId: text(id) };
	},
	lower(value, at) {
		const core = value as JsonObject;
		oneConfig(core, at);
		return { id: text(core["taskId"]), pushNotificationConfig: withoutId(webhook.lower(core, at)) };
	},
};
const storedConfig: Lens = {
	lift: (value, at) => withConfigId(taskConfig.lift(value, at) as JsonObject),
	lower: taskConfig.lower,
};

/** The task's only config goes by the task's id, here and in the SDKs. */
function oneConfig(core: JsonObject, at: At): void {
	if (core["id"] !== core["taskId"]) lost(core, at, "a task has one config here, without an id", "id");
}

const NO_PLACE = "has no counterpart on this request";

/** Params by the name of the core's request type. */
export const requests: Readonly<Record<string, Lens>> = {
	SendMessageRequest: send,
	GetTaskRequest: record(
		{ id: ["id"] },
		{
			handled: ["tenant", "historyLength"],
			consumed: ["metadata", "historyLength"],
			lifted(core, older, at) {
				Object.assign(core, noneUnlessAsked(older["historyLength"]));
				lost(older, at, NO_PLACE, "metadata");
			},
			lowered(older, core, at) {
				if (core["historyLength"] !== undefined) older["historyLength"] = core["historyLength"];
				lost(core, at, NO_PLACE, "tenant");
			},
		},
	),
	CancelTaskRequest: record({ id: ["id"], metadata: ["metadata", struct] }, noTenant),
	SubscribeToTaskRequest: record(
		{ id: ["id"] },
		{
			...noTenant,
			consumed: ["metadata", "historyLength"],
			lifted: (_core, older, at) => lost(older, at, NO_PLACE, "metadata", "historyLength"),
		},
	),
	TaskPushNotificationConfig: taskConfig,
	GetTaskPushNotificationConfigRequest: record(
		{ taskId: ["id"] },
		{
			handled: ["tenant", "id"],
			consumed: ["metadata"],
			lifted: (_core, older, at) => lost(older, at, NO_PLACE, "metadata"),
			lowered(_older, core, at) {
				oneConfig(core, at);
				lost(core, at, NO_PLACE, "tenant");
			},
		},
	),
};

/** Results by the name of the core's reply type. */
export const replies: Readonly<Record<string, Lens>> = {
	SendMessageResponse: {
		lift: (value, at) => ({ task: task.lift(value, at) ?? {} }),
		lower(value, at) {
			const core = value as JsonObject;
			const { task: whole } = core;
			if (whole === undefined) throw misfit(at, "holds nothing that this version knows");
			lostBut(core, at, "task");
			return task.lower(whole, step(at, "task"));
		},
	},
	StreamResponse: streamEvent,
	Task: task,
	TaskPushNotificationConfig: storedConfig,
};
