/** HTTP+JSON towards agents: what is asked of them, and what becomes of every answer, good and bad. */
import { afterEach, describe, expect, it } from "vitest";
import { httpJson } from "../../../src/binding/http-json/index.ts";
import { anonymous, type Call, type Reply } from "../../../src/call/call.ts";
import { A2AError } from "../../../src/call/error.ts";
import { Losses } from "../../../src/call/loss.ts";
import { single } from "../../../src/call/stream.ts";
import { core, v1 } from "../../../src/dialect/v1/index.ts";
import { fromText } from "../../../src/schema/payload.ts";
import { answer, chunk, chunkedHead, closeAll, deferred, headServer, httpServer, onClose } from "../../wire/sockets.ts";
import { connectOptions } from "./harness.ts";

afterEach(closeAll);

const { method: m } = core;

function upstream(port: number, path = "/base/", options: Partial<typeof connectOptions> = {}) {
	const iface = { url: `http://127.0.0.1:${port}${path}`, binding: "HTTP+JSON", version: "1.0", tenant: "" };
	const made = httpJson.connect(iface, v1, { ...connectOptions, ...options });
	onClose(() => made.close());
	return made.handler;
}

function call(method: Call["method"], text: string, extra: Partial<Call> = {}): Call {
	return {
		method,
		request: fromText(method.input, text, JSON.parse(text)),
		agent: "a",
		header: {},
		query: {},
		principal: anonymous,
		origin: { binding: "JSONRPC", version: "1.0" },
		losses: new Losses(),
		id: "1",
		signal: new AbortController().signal,
		...extra,
	};
}

async function drain(reply: Promise<Reply>): Promise<string[]> {
	const { messages } = await reply;
	const texts: string[] = [];
	for await (const message of messages) texts.push(message.text());
	return texts;
}

async function failure(promise: Promise<unknown>): Promise<A2AError> {
	const error = await promise.then(
		() => undefined,
		(thrown: unknown) => thrown,
	);
	if (!(error instanceof A2AError)) throw new Error(`no A2AError: ${error}`);
	expect(error.message).not.toMatch(/127\.0\.0\.1|<html|:\d\d/);
	return error;
}

describe("requests", () => {
	/** Answers `{}` and keeps what came. */
	async function agent() {
		const seen: { line: string; body: string; header: Record<string, unknown> }[] = [];
		const port = await httpServer(async (req, res) => {
			let body = "";
			for await (const part of req) body += part;
			seen.push({ line: `${req.method} ${req.url}`, body, header: req.headers });
			res.setHeader("content-type", "application/json").end("{}");
		});
		return { port, seen };
	}

	it.each<[Call["method"], string, string, string]>([
		[m.sendMessage, '{ "message":{"n":1.0} }', "POST /base/message:send", '{ "message":{"n":1.0} }'],
		[m.sendMessage, '{"tenant":"t/1", "message":{} }', "POST /base/t%2F1/message:send", '{ "message":{} }'],
		[m.getTask, '{"id":"a/b","historyLength":0}', "GET /base/tasks/a%2Fb?historyLength=0", ""],
		[m.getTask, '{"id":"1","history_length":5,"tenant":""}', "GET /base/tasks/1?historyLength=5", ""],
		[
			m.listTasks,
			'{"contextId":"c d&","status":2,"pageSize":10,"includeArtifacts":true,"statusTimestampAfter":"2026-01-01T00:00:00Z","pageToken":"","x":{},"y":["a","b"],"z":null}',
			"GET /base/tasks?contextId=c%20d%26&status=TASK_STATE_WORKING&pageSize=10&includeArtifacts=true&statusTimestampAfter=2026-01-01T00%3A00%3A00Z&y=a&y=b",
			"",
		],
		[m.listTasks, '{"status":"TASK_STATE_UNSPECIFIED","tenant":"t"}', "GET /base/t/tasks", ""],
		[m.cancelTask, '{"id":"a:b","metadata":{"k":1.50}}', "POST /base/tasks/a%3Ab:cancel", '{"metadata":{"k":1.50}}'],
		[
			m.createTaskPushNotificationConfig,
			'{"task_id":"1","url":"u"}',
			"POST /base/tasks/1/pushNotificationConfigs",
			'{"url":"u"}',
		],
		[
			m.deleteTaskPushNotificationConfig,
			'{"taskId":"1","id":"2"}',
			"DELETE /base/tasks/1/pushNotificationConfigs/2",
			"",
		],
		[m.listTaskPushNotificationConfigs, '{"taskId":"1","pageSize":0}', "GET /base/tasks/1/pushNotificationConfigs", ""],
		[m.getExtendedAgentCard, "{}", "GET /base/extendedAgentCard", ""],
	])("$0.name $1", async (method, request, line, body) => {
		const { port, seen } = await agent();
		await upstream(port)(call(method, request, { header: { authorization: "Bearer x" } }));
		expect(seen).toMatchObject([{ line, body }]);
		expect(seen[0]?.header).toMatchObject({
			authorization: "Bearer x",
			"a2a-version": "1.0",
			accept: "application/a2a+json, application/json",
		});
		expect(seen[0]?.header["content-type"]).toBe(line.startsWith("POST") ? "application/json" : undefined);
	});

	it.each([
		["", "/extendedAgentCard?key=a%26b"],
		["/", "/extendedAgentCard?key=a%26b"],
		["/x/y//", "/x/y/extendedAgentCard?key=a%26b"],
		["/x?fixed=1", "/x/extendedAgentCard?fixed=1&key=a%26b"],
	])("interface URL ending in %j", async (path, url) => {
		const { port, seen } = await agent();
		await upstream(port, path)(call(m.getExtendedAgentCard, "{}", { query: { key: "a&b" } }));
		expect(seen[0]?.line).toBe(`GET ${url}`);
	});

	it.each(["", "nonsense", "ftp://x/", "grpc://x:1"])("refuses the interface URL %j at construction", (url) => {
		expect(() =>
			httpJson.connect({ url, binding: "HTTP+JSON", version: "1.0", tenant: "" }, v1, connectOptions),
		).toThrow();
	});

	it("names the field a path needs", async () => {
		expect(await failure(upstream(1)(call(m.getTask, "{}")))).toMatchObject({ reason: "INVALID_PARAMS" });
	});
});

describe("an agent with another route", () => {
	const event = 'data: {"task":{"id":"1","status":{"state":"TASK_STATE_WORKING"}}}\n\n';

	it.each([404, 405])("is asked by the next one after a bare %d, which is remembered", async (status) => {
		const lines: string[] = [];
		const port = await httpServer((req, res) => {
			lines.push(`${req.method} ${req.url}`);
			if (req.method === "POST") res.writeHead(status, { "content-type": "text/html" }).end("<html>Cannot POST</html>");
			else res.writeHead(200, { "content-type": "text/event-stream" }).end(event);
		});
		const handler = upstream(port, "");
		for (let i = 0; i < 2; i++) expect(await drain(handler(call(m.subscribeToTask, '{"id":"1"}')))).toHaveLength(1);
		expect(lines).toEqual(["POST /tasks/1:subscribe", "GET /tasks/1:subscribe", "GET /tasks/1:subscribe"]);
	});

	it("but not after an A2A error", async () => {
		let requests = 0;
		const body = JSON.stringify({ error: { code: 404, status: "NOT_FOUND", message: "No such task", details: [] } });
		const port = await headServer((socket) => {
			requests++;
			socket.write(answer("404 Not Found", "application/json", body));
		});
		expect((await failure(drain(upstream(port)(call(m.subscribeToTask, '{"id":"1"}'))))).http).toBe(404);
		expect(requests).toBe(1);
	});

	it("and the answer stands when none is left", async () => {
		const lines: string[] = [];
		const port = await httpServer((req, res) => {
			lines.push(`${req.method} ${req.url}`);
			res.writeHead(404).end("nothing");
		});
		const handler = upstream(port, "");
		for (let i = 0; i < 2; i++) {
			expect((await failure(drain(handler(call(m.subscribeToTask, '{"id":"1"}'))))).http).toBe(404);
		}
		expect(lines).toHaveLength(4);
	});
});

const TASK = '{ "id":"1", "status":{"state":"TASK_STATE_NEW_ONE"}, "extra":1.0 }';
const html = "<html><body>502 Bad Gateway at 127.0.0.1:9999</body></html>";

describe("unary answers", () => {
	const ask = (port: number, method: Call["method"] = m.getTask, extra: Partial<Call> = {}) =>
		upstream(port)(call(method, '{"id":"1","taskId":"1"}', extra));

	it.each([["application/json"], ["application/a2a+json; charset=utf-8"], ["application/vnd.x+json"]])(
		"%s passes byte for byte",
		async (type) => {
			const port = await headServer((socket) =>
				socket.write(answer("200 OK", type, TASK, "etag: x\r\nserver: s\r\nA2A-Extensions: urn:x\r\n")),
			);
			const reply = await ask(port);
			expect((await single(reply)).text()).toBe(TASK);
			expect(reply.header).toEqual({ etag: "x", "a2a-extensions": "urn:x" });
		},
	);

	it.each<[string, string, string]>([
		["204", "HTTP/1.1 204 No Content\r\n\r\n", "{}"],
		["200 empty", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "{}"],
		["200 {}", answer("200 OK", "application/json", "{}"), "{}"],
		["200 null", answer("200 OK", "application/json", "null"), "{}"],
	])("nothing said with %s", async (_, bytes, text) => {
		const port = await headServer((socket) => socket.write(bytes));
		expect((await single(await ask(port, m.deleteTaskPushNotificationConfig))).text()).toBe(text);
		if (!bytes.includes("{}")) expect((await failure(ask(port))).reason).toBe("INVALID_AGENT_RESPONSE");
	});

	it("any 2xx will do", async () => {
		const port = await headServer((socket) => socket.write(answer("201 Created", "application/json", TASK)));
		expect((await single(await ask(port))).text()).toBe(TASK);
	});

	it.each<[string, string]>([
		["HTML", answer("200 OK", "text/html", html)],
		["JSON under another type", answer("200 OK", "text/plain", TASK)],
		["no JSON", answer("200 OK", "application/json", "{oops")],
		["an array", answer("200 OK", "application/json", "[]")],
		["a member twice", answer("200 OK", "application/json", '{"id":"1","id":"2"}')],
		["a member of the wrong type", answer("200 OK", "application/json", '{"id":5}')],
		["too deep", answer("200 OK", "application/json", "[".repeat(100))],
		["a stream", answer("200 OK", "text/event-stream", `data: ${TASK}\n\n`)],
		["a redirect", answer("307 Temporary Redirect", "text/html", "", "location: http://127.0.0.1:1/\r\n")],
		["no HTTP", "nonsense\r\n\r\n"],
	])("%s is an invalid response", async (_, bytes) => {
		const port = await headServer((socket) => socket.write(bytes));
		expect((await failure(ask(port))).reason).toBe("INVALID_AGENT_RESPONSE");
	});

	it("events without an end, where one answer was asked for, are not waited for", async () => {
		const closed = deferred();
		const port = await headServer((socket) => {
			socket.on("close", () => closed.resolve());
			socket.write(Buffer.concat([Buffer.from(chunkedHead("text/event-stream")), chunk(`data: ${TASK}\n\n`)]));
		});
		expect((await failure(ask(port))).reason).toBe("INVALID_AGENT_RESPONSE");
		await closed.promise;
	});

	it("too large", async () => {
		const port = await headServer((socket) =>
			socket.write(answer("200 OK", "application/json", `{"x":"${"y".repeat(5000)}"}`)),
		);
		const handler = upstream(port, "/", { maxMessage: 1000 });
		expect((await failure(handler(call(m.getTask, '{"id":"1"}')))).reason).toBe("INVALID_AGENT_RESPONSE");
	});

	const info = {
		"@type": "type.googleapis.com/google.rpc.ErrorInfo",
		reason: "TASK_NOT_CANCELABLE",
		domain: "a2a-protocol.org",
	};
	const status = JSON.stringify({
		error: { code: 409, status: "FAILED_PRECONDITION", message: "Too late", details: [info] },
	});
	it.each<[string, string, Record<string, unknown>]>([
		[
			"an A2A error",
			answer("409 Conflict", "application/json", status),
			{ reason: "TASK_NOT_CANCELABLE", message: "Too late" },
		],
		["the same under 200", answer("200 OK", "application/json", status), { reason: "TASK_NOT_CANCELABLE" }],
		["a proxy's page", answer("502 Bad Gateway", "text/html", html), { grpc: "UNAVAILABLE" }],
		[
			"a challenge",
			answer("401 Unauthorized", "text/plain", "", "www-authenticate: Bearer\r\n"),
			{ reason: "UNAUTHENTICATED", header: { "www-authenticate": "Bearer" } },
		],
		[
			"a rate limit",
			answer("429 Too Many Requests", "text/plain", "", "retry-after: 5\r\n"),
			{ reason: "RESOURCE_EXHAUSTED", header: { "retry-after": "5" } },
		],
	])("%s", async (_, bytes, expected) => {
		const port = await headServer((socket) => socket.write(bytes));
		expect(await failure(ask(port, m.cancelTask))).toMatchObject(expected);
	});

	it("a hanging agent is left at the deadline; its late answer does no harm", async () => {
		const controller = new AbortController();
		const closed = deferred();
		const port = await headServer((socket) => {
			socket.on("close", () => closed.resolve());
			setTimeout(() => socket.write(answer("200 OK", "application/json", TASK)), 100);
			controller.abort(new A2AError("DEADLINE_EXCEEDED"));
		});
		expect((await failure(ask(port, m.getTask, { signal: controller.signal }))).reason).toBe("DEADLINE_EXCEEDED");
		await closed.promise;
	});
});

describe("streams", () => {
	const ask = (port: number, extra: Partial<Call> = {}, options = {}) =>
		upstream(port, "/", options)(call(m.sendStreamingMessage, '{"message":{}}', extra));
	const good = '{"task":{"id":"1"}}';
	const sse = (...parts: string[]) =>
		Buffer.concat([Buffer.from(chunkedHead("text/event-stream; charset=utf-8")), ...parts.map(chunk)]);
	const end = Buffer.from("0\r\n\r\n");

	it("events as they come, byte for byte", async () => {
		const port = await headServer((socket, head) => {
			expect(head).toMatch(/accept: text\/event-stream\r\n/);
			socket.write(
				Buffer.concat([
					sse(': hi\n\ndata: { "task":{"id":"1"},', ' "x":1.0}\r\n\r\ndata:\n\nevent: message\ndata: ', `${good}\n\n`),
					end,
				]),
			);
		});
		expect(await drain(ask(port))).toEqual(['{ "task":{"id":"1"}, "x":1.0}', good]);
	});

	it("one JSON message instead of a stream", async () => {
		const port = await headServer((socket) => socket.write(answer("200 OK", "application/json", good)));
		expect(await drain(ask(port))).toEqual([good]);
	});

	it.each<[string, Buffer | string, Record<string, unknown>]>([
		["JSON that is no event", answer("200 OK", "application/json", '{"foo":1}'), { reason: "INVALID_AGENT_RESPONSE" }],
		["HTML", answer("200 OK", "text/html", html), { reason: "INVALID_AGENT_RESPONSE" }],
		["an error page", answer("503 Service Unavailable", "text/html", html), { grpc: "UNAVAILABLE" }],
		["an empty answer", answer("200 OK", "application/json", ""), { reason: "INVALID_AGENT_RESPONSE" }],
	])("%s before the stream", async (_, bytes, expected) => {
		const port = await headServer((socket) => socket.write(bytes));
		expect(await failure(drain(ask(port)))).toMatchObject(expected);
	});

	const status = JSON.stringify({ error: { code: 404, status: "NOT_FOUND", message: "Gone", details: [] } });
	it.each<[string, Buffer, Record<string, unknown>]>([
		["an error event", sse(`event: error\ndata: ${status}\n\n`), { grpc: "NOT_FOUND", message: "Gone" }],
		["an error object", sse(`data: ${status}\n\n`), { grpc: "NOT_FOUND", message: "Gone" }],
		["an error event that is no JSON", sse("event: error\ndata: oops\n\n"), { grpc: expect.any(String) }],
		["no JSON", sse("data: {oops\n\n"), { reason: "INVALID_AGENT_RESPONSE" }],
		["a wrong type", sse('data: {"task":5}\n\n'), { reason: "INVALID_AGENT_RESPONSE" }],
		["two results", sse('data: {"task":{},"message":{}}\n\n'), { reason: "INVALID_AGENT_RESPONSE" }],
		["a member twice", sse('data: {"task":{"id":"1","id":"2"}}\n\n'), { reason: "INVALID_AGENT_RESPONSE" }],
		["an end inside an event", Buffer.concat([sse('data: {"task"'), end]), { reason: "INVALID_AGENT_RESPONSE" }],
	])("%s inside the stream", async (_, bytes, expected) => {
		const closed = deferred();
		const port = await headServer((socket) => {
			socket.on("close", () => closed.resolve());
			socket.write(sse(`data: ${good}\n\n`));
			socket.write(bytes.subarray(bytes.indexOf("\r\n\r\n") + 4));
		});
		const texts: string[] = [];
		const reading = (async () => {
			for await (const message of (await ask(port)).messages) texts.push(message.text());
		})();
		expect(await failure(reading)).toMatchObject(expected);
		expect(texts).toEqual([good]);
		if (!bytes.includes(end)) await closed.promise;
	});

	it.each([
		["half-closed", (socket: { end(): unknown }) => socket.end()],
		["reset", (socket: { resetAndDestroy(): unknown }) => setTimeout(() => socket.resetAndDestroy(), 20)],
	])("a connection %s inside an event", async (_, cut) => {
		const port = await headServer((socket) => {
			socket.write(sse(`data: ${good}\n\n`, "data: {"));
			cut(socket);
		});
		expect((await failure(drain(ask(port)))).reason).toMatch(/UNAVAILABLE|INVALID_AGENT_RESPONSE/);
	});

	it("one 10 MB line", async () => {
		const size = 10_000_000;
		const port = await headServer((socket) => {
			socket.write(sse('data: {"task":{"id":"'));
			for (let sent = 0; sent < size; sent += 1_000_000) socket.write(chunk("x".repeat(1_000_000)));
			socket.write(Buffer.concat([chunk('"}}\n\n'), end]));
		});
		const [text = ""] = await drain(ask(port));
		expect(text).toHaveLength(size + 18);
		expect((await failure(drain(ask(port, {}, { maxMessage: 1_000_000 })))).reason).toBe("INVALID_AGENT_RESPONSE");
	});

	it("silence", async () => {
		const port = await headServer((socket) => socket.write(sse(`data: ${good}\n\n`)));
		expect((await failure(drain(ask(port, {}, { idleTimeout: 100 })))).reason).toBe("UNAVAILABLE");
	});

	it("a stream that never starts", async () => {
		const port = await headServer(() => {});
		expect((await failure(drain(ask(port, {}, { idleTimeout: 100 })))).reason).toBe("UNAVAILABLE");
	});

	it.each(["leaving the loop", "aborting"])("%s closes the agent's stream", async (how) => {
		const closed = deferred();
		const controller = new AbortController();
		const port = await headServer((socket) => {
			socket.on("close", () => closed.resolve());
			socket.write(sse(`data: ${good}\n\n`));
		});
		const { messages } = await ask(port, { signal: controller.signal });
		const reading = (async () => {
			for await (const _ of messages) {
				if (how === "aborting") controller.abort(new A2AError("CANCELLED"));
				else break;
			}
		})();
		if (how === "aborting") expect((await failure(reading)).reason).toBe("CANCELLED");
		else await reading;
		await closed.promise;
	});
});

it("publicUrl has no trailing slash", () => {
	expect(httpJson.publicUrl(new URL("https://a.example/"))).toBe("https://a.example");
	expect(httpJson.publicUrl(new URL("https://a.example/agents/x/"))).toBe("https://a.example/agents/x");
});
