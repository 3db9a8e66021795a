/** What every test agent does, whatever it speaks: obeys the first words of a message. Nothing of src. */
import { Fault, type Reason } from "./fault.ts";
import {
	type Artifact,
	type Ask,
	defined,
	type Hook,
	isEnded,
	isStream,
	type Message,
	type Said,
	type State,
	type Task,
	textOf,
} from "./model.ts";

/** What an agent's version can do. */
export interface Nature {
	/** The client names the task; there are no bare messages and no task events (v0.1). */
	readonly clientIds: boolean;
	/** Subscribing to a finished task is an error (v1.0); else the task, then the end. */
	readonly liveOnly: boolean;
	/** A subscription begins with the task (v1.0). */
	readonly snapshot: boolean;
}

const at = (n: number): string => `2026-09-01T08:00:0${n % 10}.125Z`;
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

class Live {
	task: Task;
	readonly events: Said[] = [];
	readonly hooks = new Map<string, Hook>();
	/** Set while the task waits to be finished or canceled. */
	release: ((state: State) => void) | undefined;
	running = false;
	readonly wakers = new Set<() => void>();
	constructor(task: Task) {
		this.task = task;
	}
	push(said: Said): void {
		this.events.push(said);
		for (const wake of this.wakers) wake();
	}
	stop(): void {
		this.running = false;
		for (const wake of this.wakers) wake();
	}
	/** Events from `index` on, until the agent rests. */
	async *follow(index: number): AsyncGenerator<Said> {
		for (let i = index; ; ) {
			const next = this.events[i];
			if (next) {
				i++;
				yield next;
			} else if (!this.running) return;
			else
				await new Promise<void>((resolve) => {
					const wake = (): void => {
						this.wakers.delete(wake);
						resolve();
					};
					this.wakers.add(wake);
				});
		}
	}
	async rest(): Promise<void> {
		for await (const _ of this.follow(this.events.length));
	}
}

/**
 * Words: `message X` a bare Message; `task N` N artifacts; `chunks` one artifact in two chunks; `bare` a stream without a
 * Task at its head (where the version allows it); `echo` the message's own parts as an artifact; `input` asks back; `wait` works until finished or
 * canceled; `fail`, `reject`, `auth` states; `error:REASON` an error.
 */
export class Brain {
	/** Everything asked, in order. Empty it between runs. */
	readonly asks: Ask[] = [];
	/** Everything answered, in order: unary answers and events. */
	readonly said: Said[] = [];
	readonly tasks = new Map<string, Live>();
	readonly nature: Nature;
	#made = 0;
	constructor(nature: Nature) {
		this.nature = nature;
	}

	forget(): void {
		this.asks.length = 0;
		this.said.length = 0;
	}
	/** Ends a task that was told to wait. */
	finish(taskId: string): void {
		this.tasks.get(taskId)?.release?.("completed");
	}
	/** Unary operations. Throws Fault. */
	async answer(ask: Ask): Promise<Said> {
		this.asks.push(ask);
		const said = await this.#answer(ask);
		this.said.push(said);
		return said;
	}
	/** Streams. Throws Fault before the first event or between two. */
	async *listen(ask: Ask): AsyncGenerator<Said> {
		this.asks.push(ask);
		if (!isStream(ask.op)) throw new Error(`${ask.op} is no stream`);
		for await (const said of ask.op === "stream" ? this.#stream(ask) : this.#subscribe(ask)) {
			this.said.push(said);
			yield said;
		}
	}

	async #answer(ask: Ask): Promise<Said> {
		if (ask.op === "send") return this.#send(ask);
		if (ask.op === "card") return { card: {} };
		if (ask.op === "list") {
			const found = [...this.tasks.values()].map((live) => live.task);
			const here = found.filter((task) => ask.contextId === undefined || task.contextId === ask.contextId);
			return { tasks: here.map((task) => ({ ...task, artifacts: [], history: [] })) };
		}
		const live = this.#live(ask.taskId);
		switch (ask.op) {
			case "get":
				return { task: shown(live.task, ask.historyLength) };
			case "cancel":
				if (!live.release) throw new Fault("TASK_NOT_CANCELABLE");
				live.release("canceled");
				await live.rest();
				return { task: live.task };
			case "pushCreate":
				return { hook: { taskId: live.task.id, hook: this.#hook(live, ask.hook) } };
			case "pushGet": {
				const hook = ask.hookId ? live.hooks.get(ask.hookId) : [...live.hooks.values()][0];
				if (!hook) throw new Fault("TASK_NOT_FOUND", "no such configuration");
				return { hook: { taskId: live.task.id, hook } };
			}
			case "pushList":
				return { hooks: { taskId: live.task.id, list: [...live.hooks.values()] } };
			case "pushDelete":
				live.hooks.delete(ask.hookId ?? "");
				return { done: true };
			default:
				throw new Fault("METHOD_NOT_FOUND");
		}
	}

	#live(id: string | undefined): Live {
		const live = this.tasks.get(id ?? "");
		if (!live) throw new Fault("TASK_NOT_FOUND");
		return live;
	}
	#hook(live: Live, hook: Hook | undefined): Hook {
		if (!hook?.url) throw new Fault("INVALID_PARAMS", "no url");
		const { id: _, ...rest } = hook;
		const stored: Hook = this.nature.clientIds ? rest : { ...rest, id: hook.id || `hook-${++this.#made}` };
		live.hooks.set(stored.id ?? "", stored);
		return stored;
	}

	/** The task a message goes to, begun anew if it has none; undefined when a Message is the answer. */
	#begin(ask: Ask): { live: Live; message: Message } | { reply: Message } {
		const { message } = ask;
		if (!message || message.parts.length === 0) throw new Fault("INVALID_PARAMS", "no message");
		const words = textOf(message);
		if (words.startsWith("error:")) throw new Fault(words.slice("error:".length) as Reason, "as you asked");
		const known = this.tasks.get(ask.taskId ?? "");
		if (known) {
			if (isEnded(known.task.status.state)) throw new Fault("UNSUPPORTED_OPERATION", "the task has ended");
			if (known.running) throw new Fault("UNSUPPORTED_OPERATION", "busy");
			return { live: known, message };
		}
		if (ask.taskId && !this.nature.clientIds) throw new Fault("TASK_NOT_FOUND");
		const contextId = ask.contextId ?? (this.nature.clientIds ? undefined : `c-${++this.#made}`);
		if (words.startsWith("message ") && !this.nature.clientIds) {
			return { reply: defined<Message>({ ...agentSays(words.slice("message ".length)), contextId }) };
		}
		const id = ask.taskId || `t-${++this.#made}`;
		const task: Task = defined({
			id,
			contextId,
			status: { state: "submitted", timestamp: at(0) },
			artifacts: [],
			history: [],
		});
		const live = new Live(task);
		this.tasks.set(id, live);
		if (ask.hook) this.#hook(live, ask.hook);
		return { live, message };
	}

	async #send(ask: Ask): Promise<Said> {
		const begun = this.#begin(ask);
		if ("reply" in begun) return { message: begun.reply };
		const { live, message } = begun;
		void this.#run(live, message);
		if (ask.wait !== false) await live.rest();
		return { task: shown(live.task, ask.historyLength) };
	}

	async *#stream(ask: Ask): AsyncGenerator<Said> {
		const begun = this.#begin(ask);
		if ("reply" in begun) {
			yield { message: begun.reply };
			return;
		}
		const { live, message } = begun;
		const from = live.events.length;
		const bare = textOf(message).startsWith("bare") && !this.nature.snapshot;
		if (!this.nature.clientIds && !bare) live.push({ task: live.task });
		void this.#run(live, message);
		yield* live.follow(from);
	}

	async *#subscribe(ask: Ask): AsyncGenerator<Said> {
		const live = this.#live(ask.taskId);
		if (!live.running) {
			if (this.nature.liveOnly) throw new Fault("UNSUPPORTED_OPERATION", "the task has ended");
			if (!this.nature.clientIds) yield { task: live.task };
			else yield this.#status(live);
			return;
		}
		const from = live.events.length;
		if (this.nature.snapshot) yield { task: live.task };
		yield* live.follow(from);
	}

	#status(live: Live): Said {
		const { id, contextId, status } = live.task;
		return { status: defined({ taskId: id, contextId, status }) };
	}

	async #run(live: Live, message: Message): Promise<void> {
		live.running = true;
		const { id, contextId } = live.task;
		const ids = defined<{ taskId: string; contextId?: string }>({ taskId: id, contextId });
		const said = defined<Message>({ ...message, ...ids });
		const again = live.task.history.length > 0;
		live.task = { ...live.task, history: [...live.task.history, said] };
		let n = 0;
		const state = (to: State, words?: string): void => {
			const reply = words === undefined ? undefined : defined<Message>({ ...agentSays(words), ...ids });
			live.task = { ...live.task, status: defined({ state: to, message: reply, timestamp: at(++n) }) };
			live.push(this.#status(live));
		};
		const artifact = (made: Artifact, append = false, last = true): void => {
			const before = live.task.artifacts.find((each) => each.id === made.id);
			const whole = append && before ? { ...before, parts: [...before.parts, ...made.parts] } : made;
			live.task = { ...live.task, artifacts: [...live.task.artifacts.filter((each) => each !== before), whole] };
			live.push({ artifact: { ...ids, artifact: made, append, last } });
		};
		/** v0.1 counts its artifacts from 0. */
		const name = (i: number): string => (this.nature.clientIds ? `#${i - 1}` : `a-${i}`);
		const [word = "", argument = ""] = textOf(message).split(" ");
		await tick();
		if (again) {
			state("completed", `got ${textOf(message)}`);
			return live.stop();
		}
		state("working", "at it");
		if (word === "message") state("completed", textOf(message).slice("message ".length));
		else if (word === "input") state("input-required", "which one?");
		else if (word === "auth") state(this.nature.clientIds ? "input-required" : "auth-required", "log in");
		else if (word === "fail") state("failed", "broken");
		else if (word === "reject") state(this.nature.clientIds ? "failed" : "rejected", "no");
		else if (word === "wait") {
			const to = await new Promise<State>((resolve) => {
				live.release = resolve;
			});
			live.release = undefined;
			state(to);
		} else {
			if (word === "echo") artifact({ id: name(1), parts: message.parts });
			if (word === "chunks") {
				artifact({ id: name(1), name: "Report", parts: [{ text: "one " }] }, false, false);
				await tick();
				artifact({ id: name(1), name: "Report", parts: [{ text: "two" }, { data: { bed: 7 } }] }, true, true);
			}
			for (let i = 1; (word === "task" || word === "bare") && i <= Number(argument || 0); i++) {
				artifact({ id: name(i), name: `No. ${i}`, parts: [{ text: `number ${i}` }] });
				await tick();
			}
			state("completed", "done");
		}
		live.stop();
	}
}

export const agentSays = (words: string): Message => ({
	role: "agent",
	id: `m-${crypto.randomUUID()}`,
	parts: [{ text: words }],
});

/** A task with as much history as was asked for; all of it when nothing was asked. */
function shown(task: Task, historyLength: number | undefined): Task {
	if (historyLength === undefined) return task;
	return { ...task, history: historyLength === 0 ? [] : task.history.slice(-historyLength) };
}
