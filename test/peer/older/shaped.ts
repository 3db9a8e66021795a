/** JSON-RPC shapes of v0.2 and v0.3 (`kind`) and of v0.1 (`type`), straight from dialects.md §8-§13. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Codec } from "./codec.ts";
import { Fault } from "./fault.ts";
import {
	type Artifact,
	type Ask,
	array,
	defined,
	type Hook,
	jsonOf,
	type Message,
	object,
	type Part,
	type Said,
	type State,
	type Status,
	type Task,
	text,
} from "./model.ts";

const optional = (value: JsonValue | undefined): string | undefined => text(value) || undefined;
const struct = (value: JsonValue | undefined): JsonObject | undefined => (value ? object(value) : undefined);
const number = (value: JsonValue | undefined): number | undefined => (typeof value === "number" ? value : undefined);

export type Discriminator = "kind" | "type";

export function writePart(part: Part, by: Discriminator): JsonObject {
	const { bytes, uri, name, mime, metadata } = part;
	if (part.text !== undefined) return jsonOf({ [by]: "text", text: part.text, metadata });
	if (part.data !== undefined) return jsonOf({ [by]: "data", data: part.data, metadata });
	return jsonOf({ [by]: "file", file: jsonOf({ bytes, uri, name, mimeType: mime }), metadata });
}
export function readPart(json: JsonObject, by: Discriminator): Part {
	const metadata = struct(json["metadata"]);
	if (json[by] === "text") return defined<Part>({ text: text(json["text"]), metadata });
	if (json[by] === "data") return defined<Part>({ data: json["data"], metadata });
	if (json[by] !== "file") throw new Fault("INVALID_PARAMS", `a part without ${by}: ${JSON.stringify(json)}`);
	const file = object(json["file"]);
	return defined<Part>({
		bytes: optional(file["bytes"]),
		uri: optional(file["uri"]),
		name: optional(file["name"]),
		mime: optional(file["mimeType"]),
		metadata,
	});
}

export function writeMessage(message: Message, by: Discriminator): JsonObject {
	const { role, metadata } = message;
	const parts = message.parts.map((part) => writePart(part, by));
	if (by === "type") return jsonOf({ role, parts, metadata });
	const { id, taskId, contextId } = message;
	return jsonOf({ kind: "message", messageId: id ?? crypto.randomUUID(), role, parts, taskId, contextId, metadata });
}
export function readMessage(json: JsonObject, by: Discriminator): Message {
	const role = text(json["role"]);
	if (role !== "user" && role !== "agent") throw new Fault("INVALID_PARAMS", `role ${role}`);
	if (by === "kind" && !text(json["messageId"])) throw new Fault("INVALID_PARAMS", "no messageId");
	if (by === "type" && ("kind" in json || "messageId" in json))
		throw new Fault("INVALID_PARAMS", `no v0.1 message: ${JSON.stringify(json)}`);
	return defined<Message>({
		role,
		parts: array(json["parts"]).map((part) => readPart(part, by)),
		id: optional(json["messageId"]),
		taskId: optional(json["taskId"]),
		contextId: optional(json["contextId"]),
		metadata: struct(json["metadata"]),
	});
}

function writeStatus({ state, message, timestamp }: Status, by: Discriminator): JsonObject {
	return jsonOf({ state, message: message && writeMessage(message, by), timestamp });
}
function readStatus(json: JsonObject, by: Discriminator): Status {
	const message = struct(json["message"]);
	return defined<Status>({
		state: text(json["state"]) as State,
		message: message && readMessage(message, by),
		timestamp: optional(json["timestamp"]),
	});
}

const indexOf = (id: string): number => Number(/^#(\d+)$/.exec(id)?.[1] ?? Number.NaN);
function writeArtifact(artifact: Artifact, by: Discriminator): JsonObject {
	const { id, name, metadata } = artifact;
	const parts = artifact.parts.map((part) => writePart(part, by));
	return jsonOf({ ...(by === "kind" ? { artifactId: id } : { index: indexOf(id) }), name, parts, metadata });
}
function readArtifact(json: JsonObject, by: Discriminator): Artifact {
	return defined<Artifact>({
		id: by === "kind" ? text(json["artifactId"]) : `#${number(json["index"]) ?? 0}`,
		name: optional(json["name"]),
		parts: array(json["parts"]).map((part) => readPart(part, by)),
		metadata: struct(json["metadata"]),
	});
}

export function writeTask(task: Task, by: Discriminator): JsonObject {
	const { id, contextId, metadata } = task;
	return jsonOf({
		...(by === "kind" ? { kind: "task", id, contextId: contextId ?? "" } : { id, sessionId: contextId }),
		status: writeStatus(task.status, by),
		artifacts: task.artifacts.length > 0 ? task.artifacts.map((each) => writeArtifact(each, by)) : undefined,
		history: task.history.length > 0 ? task.history.map((each) => writeMessage(each, by)) : undefined,
		metadata,
	});
}
export function readTask(json: JsonObject, by: Discriminator): Task {
	return defined<Task>({
		id: text(json["id"]),
		contextId: optional(json[by === "kind" ? "contextId" : "sessionId"]),
		status: readStatus(object(json["status"]), by),
		artifacts: array(json["artifacts"]).map((each) => readArtifact(each, by)),
		history: array(json["history"]).map((each) => readMessage(each, by)),
		metadata: struct(json["metadata"]),
	});
}

export function writeHook({ id, url, token, scheme, credentials }: Hook): JsonObject {
	const authentication = scheme === undefined ? undefined : jsonOf({ schemes: [scheme], credentials });
	return jsonOf({ id, url, token, authentication });
}
export function readHook(json: JsonObject): Hook {
	const authentication = object(json["authentication"]);
	const [scheme] = Array.isArray(authentication["schemes"]) ? authentication["schemes"] : [];
	return defined<Hook>({
		id: optional(json["id"]),
		url: text(json["url"]),
		token: optional(json["token"]),
		scheme: optional(scheme),
		credentials: optional(authentication["credentials"]),
	});
}

/** An answer as v0.2 and v0.3 know it by `kind`. */
export function writeKind(said: Said): JsonObject {
	const { task, message, status, artifact } = said;
	if (task) return writeTask(task, "kind");
	if (message) return writeMessage(message, "kind");
	if (status) {
		const { taskId, contextId = "" } = status;
		const final = said.final ?? isFinal(status.status.state);
		return { kind: "status-update", taskId, contextId, status: writeStatus(status.status, "kind"), final };
	}
	if (!artifact) throw new Error("nothing said");
	const { taskId, contextId = "", append, last } = artifact;
	const whole = writeArtifact(artifact.artifact, "kind");
	return { kind: "artifact-update", taskId, contextId, artifact: whole, append, lastChunk: last };
}
export function readKind(json: JsonObject): Said {
	const ids = defined<{ taskId: string; contextId?: string }>({
		taskId: text(json["taskId"]),
		contextId: optional(json["contextId"]),
	});
	switch (json["kind"]) {
		case "task":
			return { task: readTask(json, "kind") };
		case "message":
			return { message: readMessage(json, "kind") };
		case "status-update":
			if (typeof json["final"] !== "boolean") throw new Error("a status-update without final");
			return { status: { ...ids, status: readStatus(object(json["status"]), "kind") }, final: json["final"] };
		case "artifact-update": {
			const artifact = readArtifact(object(json["artifact"]), "kind");
			return { artifact: { ...ids, artifact, append: json["append"] === true, last: json["lastChunk"] === true } };
		}
		default:
			throw new Error(`kind ${JSON.stringify(json["kind"])}: ${JSON.stringify(json)}`);
	}
}
const isFinal = (state: State): boolean =>
	state !== "submitted" && state !== "working" && state !== "auth-required" && state !== "unknown";

const message = (json: JsonObject, by: Discriminator): Message => {
	if (!json["message"]) throw new Fault("INVALID_PARAMS", "no message");
	return readMessage(object(json["message"]), by);
};

/** v0.2 and v0.3. */
export const kindCodec: Codec = {
	writeAsk(ask) {
		const { taskId, message: said, historyLength, hook, hookId, wait, modes, contextId, metadata } = ask;
		if (said) {
			const configuration = jsonOf({
				blocking: wait,
				historyLength,
				acceptedOutputModes: modes && [...modes],
				pushNotificationConfig: hook && writeHook(hook),
			});
			const body = writeMessage(defined<Message>({ ...said, taskId, contextId }), "kind");
			const some = Object.keys(configuration).length > 0;
			return jsonOf({ message: body, configuration: some ? configuration : undefined, metadata });
		}
		if (ask.op === "pushCreate") return { taskId: taskId ?? "", pushNotificationConfig: hook ? writeHook(hook) : {} };
		if (ask.op === "card") return {};
		return jsonOf({ id: taskId, historyLength, pushNotificationConfigId: hookId, metadata });
	},
	readAsk(op, json) {
		if (op === "send" || op === "stream") {
			const said = message(json, "kind");
			const configuration = object(json["configuration"]);
			const { blocking } = configuration;
			const hook = struct(configuration["pushNotificationConfig"]);
			return defined<Ask>({
				op,
				message: said,
				taskId: said.taskId,
				contextId: said.contextId,
				wait: typeof blocking === "boolean" ? blocking : undefined,
				historyLength: number(configuration["historyLength"]),
				modes: configuration["acceptedOutputModes"] as string[] | undefined,
				hook: hook && readHook(hook),
				metadata: struct(json["metadata"]),
			});
		}
		if (op === "card") return { op };
		const taskId = text(json[op === "pushCreate" ? "taskId" : "id"]);
		if (!taskId) throw new Fault("INVALID_PARAMS", "no id");
		return defined<Ask>({
			op,
			taskId,
			historyLength: number(json["historyLength"]),
			hook: op === "pushCreate" ? readHook(object(json["pushNotificationConfig"])) : undefined,
			hookId: optional(json["pushNotificationConfigId"]),
			metadata: struct(json["metadata"]),
		});
	},
	writeSaid(op, said) {
		if (said.hook) return { taskId: said.hook.taskId, pushNotificationConfig: writeHook(said.hook.hook) };
		const { hooks } = said;
		if (hooks) return hooks.list.map((each) => ({ taskId: hooks.taskId, pushNotificationConfig: writeHook(each) }));
		if (op === "pushDelete") return null;
		if (said.card) return said.card;
		return writeKind(said);
	},
	readSaid(op, json) {
		if (op === "pushList") {
			if (!Array.isArray(json)) throw new Error(`no array: ${JSON.stringify(json)}`);
			const list = array(json).map((each) => readHook(object(each["pushNotificationConfig"])));
			return { hooks: { taskId: text(array(json)[0]?.["taskId"]), list } };
		}
		const value = object(json);
		if (op === "pushCreate" || op === "pushGet")
			return { hook: { taskId: text(value["taskId"]), hook: readHook(object(value["pushNotificationConfig"])) } };
		if (op === "pushDelete") return { done: true };
		if (op === "card") return { card: value };
		return readKind(value);
	},
};

/** v0.1: `index`, `append` and `lastChunk` inside the artifact; the client's ids. */
export const typeCodec: Codec = {
	writeAsk(ask) {
		const { taskId, message: said, historyLength, hook, contextId, metadata } = ask;
		const id = taskId ?? "";
		if (said) {
			const body = writeMessage(said, "type");
			const pushNotification = hook && writeHook(hook);
			return jsonOf({
				id,
				sessionId: contextId,
				message: body,
				historyLength,
				pushNotification,
				metadata,
			});
		}
		if (ask.op === "pushCreate") return { id, pushNotificationConfig: hook ? writeHook(hook) : {} };
		return jsonOf({ id, historyLength, metadata });
	},
	readAsk(op, json) {
		const taskId = text(json["id"]);
		if (!taskId) throw new Fault("INVALID_PARAMS", "no id");
		const hook = struct(json[op === "pushCreate" ? "pushNotificationConfig" : "pushNotification"]);
		return defined<Ask>({
			op,
			taskId,
			contextId: optional(json["sessionId"]),
			message: op === "send" || op === "stream" ? message(json, "type") : undefined,
			historyLength: number(json["historyLength"]),
			hook: hook && readHook(hook),
			modes: json["acceptedOutputModes"] as string[] | undefined,
			metadata: struct(json["metadata"]),
		});
	},
	writeSaid(_, said) {
		const { task, hook, status, artifact } = said;
		if (task) return writeTask(task, "type");
		if (hook) return { id: hook.taskId, pushNotificationConfig: writeHook(hook.hook) };
		if (status) {
			const { state } = status.status;
			return { id: status.taskId, status: writeStatus(status.status, "type"), final: isFinal(state) };
		}
		if (!artifact) throw new Error("v0.1 cannot say this");
		const { append, last } = artifact;
		return { id: artifact.taskId, artifact: { ...writeArtifact(artifact.artifact, "type"), append, lastChunk: last } };
	},
	readSaid(op, json) {
		const value = object(json);
		if ("kind" in value) throw new Error(`no v0.1 answer: ${JSON.stringify(json)}`);
		const taskId = text(value["id"]);
		if (op === "pushCreate" || op === "pushGet")
			return { hook: { taskId, hook: readHook(object(value["pushNotificationConfig"])) } };
		if (op === "stream" || op === "subscribe") {
			if (value["artifact"]) {
				const inner = object(value["artifact"]);
				const [append, last] = [inner["append"] === true, inner["lastChunk"] === true];
				return { artifact: { taskId, artifact: readArtifact(inner, "type"), append, last } };
			}
			const status = readStatus(object(value["status"]), "type");
			return defined<Said>({ status: { taskId, status }, final: value["final"] === true });
		}
		return { task: readTask(value, "type") };
	},
};
