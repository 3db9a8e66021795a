/** The bundled demo agent's behaviour: it reports on a text, as a task, in memory (A2A v0.3 §7, the JSON-RPC methods and their `kind` shapes). */
import { randomUUID } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Task, Tasks } from "./tasks.ts";

/** What becomes a JSON-RPC error (v0.3 §8). */
export class DemoError extends Error {
	readonly code: number;
	constructor(code: number, message: string) {
		super(message);
		this.code = code;
	}
}

const notFound = () => new DemoError(-32001, "Task not found");
const notCancelable = () => new DemoError(-32002, "Task cannot be canceled");
const unsupported = (text: string) => new DemoError(-32004, text);
const contentType = () => new DemoError(-32005, "Incompatible content types: this agent understands text only");
const invalid = (text: string) => new DemoError(-32602, `Invalid parameters: ${text}`);

/** A method answers with its result, or with the results of its events. */
export type Method = (params: JsonObject) => JsonValue | Promise<JsonValue> | AsyncGenerator<JsonObject, void>;

const MAX_HOOKS = 20;

/**
 * The methods by name.
 * @param pace milliseconds between the events of a streamed task
 * @param extendedCard the card for those who may see more
 */
export function createAgent(pace: number, extendedCard: () => JsonObject): ReadonlyMap<string, Method> {
	const tasks = new Tasks();

	const find = (id: JsonValue | undefined): Task => {
		if (typeof id !== "string") throw invalid("the task's id must be a string");
		const task = tasks.get(id);
		if (!task) throw notFound();
		return task;
	};

	/** A new task for a message, at work. */
	const start = (params: JsonObject, step: number): Task => {
		const message = object(params["message"], "message");
		const { messageId, role, kind, parts, taskId } = message;
		if (kind !== "message") throw invalid('message.kind must be "message"');
		if (typeof messageId !== "string" || messageId === "") throw invalid("message.messageId must be set");
		if (role !== "user") throw invalid('message.role must be "user"');
		if (!Array.isArray(parts) || parts.length === 0) throw invalid("message.parts must hold at least one part");
		const text = parts.map(textOf).join("\n");
		if (taskId !== undefined) {
			find(taskId);
			throw unsupported("This agent takes one message for a task; send a new one without taskId");
		}
		const hook = configuration(params)["pushNotificationConfig"];
		if (hook !== undefined) checkHook(object(hook, "configuration.pushNotificationConfig"));
		const contextId = typeof message["contextId"] === "string" ? message["contextId"] : randomUUID();
		const task = tasks.open(contextId, (id) => ({ ...message, taskId: id, contextId }));
		if (hook !== undefined) store(task, object(hook, "configuration.pushNotificationConfig"));
		void work(task, text, step);
		return task;
	};

	const methods: Readonly<Record<string, Method>> = {
		async "message/send"(params) {
			const { blocking } = configuration(params);
			const length = history(configuration(params));
			const task = start(params, 0);
			if (blocking !== false) await task.finished;
			return task.view(length);
		},
		"message/stream"(params) {
			const length = history(configuration(params));
			const task = start(params, pace);
			return task.watch(task.view(length));
		},
		"tasks/get": (params) => find(params["id"]).view(history(params)),
		"tasks/cancel"(params) {
			const task = find(params["id"]);
			if (task.done) throw notCancelable();
			task.enter("canceled");
			return task.view(undefined);
		},
		// What has been is not told again; who comes too late gets the task as it ended.
		"tasks/resubscribe"(params) {
			const task = find(params["id"]);
			return task.done ? task.watch(task.view(undefined)) : task.watch();
		},
		"tasks/pushNotificationConfig/set"(params) {
			const task = find(params["taskId"]);
			const hook = object(params["pushNotificationConfig"], "pushNotificationConfig");
			checkHook(hook);
			return store(task, hook);
		},
		"tasks/pushNotificationConfig/get"(params) {
			const task = find(params["id"]);
			const { pushNotificationConfigId: id } = params;
			const hook = typeof id === "string" ? task.hooks.get(id) : task.hooks.values().next().value;
			if (!hook) throw notFound();
			return { taskId: task.id, pushNotificationConfig: hook };
		},
		"tasks/pushNotificationConfig/list"(params) {
			const task = find(params["id"]);
			return [...task.hooks.values()].map((hook) => ({ taskId: task.id, pushNotificationConfig: hook }));
		},
		"tasks/pushNotificationConfig/delete"(params) {
			find(params["id"]).hooks.delete(String(params["pushNotificationConfigId"]));
			return null;
		},
		"agent/getAuthenticatedExtendedCard": extendedCard,
	};
	return new Map(Object.entries(methods));
}

/** Without an id of its own a configuration has the task's. */
function store(task: Task, hook: JsonObject): JsonObject {
	const id = typeof hook["id"] === "string" && hook["id"] !== "" ? hook["id"] : task.id;
	if (task.hooks.size >= MAX_HOOKS && !task.hooks.has(id))
		throw invalid(`a task holds at most ${MAX_HOOKS} configurations`);
	const stored = { ...hook, id };
	task.hooks.set(id, stored);
	return { taskId: task.id, pushNotificationConfig: stored };
}

function checkHook({ url }: JsonObject): void {
	if (typeof url !== "string" || !URL.canParse(url)) throw invalid("url must be an absolute URL");
}

function configuration(params: JsonObject): JsonObject {
	return params["configuration"] === undefined ? {} : object(params["configuration"], "configuration");
}

function history({ historyLength: length }: JsonObject): number | undefined {
	if (length === undefined || (Number.isInteger(length) && Number(length) >= 0)) return length as number | undefined;
	throw invalid("historyLength must be a whole number, not negative");
}

function object(value: JsonValue | undefined, name: string): JsonObject {
	if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
	throw invalid(`${name} must be an object`);
}

function textOf(part: JsonValue): string {
	const { kind, text } = object(part, "each of message.parts");
	if (kind === "file" || kind === "data") throw contentType();
	if (kind !== "text" || typeof text !== "string")
		throw invalid("each of message.parts must have a kind and its content");
	return text;
}

/** Two chunks of one artifact, then the end. "slow ..." takes half a minute, so that it can be watched and canceled. */
async function work(task: Task, text: string, step: number): Promise<void> {
	const words = text.split(/\s+/).filter(Boolean);
	const longest = words.reduce((a, b) => (b.length > a.length ? b : a), "");
	const chunks = [
		`${words.length} words, ${[...text].length} characters. `,
		`Longest word: ${longest || "none"}. Backwards: ${words.toReversed().join(" ")}`,
	];
	const seconds = /^slow\b/i.test(text) ? 15 : 0;
	await task.pause(step);
	task.enter("working");
	for (const [i, chunk] of chunks.entries()) {
		for (let second = 0; second < seconds && !task.done; second++) {
			await task.pause(1000);
			task.enter("working");
		}
		await task.pause(step);
		task.append(chunk, i === chunks.length - 1);
	}
	await task.pause(step);
	task.enter("completed");
}
