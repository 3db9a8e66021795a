/** v0.1 JSON-RPC shapes (April 2025: `type` parts, client-made task ids, artifact indexes) ↔ v1.0 ProtoJSON (dialects.md §3, §8-§12). */
import { createHash, randomUUID } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type At, isObject, type Lens, list, lost, lostBut, misfit, names, record, step } from "../lens.ts";
import {
	inlineWebhook,
	noTenant,
	part,
	role,
	STATES,
	struct,
	takeMetadata,
	timestamp,
	webhook,
	withConfigId,
	withMetadata,
} from "../older.ts";
import { mode } from "./card.ts";

/** Metadata keys for what v0.1 has no member for. */
const KEPT = {
	state: "a2a-gateway/state",
	message: "a2a-gateway/message",
	extensions: "a2a-gateway/extensions",
	artifactId: "a2a-gateway/artifactId",
} as const;

const { TASK_STATE_REJECTED: _rejected, TASK_STATE_AUTH_REQUIRED: _auth, ...states } = STATES;
const exactState = names(states, { lifted: "TASK_STATE_UNSPECIFIED", lowered: "unknown" });
/** The nearest state v0.1 has (dialects.md §10). */
const nearest: Readonly<Record<string, string>> = {
	TASK_STATE_REJECTED: "failed",
	TASK_STATE_AUTH_REQUIRED: "input-required",
};

/** v0.1 messages have no ids: they are told by the task around them (contextId, taskId) or made up (messageId). */
const message: Lens = record(
	{ role: ["role", role], parts: ["parts", list(part("type"))], metadata: ["metadata", struct] },
	{
		handled: ["messageId", "contextId", "taskId", "extensions", "referenceTaskIds"],
		lifted(core, older) {
			const { [KEPT.message]: kept } = takeMetadata(core, KEPT.message);
			if (isObject(kept)) Object.assign(core, kept);
			// Nothing names this message: the same message read again has the same id.
			core["messageId"] ??= createHash("sha256").update(JSON.stringify(older)).digest("hex").slice(0, 32);
		},
		lowered(older, core) {
			const { extensions, referenceTaskIds } = core;
			const kept: JsonObject = {
				...(extensions !== undefined && { extensions }),
				...(referenceTaskIds !== undefined && { referenceTaskIds }),
			};
			if (Object.keys(kept).length > 0) withMetadata(older, { [KEPT.message]: kept });
		},
	},
);

const status: Lens = record(
	{ message: ["message", message], timestamp: ["timestamp", timestamp] },
	{
		handled: ["state"],
		consumed: ["state"],
		lifted(core, older, at) {
			const state = older["state"];
			core["state"] = exactState.lift(state ?? "unknown", step(at, "state")) ?? "TASK_STATE_UNSPECIFIED";
		},
		lowered(older, core, at) {
			const state = core["state"] ?? "TASK_STATE_UNSPECIFIED";
			const near = typeof state === "string" ? nearest[state] : undefined;
			older["state"] = near ?? exactState.lower(state, step(at, "state")) ?? "unknown";
		},
	},
);

/** A state that v0.1 lacks is told in the metadata of what carries the status. */
function keepState(older: JsonObject, core: JsonObject): void {
	const inner = core["status"];
	const state = isObject(inner) ? inner["state"] : undefined;
	if (typeof state === "string" && nearest[state] !== undefined) withMetadata(older, { [KEPT.state]: state });
}
function restoreState(core: JsonObject): void {
	const { [KEPT.state]: state } = takeMetadata(core, KEPT.state);
	if (typeof state === "string" && isObject(core["status"])) core["status"] = { ...core["status"], state };
}

/** Messages of one content have one id, unless they are in one history. */
const history: Lens = {
	lift(value, at) {
		const seen = new Map<JsonValue | undefined, number>();
		return (list(message).lift(value, at) as JsonObject[]).map((item) => {
			const id = item["messageId"];
			const times = (seen.get(id) ?? 0) + 1;
			seen.set(id, times);
			return times === 1 ? item : { ...item, messageId: `${id}-${times}` };
		});
	},
	lower: (value, at) => list(message).lower(value, at),
};

const INDEXED = /^artifact-(0|[1-9]\d{0,8})$/;

/** `artifact-N` ↔ index N. Ids of another form (core/client-ids leaves none) take their place's index and ride in metadata. */
const artifact: Lens = record(
	{
		name: ["name"],
		description: ["description"],
		parts: ["parts", list(part("type"))],
		metadata: ["metadata", struct],
	},
	{
		handled: ["artifactId", "extensions"],
		consumed: ["index", "append", "lastChunk"],
		lifted(core, older) {
			const { [KEPT.artifactId]: id, [KEPT.extensions]: extensions } = takeMetadata(
				core,
				KEPT.artifactId,
				KEPT.extensions,
			);
			const index = older["index"];
			core["artifactId"] = typeof id === "string" ? id : `artifact-${typeof index === "number" ? index : 0}`;
			if (Array.isArray(extensions)) core["extensions"] = extensions;
		},
		lowered(older, core) {
			const { artifactId, extensions } = core;
			const match = typeof artifactId === "string" ? INDEXED.exec(artifactId) : null;
			older["index"] = match ? Number(match[1]) : 0;
			if (!match && artifactId !== undefined) withMetadata(older, { [KEPT.artifactId]: artifactId });
			if (extensions !== undefined) withMetadata(older, { [KEPT.extensions]: extensions });
		},
	},
);

/** A stored task's artifacts: those of one index are one artifact in the core (dialects.md §16), under the first's name. */
const artifacts: Lens = {
	lift(value, at) {
		const byId = new Map<JsonValue | undefined, JsonObject>();
		(list(artifact).lift(value, at) as JsonObject[]).forEach((item, i) => {
			const before = byId.get(item["artifactId"]);
			if (!before) {
				byId.set(item["artifactId"], item);
				return;
			}
			const { artifactId: _id, parts, ...others } = item;
			for (const key of Object.keys(others))
				if (JSON.stringify(before[key]) !== JSON.stringify(others[key]))
					lost(others, step(at, i), "is folded into the artifact with the same index", key);
			before["parts"] = [...((before["parts"] as JsonValue[]) ?? []), ...((parts as JsonValue[]) ?? [])];
		});
		return [...byId.values()];
	},
	lower(value, at) {
		const lowered = list(artifact).lower(value, at) as JsonObject[];
		const core = value as JsonObject[];
		lowered.forEach((item, i) => {
			if (!INDEXED.test(String(core[i]?.["artifactId"]))) item["index"] = i;
		});
		return lowered;
	},
};

const task: Lens = record(
	{
		id: ["id"],
		contextId: ["sessionId"],
		status: ["status", status],
		artifacts: ["artifacts", artifacts],
		history: ["history", history],
		metadata: ["metadata", struct],
	},
	{
		lifted: restoreState,
		lowered(older, core) {
			keepState(older, core);
			older["status"] ??= { state: "unknown" };
		},
	},
);

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
