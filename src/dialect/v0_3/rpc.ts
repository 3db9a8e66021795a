/** v0.3 and v0.2 JSON-RPC shapes (`kind`, lower-case states and roles) ↔ v1.0 ProtoJSON (dialects.md §3, §8, §9, §11). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type At, isObject, type Lens, list, lost, lostBut, misfit, record, step } from "../lens.ts";
import { inlineWebhook, noTenant, part, role, state, struct, timestamp, webhook, withConfigId } from "../older.ts";
import { card } from "./card.ts";

export const message: Lens = record(
	{
		messageId: ["messageId"],
		contextId: ["contextId"],
		taskId: ["taskId"],
		role: ["role", role],
		parts: ["parts", list(part("kind"))],
		metadata: ["metadata", struct],
		extensions: ["extensions"],
		referenceTaskIds: ["referenceTaskIds"],
	},
	{ constants: { kind: "message" } },
);

export const status: Lens = record(
	{ state: ["state", state], message: ["message", message], timestamp: ["timestamp", timestamp] },
	{
		lowered(older) {
			older["state"] ??= "unknown";
		},
	},
);

export const artifact: Lens = record({
	artifactId: ["artifactId"],
	name: ["name"],
	description: ["description"],
	parts: ["parts", list(part("kind"))],
	metadata: ["metadata", struct],
	extensions: ["extensions"],
});

export const task: Lens = record(
	{
		id: ["id"],
		contextId: ["contextId"],
		status: ["status", status],
		artifacts: ["artifacts", list(artifact)],
		history: ["history", list(message)],
		metadata: ["metadata", struct],
	},
	{
		constants: { kind: "task" },
		lowered(older) {
			older["contextId"] ??= "";
			older["status"] ??= { state: "unknown" };
		},
	},
);

/** States after which a v0.3 stream is over (dialects.md §11). */
const FINAL: ReadonlySet<JsonValue | undefined> = new Set([
	"TASK_STATE_COMPLETED",
	"TASK_STATE_FAILED",
	"TASK_STATE_CANCELED",
	"TASK_STATE_REJECTED",
	"TASK_STATE_INPUT_REQUIRED",
]);

/** Is a status event with this core status the last one an older client waits for? */
export function isFinal(status: JsonValue | undefined): boolean {
	return isObject(status) && FINAL.has(status["state"]);
}

const statusUpdate: Lens = record(
	{ taskId: ["taskId"], contextId: ["contextId"], status: ["status", status], metadata: ["metadata", struct] },
	{
		constants: { kind: "status-update" },
		consumed: ["final"],
		lowered(older, core) {
			older["final"] = isFinal(core["status"]);
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
	{
		constants: { kind: "artifact-update" },
		lowered(older) {
			older["append"] ??= false;
			older["lastChunk"] ??= false;
		},
	},
);

/** The bare object, told apart by `kind`, ↔ the v1.0 member that wraps it. */
function bare(members: Readonly<Record<string, readonly [kind: string, lens: Lens]>>): Lens {
	const byKind = new Map(Object.entries(members).map(([core, [kind, lens]]) => [kind, { core, lens }]));
	return {
		lift(value, at) {
			if (!isObject(value)) throw misfit(at, "must be an object");
			const kind = value["kind"] ?? guessKind(value);
			const known = typeof kind === "string" ? byKind.get(kind) : undefined;
			if (!known) throw misfit(at, `must have a kind of ${[...byKind.keys()].join(", ")}`);
			const inner = known.lens.lift(value, at);
			return inner === undefined ? {} : { [known.core]: inner };
		},
		lower(value, at) {
			const object = value as JsonObject;
			const core = Object.keys(members).find((name) => object[name] !== undefined);
			const known = core === undefined ? undefined : members[core];
			if (core === undefined || !known) throw misfit(at, "holds nothing that this version knows");
			lostBut(object, at, core);
			return known[1].lower(object[core] ?? {}, step(at, core));
		},
	};
}

/** v0.2.0 samples leave `kind` out now and then. */
function guessKind(value: JsonObject): string | undefined {
	if ("artifact" in value) return "artifact-update";
	if ("parts" in value && "role" in value) return "message";
	if ("status" in value) return "taskId" in value && !("id" in value) ? "status-update" : "task";
	return undefined;
}

const configuration: Lens = record(
	{
		acceptedOutputModes: ["acceptedOutputModes"],
		taskPushNotificationConfig: ["pushNotificationConfig", inlineWebhook],
		historyLength: ["historyLength"],
	},
	{
		handled: ["returnImmediately"],
		consumed: ["blocking"],
		lifted(core, older) {
			// Absent means waiting, as the 0.3 servers read it.
			if (older["blocking"] === false) core["returnImmediately"] = true;
		},
		lowered(older, core) {
			older["blocking"] = core["returnImmediately"] !== true;
			// Required until 0.2.5.
			older["acceptedOutputModes"] ??= [];
		},
	},
);

/** Older clients may send metadata on any request; v1.0 has it on few. */
const noMetadata = {
	...noTenant,
	consumed: ["metadata"],
	lifted: (_core: JsonObject, older: JsonObject, at: At) =>
		lost(older, at, "has no counterpart on this request", "metadata"),
} as const;

const configKey: Lens = record({ taskId: ["id"], id: ["pushNotificationConfigId"] }, noMetadata);

/** `{taskId, pushNotificationConfig}` ↔ the flat config. */
const taskConfig: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const { taskId, pushNotificationConfig, metadata: _metadata, ...unknown } = value;
		lost(value, at, "has no counterpart on this request", "metadata");
		const inner = webhook.lift(pushNotificationConfig ?? {}, step(at, "pushNotificationConfig")) as JsonObject;
		return { ...unknown, ...inner, ...(typeof taskId === "string" && { taskId }) };
	},
	lower(value, at) {
		const core = value as JsonObject;
		return { taskId: core["taskId"] ?? "", pushNotificationConfig: webhook.lower(core, at) as JsonObject };
	},
};
const storedConfig: Lens = {
	lift: (value, at) => withConfigId(taskConfig.lift(value, at) as JsonObject),
	lower: taskConfig.lower,
};

const unwrap = (value: JsonValue, name: string): JsonValue[] => {
	const inner = isObject(value) ? value[name] : value;
	return Array.isArray(inner) ? inner : [];
};

/** Params by the name of the core's request type. */
export const requests: Readonly<Record<string, Lens>> = {
	SendMessageRequest: record(
		{ message: ["message", message], configuration: ["configuration", configuration], metadata: ["metadata", struct] },
		noTenant,
	),
	GetTaskRequest: record({ id: ["id"], historyLength: ["historyLength"] }, noMetadata),
	CancelTaskRequest: record({ id: ["id"], metadata: ["metadata", struct] }, noTenant),
	SubscribeToTaskRequest: record(
		{ id: ["id"] },
		{
			...noMetadata,
			consumed: ["metadata", "historyLength"],
			lifted: (_core, older, at) => lost(older, at, "has no counterpart on this request", "metadata", "historyLength"),
		},
	),
	TaskPushNotificationConfig: taskConfig,
	GetTaskPushNotificationConfigRequest: configKey,
	ListTaskPushNotificationConfigsRequest: record({ taskId: ["id"] }, noMetadata),
	DeleteTaskPushNotificationConfigRequest: configKey,
	GetExtendedAgentCardRequest: record({}, noMetadata),
};

/** Results by the name of the core's reply type. */
export const replies: Readonly<Record<string, Lens>> = {
	SendMessageResponse: bare({ task: ["task", task], message: ["message", message] }),
	StreamResponse: bare({
		task: ["task", task],
		message: ["message", message],
		statusUpdate: ["status-update", statusUpdate],
		artifactUpdate: ["artifact-update", artifactUpdate],
	}),
	Task: task,
	TaskPushNotificationConfig: storedConfig,
	ListTaskPushNotificationConfigsResponse: {
		// A bare array, or wrapped as on the other transports.
		lift: (value, at) => ({
			configs: list(storedConfig).lift(unwrap(value, "configs"), Array.isArray(value) ? at : step(at, "configs")) ?? [],
		}),
		lower(value, at) {
			lostBut(value as JsonObject, at, "configs");
			return list(storedConfig).lower(unwrap(value, "configs"), step(at, "configs"));
		},
	},
	AgentCard: card,
	// Deletions answer null.
	Empty: { lift: () => ({}), lower: () => null },
};
