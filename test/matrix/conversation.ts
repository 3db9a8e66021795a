/** A whole conversation with the official agent through the official client, for any pair of bindings. */
import { type Message, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { expect, test } from "vitest";
import { type ConversationAgent, sdkMessage } from "../peer/agents/sdk-conversation.ts";

export interface Talk {
	readonly client: Client;
	readonly agent: ConversationAgent;
	/** The card member that tells the gateway's URLs from the agent's; "" for direct talk. */
	readonly gateway: string;
}

const ask = (message: Message, returnImmediately = false) => ({
	tenant: "",
	message,
	configuration: {
		acceptedOutputModes: ["text/plain"],
		taskPushNotificationConfig: undefined,
		historyLength: undefined,
		returnImmediately,
	},
	metadata: undefined,
});

const texts = (message: Message | undefined): string[] =>
	message?.parts.map((part) => (part.content?.$case === "text" ? part.content.value : "?")) ?? [];

const kinds = (events: readonly StreamResponse[]): string[] =>
	events.map(({ payload }) =>
		payload?.$case === "statusUpdate" ? `status ${payload.value.status?.state}` : (payload?.$case ?? "nothing"),
	);

async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
	const events: StreamResponse[] = [];
	for await (const event of stream) events.push(event);
	return events;
}

async function reasonOf(work: () => Promise<unknown>): Promise<string> {
	try {
		await work();
	} catch (error) {
		return String((error as { reason?: string }).reason ?? error);
	}
	return "no error";
}

export function conversation(talk: () => Talk): void {
	const startTask = async (): Promise<Task> => (await talk().client.sendMessage(ask(sdkMessage("wait"), true))) as Task;

	test("a message answered with a message", async () => {
		const reply = (await talk().client.sendMessage(ask(sdkMessage("echo grüße ✓")))) as Message;
		expect(texts(reply)).toEqual(["grüße ✓"]);
	});

	test("a blocking send answered with the finished task, found again by get and list", async () => {
		const { client } = talk();
		const task = (await client.sendMessage(ask(sdkMessage("count 2")))) as Task;
		expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
		expect(task.artifacts.map((artifact) => artifact.metadata)).toEqual([{ i: 1 }, { i: 2 }]);
		const again = await client.getTask({ tenant: "", id: task.id, historyLength: 0 });
		expect({ ...again, history: [] }).toEqual({ ...task, history: [] });
		expect(again.history).toEqual([]);
		const list = await client.listTasks({
			tenant: "",
			contextId: task.contextId,
			status: TaskState.TASK_STATE_COMPLETED,
			pageSize: 10,
			pageToken: "",
			historyLength: 0,
			statusTimestampAfter: undefined,
			includeArtifacts: true,
		});
		expect(list.tasks.map(({ id, artifacts }) => [id, artifacts.length])).toEqual([[task.id, 2]]);
		expect(list.totalSize).toBe(1);
	});

	test("a stream from the first event to the last", async () => {
		const events = await all(talk().client.sendMessageStream(ask(sdkMessage("count 3"))));
		expect(kinds(events)).toEqual([
			"task",
			`status ${TaskState.TASK_STATE_WORKING}`,
			"artifactUpdate",
			"artifactUpdate",
			"artifactUpdate",
			`status ${TaskState.TASK_STATE_COMPLETED}`,
		]);
	});

	test("a second subscriber sees the task, then its end", async () => {
		const { client, agent } = talk();
		const task = await startTask();
		const stream = client.resubscribeTask({ tenant: "", id: task.id });
		const first = await stream.next();
		expect(kinds([first.value as StreamResponse])).toEqual(["task"]);
		agent.finish(task.id);
		const rest = await all(stream);
		expect(kinds(rest).at(-1)).toBe(`status ${TaskState.TASK_STATE_COMPLETED}`);
	});

	test("a task is canceled", async () => {
		const { client } = talk();
		const task = await startTask();
		const canceled = await client.cancelTask({ tenant: "", id: task.id, metadata: undefined });
		expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
	});

	test("push configurations are created, read, listed and deleted", async () => {
		const { client } = talk();
		const task = await startTask();
		const config = {
			tenant: "",
			id: "hook-1",
			taskId: task.id,
			url: "http://127.0.0.1:9/hook",
			token: "t0ken",
			authentication: { scheme: "Bearer", credentials: "s3cret" },
		};
		expect(await client.createTaskPushNotificationConfig(config)).toEqual(config);
		const key = { tenant: "", taskId: task.id, id: "hook-1" };
		expect(await client.getTaskPushNotificationConfig(key)).toEqual(config);
		const page = { tenant: "", taskId: task.id, pageSize: 0, pageToken: "" };
		expect((await client.listTaskPushNotificationConfig(page)).configs).toEqual([config]);
		await client.deleteTaskPushNotificationConfig(key);
		expect((await client.listTaskPushNotificationConfig(page)).configs).toEqual([]);
		await client.cancelTask({ tenant: "", id: task.id, metadata: undefined });
	});

	test("the extended card, with the URLs of whoever serves it", async () => {
		const { client, agent, gateway } = talk();
		const card = await client.getAgentCard();
		expect(card.description).toBe("Only for those who ask");
		if (gateway === "") return;
		const text = JSON.stringify(card);
		for (const { url } of agent.interfaces) expect(text).not.toContain(url);
		expect(text).not.toContain(new URL(agent.url).host);
		expect(text).toContain(new URL(gateway).host);
	});

	test("errors are the official classes", async () => {
		const { client } = talk();
		const done = (await client.sendMessage(ask(sdkMessage("count 1")))) as Task;
		const cases: [string, () => Promise<unknown>][] = [
			["TASK_NOT_FOUND", () => client.getTask({ tenant: "", id: "no-such", historyLength: undefined })],
			["TASK_NOT_FOUND", () => client.cancelTask({ tenant: "", id: "no-such", metadata: undefined })],
			["TASK_NOT_CANCELABLE", () => client.cancelTask({ tenant: "", id: done.id, metadata: undefined })],
			["UNSUPPORTED_OPERATION", () => all(client.resubscribeTask({ tenant: "", id: done.id }))],
			["TASK_NOT_FOUND", () => all(client.resubscribeTask({ tenant: "", id: "no-such" }))],
			["UNSUPPORTED_OPERATION", () => client.sendMessage(ask(sdkMessage("more", { taskId: done.id })))],
			["TASK_NOT_FOUND", () => all(client.sendMessageStream(ask(sdkMessage("more", { taskId: "no-such" }))))],
		];
		for (const [reason, work] of cases) expect(await reasonOf(work)).toBe(reason);
	});
}
