/** Scenarios of sending, answered at once. */
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { Refused } from "../peer/older/fault.ts";
import { type Part, type Task, textOf } from "../peer/older/model.ts";
import type { OlderClient } from "../peer/older/peer.ts";
import { all, finished, HOOK, type Scenario, sending, taskOf, user, verdict } from "./scenario.ts";

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

export const sends: readonly Scenario[] = [
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
];

export const failures: readonly Scenario[] = [
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
