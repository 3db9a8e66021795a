/** v0.3 ProtoJSON (package a2a.v1: HTTP+JSON bodies and gRPC messages) ↔ v1.0 ProtoJSON (a2a-v0.3-grpc-wire.md, dialects.md §8, §9). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { pointer } from "../../call/loss.ts";
import { type At, isObject, type Lens, list, misfit, names, record } from "../lens.ts";
import { CARRIED, STATES, struct, takeMetadata, timestamp, webhook, withMetadata } from "../older.ts";
import { card as kindCard } from "./card.ts";
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

const part: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		if ("kind" in value) return rpcPart.lift(value, at);
		const { file, data, ...rest } = value;
		if (isObject(file)) {
			const { fileWithUri, file_with_uri, fileWithBytes, file_with_bytes, mimeType, mime_type, name } = file;
			const uri = fileWithUri ?? file_with_uri;
			const content = uri === undefined ? { raw: fileWithBytes ?? file_with_bytes ?? "" } : { url: uri };
			const mediaType = mimeType ?? mime_type;
			return { ...rest, ...content, ...(mediaType && { mediaType }), ...(name && { filename: name }) };
		}
		if (data !== undefined) {
			const part: JsonObject = { ...rest, data: (isObject(data) && data["data"]) || {} };
			const { [CARRIED.dataWrapped]: wrapped } = takeMetadata(part, CARRIED.dataWrapped);
			const inner = part["data"];
			if (wrapped === true && isObject(inner) && "value" in inner) part["data"] = inner["value"] ?? null;
			return unfold(part);
		}
		return unfold({ ...rest });
	},
	lower(value, at) {
		// The kind-shape has the same members; only the nesting differs.
		const { kind, file, data, ...rest } = rpcPart.lower(value, at) as JsonObject;
		if (isObject(file)) {
			const { bytes, uri, name, mimeType } = file;
			return {
				...rest,
				file: {
					...(uri === undefined ? { fileWithBytes: bytes ?? "" } : { fileWithUri: uri }),
					...(mimeType !== undefined && { mimeType }),
					...(name !== undefined && { name }),
				},
			};
		}
		return kind === "data" ? { ...rest, data: { data: data ?? {} } } : rest;
	},
};

import { part as makePart } from "../older.ts";

const rpcPart = makePart("kind");

function unfold(part: JsonObject): JsonObject {
	const { [CARRIED.mediaType]: mediaType, [CARRIED.filename]: filename } = takeMetadata(
		part,
		CARRIED.mediaType,
		CARRIED.filename,
	);
	return {
		...part,
		...(typeof filename === "string" && { filename }),
		...(typeof mediaType === "string" && { mediaType }),
	};
}

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
		lowered(older, core, at) {
			if (core["returnImmediately"] !== true) older["blocking"] = true;
			lowerHistory(older, core, at);
		},
	},
);

/** 0 means "no limit" on this wire: "none" cannot be said there, core/continuity trims the answer. */
function lowerHistory(older: JsonObject, core: JsonObject, _at: At): void {
	const length = core["historyLength"];
	if (typeof length === "number" && length !== 0) older["historyLength"] = length;
}

const TASK = "tasks/";
const CONFIG = "/pushNotificationConfigs/";

/** `tasks/T/pushNotificationConfigs/C` ↔ its two ids. Ids may hold slashes: the last marker counts. */
export function splitConfigName(name: string): { taskId: string; id: string } {
	const at = name.lastIndexOf(CONFIG);
	if (at < 0) return { taskId: taskOf(name), id: "" };
	return { taskId: taskOf(name.slice(0, at)), id: name.slice(at + CONFIG.length) };
}
function taskOf(name: string): string {
	const task = name.startsWith(TASK) ? name.slice(TASK.length) : name.startsWith("task/") ? name.slice(5) : name;
	return task.replace(/\/pushNotificationConfigs$/, "");
}
const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

/** `name` ↔ a task's id. */
function named(extra: readonly string[] = []): Lens {
	return {
		lift(value, at) {
			if (!isObject(value)) throw misfit(at, "must be an object");
			const { name, id, historyLength, metadata, ...rest } = value;
			return {
				...rest,
				id: name === undefined ? text(id) : taskOf(text(name)),
				...(extra.includes("historyLength") && historyLength && { historyLength }),
				...(extra.includes("metadata") && isObject(metadata) && { metadata }),
			};
		},
		lower(value, at) {
			const core = value as JsonObject;
			const older: JsonObject = { name: TASK + text(core["id"]) };
			lowerHistory(older, core, at);
			if (core["metadata"] !== undefined) at.loss(pointer(at.path, "metadata"), "has no counterpart");
			return older;
		},
	};
}

const configKey: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		return { ...splitConfigName(text(value["name"])) };
	},
	lower: (value) => ({ name: configName(value as JsonObject) }),
};

function configName(core: JsonObject): string {
	return `${TASK}${text(core["taskId"])}${CONFIG}${text(core["id"])}`;
}

/** A stored config: `{name, pushNotificationConfig}`, or the JSON-RPC shape that some servers send. */
const taskConfig: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const { name, pushNotificationConfig, push_notification_config, taskId } = value;
		const inner = pushNotificationConfig ?? push_notification_config;
		const flat = webhook.lift(inner ?? withoutName(value), at) as JsonObject;
		const ids = name === undefined ? { taskId: text(taskId), id: "" } : splitConfigName(text(name));
		const id = ids.id || text(flat["id"]);
		return { ...flat, ...(ids.taskId && { taskId: ids.taskId }), ...(id && { id }) };
	},
	lower(value, at) {
		const core = value as JsonObject;
		return { name: configName(core), pushNotificationConfig: webhook.lower(core, at) ?? {} };
	},
};
function withoutName({ name: _name, taskId: _taskId, ...rest }: JsonObject): JsonObject {
	return rest;
}

/** `{parent, configId, config}`; the bare config and `{config}` are read too (a2a-v0.3-grpc-wire.md, last table). */
const createConfig: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const { parent, configId, config_id, config, ...bare } = value;
		const core = taskConfig.lift(config ?? bare, at) as JsonObject;
		const task = taskOf(text(parent));
		const id = text(configId ?? config_id) || text(core["id"]);
		return { ...core, ...(task && { taskId: task }), ...(id && { id }) };
	},
	lower(value, at) {
		const core = value as JsonObject;
		return {
			parent: TASK + text(core["taskId"]),
			configId: text(core["id"]),
			config: taskConfig.lower(core, at) ?? {},
		};
	},
};

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

/** A v0.3 ProtoJSON card is the v1.0 member style in the v0.3 layout. Reads the JSON-schema style too. */
const card: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const { securitySchemes, security, skills, ...rest } = value;
		const core = kindCard.lift(rest, at) as JsonObject;
		const member = isObject(securitySchemes) && !Object.values(securitySchemes).some((s) => isObject(s) && "type" in s);
		if (!member) return kindCard.lift(value, at);
		return {
			...core,
			securitySchemes,
			...(Array.isArray(security) && { securityRequirements: security }),
			...(Array.isArray(skills) && {
				skills: skills.map((skill) => {
					if (!isObject(skill)) return skill;
					const { security: own, ...others } = skill;
					return own === undefined ? others : { ...others, securityRequirements: own };
				}),
			}),
		};
	},
	lower(value, at) {
		const { securitySchemes, securityRequirements, skills, ...rest } = value as JsonObject;
		const older = kindCard.lower(rest, at) as JsonObject;
		return {
			...older,
			...(securitySchemes !== undefined && { securitySchemes }),
			...(securityRequirements !== undefined && { security: securityRequirements }),
			...(Array.isArray(skills) && {
				skills: skills.map((skill) => {
					if (!isObject(skill)) return skill;
					const { securityRequirements: own, ...others } = skill;
					return own === undefined ? others : { ...others, security: own };
				}),
			}),
		};
	},
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
