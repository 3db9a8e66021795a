/** v0.3 ProtoJSON (package a2a.v1: HTTP+JSON bodies and gRPC messages) ↔ v1.0 ProtoJSON (a2a-v0.3-grpc-wire.md, dialects.md §8, §9); reads `kind` shapes too. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type At, isObject, type Lens, list, names, record, step } from "../lens.ts";
import { CARRIED, inlineWebhook, noTenant, STATES, struct, takeMetadata, timestamp, withMetadata } from "../older.ts";
import { card } from "./proto-card.ts";
import { configKey, configList, configPage, createConfig, lowerHistory, named, storedConfig } from "./proto-names.ts";
import { part } from "./proto-part.ts";
import { isFinal } from "./rpc.ts";

/** An enum under its v0.3 proto names; `aliases` are read too: v1.0's spelling, JSON-RPC's lower-case names. */
function enumeration(
	pairs: Readonly<Record<string, string>>,
	aliases: Readonly<Record<string, string>>,
	zero: string,
): Lens {
	const exact = names(pairs, { lifted: zero, lowered: zero });
	const others = new Map(Object.entries(aliases));
	return {
		lift: (value, at) => (typeof value === "string" ? others.get(value) : undefined) ?? exact.lift(value, at),
		lower: exact.lower,
	};
}

const protoStates = Object.fromEntries(Object.keys(STATES).map((name) => [name, name]));
const state = enumeration(
	{ ...protoStates, TASK_STATE_CANCELED: "TASK_STATE_CANCELLED" },
	{
		...Object.fromEntries(Object.entries(STATES).map(([core, older]) => [older, core])),
		TASK_STATE_CANCELED: "TASK_STATE_CANCELED",
	},
	"TASK_STATE_UNSPECIFIED",
);
const role = enumeration(
	{ ROLE_UNSPECIFIED: "ROLE_UNSPECIFIED", ROLE_USER: "ROLE_USER", ROLE_AGENT: "ROLE_AGENT" },
	{ user: "ROLE_USER", agent: "ROLE_AGENT" },
	"ROLE_UNSPECIFIED",
);

/** Reads an older member under its other name, unless it is there under its own. */
function alias(core: JsonObject, to: string, older: JsonObject, from: string, lens: Lens, at: At): void {
	const value = older[from];
	if (value === undefined || value === null) return;
	const lifted = core[to] === undefined ? lens.lift(value, step(at, from)) : undefined;
	if (lifted !== undefined) core[to] = lifted;
	else at.loss(step(at, from).path, "is said twice");
}

const strings: Lens = { lift: (value) => value, lower: (value) => value };

/** `content` ↔ `parts`; referenceTaskIds rides in metadata. */
const message: Lens = record(
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
		consumed: ["kind", "parts", "referenceTaskIds"],
		lifted(core, older, at) {
			alias(core, "parts", older, "parts", list(part), at);
			const { [CARRIED.referenceTaskIds]: ids } = takeMetadata(core, CARRIED.referenceTaskIds);
			if (Array.isArray(ids)) core["referenceTaskIds"] = ids;
			alias(core, "referenceTaskIds", older, "referenceTaskIds", strings, at);
		},
		lowered(older, core) {
			const ids = core["referenceTaskIds"];
			if (Array.isArray(ids) && ids.length > 0) withMetadata(older, { [CARRIED.referenceTaskIds]: ids });
		},
	},
);

const status: Lens = record({
	state: ["state", state],
	message: ["message", message],
	timestamp: ["timestamp", timestamp],
});

const artifact: Lens = record({
	artifactId: ["artifactId"],
	name: ["name"],
	description: ["description"],
	parts: ["parts", list(part)],
	metadata: ["metadata", struct],
	extensions: ["extensions"],
});

const task: Lens = record(
	{
		id: ["id"],
		contextId: ["contextId"],
		status: ["status", status],
		artifacts: ["artifacts", list(artifact)],
		history: ["history", list(message)],
		metadata: ["metadata", struct],
	},
	{ consumed: ["kind"] },
);

const statusUpdate: Lens = record(
	{ taskId: ["taskId"], contextId: ["contextId"], status: ["status", status], metadata: ["metadata", struct] },
	{
		consumed: ["final", "kind"],
		lowered(older, core) {
			if (isFinal(core["status"])) older["final"] = true;
		},
	},
);

const artifactUpdate: Lens = record(
	{
		taskId: ["taskId"],
		contextId: ["contextId"],
		artifact: ["artifact", artifact],
		append: ["append"],
		lastChunk: ["lastChunk"],
		metadata: ["metadata", struct],
	},
	{ consumed: ["kind"] },
);

const configuration: Lens = record(
	{
		acceptedOutputModes: ["acceptedOutputModes"],
		taskPushNotificationConfig: ["pushNotification", inlineWebhook],
	},
	{
		handled: ["returnImmediately", "historyLength"],
		consumed: ["blocking", "historyLength", "pushNotificationConfig"],
		lifted(core, older, at) {
			// No presence on this wire: absent is false, and 0 is no limit.
			if (older["blocking"] !== true) core["returnImmediately"] = true;
			if (older["historyLength"] !== undefined && older["historyLength"] !== 0)
				core["historyLength"] = older["historyLength"];
			alias(core, "taskPushNotificationConfig", older, "pushNotificationConfig", inlineWebhook, at);
		},
		lowered(older, core) {
			if (core["returnImmediately"] !== true) older["blocking"] = true;
			lowerHistory(older, core);
		},
	},
);

/** Requests by the name of the core's request type. */
export const requests: Readonly<Record<string, Lens>> = {
	SendMessageRequest: record(
		{ message: ["message", message], configuration: ["configuration", configuration], metadata: ["metadata", struct] },
		noTenant,
	),
	GetTaskRequest: named("historyLength"),
	CancelTaskRequest: named("metadata"),
	SubscribeToTaskRequest: named(),
	TaskPushNotificationConfig: createConfig,
	GetTaskPushNotificationConfigRequest: configKey,
	ListTaskPushNotificationConfigsRequest: configList,
	DeleteTaskPushNotificationConfigRequest: configKey,
	GetExtendedAgentCardRequest: record({}, noTenant),
};

/** One of several under its own member; a bare object that names its `kind` is read too. */
function union(members: Readonly<Record<string, readonly [kind: string, lens: Lens]>>): Lens {
	const wrapped = record(Object.fromEntries(Object.entries(members).map(([name, [, lens]]) => [name, [name, lens]])));
	const byKind = new Map(Object.entries(members).map(([name, [kind, lens]]) => [kind, { name, lens }]));
	return {
		lift(value, at) {
			const kind: JsonValue | undefined = isObject(value) ? value["kind"] : undefined;
			const bare = typeof kind === "string" ? byKind.get(kind) : undefined;
			return bare ? { [bare.name]: bare.lens.lift(value, at) ?? {} } : wrapped.lift(value, at);
		},
		lower: wrapped.lower,
	};
}

/** Replies by the name of the core's reply type. */
export const replies: Readonly<Record<string, Lens>> = {
	SendMessageResponse: union({ task: ["task", task], message: ["message", message] }),
	StreamResponse: union({
		task: ["task", task],
		message: ["message", message],
		statusUpdate: ["status-update", statusUpdate],
		artifactUpdate: ["artifact-update", artifactUpdate],
	}),
	Task: task,
	TaskPushNotificationConfig: storedConfig,
	ListTaskPushNotificationConfigsResponse: configPage,
	AgentCard: card,
	Empty: { lift: () => ({}), lower: () => ({}) },
};
