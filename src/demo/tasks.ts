/** The demo agent's tasks: a bounded store, and tasks that tell their watchers what happens (A2A v0.3 §6.1, §7.2). */
import { randomUUID } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";

export type State = "submitted" | "working" | "completed" | "canceled";

const MAX_TASKS = 1000;

/** The newest thousand; an older one that is still at work is canceled. */
export class Tasks {
	readonly #tasks = new Map<string, Task>();

	open(contextId: string, message: (taskId: string) => JsonObject): Task {
		const id = randomUUID();
		const task = new Task(id, contextId, message(id));
		this.#tasks.set(id, task);
		for (const [key, oldest] of this.#tasks) {
			if (this.#tasks.size <= MAX_TASKS) break;
			this.#tasks.delete(key);
			oldest.enter("canceled");
		}
		return task;
	}

	get(id: string): Task | undefined {
		return this.#tasks.get(id);
	}
}

export class Task {
	readonly id: string;
	readonly contextId: string;
	/** Settles when the task has ended. */
	readonly finished: Promise<void>;
	/** PushNotificationConfig objects by their id, in the order they came. */
	readonly hooks = new Map<string, JsonObject>();
	#state: State = "submitted";
	#time = new Date();
	readonly #message: JsonObject;
	readonly #parts: JsonObject[] = [];
	readonly #watchers = new Set<(event: JsonObject) => void>();
	#finish: () => void = () => {};
	#wake: () => void = () => {};

	constructor(id: string, contextId: string, message: JsonObject) {
		this.id = id;
		this.contextId = contextId;
		this.#message = message;
		this.finished = new Promise((resolve) => {
			this.#finish = resolve;
		});
	}

	get done(): boolean {
		return this.#state === "completed" || this.#state === "canceled";
	}

	get #status(): JsonObject {
		return { state: this.#state, timestamp: this.#time.toISOString() };
	}

	/** The task as JSON. @param historyLength most messages of its history; absent = all */
	view(historyLength: number | undefined): JsonObject {
		return {
			kind: "task",
			id: this.id,
			contextId: this.contextId,
			status: this.#status,
			...(historyLength !== 0 && { history: [this.#message] }),
			...(this.#parts.length > 0 && { artifacts: [this.#artifact(this.#parts)] }),
		};
	}

	/** A state entered; nothing once the task has ended. */
	enter(state: State): void {
		if (this.done) return;
		this.#state = state;
		this.#time = new Date();
		this.#tell({ kind: "status-update", status: this.#status, final: this.done });
		if (!this.done) return;
		this.#wake();
		this.#finish();
	}

	/** One more piece of the report. */
	append(text: string, last: boolean): void {
		if (this.done) return;
		const part = { kind: "text", text };
		const append = this.#parts.push(part) > 1;
		this.#tell({ kind: "artifact-update", artifact: this.#artifact([part]), append, lastChunk: last });
	}

	/** Waits, but not beyond the task's end. */
	async pause(ms: number): Promise<void> {
		if (ms === 0 || this.done) return;
		await new Promise<void>((resolve) => {
			const timer = setTimeout(resolve, ms);
			timer.unref();
			this.#wake = () => {
				clearTimeout(timer);
				resolve();
			};
		});
	}

	/** What happens to the task from now on, until its end. @param events what comes before that */
	async *watch(...events: JsonObject[]): AsyncGenerator<JsonObject, void> {
		let arrived: () => void = () => {};
		const watcher = (event: JsonObject) => {
			events.push(event);
			arrived();
		};
		this.#watchers.add(watcher);
		try {
			for (;;) {
				const event = events.shift();
				if (event) yield event;
				else if (this.done) return;
				else {
					await new Promise<void>((resolve) => {
						arrived = resolve;
					});
				}
			}
		} finally {
			this.#watchers.delete(watcher);
		}
	}

	#artifact(parts: readonly JsonObject[]): JsonObject {
		return { artifactId: "report", name: "report", parts: [...parts] };
	}

	#tell(event: JsonObject): void {
		for (const watcher of this.#watchers) watcher({ ...event, taskId: this.id, contextId: this.contextId });
	}
}
