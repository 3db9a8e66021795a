/** v0.3 resource names (`tasks/T/pushNotificationConfigs/C`) and the messages that carry them ↔ plain ids. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
	ListTaskPushNotificationConfigResponseSchema,
	TaskPushNotificationConfigSchema,
} from "../../../gen/a2a/v1/a2a_pb.ts";
import { type At, isObject, type Lens, list, lost, lostBut, misfit, record, step } from "../lens.ts";
import { struct, webhook, withConfigId } from "../older.ts";
import { spelled } from "../spelling.ts";

const TASK = "tasks/";
const CONFIG = "/pushNotificationConfigs/";

/** 0 means "no limit" on this wire: "none" cannot be said there, core/continuity trims the answer. */
export function lowerHistory(older: JsonObject, core: JsonObject): void {
	const length = core["historyLength"];
	if (length !== undefined && length !== 0) older["historyLength"] = length;
}

/** `tasks/T/pushNotificationConfigs/C` ↔ its two ids. Ids may hold slashes: the last marker counts. */
function splitConfigName(name: string): { taskId: string; id: string } {
	const at = name.lastIndexOf(CONFIG);
	if (at < 0) return { taskId: taskOf(name), id: "" };
	return { taskId: taskOf(name.slice(0, at)), id: name.slice(at + CONFIG.length) };
}
function configName(taskId: string, id: string): string {
	return `${TASK}${taskId}${CONFIG}${id}`;
}

/** `tasks/T` → T. The annotation's `task/` is read too, and the collection's name after the task's. */
function taskOf(name: string): string {
	const task = name.startsWith(TASK) ? name.slice(TASK.length) : name.startsWith("task/") ? name.slice(5) : name;
	return task.replace(/\/pushNotificationConfigs$/, "");
}
const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

const NO_PLACE = "has no counterpart on this request";

/** `name` ↔ a task's id. `carries`: what v1.0 has beside it, of what older clients send. */
export function named(...carries: readonly ("historyLength" | "metadata")[]): Lens {
	return record(
		{},
		{
			handled: ["id", "tenant", "historyLength", "metadata"],
			consumed: ["name", "id", "historyLength", "metadata"],
			lifted(core, older, at) {
				core["id"] = older["name"] === undefined ? text(older["id"]) : taskOf(text(older["name"]));
				const { historyLength } = older;
				if (!carries.includes("historyLength")) lost(older, at, NO_PLACE, "historyLength");
				else if (historyLength !== undefined && historyLength !== 0) core["historyLength"] = historyLength;
				if (!carries.includes("metadata")) lost(older, at, NO_PLACE, "metadata");
				else if (older["metadata"] !== undefined) {
					const metadata = struct.lift(older["metadata"], step(at, "metadata"));
					if (metadata !== undefined) core["metadata"] = metadata;
				}
			},
			lowered(older, core, at) {
				older["name"] = TASK + text(core["id"]);
				lowerHistory(older, core);
				lost(core, at, NO_PLACE, "metadata", "tenant");
			},
		},
	);
}

/** `name` ↔ the two ids of a config. */
export const configKey: Lens = record(
	{},
	{
		handled: ["taskId", "id", "tenant"],
		consumed: ["name", "metadata"],
		lifted(core, older, at) {
			Object.assign(core, splitConfigName(text(older["name"])));
			lost(older, at, NO_PLACE, "metadata");
		},
		lowered(older, core, at) {
			older["name"] = configName(text(core["taskId"]), text(core["id"]));
			lost(core, at, NO_PLACE, "tenant");
		},
	},
);

/** `parent` ↔ the id of the task whose configs are listed. */
export const configList: Lens = record(
	{ pageSize: ["pageSize"], pageToken: ["pageToken"] },
	{
		handled: ["taskId", "tenant"],
		consumed: ["parent", "metadata"],
		lifted(core, older, at) {
			core["taskId"] = taskOf(text(older["parent"]));
			lost(older, at, NO_PLACE, "metadata");
		},
		lowered(older, core, at) {
			older["parent"] = TASK + text(core["taskId"]);
			lost(core, at, NO_PLACE, "tenant");
		},
	},
);

/** `{name, pushNotificationConfig}`, the JSON-RPC shape `{taskId, pushNotificationConfig}`, or just the config ↔ the flat one. */
function liftConfig(value: JsonValue, at: At): JsonObject {
	if (!isObject(value)) throw misfit(at, "must be an object");
	const { name, taskId, pushNotificationConfig, ...rest } = value;
	const nested = isObject(pushNotificationConfig);
	const flat = webhook.lift(
		nested ? pushNotificationConfig : rest,
		nested ? step(at, "pushNotificationConfig") : at,
	) as JsonObject;
	const ids = name === undefined ? { taskId: text(taskId), id: "" } : splitConfigName(text(name));
	const id = ids.id || text(flat["id"]);
	return { ...(nested && rest), ...flat, ...(ids.taskId && { taskId: ids.taskId }), ...(id && { id }) };
}
function lowerConfig(core: JsonObject, at: At): JsonObject {
	return {
		name: configName(text(core["taskId"]), text(core["id"])),
		pushNotificationConfig: webhook.lower(core, at) ?? {},
	};
}

/** A config as servers answer with it. */
export const storedConfig: Lens = {
	lift: (value, at) => withConfigId(liftConfig(value, at)),
	lower: (value, at) => lowerConfig(value as JsonObject, at),
};

/**
 * `{parent, configId, config}` ↔ the flat config. The bare config and `{config}` are read too
 * (a2a-v0.3-grpc-wire.md, last table). This wire demands an id: without one it is the task's, as SDKs have it.
 */
export const createConfig: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const { parent, configId, config, ...bare } = value;
		let inner: JsonValue = config ?? bare;
		let here = config === undefined || config === null ? at : step(at, "config");
		// The annotation's body is the field `config`, the prose's has a member of that name: both at once is one too many.
		if (isObject(inner) && isObject(inner["config"])) {
			inner = inner["config"];
			here = step(here, "config");
		}
		const core = liftConfig(spelled(TaskPushNotificationConfigSchema, inner), here);
		const task = taskOf(text(parent));
		const id = text(configId) || text(core["id"]);
		return { ...core, ...(task && { taskId: task }), ...(id && { id }) };
	},
	lower(value, at) {
		const core = withConfigId(value as JsonObject);
		return { parent: TASK + text(core["taskId"]), configId: text(core["id"]), config: lowerConfig(core, at) };
	},
};

/** `{configs, nextPageToken}`; a bare array is read too. */
export const configPage: Lens = {
	lift(value, at) {
		const bare = Array.isArray(value);
		const page = bare ? spelled(ListTaskPushNotificationConfigResponseSchema, { configs: value }) : value;
		if (!isObject(page)) throw misfit(at, "must be an object");
		const { configs = [], ...rest } = page;
		return { ...rest, configs: list(storedConfig).lift(configs, bare ? at : step(at, "configs")) ?? [] };
	},
	lower(value, at) {
		const { configs, nextPageToken } = value as JsonObject;
		lostBut(value as JsonObject, at, "configs", "nextPageToken");
		return {
			configs: list(storedConfig).lower(configs ?? [], step(at, "configs")) ?? [],
			...(nextPageToken !== undefined && { nextPageToken }),
		};
	},
};
