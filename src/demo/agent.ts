/** The bundled demo agent's behaviour: it reports on a text, as a task, in memory (A2A v1.0 §3.1, all operations). */
import { randomUUID } from "node:crypto";
import { type DescMessage, type JsonObject, type MessageShape, toJson } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
	type A2AService,
	type Message,
	MessageSchema,
	TaskPushNotificationConfigSchema,
	TaskState,
	TaskStateSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Task, Tasks } from "./tasks.ts";

/** What becomes a JSON-RPC error: its code, and the reason of its ErrorInfo where A2A has one. */
export class DemoError extends Error {
	readonly code: number;
	readonly reason: string | undefined;
	constructor(code: number, reason: string | undefined, message: string) {
		super(message);
		this.code = code;
		this.reason = reason;
	}
}

const notFound = (what: string) => new DemoError(-32001, "TASK_NOT_FOUND", `No such ${what}`);
const invalid = (text: string) => new DemoError(-32602, undefined, text);
const unsupported = (text: string) => new DemoError(-32004, "UNSUPPORTED_OPERATION", text);

type Methods = (typeof A2AService)["method"];

/** One function for each operation, from the typed request to the ProtoJSON of the reply or of the stream's events. */
export type Operations = {
	readonly [K in keyof Methods]: (
		request: MessageShape<Methods[K]["input"]>,
	) => Methods[K]["methodKind"] extends "unary" ? JsonObject | Promise<JsonObject> : AsyncIterable<JsonObject>;
};

const MAX_CONFIGS = 20;

/** @param pace milliseconds between the events of a streamed task */
export function createAgent(pace = 100): Operations {
	const tasks = new Tasks();
	const configs = new WeakMap<Task, Map<string, JsonObject>>();

	const find = (id: string): Task => {
		const task = tasks.get(id);
		if (!task) throw notFound("task");
		return task;
	};
	const configsOf = (id: string): Map<string, JsonObject> => {
		const task = find(id);
		const own = configs.get(task) ?? new Map<string, JsonObject>();
		configs.set(task, own);
		return own;
	};
	const store = (id: string, taskId: string, config: MessageShape<typeof TaskPushNotificationConfigSchema>) => {
		const own = configsOf(taskId);
		if (own.size >= MAX_CONFIGS && !own.has(id)) throw invalid(`a task holds at most ${MAX_CONFIGS} configurations`);
		const stored = { ...json(TaskPushNotificationConfigSchema, config), id, taskId };
		own.set(id, stored);
		return stored;
	};

	/** A new task for a message, at work. */
	const start = (request: MessageShape<Methods["sendMessage"]["input"]>, step: number): Task => {
		const { message, configuration } = request;
		if (!message) throw invalid("message must be set");
		if (message.messageId === "") throw invalid("message.messageId must be set");
		if (message.parts.length === 0) throw invalid("message.parts must hold at least one part");
		history(configuration?.historyLength);
		if (message.taskId !== "") {
			find(message.taskId);
			throw unsupported("This agent takes one message for a task; send a new one without taskId");
		}
		const text = textOf(message);
		const contextId = message.contextId || randomUUID();
		const task = tasks.open(contextId, (id) => ({
			...json(MessageSchema, message),
			role: "ROLE_USER",
			taskId: id,
			contextId,
		}));
		const hook = configuration?.taskPushNotificationConfig;
		if (hook) store(hook.id || randomUUID(), task.id, hook);
		void work(task, text, step);
		return task;
	};

	return {
		async sendMessage(request) {
			const task = start(request, 0);
			const { returnImmediately, historyLength } = request.configuration ?? {};
			if (!returnImmediately) await task.finished;
			return { task: task.view(historyLength, true) };
		},
		sendStreamingMessage: (request) => start(request, pace).watch(request.configuration?.historyLength),
		subscribeToTask(request) {
			const task = find(request.id);
			if (task.done) throw unsupported("The task has ended");
			return task.watch(undefined);
		},
		getTask(request) {
			history(request.historyLength);
			return find(request.id).view(request.historyLength, true);
		},
		cancelTask(request) {
			const task = find(request.id);
			if (task.done) throw new DemoError(-32002, "TASK_NOT_CANCELABLE", "The task has ended");
			task.enter("TASK_STATE_CANCELED");
			return task.view(undefined, true);
		},
		listTasks(request) {
			const { pageSize = 50, pageToken, status, contextId, statusTimestampAfter: after } = request;
			history(request.historyLength);
			if (pageSize < 1 || pageSize > 100) throw invalid("pageSize must be from 1 to 100");
			if (!/^\d{0,9}$/.test(pageToken)) throw invalid("pageToken is not one of this agent's");
			const state = TaskStateSchema.values.find(({ number }) => number === status)?.name;
			if (state === undefined) throw invalid("status is not a state");
			const found = tasks
				.newestFirst()
				.filter((task) => contextId === "" || task.contextId === contextId)
				.filter((task) => status === TaskState.UNSPECIFIED || task.state === state)
				.filter((task) => !after || task.time >= timestampMs(after));
			const from = Number(pageToken);
			const page = found.slice(from, from + pageSize);
			return {
				tasks: page.map((task) => task.view(request.historyLength, request.includeArtifacts === true)),
				nextPageToken: from + page.length < found.length ? String(from + page.length) : "",
				pageSize: page.length,
				totalSize: found.length,
			};
		},
		createTaskPushNotificationConfig(request) {
			if (!URL.canParse(request.url)) throw invalid("url must be an absolute URL");
			return store(request.id || randomUUID(), request.taskId, request);
		},
		getTaskPushNotificationConfig(request) {
			const config = configsOf(request.taskId).get(request.id);
			if (!config) throw notFound("push notification configuration");
			return config;
		},
		listTaskPushNotificationConfigs: (request) => ({ configs: [...configsOf(request.taskId).values()] }),
		deleteTaskPushNotificationConfig(request) {
			configsOf(request.taskId).delete(request.id);
			return {};
		},
		getExtendedAgentCard() {
			throw unsupported("This agent has no extended card");
		},
	};
}

/** The ProtoJSON of a message that is an object there, as all of A2A's are. */
function json<T extends DescMessage>(type: T, message: MessageShape<T>): JsonObject {
	return toJson(type, message) as JsonObject;
}

function history(length: number | undefined): void {
	if (length !== undefined && length < 0) throw invalid("historyLength must not be negative");
}

function textOf(message: Message): string {
	const texts = message.parts.map(({ content }) => {
		if (content.case === "text") return content.value;
		throw new DemoError(-32005, "CONTENT_TYPE_NOT_SUPPORTED", "This agent understands text only");
	});
	return texts.join("\n");
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
	task.enter("TASK_STATE_WORKING");
	for (const [i, chunk] of chunks.entries()) {
		for (let second = 0; second < seconds && !task.done; second++) {
			await task.pause(1000);
			task.enter("TASK_STATE_WORKING");
		}
		await task.pause(step);
		task.append(chunk, i === chunks.length - 1);
	}
	await task.pause(step);
	task.enter("TASK_STATE_COMPLETED");
}
