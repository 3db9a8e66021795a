/** The official 1.x client, over its three transports, with older agents behind the gateway: it must not notice. */
import { type Message, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { describe, expect, test } from "vitest";
import { sdkMessage } from "../peer/agents/sdk-conversation.ts";
import { sdkClient, sdkTransports } from "../peer/clients/sdk.ts";
import { startGatewayFor } from "../peer/gateway.ts";
import { startAgent } from "../peer/older/index.ts";
import { type Form, forms, nameOf } from "../peer/older/model.ts";
import { startSdk02, startSdk03 } from "../peer/older/sdk-agents.ts";

interface Behind {
	readonly url: string;
	close(): Promise<void>;
}
const agents: readonly (readonly [string, () => Promise<Behind>])[] = [
	...(["JSONRPC", "HTTP+JSON", "GRPC"] as const).map((each) => [`SDK 0.3 ${each}`, () => startSdk03(each)] as const),
	["SDK 0.2 JSONRPC", startSdk02],
	...forms
		.filter(({ version }) => version !== "1.0")
		.map((form: Form) => [`raw ${nameOf(form)}`, () => startAgent(form)] as const),
];

const ask = (message: Message) => ({ tenant: "", message, configuration: undefined, metadata: undefined });

async function talk(client: Client, messages: boolean): Promise<void> {
	const reply = await client.sendMessage(ask(sdkMessage("message good day")));
	const said = messages ? (reply as Message) : (reply as Task).status?.message;
	expect(said?.parts[0]?.content?.value).toBe("good day");

	const task = (await client.sendMessage(ask(sdkMessage("task 2")))) as Task;
	expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
	expect(task.artifacts.map(({ parts }) => parts[0]?.content?.value)).toEqual(["number 1", "number 2"]);
	const read = await client.getTask({ tenant: "", id: task.id, historyLength: undefined });
	expect(read.artifacts).toEqual(task.artifacts);
	const unknown = client.getTask({ tenant: "", id: "nobody-knows", historyLength: undefined });
	await expect(unknown).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
	const list = client.listTasks({
		tenant: "",
		contextId: task.contextId,
		status: TaskState.TASK_STATE_UNSPECIFIED,
		pageSize: undefined,
		pageToken: "",
		historyLength: undefined,
		statusTimestampAfter: undefined,
		includeArtifacts: undefined,
	});
	await expect(list).rejects.toMatchObject({ reason: "UNSUPPORTED_OPERATION" });

	const events: StreamResponse[] = [];
	for await (const event of client.sendMessageStream(ask(sdkMessage("task 2")))) events.push(event);
	const [first, ...rest] = events.map(({ payload }) => payload);
	expect(first?.$case, "the Task first").toBe("task");
	const last = rest.at(-1);
	expect(last?.$case === "statusUpdate" && last.value.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
	expect(rest.filter((each) => each?.$case === "artifactUpdate")).toHaveLength(2);

	const asks = (await client.sendMessage(ask(sdkMessage("input")))) as Task;
	expect(asks.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
	const ids = { taskId: asks.id, contextId: asks.contextId };
	const answered = (await client.sendMessage(ask(sdkMessage("the blue one", ids)))) as Task;
	expect(answered.id).toBe(asks.id);
	expect(answered.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
}

describe.each(agents)("to %s", (name, start) => {
	test.each(sdkTransports)("over %s", async (transport) => {
		const agent = await start();
		try {
			const gateway = await startGatewayFor(agent.url);
			try {
				await talk(await sdkClient(transport, gateway.url), !name.endsWith("0.1"));
			} finally {
				await gateway.close();
			}
		} finally {
			await agent.close();
		}
	});
});
