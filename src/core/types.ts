/** What the core needs to know of operations beyond their descriptors, worked out from message types and HTTP rules, never from names. */
import { type DescMethod, type DescService, getOption, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { TaskPushNotificationConfigSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { isStream } from "../call/call.ts";
import type { Payload } from "../call/payload.ts";
import { spelled } from "../dialect/spelling.ts";

export interface Operations {
	/** Reads one task without changing it. */
	readonly readTask: DescMethod;
	/** Lists the webhook configurations of a task. */
	readonly listConfigs: DescMethod;
}

/** Finds the operations that the core itself asks for. */
export function operationsOf(service: DescService): Operations {
	const reads = (m: DescMethod) => getOption(m, http).pattern.case === "get" && !isStream(m);
	const readTask = service.methods.find((m) => reads(m) && m.output === TaskSchema);
	const listConfigs = service.methods.find(
		(m) =>
			reads(m) && m.output.fields.some((f) => f.fieldKind === "list" && f.message === TaskPushNotificationConfigSchema),
	);
	if (!readTask || !listConfigs) throw new TypeError(`${service.typeName} lacks an operation the core needs`);
	return { readTask, listConfigs };
}

/** Does this operation send a message (and so may start a task)? */
export function sends(method: DescMethod): boolean {
	return method.input.field["message"] !== undefined;
}

/** The JSON name of the request field that names a task; undefined when there is none (listing, cards, sends). */
export function taskField(method: DescMethod): "taskId" | "id" | undefined {
	if (sends(method)) return undefined;
	const { field } = method.input;
	if (field["taskId"]) return "taskId";
	return field["id"] ? "id" : undefined;
}

const TERMINAL: ReadonlySet<JsonValue | undefined> = new Set([
	"TASK_STATE_COMPLETED",
	"TASK_STATE_FAILED",
	"TASK_STATE_CANCELED",
	"TASK_STATE_REJECTED",
]);

/** Is a task with this status over? */
export function isTerminal(status: JsonValue | undefined): boolean {
	return objectOf(status) !== undefined && TERMINAL.has(objectOf(status)?.["state"]);
}

/** A payload's JSON in the descriptor's spelling, its values as they came (times and numbers are not written anew). */
export function jsonOf(payload: Payload): JsonObject {
	const original = payload.original();
	return original === undefined ? payload.canonical() : (objectOf(spelled(payload.type, original)) ?? {});
}

export function objectOf(value: JsonValue | undefined): JsonObject | undefined {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

export function textOf(value: JsonValue | undefined): string {
	return typeof value === "string" ? value : "";
}
