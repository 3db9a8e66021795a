/** v0.3 resource names (`tasks/T/pushNotificationConfigs/C`) and the messages that carry them ↔ plain ids. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { pointer } from "../../call/loss.ts";
import { isObject, type Lens, misfit } from "../lens.ts";
import { webhook } from "../older.ts";

export const TASK = "tasks/";
const CONFIG = "/pushNotificationConfigs/";

/** 0 means "no limit" on this wire: "none" cannot be said there, core/continuity trims the answer. */
export function lowerHistory(older: JsonObject, core: JsonObject): void {
	const length = core["historyLength"];
	if (typeof length === "number" && length !== 0) older["historyLength"] = length;
}

/** `tasks/T/pushNotificationConfigs/C` ↔ its two ids. Ids may hold slashes: the last marker counts. */
export function splitConfigName(name: string): { taskId: string; id: string } {
	const at = name.lastIndexOf(CONFIG);
	if (at < 0) return { taskId: taskOf(name), id: "" };
	return { taskId: taskOf(name.slice(0, at)), id: name.slice(at + CONFIG.length) };
}
export function taskOf(name: string): string {
	const task = name.startsWith(TASK) ? name.slice(TASK.length) : name.startsWith("task/") ? name.slice(5) : name;
	return task.replace(/\/pushNotificationConfigs$/, "");
}
export const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

/** `name` ↔ a task's id. */
export function named(extra: readonly string[] = []): Lens {
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
			lowerHistory(older, core);
			if (core["metadata"] !== undefined) at.loss(pointer(at.path, "metadata"), "has no counterpart");
			return older;
		},
	};
}

export const configKey: Lens = {
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
export const taskConfig: Lens = {
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
export const createConfig: Lens = {
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
