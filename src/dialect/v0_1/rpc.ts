/** v0.1 JSON-RPC shapes (April 2025: `type` parts, client-made task ids, artifact indexes) ↔ v1.0 ProtoJSON (dialects.md §3, §8-§12). */
import { createHash, randomUUID } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { pointer } from "../../call/loss.ts";
import { type At, isObject, type Lens, list, misfit, names, record } from "../lens.ts";
import { part, role, STATES, struct, takeMetadata, timestamp, webhook, withMetadata } from "../older.ts";

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

/** v0.1 messages have no ids: those of the core ride in metadata, so that a core message comes back whole. */
const message: Lens = record(
	{ role: ["role", role], parts: ["parts", list(part("type"))], metadata: ["metadata", struct] },
	{
		handled: ["messageId", "contextId", "taskId", "extensions", "referenceTaskIds"],
		lifted(core, older, at) {
			const { [KEPT.message]: kept } = takeMetadata(core, KEPT.message);
			if (isObject(kept)) Object.assign(core, kept);
			// Nothing names this message: the same message read again has the same id.
			core["messageId"] ??= createHash("sha256")
				.update(at.path)
				.update(JSON.stringify(older))
				.digest("hex")
				.slice(0, 32);
		},
		lowered(older, core) {
			const { extensions, referenceTaskIds } = core;
			// Ids of message, task and context are told by the task around it; only what has no other place is kept.
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
			core["state"] =
				exactState.lift(state ?? "unknown", { path: pointer(at.path, "state"), loss: at.loss }) ??
				"TASK_STATE_UNSPECIFIED";
		},
		lowered(older, core, at) {
			const state = core["state"] ?? "TASK_STATE_UNSPECIFIED";
			const near = typeof state === "string" ? nearest[state] : undefined;
			older["state"] = near ?? exactState.lower(state, { path: pointer(at.path, "state"), loss: at.loss }) ?? "unknown";
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

const INDEXED = /^artifact-(\d+)$/;

/** `artifact-N` ↔ index N. Ids of another form take the index that core/identity or their place gives them. */
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
			if (extensions !== undefined) withMetadata(older, { [KEPT.extensions]: extensions });
		},
	},
);

/** A task's artifacts: chunks of one index are one artifact in the core, and indexes without a name of their own count up. */
const artifacts: Lens = {
	lift(value, at) {
		const lifted = list(artifact).lift(value, at) as JsonObject[];
		const byId = new Map<JsonValue | undefined, JsonObject>();
		for (const item of lifted) {
			const before = byId.get(item["artifactId"]);
			if (!before) byId.set(item["artifactId"], item);
			else before["parts"] = [...((before["parts"] as JsonValue[]) ?? []), ...((item["parts"] as JsonValue[]) ?? [])];
		}
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
		history: ["history", list(message)],
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
		const { statusUpdate, artifactUpdate, task: whole } = value as JsonObject;
		if (statusUpdate !== undefined)
			return statusEvent.lower(statusUpdate, { path: `${at.path}/statusUpdate`, loss: at.loss });
		if (artifactUpdate !== undefined)
			return artifactEvent.lower(artifactUpdate, { path: `${at.path}/artifactUpdate`, loss: at.loss });
		if (isObject(whole)) {
			const { id, status: now, metadata } = whole;
			return statusEvent.lower(
				{
					...(id !== undefined && { taskId: id }),
					...(now !== undefined && { status: now }),
					...(metadata !== undefined && { metadata }),
				},
				{ path: `${at.path}/task`, loss: at.loss },
			);
		}
		throw misfit(at, "holds nothing that this version knows");
	},
};

const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

const send: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const { id, sessionId, message: said, historyLength, pushNotification, acceptedOutputModes, metadata } = value;
		if (said === undefined || said === null) throw misfit(at, "must have a message");
		const lifted = message.lift(said, { path: pointer(at.path, "message"), loss: at.loss }) as JsonObject;
		const configuration: JsonObject = {
			...(Array.isArray(acceptedOutputModes) && { acceptedOutputModes: acceptedOutputModes.map(mode) }),
			// 0, null and absent: no history was asked for, which is this version's default.
			...(typeof historyLength === "number" && historyLength > 0 && { historyLength }),
			...(isObject(pushNotification) && {
				taskPushNotificationConfig:
					webhook.lift(pushNotification, { path: pointer(at.path, "pushNotification"), loss: at.loss }) ?? {},
			}),
		};
		return {
			// A client that says the same twice means it twice: a new id each time.
			message: {
				...lifted,
				messageId: randomUUID(),
				...(text(id) && { taskId: text(id) }),
				...(text(sessionId) && { contextId: text(sessionId) }),
			},
			...(Object.keys(configuration).length > 0 && { configuration }),
			...(isObject(metadata) && { metadata }),
		};
	},
	lower(value, at) {
		const core = value as JsonObject;
		const said = isObject(core["message"]) ? core["message"] : {};
		const configuration = isObject(core["configuration"]) ? core["configuration"] : {};
		const { acceptedOutputModes, historyLength, taskPushNotificationConfig, returnImmediately } = configuration;
		if (returnImmediately === true)
			at.loss("/configuration/returnImmediately", "has no counterpart: the agent answers when it answers");
		return {
			id: text(said["taskId"]) || randomUUID(),
			...(text(said["contextId"]) && { sessionId: text(said["contextId"]) }),
			message: message.lower(said, { path: pointer(at.path, "message"), loss: at.loss }) ?? {},
			...(acceptedOutputModes !== undefined && { acceptedOutputModes }),
			...(historyLength !== undefined && { historyLength }),
			...(isObject(taskPushNotificationConfig) && { pushNotification: hook(taskPushNotificationConfig, at) }),
			...(core["metadata"] !== undefined && { metadata: core["metadata"] }),
		};
	},
};

/** `text` was a mode name before media types were. */
function mode(value: JsonValue): JsonValue {
	return value === "text" ? "text/plain" : value;
}

/** One webhook per task: its id has no member. */
function hook(config: JsonObject, at: At): JsonValue {
	const { id: _id, ...older } = webhook.lower(config, at) as JsonObject;
	return older;
}

const taskConfig: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const { id, pushNotificationConfig } = value;
		const flat = webhook.lift(pushNotificationConfig ?? {}, {
			path: pointer(at.path, "pushNotificationConfig"),
			loss: at.loss,
		}) as JsonObject;
		return { ...flat, taskId: text(id) };
	},
	lower(value, at) {
		const core = value as JsonObject;
		if (text(core["id"]) && core["id"] !== core["taskId"])
			at.loss(pointer(at.path, "id"), "a task has one config here, without an id");
		return { id: text(core["taskId"]), pushNotificationConfig: hook(core, at) };
	},
};

const dropTenant = { handled: ["tenant"], consumed: ["metadata"] } as const;

/** Params by the name of the core's request type. */
export const requests: Readonly<Record<string, Lens>> = {
	SendMessageRequest: send,
	GetTaskRequest: record({ id: ["id"], historyLength: ["historyLength"] }, dropTenant),
	CancelTaskRequest: record({ id: ["id"], metadata: ["metadata", struct] }, { handled: ["tenant"] }),
	SubscribeToTaskRequest: record({ id: ["id"] }, { handled: ["tenant"], consumed: ["metadata", "historyLength"] }),
	TaskPushNotificationConfig: taskConfig,
	GetTaskPushNotificationConfigRequest: {
		lift(value, at) {
			if (!isObject(value)) throw misfit(at, "must be an object");
			return { taskId: text(value["id"]) };
		},
		lower: (value) => ({ id: text((value as JsonObject)["taskId"]) }),
	},
};

/** Results by the name of the core's reply type. */
export const replies: Readonly<Record<string, Lens>> = {
	SendMessageResponse: {
		lift: (value, at) => ({ task: task.lift(value, at) ?? {} }),
		lower(value, at) {
			const { task: whole } = value as JsonObject;
			if (whole === undefined) throw misfit(at, "holds nothing that this version knows");
			return task.lower(whole, { path: `${at.path}/task`, loss: at.loss });
		},
	},
	StreamResponse: streamEvent,
	Task: task,
	TaskPushNotificationConfig: taskConfig,
};
