/** The demo agent's tasks: a bounded store, and tasks that tell their watchers what happens (A2A v1.0 §3.5.2, §4.1). */
import { randomUUID } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";

export type State = "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING" | "TASK_STATE_COMPLETED" | "TASK_STATE_CANCELED";

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
			oldest.enter("TASK_STATE_CANCELED");
		}
		return task;
	}

	get(id: string): Task | undefined {
		return this.#tasks.get(id);
	}

	newestFirst(): Task[] {
		return [...this.#tasks.values()].toReversed().toSorted((a, b) => b.time - a.time);
	}
}

export class Task {
	readonly id: string;
	readonly contextId: string;
	/** Settles when the task has ended. */
	readonly finished: Promise<void>;
	state: State = "TASK_STATE_SUBMITTED";
	/** Epoch milliseconds of the last state. */
	time = Date.now();
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
		return this.state === "TASK_STATE_COMPLETED" || this.state === "TASK_STATE_CANCELED";
	}

	get #status(): JsonObject {
		return { state: this.state, timestamp: new Date(this.time).toISOString() };
	}

	/** The task's ProtoJSON. */
	view(historyLength: number | undefined, artifacts: boolean): JsonObject {
		return {
			id: this.id,
			contextId: this.contextId,
			status: this.#status,
			...(historyLength !== 0 && { history: [this.#message] }),
			...(artifacts && this.#parts.length > 0 && { artifacts: [this.#artifact(this.#parts)] }),
		};
	}

	/** A state entered; nothing once the task has ended. */
	enter(state: State): void {
		if (this.done) return;
		this.state = state;
		this.time = Date.now();
		this.#tell({ statusUpdate: { taskId: this.id, contextId: this.contextId, status: this.#status } });
		if (!this.done) return;
		this.#wake();
		this.#finish();
	}

	/** One more piece of the report. */
	append(text: string, last: boolean): void {
		if (this.done) return;
		const part = { text, mediaType: "text/plain" };
		const append = this.#parts.push(part) > 1;
		const event = {
			taskId: this.id,
			contextId: this.contextId,
			artifact: this.#artifact([part]),
			append,
			lastChunk: last,
		};
		this.#tell({ artifactUpdate: event });
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

	/** The task as it is now, then what happens to it until its end. */
	async *watch(historyLength: number | undefined): AsyncIterable<JsonObject> {
		const events: JsonObject[] = [{ task: this.view(historyLength, true) }];
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
		for (const watcher of this.#watchers) watcher(event);
	}
}
