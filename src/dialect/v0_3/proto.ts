/** v0.3 ProtoJSON (package a2a.v1: HTTP+JSON bodies and gRPC messages) ↔ v1.0 ProtoJSON (a2a-v0.3-grpc-wire.md, dialects.md §8, §9). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type At, isObject, type Lens, list, misfit, names, record } from "../lens.ts";
import { CARRIED, STATES, struct, takeMetadata, timestamp, webhook, withMetadata } from "../older.ts";
import { card } from "./proto-card.ts";
import { configKey, createConfig, lowerHistory, named, TASK, taskConfig, taskOf, text } from "./proto-names.ts";
import { part } from "./proto-part.ts";
import * as rpc from "./rpc.ts";

const states: Record<string, string> = {};
for (const name of Object.keys(STATES)) states[name] = name;
states["TASK_STATE_CANCELED"] = "TASK_STATE_CANCELLED";
const exactState = names(states, { lifted: "TASK_STATE_UNSPECIFIED", lowered: "TASK_STATE_UNSPECIFIED" });
/** Both spellings are read, and the lower-case names of the JSON-RPC shapes. */
const state: Lens = {
	lift: (value, at) =>
		value === "TASK_STATE_CANCELED"
			? value
			: typeof value === "string" && !value.startsWith("TASK_")
				? rpcState(value, at)
				: exactState.lift(value, at),
	lower: exactState.lower,
};
function rpcState(value: string, at: At): JsonValue {
	const found = Object.entries(STATES).find(([, older]) => older === value)?.[0];
	if (!found) at.loss(at.path, "is not a name of this version");
	return found ?? "TASK_STATE_UNSPECIFIED";
}

const role: Lens = {
	lift: (value) => (value === "user" ? "ROLE_USER" : value === "agent" ? "ROLE_AGENT" : value),
	lower: (value) => value,
};

/** `content` ↔ `parts`; referenceTaskIds rides in metadata. Reads the `kind` shape too. */
const protoMessage: Lens = record(
	{
		messageId: ["messageId"],
		contextId: ["contextId"],
		taskId: ["taskId"],
		role: ["role", role],
		parts: ["content", list(part)],
		metadata: ["metadata", struct],
		extensions: ["extensions"],
	},
	{
		handled: ["referenceTaskIds"],
		lifted(core) {
			const { [CARRIED.referenceTaskIds]: ids } = takeMetadata(core, CARRIED.referenceTaskIds);
			if (Array.isArray(ids)) core["referenceTaskIds"] = ids;
		},
		lowered(older, core) {
			const ids = core["referenceTaskIds"];
			if (Array.isArray(ids) && ids.length > 0) withMetadata(older, { [CARRIED.referenceTaskIds]: ids });
		},
	},
);
const message: Lens = {
	lift: (value, at) =>
		(isObject(value) && (value["kind"] === "message" || "parts" in value) ? rpc.message : protoMessage).lift(value, at),
	lower: protoMessage.lower,
};

const status: Lens = record(
	{ state: ["state", state], message: ["message", message], timestamp: ["timestamp", timestamp] },
	{ consumed: ["update"], lifted: (core, older, at) => alias(core, "message", older["update"], message, at) },
);

function alias(core: JsonObject, name: string, value: JsonValue | undefined, lens: Lens, at: At): void {
	if (value === undefined || value === null || core[name] !== undefined) return;
	const lifted = lens.lift(value, at);
	if (lifted !== undefined) core[name] = lifted;
}

const artifact: Lens = record({
	artifactId: ["artifactId"],
	name: ["name"],
	description: ["description"],
	parts: ["parts", list(part)],
	metadata: ["metadata", struct],
	extensions: ["extensions"],
});

const protoTask: Lens = record({
	id: ["id"],
	contextId: ["contextId"],
	status: ["status", status],
	artifacts: ["artifacts", list(artifact)],
	history: ["history", list(message)],
	metadata: ["metadata", struct],
});
const task: Lens = {
	lift: (value, at) => (isObject(value) && value["kind"] === "task" ? rpc.task : protoTask).lift(value, at),
	lower: protoTask.lower,
};

const statusUpdate: Lens = record(
	{ taskId: ["taskId"], contextId: ["contextId"], status: ["status", status], metadata: ["metadata", struct] },
	{
		consumed: ["final"],
		lowered(older, core) {
			if (rpc.isFinal(core["status"])) older["final"] = true;
		},
	},
);

const artifactUpdate: Lens = record({
	taskId: ["taskId"],
	contextId: ["contextId"],
	artifact: ["artifact", artifact],
	append: ["append"],
	lastChunk: ["lastChunk"],
	metadata: ["metadata", struct],
});

const configuration: Lens = record(
	{
		acceptedOutputModes: ["acceptedOutputModes"],
		taskPushNotificationConfig: ["pushNotification", webhook],
	},
	{
		handled: ["returnImmediately", "historyLength"],
		consumed: ["blocking", "historyLength"],
		lifted(core, older) {
			// No presence on this wire: absent is false, and 0 is no limit.
			if (older["blocking"] !== true) core["returnImmediately"] = true;
			if (typeof older["historyLength"] === "number" && older["historyLength"] !== 0)
				core["historyLength"] = older["historyLength"];
		},
		lowered(older, core) {
			if (core["returnImmediately"] !== true) older["blocking"] = true;
			lowerHistory(older, core);
		},
	},
);

const dropTenant = { handled: ["tenant"] } as const;

const send: Lens = record(
	{ message: ["message", message], configuration: ["configuration", configuration], metadata: ["metadata", struct] },
	{
		...dropTenant,
		consumed: ["request"],
		lifted: (core, older, at) => alias(core, "message", older["request"], message, at),
	},
);

/** Requests by the name of the core's request type. */
export const requests: Readonly<Record<string, Lens>> = {
	SendMessageRequest: send,
	GetTaskRequest: named(["historyLength"]),
	CancelTaskRequest: named(["metadata"]),
	SubscribeToTaskRequest: named(),
	TaskPushNotificationConfig: createConfig,
	GetTaskPushNotificationConfigRequest: configKey,
	ListTaskPushNotificationConfigsRequest: {
		lift(value, at) {
			if (!isObject(value)) throw misfit(at, "must be an object");
			const { parent, ...rest } = value;
			return { ...rest, taskId: taskOf(text(parent)) };
		},
		lower(value) {
			const { taskId, pageSize, pageToken } = value as JsonObject;
			return {
				parent: TASK + text(taskId),
				...(pageSize !== undefined && { pageSize }),
				...(pageToken !== undefined && { pageToken }),
			};
		},
	},
	DeleteTaskPushNotificationConfigRequest: configKey,
	GetExtendedAgentCardRequest: record({}, dropTenant),
};

/** Replies by the name of the core's reply type. */
export const replies: Readonly<Record<string, Lens>> = {
	SendMessageResponse: record(
		{ task: ["task", task], message: ["message", message] },
		{ consumed: ["msg"], lifted: (core, older, at) => alias(core, "message", older["msg"], message, at) },
	),
	StreamResponse: record(
		{
			task: ["task", task],
			message: ["message", message],
			statusUpdate: ["statusUpdate", statusUpdate],
			artifactUpdate: ["artifactUpdate", artifactUpdate],
		},
		{ consumed: ["msg"], lifted: (core, older, at) => alias(core, "message", older["msg"], message, at) },
	),
	Task: task,
	TaskPushNotificationConfig: taskConfig,
	ListTaskPushNotificationConfigsResponse: {
		lift(value, at) {
			const { configs, nextPageToken } = isObject(value) ? value : { configs: value };
			return {
				configs: list(taskConfig).lift(configs ?? [], at) ?? [],
				...(nextPageToken !== undefined && nextPageToken !== null && { nextPageToken }),
			};
		},
		lower(value, at) {
			const { configs, nextPageToken } = value as JsonObject;
			return {
				configs: list(taskConfig).lower(configs ?? [], at) ?? [],
				...(nextPageToken !== undefined && { nextPageToken }),
			};
		},
	},
	AgentCard: card,
	Empty: { lift: () => ({}), lower: () => ({}) },
};
