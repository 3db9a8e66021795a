/** Which version a request is in, where the protocol leaves room for doubt; and a card that names the wrong one. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import { startGatewayFor } from "../peer/gateway.ts";
import { startAgent, startClient } from "../peer/older/index.ts";
import { type Form, forms, nameOf, object } from "../peer/older/model.ts";
import { type Through, through, throughTo } from "./gateway.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});
async function lane(form: Form, flags: readonly string[] = []): Promise<Through> {
	const opened = await throughTo(form, flags);
	closing.push(() => opened.close());
	return opened;
}

/** One JSON-RPC request on a connection of its own, as it stands. */
async function post(url: string, body: JsonObject, header: Record<string, string> = {}): Promise<JsonObject> {
	const response = await fetch(`${url}/`, {
		method: "POST",
		headers: { "content-type": "application/json", connection: "close", ...header },
		body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }),
	});
	const content = await response.text();
	if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
		return object(JSON.parse(content) as JsonValue);
	const last = content.split("\n").findLast((line) => line.startsWith("data:")) ?? "data: null";
	return object(JSON.parse(last.slice("data:".length)) as JsonValue);
}

/** The vocabulary of an answer: v0.2 and v0.3 discriminate by `kind`, v0.1 has none. */
const dialectOf = (answer: JsonObject): string => ("kind" in object(answer["result"]) ? "0.3" : "0.1");

const jsonRpc = (version: Form["version"]): Form => ({ binding: "JSONRPC", version });
const behind = forms.filter(({ binding, version }) => binding !== "HTTP+JSON" || version === "1.0");

describe.each(behind.map((form) => [nameOf(form), form] as const))("ambiguous names, to %s", (_, form) => {
	test("each client is answered in the version in which it began its task, on any connection", async () => {
		const { gateway, client } = await lane(form);
		const id = `cl-${crypto.randomUUID()}`;
		const message = { role: "user", parts: [{ type: "text", text: "task 1" }] };
		const first = await post(gateway.url, { method: "tasks/send", params: { id, message } });
		expect(dialectOf(first)).toBe("0.1");
		const kind = { kind: "message", messageId: "m-1", role: "user", parts: [{ kind: "text", text: "task 1" }] };
		const second = await post(gateway.url, { method: "message/send", params: { message: kind } });
		expect(dialectOf(second)).toBe("0.3");
		const other = String(object(second["result"])["id"]);
		for (const method of ["tasks/get", "tasks/resubscribe"]) {
			const mine = await post(gateway.url, { method, params: { id } });
			expect(mine["error"], `${method} ${id}: ${JSON.stringify(mine)}`).toBeUndefined();
			expect(dialectOf(mine), `${method} of v0.1's`).toBe("0.1");
			const theirs = await post(gateway.url, { method, params: { id: other } });
			expect(theirs["error"], `${method} ${other}: ${JSON.stringify(theirs)}`).toBeUndefined();
			expect(dialectOf(theirs), `${method} of v0.3's`).toBe("0.3");
		}
		for (const params of [{ id }, { id: other }]) {
			const refused = await post(gateway.url, { method: "tasks/cancel", params });
			expect(object(refused["error"])["code"]).toBe(-32002);
		}
		expect(client(jsonRpc("0.3")).form.version).toBe("0.3");
	});
});

describe("v0.1 as its first months wrote it", () => {
	test("explicit null members, parts without a type, an absent request id", async () => {
		const { gateway, agent } = await lane(jsonRpc("1.0"));
		const id = `cl-${crypto.randomUUID()}`;
		const message = { role: "user", metadata: null, parts: [{ text: "task 1", metadata: null }] };
		const params = { id, sessionId: null, message, historyLength: null, pushNotification: null, metadata: null };
		const answer = await post(gateway.url, { method: "tasks/send", params });
		expect(answer["error"], JSON.stringify(answer)).toBeUndefined();
		expect(object(answer["result"])).toMatchObject({ id, status: { state: "completed" } });
		expect(agent.brain.asks).toHaveLength(1);
		const again = await post(gateway.url, { method: "tasks/get", params: { id, historyLength: null, metadata: null } });
		expect(again["error"], JSON.stringify(again)).toBeUndefined();
		expect(dialectOf(again)).toBe("0.1");
	});

	test("two clients that name their tasks alike are one caller's retries, not two tasks", async () => {
		const { gateway, agent } = await lane(jsonRpc("0.3"));
		const params = { id: "task-1", message: { role: "user", parts: [{ type: "text", text: "task 1" }] } };
		const answers = await Promise.all(
			Array.from({ length: 4 }, () => post(gateway.url, { method: "tasks/send", params })),
		);
		for (const answer of answers) expect(object(answer["result"])["id"]).toBe("task-1");
		expect(agent.brain.tasks.size).toBe(1);
	});
});

describe("method names decide where A2A-Version says nothing else", () => {
	const message = { kind: "message", messageId: "m-1", role: "user", parts: [{ kind: "text", text: "task 1" }] };

	test.each(["0.3", "0.2", ""])("A2A-Version: %j", async (version) => {
		const { gateway } = await lane(jsonRpc("1.0"));
		const header = version === "" ? {} : { "a2a-version": version };
		const answer = await post(gateway.url, { method: "message/send", params: { message } }, header);
		expect(dialectOf(answer), JSON.stringify(answer)).toBe("0.3");
	});

	test("a version that has no such method is refused in the method's own dialect", async () => {
		const { gateway, agent } = await lane(jsonRpc("1.0"));
		const header = { "a2a-version": "1.0" };
		const answer = await post(gateway.url, { method: "message/send", params: { message } }, header);
		const error = object(answer["error"]);
		expect(error["code"]).toBe(-32600);
		expect(object(error["data"])["reason"]).toBe("VERSION_NOT_SUPPORTED");
		expect(agent.brain.asks).toEqual([]);
	});
});

/** An older agent whose card claims v1.0: a frequent real fault. */
describe.each([
	["JSONRPC 0.3", { binding: "JSONRPC", version: "0.3" }],
	["JSONRPC 0.2", { binding: "JSONRPC", version: "0.2" }],
	["HTTP+JSON 0.3", { binding: "HTTP+JSON", version: "0.3" }],
	["GRPC 0.3", { binding: "GRPC", version: "0.3" }],
] as const)("a card that says 1.0 while the wire is %s", (_, form) => {
	const cardForm: Form = { binding: form.binding, version: "1.0" };
	const message = { role: "user", id: "m-1", parts: [{ text: "task 1" }] } as const;

	test("is worked around at the first answer", async () => {
		const opened = await through(await startAgent(form, { cardForm }));
		closing.push(() => opened.close());
		for (const from of forms) {
			const named = from.version === "0.1" ? { taskId: `cl-${crypto.randomUUID()}` } : {};
			const said = await opened.client(from).ask({ op: "send", message, ...named });
			expect(said.task?.status.state, nameOf(from)).toBe("completed");
		}
		expect(opened.agent.brain.tasks.size, "nothing was done twice").toBe(forms.length);
	});

	test("also when the first call is a stream", async () => {
		const opened = await through(await startAgent(form, { cardForm }));
		closing.push(() => opened.close());
		const states: (string | undefined)[] = [];
		for await (const { task, status } of opened.client(jsonRpc("1.0")).listen({ op: "stream", message }))
			states.push((task?.status ?? status?.status)?.state);
		expect(states.at(-1)).toBe("completed");
		expect(opened.agent.brain.tasks.size).toBe(1);
	});

	test("is refused when strict", async () => {
		const opened = await through(await startAgent(form, { cardForm }), ["--strict", "true"]);
		closing.push(() => opened.close());
		const asked = opened.client(jsonRpc("1.0")).ask({ op: "send", message });
		await expect(asked).rejects.toThrow();
		expect(opened.agent.brain.tasks.size).toBe(0);
		await expect(opened.client(jsonRpc("1.0")).ask({ op: "send", message })).rejects.toThrow();
	});
});

test("a v1.0 card and wire are not doubted because one method is missing", async () => {
	const agent = await startAgent(jsonRpc("1.0"));
	const gateway = await startGatewayFor(agent.url);
	const client = startClient(jsonRpc("1.0"), `${gateway.url}/`);
	closing.push(async () => {
		await client.close();
		await gateway.close();
		await agent.close();
	});
	const message = { role: "user", id: "m-1", parts: [{ text: "error:METHOD_NOT_FOUND" }] } as const;
	await expect(client.ask({ op: "get", taskId: "x" })).rejects.toThrow();
	await expect(client.ask({ op: "send", message })).rejects.toThrow();
	const said = await client.ask({ op: "send", message: { ...message, parts: [{ text: "task 1" }] } });
	expect(said.task?.status.state).toBe("completed");
	expect(
		agent.arrived.every(({ name }) => /^[A-Z]/.test(name)),
		"only v1.0 names were tried",
	).toBe(true);
});
