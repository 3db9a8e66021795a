/** Scenarios about a task there is: reading, canceling, following it, its webhooks; and the extended card. */
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { defined, textOf } from "../peer/older/model.ts";
import {
	all,
	expectStream,
	finalState,
	finished,
	HOOK,
	running,
	type Scenario,
	sending,
	taskOf,
	unary,
	verdict,
	working,
} from "./scenario.ts";

async function until(done: () => boolean): Promise<void> {
	for (const deadline = Date.now() + 10_000; !done(); await new Promise((resolve) => setTimeout(resolve, 1)))
		if (Date.now() > deadline) throw new Error("it never came");
}

export const tasks: readonly Scenario[] = [
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
			const { said } = lane.agent.brain;
			const only = said.filter((each) => each.task);
			said.splice(0, said.length, ...only);
			return verdict(lane, "cancel", [got]);
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
			// Finished once the agent has the second stream: what it says from then on goes to both.
			await until(() => lane.agent.brain.asks.some((ask) => ask.op === "subscribe"));
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
];

export const webhooks: readonly Scenario[] = [
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
];
