/** ProtoJSON of v1.0 and of v0.3, written by hand from the wire tables; both gRPC forms ride on it too. */
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
import { readHook, writeHook } from "./shaped.ts";

const optional = (value: JsonValue | undefined): string | undefined => text(value) || undefined;
const struct = (value: JsonValue | undefined): JsonObject | undefined => (value ? object(value) : undefined);
const number = (value: JsonValue | undefined): number | undefined =>
	typeof value === "number" || (typeof value === "string" && value !== "") ? Number(value) : undefined;
const some = <T>(list: readonly T[]): T[] | undefined => (list.length > 0 ? [...list] : undefined);

function stateName(state: State, old: boolean): string | undefined {
	if (state === "unknown") return undefined;
	if (state === "canceled") return old ? "TASK_STATE_CANCELLED" : "TASK_STATE_CANCELED";
	return `TASK_STATE_${state.toUpperCase().replace("-", "_")}`;
}
function readState(name: string, old: boolean): State {
	if (name === "" || name === "TASK_STATE_UNSPECIFIED") return "unknown";
	if (name === (old ? "TASK_STATE_CANCELLED" : "TASK_STATE_CANCELED")) return "canceled";
	const state = name.replace("TASK_STATE_", "").toLowerCase().replace("_", "-");
	if (state.startsWith("cancel") || !name.startsWith("TASK_STATE_")) throw new Error(`state ${name}`);
	return state as State;
}

/** `old`: v0.3, with what the SDKs added to the tag's messages (FilePart.name, Part.metadata). */
export function protoCodec(old: boolean): Codec {
	function writePart(part: Part): JsonObject {
		const { bytes, uri, name, mime, metadata } = part;
		if (!old) {
			const { text: words, data } = part;
			return jsonOf({
				text: words,
				data,
				raw: bytes,
				url: uri,
				filename: name,
				mediaType: mime,
				metadata,
			});
		}
		if (part.text !== undefined) return jsonOf({ text: part.text, metadata });
		if (part.data !== undefined) return jsonOf({ data: { data: part.data }, metadata });
		const file = { fileWithBytes: bytes, fileWithUri: uri, mimeType: mime, name };
		return jsonOf({ file: jsonOf(file), metadata });
	}
	function readPart(json: JsonObject): Part {
		if ("kind" in json || "type" in json) throw new Fault("INVALID_PARAMS", `a part of another version`);
		const metadata = struct(json["metadata"]);
		if (!old) {
			return defined<Part>({
				text: typeof json["text"] === "string" ? json["text"] : undefined,
				data: json["data"],
				bytes: optional(json["raw"]),
				uri: optional(json["url"]),
				name: optional(json["filename"]),
				mime: optional(json["mediaType"]),
				metadata,
			});
		}
		if (json["data"] !== undefined) return defined<Part>({ data: object(json["data"])["data"] ?? {}, metadata });
		if (json["file"] === undefined) return defined<Part>({ text: text(json["text"]), metadata });
		const file = object(json["file"]);
		return defined<Part>({
			bytes: optional(file["fileWithBytes"]),
			uri: optional(file["fileWithUri"]),
			name: optional(file["name"]),
			mime: optional(file["mimeType"]),
			metadata,
		});
	}
	const partsName = old ? "content" : "parts";
	function writeMessage(message: Message): JsonObject {
		const { id = crypto.randomUUID(), role, taskId, contextId, metadata } = message;
		const parts = message.parts.map(writePart);
		const named = role === "user" ? "ROLE_USER" : "ROLE_AGENT";
		return jsonOf({ messageId: id, role: named, [partsName]: parts, taskId, contextId, metadata });
	}
	function readMessage(json: JsonObject): Message {
		if (!text(json["messageId"])) throw new Fault("INVALID_PARAMS", "no messageId");
		return defined<Message>({
			role: json["role"] === "ROLE_USER" ? "user" : "agent",
			parts: array(json[partsName]).map(readPart),
			id: text(json["messageId"]),
			taskId: optional(json["taskId"]),
			contextId: optional(json["contextId"]),
			metadata: struct(json["metadata"]),
		});
	}
	const writeStatus = ({ state, message, timestamp }: Status): JsonObject =>
		jsonOf({ state: stateName(state, old), message: message && writeMessage(message), timestamp });
	function readStatus(json: JsonObject): Status {
		const message = struct(json["message"]);
		return defined<Status>({
			state: readState(text(json["state"]), old),
			message: message && readMessage(message),
			timestamp: optional(json["timestamp"]),
		});
	}
	const writeArtifact = ({ id, name, parts, metadata }: Artifact): JsonObject =>
		jsonOf({ artifactId: id, name, parts: parts.map(writePart), metadata });
	const readArtifact = (json: JsonObject): Artifact =>
		defined<Artifact>({
			id: text(json["artifactId"]),
			name: optional(json["name"]),
			parts: array(json["parts"]).map(readPart),
			metadata: struct(json["metadata"]),
		});
	const writeTask = ({ id, contextId, status, artifacts, history, metadata }: Task): JsonObject =>
		jsonOf({
			id,
			contextId,
			status: writeStatus(status),
			artifacts: some(artifacts.map(writeArtifact)),
			history: some(history.map(writeMessage)),
			metadata,
		});
	const readTask = (json: JsonObject): Task =>
		defined<Task>({
			id: text(json["id"]),
			contextId: optional(json["contextId"]),
			status: readStatus(object(json["status"])),
			artifacts: array(json["artifacts"]).map(readArtifact),
			history: array(json["history"]).map(readMessage),
			metadata: struct(json["metadata"]),
		});

	/** The config with the task it belongs to: flat in v1.0, under a resource name in v0.3. */
	function writeConfig(taskId: string, hook: Hook): JsonObject {
		if (old) {
			const name = `tasks/${taskId}/pushNotificationConfigs/${hook.id ?? ""}`;
			return { name, pushNotificationConfig: writeHook(hook) };
		}
		const { id, url, token, scheme, credentials } = hook;
		const authentication = scheme === undefined ? undefined : jsonOf({ scheme, credentials });
		return jsonOf({ id, taskId: taskId || undefined, url, token, authentication });
	}
	function readConfig(json: JsonObject): { taskId: string; hook: Hook } {
		if (old) {
			const [, taskId = "", , id = ""] = text(json["name"]).split("/");
			const hook = readHook(object(json["pushNotificationConfig"]));
			return { taskId, hook: defined<Hook>({ ...hook, id: hook.id || id || undefined }) };
		}
		const { scheme, credentials } = object(json["authentication"]);
		const hook = defined<Hook>({
			id: optional(json["id"]),
			url: text(json["url"]),
			token: optional(json["token"]),
			scheme: optional(scheme),
			credentials: optional(credentials),
		});
		return { taskId: text(json["taskId"]), hook };
	}

	return {
		writeAsk(ask) {
			const { taskId, message, historyLength, hook, hookId, wait, modes, contextId, metadata } = ask;
			if (message) {
				const configuration = jsonOf({
					acceptedOutputModes: modes && [...modes],
					historyLength,
					...(old
						? { blocking: wait, pushNotification: hook && writeHook(hook) }
						: {
								returnImmediately: wait === undefined ? undefined : !wait,
								taskPushNotificationConfig: hook && writeConfig("", hook),
							}),
				});
				const body = writeMessage(defined<Message>({ ...message, taskId, contextId }));
				const given = Object.keys(configuration).length > 0 ? configuration : undefined;
				return jsonOf({ message: body, configuration: given, metadata });
			}
			const task = taskId ?? "";
			const config = `tasks/${task}/pushNotificationConfigs/${hookId ?? ""}`;
			switch (ask.op) {
				case "pushCreate":
					if (!hook) throw new Error("no hook");
					if (!old) return writeConfig(task, hook);
					return { parent: `tasks/${task}`, configId: hook.id ?? "", config: writeConfig(task, hook) };
				case "pushGet":
				case "pushDelete":
					return old ? { name: config } : { taskId: task, id: hookId ?? "" };
				case "pushList":
					return old ? { parent: `tasks/${task}` } : { taskId: task };
				case "card":
					return {};
				case "list":
					return jsonOf({ contextId });
				default: {
					const named = old ? { name: `tasks/${task}` } : { id: task };
					return jsonOf({ ...named, historyLength, metadata: old ? undefined : metadata });
				}
			}
		},
		readAsk(op, json) {
			if (op === "send" || op === "stream") {
				const given = struct(json["message"] ?? (old ? json["request"] : undefined));
				if (!given) throw new Fault("INVALID_PARAMS", "no message");
				const message = readMessage(given);
				const present = json["configuration"] !== undefined;
				const configuration = object(json["configuration"]);
				const hook = struct(configuration[old ? "pushNotification" : "taskPushNotificationConfig"]);
				const now = configuration["returnImmediately"];
				return defined<Ask>({
					op,
					message,
					taskId: message.taskId,
					contextId: message.contextId,
					// No presence in v0.3: a configuration without `blocking` says false.
					wait: old ? (present ? configuration["blocking"] === true : undefined) : now === undefined ? undefined : !now,
					historyLength: old
						? number(configuration["historyLength"]) || undefined
						: number(configuration["historyLength"]),
					modes: configuration["acceptedOutputModes"] as string[] | undefined,
					hook: hook && (old ? readHook(hook) : readConfig(hook).hook),
					metadata: struct(json["metadata"]),
				});
			}
			if (op === "card") return { op };
			if (op === "list") return defined<Ask>({ op, contextId: optional(json["contextId"]) });
			if (op === "pushCreate") {
				const { taskId, hook } = readConfig(old ? object(json["config"]) : json);
				return { op, taskId: old ? text(json["parent"]).replace("tasks/", "") || taskId : taskId, hook };
			}
			const [, fromName = "", , configId = ""] = text(json["name"] ?? json["parent"]).split("/");
			const taskId = old ? fromName : text(json[op.startsWith("push") ? "taskId" : "id"]);
			if (!taskId) throw new Fault("INVALID_PARAMS", "no id");
			return defined<Ask>({
				op,
				taskId,
				historyLength: number(json["historyLength"]) || (old ? undefined : number(json["historyLength"])),
				hookId: op === "pushGet" || op === "pushDelete" ? (old ? configId : text(json["id"])) : undefined,
				metadata: struct(json["metadata"]),
			});
		},
		writeSaid(op, said) {
			const { task, message, status, artifact, hook, hooks, tasks } = said;
			if (hook) return writeConfig(hook.taskId, hook.hook);
			if (hooks) return { configs: hooks.list.map((each) => writeConfig(hooks.taskId, each)) };
			if (tasks)
				return { tasks: tasks.map(writeTask), nextPageToken: "", pageSize: tasks.length, totalSize: tasks.length };
			if (said.card) return said.card;
			if (task) return op === "get" || op === "cancel" ? writeTask(task) : { task: writeTask(task) };
			if (message) return { message: writeMessage(message) };
			if (status) {
				const { taskId, contextId } = status;
				const state = status.status.state;
				const final =
					old && state !== "working" && state !== "submitted" && state !== "auth-required" ? true : undefined;
				return {
					statusUpdate: jsonOf({ taskId, contextId, status: writeStatus(status.status), final }),
				};
			}
			if (!artifact) return {};
			const { taskId, contextId, append, last } = artifact;
			const whole = writeArtifact(artifact.artifact);
			const flags = { append: append || undefined, lastChunk: last || undefined };
			return { artifactUpdate: jsonOf({ taskId, contextId, artifact: whole, ...flags }) };
		},
		readSaid(op, json) {
			const value = object(json);
			const ids = (event: JsonObject): { taskId: string; contextId?: string } =>
				defined({ taskId: text(event["taskId"]), contextId: optional(event["contextId"]) });
			switch (op) {
				case "get":
				case "cancel":
					return { task: readTask(value) };
				case "list":
					return { tasks: array(value["tasks"]).map(readTask) };
				case "pushCreate":
				case "pushGet":
					return { hook: readConfig(value) };
				case "pushList": {
					const configs = array(value["configs"]).map(readConfig);
					return { hooks: { taskId: configs[0]?.taskId ?? "", list: configs.map(({ hook }) => hook) } };
				}
				case "pushDelete":
					return { done: true };
				case "card":
					return { card: value };
				default:
			}
			if (value["task"]) return { task: readTask(object(value["task"])) };
			if (value["message"]) return { message: readMessage(object(value["message"])) };
			if (value["statusUpdate"]) {
				const event = object(value["statusUpdate"]);
				const said: Said = { status: { ...ids(event), status: readStatus(object(event["status"])) } };
				return old ? { ...said, final: event["final"] === true } : said;
			}
			if (!value["artifactUpdate"]) throw new Error(`an answer without a known member: ${JSON.stringify(json)}`);
			const event = object(value["artifactUpdate"]);
			const artifact = readArtifact(object(event["artifact"]));
			return {
				artifact: { ...ids(event), artifact, append: event["append"] === true, last: event["lastChunk"] === true },
			};
		},
	};
}
