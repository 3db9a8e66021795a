/** What a caller does and must see, whatever it speaks and whatever the agent speaks. */
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { Refused } from "../peer/older/fault.ts";
import {
	type Ask,
	defined,
	type Hook,
	type Message,
	type Operation,
	type Part,
	type Said,
	type Task,
	textOf,
} from "../peer/older/model.ts";
import type { OlderAgent, OlderClient } from "../peer/older/peer.ts";

/** Equal: the same operation, the same answer. Emulated: by other means or in other terms. Lossy: something is gone, and the loss header says so. */
export type Outcome = "equal" | "emulated" | "lossy" | `refused ${number}` | "–";

export interface Lane {
	readonly client: OlderClient;
	readonly agent: OlderAgent;
}

export interface Scenario {
	readonly name: string;
	/** What the client must know. */
	readonly needs: readonly Operation[];
	/** More that the client's version must have. */
	readonly only?: (client: OlderClient) => boolean;
	/** Fails by `expect`; throws Refused when the last step was refused. */
	run(lane: Lane): Promise<Outcome>;
}

const HOOK: Hook = {
	url: "https://client.example/hooks/gh",
	token: "hook-42",
	scheme: "Bearer",
	credentials: "s3cr3t",
};

const user = (words: string, ...parts: Part[]): Message => ({
	role: "user",
	id: `m-${crypto.randomUUID()}`,
	parts: [{ text: words }, ...parts],
});

/** A send as this client makes it: v0.1 names its task. */
function sending(client: OlderClient, words: string, more: Partial<Ask> = {}, op: "send" | "stream" = "send"): Ask {
	const ids = client.form.version === "0.1" && more.taskId === undefined ? { taskId: `cl-${crypto.randomUUID()}` } : {};
	return { op, message: user(words), ...ids, ...more };
}

/** Message ids and the ids inside messages are anybody's; `final` is checked on its own. */
function normal(said: Said, client: OlderClient): unknown {
	const message = ({ id: _, taskId: _t, contextId: _c, ...rest }: Message): unknown => rest;
	const status = (each: Task["status"]): unknown =>
		defined({ ...each, message: each.message && message(each.message) });
	const task = (each: Task): unknown => ({
		...each,
		status: status(each.status),
		history: each.history.map(message),
	});
	const event = <T extends { contextId?: string }>({ contextId, ...rest }: T): unknown =>
		// v0.1 events do not name their session.
		client.form.version === "0.1" ? rest : { ...rest, contextId };
	const { final: _, ...rest } = said;
	return defined({
		...rest,
		task: said.task && task(said.task),
		tasks: said.tasks?.map(task),
		message: said.message && { ...(message(said.message) as object), contextId: said.message.contextId },
		status: said.status && event({ ...said.status, status: status(said.status.status) as Task["status"] }),
		artifact: said.artifact && event(said.artifact),
	});
}

/** Did the agent hear this one operation, and the client exactly what the agent said? */
function verdict({ client, agent }: Lane, op: Operation, got: readonly Said[]): Outcome {
	const heard = agent.brain.asks.map((ask) => ask.op);
	const told = agent.brain.said.map((said) => normal(said, client));
	const same = isDeepStrictEqual(
		JSON.parse(JSON.stringify(got.map((said) => normal(said, client)))),
		JSON.parse(JSON.stringify(told)),
	);
	return same && isDeepStrictEqual(heard, [op]) ? "equal" : "emulated";
}

/** The task of an answer to a send; a bare Message has none. */
function taskOf(said: Said): Task {
	if (!said.task) throw new Error(`no task: ${JSON.stringify(said)}`);
	return said.task;
}
async function all(stream: AsyncIterable<Said>): Promise<Said[]> {
	const got: Said[] = [];
	for await (const said of stream) got.push(said);
	return got;
}

/** Every stream of every version: order, ids, its head and its end. */
function expectStream(client: OlderClient, got: readonly Said[]): void {
	const [first] = got;
	const last = got.at(-1);
	const ids = new Set(got.map((said) => said.task?.id ?? said.status?.taskId ?? said.artifact?.taskId ?? ""));
	expect(ids.size, "events of one task").toBe(1);
	if (client.form.version === "1.0") {
		expect(first?.task ?? first?.message, `a v1.0 stream begins with a Task: ${JSON.stringify(first)}`).toBeDefined();
		for (const { status, artifact } of got)
			expect((status ?? artifact)?.contextId ?? (status || artifact ? "" : "-"), "context").not.toBe("");
	} else if (last?.status) {
		expect(last.final, "final of the last status").toBe(true);
		for (const said of got.slice(0, -1)) expect(said.final ?? false, "final before the end").toBe(false);
	}
	if (client.form.version === "0.1") for (const said of got) expect(said.task ?? said.message).toBeUndefined();
}
const finalState = (got: readonly Said[]): string | undefined => {
	const last = got.findLast((said) => said.status ?? said.task);
	return (last?.status?.status ?? last?.task?.status)?.state;
};
const artifactTexts = (got: readonly Said[]): string[] =>
	got.flatMap((said) => (said.artifact ? [said.artifact.artifact.parts.map((part) => part.text ?? "").join("|")] : []));

/** A task the agent has finished. */
async function finished({ client, agent }: Lane, words = "task 1"): Promise<Task> {
	const { task } = await client.ask(sending(client, words));
	agent.brain.forget();
	return taskOf({ ...(task && { task }) });
}

/** A task at work, with its stream open. */
async function running({ client, agent }: Lane): Promise<{ id: string; rest: Promise<Said[]> }> {
	const ask = sending(client, "wait", {}, "stream");
	const stream = client.listen(ask)[Symbol.asyncIterator]();
	for (;;) {
		const next = await stream.next();
		if (next.done) throw new Error("the stream ended");
		const { task, status } = next.value;
		const state = (task?.status ?? status?.status)?.state;
		if (state !== "working") continue;
		agent.brain.forget();
		const rest = async (): Promise<Said[]> => {
			const got: Said[] = [];
			for (let more = await stream.next(); !more.done; more = await stream.next()) got.push(more.value);
			return got;
		};
		return { id: task?.id ?? status?.taskId ?? "", rest: rest() };
	}
}
/** The agent's own id of the one task that works. */
function working({ agent }: Lane): string {
	const found = [...agent.brain.tasks.values()].filter((live) => live.release);
	expect(found).toHaveLength(1);
	return found[0]?.task.id ?? "";
}

const unary = (op: Operation, make: (task: Task) => Partial<Ask>, words?: string): Scenario["run"] =>
	async function run(lane) {
		const task = await finished(lane, words);
		const got = await lane.client.ask({ op, taskId: task.id, ...make(task) });
		return verdict(lane, op, [got]);
	};

const echo = (name: string, ...parts: Part[]): Scenario => ({
	name,
	needs: ["send"],
	async run(lane) {
		const message = user("echo", ...parts);
		const got = await lane.client.ask(sending(lane.client, "", { message }));
		const task = taskOf(got);
		const seen = task.artifacts[0]?.parts;
		if (isDeepStrictEqual(seen, message.parts)) return verdict(lane, "send", [got]);
		expect(lane.client.header["a2a-gateway-loss"], `lost unsaid: ${JSON.stringify(seen)}`).toBeTruthy();
		return "lossy";
	},
});

const state = (word: string, want: readonly string[]): Scenario => ({
	name: `state: ${word}`,
	needs: ["send"],
	async run(lane) {
		const got = await lane.client.ask(sending(lane.client, word));
		expect(want).toContain(taskOf(got).status.state);
		return verdict(lane, "send", [got]);
	},
});

const failing = (name: string, words: string): Scenario => ({
	name,
	needs: ["send"],
	async run(lane) {
		await lane.client.ask(sending(lane.client, words));
		throw new Error("no error");
	},
});

const names01 = (client: OlderClient): boolean => client.form.version === "0.1";
const newer = (client: OlderClient): boolean => client.form.version !== "0.1";

export const scenarios: readonly Scenario[] = [
	{
		name: "send, answered with a task",
		needs: ["send"],
		async run(lane) {
			const got = await lane.client.ask(sending(lane.client, "task 2"));
			const task = taskOf(got);
			expect(task.status.state).toBe("completed");
			expect(task.artifacts.map(({ name, parts }) => [name, parts[0]?.text])).toEqual([
				["No. 1", "number 1"],
				["No. 2", "number 2"],
			]);
			expect(new Set(task.artifacts.map(({ id }) => id)).size).toBe(2);
			return verdict(lane, "send", [got]);
		},
	},
	{
		name: "send, answered with a message",
		needs: ["send"],
		async run(lane) {
			const got = await lane.client.ask(sending(lane.client, "message good day"));
			const said = got.message ?? got.task?.status.message;
			expect(said && textOf(said)).toBe("good day");
			if (got.task) expect(got.task.status.state).toBe("completed");
			return verdict(lane, "send", [got]);
		},
	},
	{
		name: "send, not waiting",
		needs: ["send"],
		only: newer,
		async run(lane) {
			const got = await lane.client.ask(sending(lane.client, "task 1", { wait: false }));
			expect(taskOf(got).id).not.toBe("");
			const [ask] = lane.agent.brain.asks;
			if (ask?.wait === false) return verdict(lane, "send", [got]);
			expect(lane.client.header["a2a-gateway-loss"], "not waiting was lost unsaid").toBeTruthy();
			return "lossy";
		},
	},
	{
		name: "send with a webhook",
		needs: ["send"],
		async run(lane) {
			const got = await lane.client.ask(sending(lane.client, "task 1", { hook: HOOK }));
			const { id: _, ...hook } = lane.agent.brain.asks[0]?.hook ?? { url: "" };
			expect(hook).toEqual(HOOK);
			return verdict(lane, "send", [got]);
		},
	},
	{
		name: "send with history and modes",
		needs: ["send"],
		async run(lane) {
			const more = { historyLength: 1, wait: true, modes: ["text/plain"], metadata: { trace: "x-1" } };
			const got = await lane.client.ask(sending(lane.client, "task 1", more));
			const [ask] = lane.agent.brain.asks;
			expect(ask?.historyLength).toBe(1);
			expect(ask?.metadata).toEqual({ trace: "x-1" });
			return verdict(lane, "send", [got]);
		},
	},
	echo(
		"files and data",
		{ bytes: "aGVsbG8=", mime: "text/plain" },
		{ uri: "https://files.example/bed7.csv", mime: "text/csv" },
		{ data: { bed: 7, deep: [1, { two: null }] } },
	),
	echo("file name", { uri: "https://files.example/bed7.csv", name: "bed7.csv", mime: "text/csv" }),
	echo("part metadata", { text: "x", metadata: { page: 3 } }),
	{
		...echo("data that is no object", { data: [1, "two", null] }),
		only: (client) => client.form.version === "1.0",
	},
	state("fail", ["failed"]),
	state("reject", ["rejected", "failed"]),
	state("auth", ["auth-required", "input-required"]),
	{
		name: "input asked for and given",
		needs: ["send"],
		async run(lane) {
			const first = taskOf(await lane.client.ask(sending(lane.client, "input")));
			expect(first.status.state).toBe("input-required");
			lane.agent.brain.forget();
			const got = await lane.client.ask(sending(lane.client, "the blue one", { taskId: first.id }));
			const task = taskOf(got);
			expect(task.id).toBe(first.id);
			expect(task.status.state).toBe("completed");
			expect(task.status.message && textOf(task.status.message)).toBe("got the blue one");
			return verdict(lane, "send", [got]);
		},
	},
	{
		name: "send to a finished task",
		needs: ["send"],
		async run(lane) {
			const task = await finished(lane);
			// Other words: to a v0.1 client's gateway the same ones are a retry.
			const got = await lane.client.ask(sending(lane.client, "task 3", { taskId: task.id }));
			throw new Error(`no error: ${JSON.stringify(got)}`);
		},
	},
	{
		name: "send to an unknown task",
		needs: ["send"],
		only: newer,
		async run(lane) {
			await lane.client.ask(sending(lane.client, "task 1", { taskId: "nobody-knows" }));
			throw new Error("no error");
		},
	},
	{
		name: "the same send twice",
		needs: ["send"],
		only: names01,
		async run(lane) {
			const before = lane.agent.brain.tasks.size;
			const ask = sending(lane.client, "task 1");
			const one = taskOf(await lane.client.ask(ask));
			let two: Task | undefined;
			try {
				two = taskOf(await lane.client.ask(ask));
			} catch (error) {
				// A v0.1 agent has its own view of repeated ids; the gateway adds none.
				if (!(error instanceof Refused) || lane.agent.form.version !== "0.1") throw error;
			}
			if (two) expect({ id: two.id, status: two.status }).toEqual({ id: one.id, status: one.status });
			expect(lane.agent.brain.tasks.size - before, "tasks made").toBe(1);
			return lane.agent.brain.asks.length === 2 && lane.agent.form.version === "0.1" ? "equal" : "emulated";
		},
	},
	{
		name: "the same send, five at once",
		needs: ["send"],
		only: names01,
		async run(lane) {
			const before = lane.agent.brain.tasks.size;
			const ask = sending(lane.client, "task 1");
			const got = await Promise.allSettled(Array.from({ length: 5 }, () => lane.client.ask(ask)));
			const tasks = got.flatMap((each) => (each.status === "fulfilled" ? [taskOf(each.value)] : []));
			if (lane.agent.form.version === "0.1") expect(tasks.length).toBeGreaterThan(0);
			else expect(tasks, JSON.stringify(got)).toHaveLength(5);
			expect(new Set(tasks.map(({ id }) => id))).toEqual(new Set([ask.taskId]));
			expect(lane.agent.brain.tasks.size - before, "tasks made").toBe(1);
			return lane.agent.form.version === "0.1" ? "equal" : "emulated";
		},
	},
	{
		name: "stream of a task",
		needs: ["stream"],
		async run(lane) {
			const got = await all(lane.client.listen(sending(lane.client, "task 2", {}, "stream")));
			expectStream(lane.client, got);
			expect(artifactTexts(got)).toEqual(["number 1", "number 2"]);
			expect(finalState(got)).toBe("completed");
			return verdict(lane, "stream", got);
		},
	},
	{
		name: "stream in chunks",
		needs: ["stream"],
		async run(lane) {
			const got = await all(lane.client.listen(sending(lane.client, "chunks", {}, "stream")));
			expectStream(lane.client, got);
			const chunks = got.flatMap((said) => (said.artifact ? [said.artifact] : []));
			expect(chunks.map(({ append, last }) => [append, last])).toEqual([
				[false, false],
				[true, true],
			]);
			expect(new Set(chunks.map(({ artifact }) => artifact.id)).size).toBe(1);
			expect(chunks[1]?.artifact.parts).toEqual([{ text: "two" }, { data: { bed: 7 } }]);
			return verdict(lane, "stream", got);
		},
	},
	{
		name: "stream of one message",
		needs: ["stream"],
		async run(lane) {
			const got = await all(lane.client.listen(sending(lane.client, "message hello", {}, "stream")));
			const said = got.map((each) => each.message ?? each.status?.status.message).find((each) => each !== undefined);
			const texts = got.flatMap((each) => {
				const message = each.message ?? each.status?.status.message;
				return message ? [textOf(message)] : [];
			});
			expect(said).toBeDefined();
			expect(texts.at(-1)).toBe("hello");
			expectStream(lane.client, got);
			return verdict(lane, "stream", got);
		},
	},
	{
		name: "stream without a task at its head",
		needs: ["stream"],
		async run(lane) {
			const got = await all(lane.client.listen(sending(lane.client, "bare 1", {}, "stream")));
			expectStream(lane.client, got);
			expect(finalState(got)).toBe("completed");
			return verdict(lane, "stream", got);
		},
	},
	{
		name: "stream that ends by asking",
		needs: ["stream"],
		async run(lane) {
			const got = await all(lane.client.listen(sending(lane.client, "input", {}, "stream")));
			expectStream(lane.client, got);
			expect(finalState(got)).toBe("input-required");
			return verdict(lane, "stream", got);
		},
	},
	{ name: "get", needs: ["get"], run: unary("get", () => ({})) },
	{
		name: "get with the last of its history",
		needs: ["get"],
		async run(lane) {
			const first = await finished(lane, "input");
			await lane.client.ask(sending(lane.client, "the blue one", { taskId: first.id }));
			lane.agent.brain.forget();
			const got = await lane.client.ask({ op: "get", taskId: first.id, historyLength: 1 });
			expect(taskOf(got).history.map(textOf)).toEqual(["the blue one"]);
			return verdict(lane, "get", [got]);
		},
	},
	{
		name: "get without history",
		needs: ["get"],
		only: (client) => client.form.version === "1.0",
		async run(lane) {
			const task = await finished(lane);
			const got = await lane.client.ask({ op: "get", taskId: task.id, historyLength: 0 });
			expect(taskOf(got).history).toEqual([]);
			return verdict(lane, "get", [got]);
		},
	},
	{
		name: "get of an unknown task",
		needs: ["get"],
		async run({ client }) {
			await client.ask({ op: "get", taskId: "nobody-knows" });
			throw new Error("no error");
		},
	},
	{
		name: "list",
		needs: ["list"],
		async run(lane) {
			const task = await finished(lane);
			const contextId = task.contextId ?? "";
			const got = await lane.client.ask({ op: "list", contextId });
			expect(got.tasks?.map(({ id }) => id)).toEqual([task.id]);
			return verdict(lane, "list", [got]);
		},
	},
	{
		name: "cancel",
		needs: ["cancel", "stream"],
		async run(lane) {
			const { id, rest } = await running(lane);
			const got = await lane.client.ask({ op: "cancel", taskId: id });
			expect(taskOf(got)).toMatchObject({ id, status: { state: "canceled" } });
			expect(finalState(await rest)).toBe("canceled");
			const { asks, said } = lane.agent.brain;
			const only = said.filter((each) => each.task);
			said.splice(0, said.length, ...only);
			return verdict({ ...lane, agent: { ...lane.agent, brain: lane.agent.brain } }, asks[0]?.op ?? "cancel", [got]);
		},
	},
	{
		name: "cancel of a finished task",
		needs: ["cancel"],
		run: unary("cancel", () => ({})),
	},
	{
		name: "resubscribe",
		needs: ["subscribe", "stream"],
		async run(lane) {
			const { id, rest } = await running(lane);
			const more = lane.client.listen({ op: "subscribe", taskId: id });
			const got = all(more);
			// Finished once the agent has the second stream.
			await until(() => lane.agent.brain.asks.some((ask) => ask.op === "subscribe"));
			await new Promise((resolve) => setTimeout(resolve, 5));
			lane.agent.brain.finish(working(lane));
			const seen = await got;
			expect(finalState(seen)).toBe("completed");
			expectStream(lane.client, seen);
			expect(finalState(await rest)).toBe("completed");
			const same = lane.agent.brain.asks.every((ask) => ask.op === "subscribe");
			// The first stream said the last event too.
			const told = lane.agent.brain.said.slice(0, -1);
			lane.agent.brain.said.splice(0, lane.agent.brain.said.length, ...told);
			return same ? verdict(lane, "subscribe", seen) : "emulated";
		},
	},
	{
		name: "resubscribe to a finished task",
		needs: ["subscribe"],
		async run(lane) {
			const task = await finished(lane);
			const got = await all(lane.client.listen({ op: "subscribe", taskId: task.id }));
			expect(finalState(got)).toBe("completed");
			return verdict(lane, "subscribe", got);
		},
	},
	{
		name: "resubscribe to an unknown task",
		needs: ["subscribe"],
		async run({ client }) {
			await all(client.listen({ op: "subscribe", taskId: "nobody-knows" }));
			throw new Error("no error");
		},
	},
	{
		name: "webhook: set",
		needs: ["pushCreate"],
		async run(lane) {
			const task = await finished(lane);
			const got = await lane.client.ask({ op: "pushCreate", taskId: task.id, hook: HOOK });
			expect(got.hook?.taskId).toBe(task.id);
			expect(got.hook?.hook).toMatchObject(HOOK);
			return verdict(lane, "pushCreate", [got]);
		},
	},
	{
		name: "webhook: get",
		needs: ["pushCreate", "pushGet"],
		async run(lane) {
			const task = await finished(lane);
			const set = await lane.client.ask({ op: "pushCreate", taskId: task.id, hook: HOOK });
			lane.agent.brain.forget();
			const hookId = set.hook?.hook.id ?? "";
			const got = await lane.client.ask(defined({ op: "pushGet", taskId: task.id, hookId: hookId || undefined }));
			expect(got.hook?.taskId).toBe(task.id);
			expect(got.hook?.hook).toMatchObject(HOOK);
			return verdict(lane, "pushGet", [got]);
		},
	},
	{
		name: "webhook: get without an id",
		needs: ["pushCreate", "pushGet"],
		only: ({ form }) => form.binding === "JSONRPC" && form.version !== "1.0",
		async run(lane) {
			const task = await finished(lane);
			await lane.client.ask({ op: "pushCreate", taskId: task.id, hook: HOOK });
			lane.agent.brain.forget();
			const got = await lane.client.ask({ op: "pushGet", taskId: task.id });
			expect(got.hook?.hook).toMatchObject(HOOK);
			return verdict(lane, "pushGet", [got]);
		},
	},
	{
		name: "webhook: list",
		needs: ["pushCreate", "pushList"],
		async run(lane) {
			const task = await finished(lane);
			await lane.client.ask({ op: "pushCreate", taskId: task.id, hook: HOOK });
			lane.agent.brain.forget();
			const got = await lane.client.ask({ op: "pushList", taskId: task.id });
			expect(got.hooks?.taskId).toBe(task.id);
			expect(got.hooks?.list).toHaveLength(1);
			expect(got.hooks?.list[0]).toMatchObject(HOOK);
			return verdict(lane, "pushList", [got]);
		},
	},
	{
		name: "webhook: delete",
		needs: ["pushCreate", "pushDelete"],
		async run(lane) {
			const task = await finished(lane);
			const set = await lane.client.ask({ op: "pushCreate", taskId: task.id, hook: HOOK });
			lane.agent.brain.forget();
			const hookId = set.hook?.hook.id || "any";
			const got = await lane.client.ask({ op: "pushDelete", taskId: task.id, hookId });
			const outcome = verdict(lane, "pushDelete", [got]);
			const [live] = [...lane.agent.brain.tasks.values()].slice(-1);
			expect(live?.hooks.size).toBe(0);
			return outcome;
		},
	},
	{
		name: "extended card",
		needs: ["card"],
		async run(lane) {
			const got = await lane.client.ask({ op: "card" });
			expect(got.card).toMatchObject({ name: "Bed Sensor Agent", description: "Only for those who ask" });
			const heard = lane.agent.brain.asks.map((ask) => ask.op);
			return isDeepStrictEqual(heard, ["card"]) ? "equal" : "emulated";
		},
	},
	failing("error: unsupported", "error:UNSUPPORTED_OPERATION"),
	failing("error: content type", "error:CONTENT_TYPE_NOT_SUPPORTED"),
	failing("error: invalid parameters", "error:INVALID_PARAMS"),
	failing("error: internal", "error:INTERNAL_ERROR"),
	{
		name: "error before a stream",
		needs: ["stream"],
		async run({ client }) {
			await all(client.listen(sending(client, "error:CONTENT_TYPE_NOT_SUPPORTED", {}, "stream")));
			throw new Error("no error");
		},
	},
	{
		name: "a message without parts",
		needs: ["send"],
		async run({ client }) {
			await client.ask(sending(client, "", { message: { role: "user", id: "m-0", parts: [] } }));
			throw new Error("no error");
		},
	},
];

async function until(done: () => boolean): Promise<void> {
	for (const deadline = Date.now() + 10_000; !done(); await new Promise((resolve) => setTimeout(resolve, 1)))
		if (Date.now() > deadline) throw new Error("it never came");
}

export const applies = (scenario: Scenario, client: OlderClient): boolean =>
	scenario.needs.every((op) => client.knows(op)) && (scenario.only?.(client) ?? true);

/** What a scenario comes to in a lane. A refusal is an outcome; anything else that is thrown is a failure. */
export async function outcomeOf(scenario: Scenario, lane: Lane): Promise<Outcome> {
	if (!applies(scenario, lane.client)) return "–";
	lane.agent.brain.forget();
	lane.agent.arrived.length = 0;
	try {
		return await scenario.run(lane);
	} catch (error) {
		if (error instanceof Refused) return `refused ${error.code}`;
		throw error;
	} finally {
		// Nothing of this scenario keeps running into the next.
		for (const [id, live] of lane.agent.brain.tasks) if (live.release) lane.agent.brain.finish(id);
	}
}
