/** What a scenario is, and how its outcome is told: what the client saw, against what the agent heard and said. */
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

export const HOOK: Hook = {
	url: "https://client.example/hooks/gh",
	token: "hook-42",
	scheme: "Bearer",
	credentials: "s3cr3t",
};

export const user = (words: string, ...parts: Part[]): Message => ({
	role: "user",
	id: `m-${crypto.randomUUID()}`,
	parts: [{ text: words }, ...parts],
});

/** A send as this client makes it: v0.1 names its task. */
export function sending(
	client: OlderClient,
	words: string,
	more: Partial<Ask> = {},
	op: "send" | "stream" = "send",
): Ask {
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
export function verdict({ client, agent }: Lane, op: Operation, got: readonly Said[]): Outcome {
	const heard = agent.brain.asks.map((ask) => ask.op);
	const told = agent.brain.said.map((said) => normal(said, client));
	const same = isDeepStrictEqual(
		JSON.parse(JSON.stringify(got.map((said) => normal(said, client)))),
		JSON.parse(JSON.stringify(told)),
	);
	return same && isDeepStrictEqual(heard, [op]) ? "equal" : "emulated";
}

/** The task of an answer to a send; a bare Message has none. */
export function taskOf(said: Said): Task {
	if (!said.task) throw new Error(`no task: ${JSON.stringify(said)}`);
	return said.task;
}
export async function all(stream: AsyncIterable<Said>): Promise<Said[]> {
	const got: Said[] = [];
	for await (const said of stream) got.push(said);
	return got;
}

/** Every stream of every version: order, ids, its head and its end. */
export function expectStream(client: OlderClient, got: readonly Said[]): void {
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
export const finalState = (got: readonly Said[]): string | undefined => {
	const last = got.findLast((said) => said.status ?? said.task);
	return (last?.status?.status ?? last?.task?.status)?.state;
};
export const artifactTexts = (got: readonly Said[]): string[] =>
	got.flatMap((said) => (said.artifact ? [said.artifact.artifact.parts.map((part) => part.text ?? "").join("|")] : []));

/** A task the agent has finished. */
export async function finished({ client, agent }: Lane, words = "task 1"): Promise<Task> {
	const { task } = await client.ask(sending(client, words));
	agent.brain.forget();
	return taskOf({ ...(task && { task }) });
}

/** A task at work, with its stream open. */
export async function running({ client, agent }: Lane): Promise<{ id: string; rest: Promise<Said[]> }> {
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
export function working({ agent }: Lane): string {
	const found = [...agent.brain.tasks.values()].filter((live) => live.release);
	expect(found).toHaveLength(1);
	return found[0]?.task.id ?? "";
}

export const unary = (op: Operation, make: (task: Task) => Partial<Ask>, words?: string): Scenario["run"] =>
	async function run(lane) {
		const task = await finished(lane, words);
		const got = await lane.client.ask({ op, taskId: task.id, ...make(task) });
		return verdict(lane, op, [got]);
	};

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
