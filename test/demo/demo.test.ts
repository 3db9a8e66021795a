/** The demo agent is a correct v0.3 JSON-RPC agent: asked with fetch, and with the official SDK of that version. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { A2AClient } from "a2a-sdk-0.3/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Demo, startDemo } from "../../src/demo/index.ts";

let demo: Demo;
beforeAll(async () => {
	demo = await startDemo({ pace: 1 });
});
afterAll(() => demo.close());

function post(body: string): Promise<Response> {
	return fetch(demo.url, { method: "POST", headers: { "content-type": "application/json" }, body });
}

async function rpc(method: string, params: JsonValue): Promise<JsonObject> {
	const response = await post(JSON.stringify({ jsonrpc: "2.0", id: "q", method, params }));
	const answer = (await response.json()) as JsonObject;
	expect(answer).toMatchObject({ jsonrpc: "2.0", id: "q" });
	return answer;
}

async function events(method: string, params: JsonValue): Promise<JsonObject[]> {
	const response = await post(JSON.stringify({ jsonrpc: "2.0", id: "s", method, params }));
	expect(response.headers.get("content-type")).toBe("text/event-stream");
	const lines = (await response.text()).split("\n\n").filter(Boolean);
	return lines.map((line) => {
		const { id, result } = JSON.parse(line.replace(/^data: /, ""));
		expect(id).toBe("s");
		return result;
	});
}

const say = (text: string, more: JsonObject = {}): JsonObject => ({
	message: { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text }] },
	...more,
});
const task = (answer: JsonObject) => answer["result"] as { id: string; contextId: string };
const STREAM = [
	{ kind: "task", status: { state: expect.any(String) } },
	{ kind: "status-update", status: { state: "working" }, final: false },
	{ kind: "artifact-update", append: false, lastChunk: false },
	{ kind: "artifact-update", append: true, lastChunk: true },
	{ kind: "status-update", status: { state: "completed" }, final: true },
];

test("its card is a v0.3 card, where v0.3 looks for it and where v0.2 did", async () => {
	for (const path of [".well-known/agent-card.json", ".well-known/agent.json"]) {
		const card = await (await fetch(new URL(path, demo.url))).json();
		expect(card).toMatchObject({
			protocolVersion: "0.3.0",
			url: demo.url,
			preferredTransport: "JSONRPC",
			capabilities: { streaming: true, pushNotifications: true },
		});
		expect(card).not.toHaveProperty("supportedInterfaces");
		expect(card).not.toHaveProperty("signatures");
	}
});

test("a message becomes a completed task with one artifact", async () => {
	expect(await rpc("message/send", say("the quick brown fox"))).toMatchObject({
		result: {
			kind: "task",
			status: { state: "completed" },
			artifacts: [
				{
					artifactId: "report",
					parts: [
						{ kind: "text", text: "4 words, 19 characters. " },
						{ kind: "text", text: expect.stringContaining("quick") },
					],
				},
			],
			history: [{ kind: "message", messageId: "m", role: "user" }],
		},
	});
});

test("a stream: the task, working, two chunks, completed and final", async () => {
	expect(await events("message/stream", say("one two"))).toMatchObject(STREAM);
});

test("the SDK of v0.3 understands it", async () => {
	const client = await A2AClient.fromCardUrl(new URL(".well-known/agent-card.json", demo.url).href);
	const sent = await client.sendMessage(say("one two") as never);
	expect(sent).toMatchObject({ result: { kind: "task", status: { state: "completed" } } });
	const seen: unknown[] = [];
	for await (const event of client.sendMessageStream(say("one two") as never)) seen.push(event);
	expect(seen).toMatchObject(STREAM);
});

test("at once on demand; then got, watched, canceled", async () => {
	const { id, contextId } = task(await rpc("message/send", say("slow", { configuration: { blocking: false } })));
	expect(await rpc("tasks/get", { id })).toMatchObject({ result: { id, contextId, history: [{}] } });
	expect(await rpc("tasks/get", { id, historyLength: 0 })).not.toHaveProperty("result.history");
	const watched = events("tasks/resubscribe", { id });
	const canceled = await rpc("tasks/cancel", { id });
	expect(canceled).toMatchObject({ result: { status: { state: "canceled" } } });
	// Either it was being watched and saw the end, or the end came first and the task was told.
	expect((await watched).at(-1)).toMatchObject({ status: { state: "canceled" } });
	expect(await rpc("tasks/cancel", { id })).toMatchObject({ error: { code: -32002 } });
	expect(await events("tasks/resubscribe", { id })).toMatchObject([
		{ kind: "task", id, status: { state: "canceled" } },
	]);
});

test("push configurations are stored, got, listed, deleted", async () => {
	const { id } = task(await rpc("message/send", say("x")));
	const hook = { id: "c", url: "https://hook.example/", token: "t" };
	const set = (config: JsonObject) =>
		rpc("tasks/pushNotificationConfig/set", { taskId: id, pushNotificationConfig: config });
	const stored = { taskId: id, pushNotificationConfig: hook };
	expect(await set(hook)).toMatchObject({ result: stored });
	expect(await set({ url: "https://other.example/" })).toMatchObject({ result: { pushNotificationConfig: { id } } });
	const get = { id, pushNotificationConfigId: "c" };
	expect(await rpc("tasks/pushNotificationConfig/get", get)).toMatchObject({ result: stored });
	expect(await rpc("tasks/pushNotificationConfig/get", { id })).toMatchObject({ result: stored });
	expect(await rpc("tasks/pushNotificationConfig/list", { id })).toMatchObject({ result: [stored, { taskId: id }] });
	for (let i = 0; i < 2; i++)
		expect(await rpc("tasks/pushNotificationConfig/delete", get)).toMatchObject({ result: null });
	expect(await rpc("tasks/pushNotificationConfig/get", get)).toMatchObject({ error: { code: -32001 } });
});

test("a configuration in a send is stored too", async () => {
	const configuration = { pushNotificationConfig: { url: "https://hook.example/" } };
	const { id } = task(await rpc("message/send", say("x", { configuration })));
	expect(await rpc("tasks/pushNotificationConfig/list", { id })).toMatchObject({ result: [{ taskId: id }] });
});

test("the extended card has more skills than the public one", async () => {
	const { result } = await rpc("agent/getAuthenticatedExtendedCard", {});
	expect(result).toMatchObject({ protocolVersion: "0.3.0", skills: [{ id: "report" }, { id: "slow" }] });
});

describe("errors", () => {
	const table: [method: string, params: JsonValue, code: number][] = [
		["tasks/get", { id: "nope" }, -32001],
		["tasks/get", { id: 7 }, -32602],
		["tasks/get", [], -32602],
		["tasks/get", { id: "nope", historyLength: -1 }, -32001],
		["tasks/cancel", { id: "nope" }, -32001],
		["tasks/resubscribe", { id: "nope" }, -32001],
		["tasks/pushNotificationConfig/list", { id: "nope" }, -32001],
		["message/send", {}, -32602],
		["message/send", say("x", { configuration: { historyLength: -1 } }), -32602],
		["message/send", { message: { kind: "message", messageId: "m", role: "user" } }, -32602],
		// v1.0 shapes are not v0.3's.
		["message/send", { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] } }, -32602],
		["message/send", { message: { kind: "message", messageId: "m", role: "user", parts: [{ text: "x" }] } }, -32602],
		[
			"message/send",
			{ message: { kind: "message", messageId: "m", role: "user", parts: [{ kind: "data", data: {} }] } },
			-32005,
		],
		[
			"message/stream",
			{ message: { kind: "message", messageId: "m", role: "user", taskId: "x", parts: [{ kind: "text", text: "a" }] } },
			-32001,
		],
		["SendMessage", {}, -32601],
		["tasks/list", {}, -32601],
	];
	test.each(table)("%s %j: %i", async (method, params, code) => {
		expect(await rpc(method, params)).toMatchObject({ error: { code } });
	});

	test.each([
		["{", -32700],
		["[]", -32600],
		['{"jsonrpc":"1.0","method":"tasks/get"}', -32600],
		["null", -32600],
	] as const)("envelope %s: %i", async (body, code) => {
		expect(await (await post(body)).json()).toMatchObject({ id: null, error: { code } });
	});

	test("other places and verbs", async () => {
		const status = async (path: string, init?: RequestInit) => (await fetch(new URL(path, demo.url), init)).status;
		expect(await status("/nope")).toBe(404);
		expect(await status("/")).toBe(405);
		expect(await status("/.well-known/agent-card.json", { method: "DELETE" })).toBe(405);
		expect(await status("/", { method: "POST", body: "x".repeat(2 << 20) }).catch(() => 413)).toBe(413);
	});
});
