/** The demo agent is a correct v1.0 JSON-RPC agent: asked with fetch, answers checked against the descriptors. */
import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { A2AService, AgentCardSchema, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Demo, startDemo } from "../../src/demo/index.ts";

let demo: Demo;
beforeAll(async () => {
	demo = await startDemo({ pace: 1 });
});
afterAll(() => demo.close());

function post(body: string, headers: Record<string, string> = { "a2a-version": "1.0" }): Promise<Response> {
	return fetch(demo.url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
}

async function rpc(method: string, params: JsonValue, headers?: Record<string, string>): Promise<JsonObject> {
	const response = await post(JSON.stringify({ jsonrpc: "2.0", id: "q", method, params }), headers);
	const answer = (await response.json()) as JsonObject;
	expect(answer).toMatchObject({ jsonrpc: "2.0", id: "q" });
	// Whatever the answer, it fits the operation's output.
	const output = A2AService.methods.find(({ name }) => name === method)?.output;
	if (output && answer["result"] !== undefined) fromJson(output, answer["result"]);
	return answer;
}

async function events(method: string, params: JsonValue): Promise<JsonObject[]> {
	const response = await post(JSON.stringify({ jsonrpc: "2.0", id: "s", method, params }));
	expect(response.headers.get("content-type")).toBe("text/event-stream");
	const lines = (await response.text()).split("\n\n").filter(Boolean);
	return lines.map((line) => {
		const { id, result } = JSON.parse(line.replace(/^data: /, ""));
		expect(id).toBe("s");
		fromJson(StreamResponseSchema, result);
		return result;
	});
}

const say = (text: string, more: JsonObject = {}): JsonObject => ({
	message: { messageId: "m", role: "ROLE_USER", parts: [{ text }] },
	...more,
});
const task = (answer: JsonObject) => (answer["result"] as { task: { id: string; contextId: string } }).task;

test("its card is a card", async () => {
	const response = await fetch(new URL(".well-known/agent-card.json", demo.url));
	const card = fromJson(AgentCardSchema, (await response.json()) as JsonValue);
	expect(card.supportedInterfaces).toMatchObject([
		{ url: demo.url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
	]);
	expect(card.capabilities).toMatchObject({ streaming: true, pushNotifications: true });
});

test("a message becomes a completed task with one artifact", async () => {
	expect(await rpc("SendMessage", say("the quick brown fox"))).toMatchObject({
		result: {
			task: {
				status: { state: "TASK_STATE_COMPLETED" },
				artifacts: [
					{
						artifactId: "report",
						parts: [{ text: "4 words, 19 characters. " }, { text: expect.stringContaining("quick") }],
					},
				],
				history: [{ messageId: "m", role: "ROLE_USER" }],
			},
		},
	});
});

test("a stream: the task, working, two chunks, completed", async () => {
	expect(await events("SendStreamingMessage", say("one two"))).toMatchObject([
		{ task: { status: { state: expect.any(String) } } },
		{ statusUpdate: { status: { state: "TASK_STATE_WORKING" } } },
		{ artifactUpdate: { append: false, lastChunk: false } },
		{ artifactUpdate: { append: true, lastChunk: true } },
		{ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } },
	]);
});

test("at once on demand; then got, subscribed to, listed, canceled", async () => {
	const { id, contextId } = task(await rpc("SendMessage", say("slow", { configuration: { returnImmediately: true } })));
	expect(await rpc("GetTask", { id })).toMatchObject({ result: { id, contextId } });
	expect(await rpc("GetTask", { id, historyLength: 0 })).not.toHaveProperty("result.history");
	const listed = await rpc("ListTasks", { contextId });
	expect(listed).toMatchObject({ result: { tasks: [{ id }], nextPageToken: "", pageSize: 1, totalSize: 1 } });
	expect(listed).not.toHaveProperty("result.tasks.0.artifacts");
	const watched = events("SubscribeToTask", { id });
	const canceled = await rpc("CancelTask", { id });
	expect(canceled).toMatchObject({ result: { status: { state: "TASK_STATE_CANCELED" } } });
	// Either it was being watched and saw the end, or the end came first.
	const seen = await watched.catch(() => []);
	if (seen.length > 0)
		expect(seen.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_CANCELED" } } });
	expect(await rpc("CancelTask", { id })).toMatchObject({ error: { code: -32002 } });
	expect(await rpc("SubscribeToTask", { id })).toMatchObject({ error: { code: -32004 } });
});

test("pages: newest first, an empty token at the end", async () => {
	const context = "pages";
	for (let i = 0; i < 5; i++) {
		await rpc("SendMessage", {
			message: { messageId: `${i}`, role: "ROLE_USER", contextId: context, parts: [{ text: "x" }] },
		});
	}
	const seen: string[] = [];
	let pageToken = "";
	do {
		const { result } = await rpc("ListTasks", { contextId: context, pageSize: 2, pageToken, includeArtifacts: true });
		const page = result as { tasks: { id: string }[]; nextPageToken: string; totalSize: number };
		expect(page.totalSize).toBe(5);
		seen.push(...page.tasks.map(({ id }) => id));
		pageToken = page.nextPageToken;
	} while (pageToken !== "");
	expect(new Set(seen).size).toBe(5);
});

test("push configurations are stored, got, listed, deleted", async () => {
	const { id: taskId } = task(await rpc("SendMessage", say("x")));
	const config = { taskId, id: "c", url: "https://hook.example/", token: "t" };
	expect(await rpc("CreateTaskPushNotificationConfig", config)).toMatchObject({ result: config });
	expect(await rpc("GetTaskPushNotificationConfig", { taskId, id: "c" })).toMatchObject({ result: config });
	expect(await rpc("ListTaskPushNotificationConfigs", { taskId })).toMatchObject({ result: { configs: [config] } });
	for (let i = 0; i < 2; i++) {
		expect(await rpc("DeleteTaskPushNotificationConfig", { taskId, id: "c" })).toMatchObject({ result: {} });
	}
	expect(await rpc("GetTaskPushNotificationConfig", { taskId, id: "c" })).toMatchObject({ error: { code: -32001 } });
});

describe("errors", () => {
	const table: [method: string, params: JsonValue, code: number][] = [
		["GetTask", { id: "nope" }, -32001],
		["GetTask", { id: 7 }, -32602],
		["CancelTask", { id: "nope" }, -32001],
		["SubscribeToTask", { id: "nope" }, -32001],
		["ListTasks", { pageSize: 0 }, -32602],
		["ListTasks", { pageSize: 101 }, -32602],
		["ListTasks", { status: 99 }, -32602],
		["ListTaskPushNotificationConfigs", { taskId: "nope" }, -32001],
		["GetExtendedAgentCard", {}, -32004],
		["SendMessage", {}, -32602],
		["SendMessage", { message: { messageId: "m", role: "ROLE_USER" } }, -32602],
		["SendMessage", { message: { messageId: "m", role: "ROLE_USER", parts: [{ url: "http://a" }] } }, -32005],
		[
			"SendStreamingMessage",
			{ message: { messageId: "m", role: "ROLE_USER", taskId: "x", parts: [{ text: "a" }] } },
			-32001,
		],
		["Nope", {}, -32601],
	];
	test.each(table)("%s %j: %i", async (method, params, code) => {
		expect(await rpc(method, params)).toMatchObject({ error: { code } });
	});

	test.each([
		["{", -32700],
		["[]", -32600],
		['{"jsonrpc":"1.0","method":"GetTask"}', -32600],
		["null", -32600],
	] as const)("envelope %s: %i", async (body, code) => {
		expect(await (await post(body)).json()).toMatchObject({ id: null, error: { code } });
	});

	test("another version, or none", async () => {
		const info = { reason: "VERSION_NOT_SUPPORTED", domain: "a2a-protocol.org" };
		for (const headers of [{}, { "a2a-version": "0.3" }]) {
			expect(await rpc("GetTask", { id: "x" }, headers)).toMatchObject({ error: { code: -32009, data: [info] } });
		}
	});

	test("other places and verbs", async () => {
		const status = async (path: string, init?: RequestInit) => (await fetch(new URL(path, demo.url), init)).status;
		expect(await status("/nope")).toBe(404);
		expect(await status("/")).toBe(405);
		expect(await status("/.well-known/agent-card.json", { method: "DELETE" })).toBe(405);
		expect(await status("/", { method: "POST", body: "x".repeat(2 << 20) }).catch(() => 413)).toBe(413);
	});
});
