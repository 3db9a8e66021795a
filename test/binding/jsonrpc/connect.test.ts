/** JSON-RPC towards agents: what is asked of them, and what becomes of every answer, good and bad. */
import { afterEach, describe, expect, it } from "vitest";
import { jsonrpc } from "../../../src/binding/jsonrpc/index.ts";
import { anonymous, type Call, type Reply } from "../../../src/call/call.ts";
import { A2AError, errors, type Reason } from "../../../src/call/error.ts";
import { Losses } from "../../../src/call/loss.ts";
import { single } from "../../../src/call/stream.ts";
import { core, v1 } from "../../../src/dialect/v1/index.ts";
import { fromText } from "../../../src/schema/payload.ts";
import { answer, chunk, chunkedHead, closeAll, deferred, headServer, httpServer, onClose } from "../../wire/sockets.ts";
import { connectOptions } from "../http-json/harness.ts";

afterEach(closeAll);

const { method: m } = core;

function upstream(port: number, path = "/rpc", options: Partial<typeof connectOptions> = {}) {
	const iface = { url: `http://127.0.0.1:${port}${path}`, binding: "JSONRPC", version: "1.0", tenant: "" };
	const made = jsonrpc.connect(iface, v1, { ...connectOptions, ...options });
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

const result = (text: string, id: string = "1") => `{"jsonrpc":"2.0","id":${id},"result":${text}}`;
const failed = (error: unknown, id: unknown = 1) => JSON.stringify({ jsonrpc: "2.0", id, error });
const ok = (body: string, extra = "") => answer("200 OK", "application/json", body, extra);

const TASK = '{ "id":"1", "status":{"state":"TASK_STATE_NEW_ONE"}, "extra":1.0 }';
const html = "<html><body>502 Bad Gateway at 127.0.0.1:9999</body></html>";

describe("requests", () => {
	async function agent() {
		const seen: { line: string; body: string; header: Record<string, unknown> }[] = [];
		const port = await httpServer(async (req, res) => {
			let body = "";
			for await (const part of req) body += part;
			seen.push({ line: `${req.method} ${req.url}`, body, header: req.headers });
			res.setHeader("content-type", "application/json").end(result("{}"));
		});
		return { port, seen };
	}

	it.each(core.methods.map((method) => [method.name, method] as const))("%s", async (name, method) => {
		const { port, seen } = await agent();
		const text = '{ "id":"1", "n":[1.0, 1e2] }';
		await drain(upstream(port)(call(method, text, { header: { authorization: "Bearer x" } }))).catch(() => []);
		expect(seen).toHaveLength(1);
		expect(seen[0]?.line).toBe("POST /rpc");
		expect(seen[0]?.body).toBe(`{"jsonrpc":"2.0","id":1,"method":"${name}","params":${text}}`);
		expect(seen[0]?.header).toMatchObject({
			authorization: "Bearer x",
			"a2a-version": "1.0",
			"content-type": "application/json",
			accept: method.methodKind === "unary" ? "application/json" : "text/event-stream, application/json",
		});
	});

	it.each([
		["", "POST /?key=a%26b"],
		["/", "POST /?key=a%26b"],
		["/x/y/", "POST /x/y/?key=a%26b"],
		["/x?fixed=1", "POST /x?fixed=1&key=a%26b"],
	])("interface URL ending in %j", async (path, line) => {
		const { port, seen } = await agent();
		await upstream(port, path)(call(m.listTasks, "{}", { query: { key: "a&b" } }));
		expect(seen[0]?.line).toBe(line);
	});

	it("ids differ from call to call", async () => {
		const { port, seen } = await agent();
		const handler = upstream(port);
		for (let i = 0; i < 3; i++) await handler(call(m.listTasks, "{}"));
		expect(new Set(seen.map(({ body }) => JSON.parse(body).id)).size).toBe(3);
	});

	it.each(["", "nonsense", "ftp://x/", "grpc://x:1"])("refuses the interface URL %j at construction", (url) => {
		expect(() =>
			jsonrpc.connect({ url, binding: "JSONRPC", version: "1.0", tenant: "" }, v1, connectOptions),
		).toThrow();
	});
});

describe("unary answers", () => {
	const ask = (port: number, method: Call["method"] = m.getTask, extra: Partial<Call> = {}) =>
		upstream(port)(call(method, '{"id":"1","taskId":"1"}', extra));
	const asked = async (bytes: string | Buffer, method?: Call["method"]) => {
		const port = await headServer((socket) => socket.write(bytes));
		return ask(port, method);
	};

	it.each(["application/json", "application/json; charset=utf-8", "application/a2a+json", "text/plain"])(
		"%s passes byte for byte",
		async (type) => {
			const header = "server: s\r\nset-cookie: a=b\r\nA2A-Extensions: urn:x\r\n";
			const reply = await asked(answer("200 OK", type, result(TASK), header));
			expect((await single(reply)).text()).toBe(TASK);
			expect(reply.header).toEqual({ "a2a-extensions": "urn:x" });
		},
	);

	it.each<[string, string]>([
		["another id", result(TASK, "77")],
		["the id as a string", result(TASK, '"1"')],
		["no id", `{"jsonrpc":"2.0","result":${TASK}}`],
		["no jsonrpc", `{"id":1,"result":${TASK}}`],
		["error null beside it", `{"jsonrpc":"2.0","id":1,"error":null,"result":${TASK}}`],
		["unknown members", `{"jsonrpc":"2.0","x":[{}],"id":1,"result":${TASK},"y":null}`],
	])("a result with %s is taken: the connection tells whose it is", async (_, body) => {
		expect((await single(await asked(ok(body)))).text()).toBe(TASK);
	});

	it.each([
		["null", result("null")],
		["{}", result("{}")],
		["absent", '{"jsonrpc":"2.0","id":1}'],
	])("a deletion's result may be %s", async (_, body) => {
		expect((await single(await asked(ok(body), m.deleteTaskPushNotificationConfig))).text()).toBe("{}");
	});

	it.each<[string, string]>([
		["null for a result that says something", ok(result("null"))],
		["no result and no error", ok('{"jsonrpc":"2.0","id":1}')],
		["HTML", answer("200 OK", "text/html", html)],
		["no JSON", ok("{oops")],
		["nothing", ok("")],
		["an array", ok("[]")],
		["a batch", ok(`[${result(TASK)}]`)],
		["a string", ok('"x"')],
		["null", ok("null")],
		["a bare message", ok('{"id":"1","status":{"state":"TASK_STATE_WORKING"}}')],
		["a result that is an array", ok(result("[]"))],
		["a result that is a string", ok(result('"done"'))],
		["a result that is a number", ok(result("1"))],
		["a member of the wrong type", ok(result('{"id":5}'))],
		["a member twice", ok(result('{"id":"1","id":"2"}'))],
		["two results", ok('{"jsonrpc":"2.0","id":1,"result":{"id":"1"},"result":{"id":"2"}}')],
		["too deep", ok(result("[".repeat(100) + "]".repeat(100)))],
		["invalid UTF-8", ok(result(`{"id":"?"}`)).replace("?", "\xff")],
		["an error that is a string", ok('{"jsonrpc":"2.0","id":1,"error":"oops"}')],
		["an error without a code", ok('{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}')],
		["an error with a code in words", ok('{"jsonrpc":"2.0","id":1,"error":{"code":"E1"}}')],
		["a stream", answer("200 OK", "text/event-stream", `data: ${result(TASK)}\n\n`)],
		["a redirect", answer("307 Temporary Redirect", "text/html", "", "location: http://127.0.0.1:1/\r\n")],
		["a content coding nobody asked for", ok(result(TASK), "content-encoding: gzip\r\n")],
		["202", "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"],
		["204", "HTTP/1.1 204 No Content\r\n\r\n"],
		["no HTTP", "nonsense\r\n\r\n"],
	])("%s is an invalid response", async (_, bytes) => {
		const error = await failure(asked(bytes.includes("\xff") ? Buffer.from(bytes, "latin1") : bytes));
		expect(error.reason).toBe("INVALID_AGENT_RESPONSE");
	});

	it("a stream that never ends is not waited for", async () => {
		const closed = deferred();
		const port = await headServer((socket) => {
			socket.on("close", () => closed.resolve());
			socket.write(Buffer.concat([Buffer.from(chunkedHead("text/event-stream")), chunk(": hi\n\n")]));
		});
		expect((await failure(ask(port))).reason).toBe("INVALID_AGENT_RESPONSE");
		await closed.promise;
	});

	it("too large", async () => {
		const port = await headServer((socket) => socket.write(ok(result(`{"id":"${"y".repeat(5000)}"}`))));
		const handler = upstream(port, "/", { maxMessage: 1000 });
		expect((await failure(handler(call(m.getTask, '{"id":"1"}')))).reason).toBe("INVALID_AGENT_RESPONSE");
	});

	const info = (reason: string) => ({
		"@type": "type.googleapis.com/google.rpc.ErrorInfo",
		reason,
		domain: "a2a-protocol.org",
	});

	it.each(Object.keys(errors) as Reason[])("error %s is read by its reason and by its code", async (reason) => {
		const { rpc } = errors[reason];
		const told = await failure(asked(ok(failed({ code: rpc, message: "No", data: [info(reason)] }))));
		expect(told).toMatchObject({ reason, rpc, message: "No" });
		expect(told.details).toEqual([info(reason)]);
		const bare = await failure(asked(ok(failed({ code: rpc, message: "No" }, null))));
		expect([bare.rpc, bare.message]).toEqual([rpc, "No"]);
	});

	it("what no table has stays as it was", async () => {
		const error = await failure(asked(ok(failed({ code: -32050, message: "m", data: { why: [1] } }))));
		expect(error.wire).toEqual({ rpc: -32050, data: { why: [1] } });
	});

	const type = "application/json";
	it.each<[string, string, Record<string, unknown>]>([
		["404 in HTML", answer("404 Not Found", "text/html", html), { grpc: "NOT_FOUND" }],
		["500 in HTML", answer("500 Internal Server Error", "text/html", html), { grpc: "INTERNAL" }],
		["502 in HTML", answer("502 Bad Gateway", "text/html", html), { grpc: "UNAVAILABLE" }],
		[
			"503 with Retry-After",
			answer("503 Service Unavailable", "text/html", html, "retry-after: 5\r\n"),
			{ reason: "UNAVAILABLE", header: { "retry-after": "5" } },
		],
		["504", answer("504 Gateway Timeout", "text/html", html), { reason: "DEADLINE_EXCEEDED" }],
		[
			"429",
			answer("429 Too Many Requests", "text/plain", "", "retry-after: 5\r\n"),
			{ reason: "RESOURCE_EXHAUSTED", header: { "retry-after": "5" } },
		],
		[
			"401 without a body",
			answer("401 Unauthorized", "text/plain", "", "www-authenticate: Bearer\r\n"),
			{ reason: "UNAUTHENTICATED", header: { "www-authenticate": "Bearer" } },
		],
		[
			"401 as OAuth says it",
			answer(
				"401 Unauthorized",
				type,
				'{"error":"invalid_token","error_description":"x"}',
				"www-authenticate: Bearer\r\n",
			),
			{ reason: "UNAUTHENTICATED", header: { "www-authenticate": "Bearer" } },
		],
		[
			"401 in a bare JSON body",
			answer("401 Unauthorized", type, '{"message":"x"}', "www-authenticate: Bearer\r\n"),
			{ reason: "UNAUTHENTICATED", header: { "www-authenticate": "Bearer" } },
		],
		[
			"401 with a generic JSON-RPC error",
			answer("401 Unauthorized", type, failed({ code: -32000, message: "Log in" }), "www-authenticate: Bearer\r\n"),
			{ reason: "UNAUTHENTICATED", message: "Log in", header: { "www-authenticate": "Bearer" } },
		],
		[
			"403",
			answer("403 Forbidden", type, failed({ code: -32603, message: "No" })),
			{ reason: "PERMISSION_DENIED", message: "No" },
		],
		[
			"403 as a problem document",
			answer("403 Forbidden", "application/problem+json", '{"title":"Forbidden","status":403}'),
			{ reason: "PERMISSION_DENIED" },
		],
		[
			"400 with a JSON-RPC error",
			answer("400 Bad Request", type, failed({ code: -32602, message: "Bad" })),
			{ reason: "INVALID_PARAMS", message: "Bad" },
		],
		[
			"404 with an A2A error",
			answer("404 Not Found", type, failed({ code: -32001, message: "No such task", data: [info("TASK_NOT_FOUND")] })),
			{ reason: "TASK_NOT_FOUND", message: "No such task" },
		],
		[
			"401 under an A2A error stays that error",
			answer("401 Unauthorized", type, failed({ code: -32001, message: "Gone" })),
			{ reason: "TASK_NOT_FOUND" },
		],
		["500 with a result", answer("500 Internal Server Error", type, result(TASK)), { reason: "INTERNAL_ERROR" }],
		[
			"an error and a result",
			ok(`{"jsonrpc":"2.0","id":1,"result":${TASK},"error":{"code":-32002,"message":"m"}}`),
			{ reason: "TASK_NOT_CANCELABLE" },
		],
	])("%s", async (_, bytes, expected) => {
		expect(await failure(asked(bytes, m.cancelTask))).toMatchObject(expected);
	});

	it("nobody there", async () => {
		expect((await failure(upstream(1)(call(m.getTask, '{"id":"1"}')))).reason).toBe("UNAVAILABLE");
	});

	it.each([
		["before a byte", (socket: { destroy(): unknown }) => socket.destroy()],
		["inside the head", (socket: { end(text: string): unknown }) => socket.end("HTTP/1.1 200 OK\r\ncontent-le")],
		["inside the body", (socket: { end(text: string): unknown }) => socket.end(ok(result(TASK)).slice(0, -5))],
	] as const)("a connection that ends %s", async (_, cut) => {
		const port = await headServer((socket) => cut(socket));
		expect((await failure(ask(port))).reason).toMatch(/UNAVAILABLE|INVALID_AGENT_RESPONSE/);
	});

	it("a request that may have been heard is not sent again", async () => {
		let requests = 0;
		const port = await headServer((socket) => {
			requests++;
			socket.destroy();
		});
		expect((await failure(ask(port, m.sendMessage))).reason).toBe("UNAVAILABLE");
		expect(requests).toBe(1);
	});

	it("a hanging agent is left at the deadline; its late answer does no harm", async () => {
		const controller = new AbortController();
		const closed = deferred();
		let count = 0;
		const port = await headServer((socket) => {
			if (++count > 1) {
				socket.write(ok(result(TASK)));
				return;
			}
			socket.on("close", () => closed.resolve());
			setTimeout(() => socket.write(ok(result('{"id":"late"}'))), 50);
			controller.abort(new A2AError("DEADLINE_EXCEEDED"));
		});
		const handler = upstream(port);
		const late = handler(call(m.getTask, '{"id":"1"}', { signal: controller.signal }));
		expect((await failure(late)).reason).toBe("DEADLINE_EXCEEDED");
		await closed.promise;
		expect((await single(await handler(call(m.getTask, '{"id":"1"}')))).text()).toBe(TASK);
	});
});

describe("streams", () => {
	const ask = (port: number, extra: Partial<Call> = {}, options = {}) =>
		upstream(port, "/", options)(call(m.sendStreamingMessage, '{"message":{}}', extra));
	const good = '{"task":{"id":"1"}}';
	const event = `data: ${result(good)}\n\n`;
	const sse = (...parts: string[]) =>
		Buffer.concat([Buffer.from(chunkedHead("text/event-stream; charset=utf-8")), ...parts.map(chunk)]);
	const end = Buffer.from("0\r\n\r\n");

	it("events as they come, byte for byte", async () => {
		const parts = [
			': hi\n\nid: 5\nretry: 10\ndata: {"jsonrpc":"2.0","id":1,"result":{ "task":{"id":"1"},',
			' "x":1.0}}\r\n\r\ndata:\n\nevent: message\n',
			`data: ${result(good, '"other"')}\n\n: bye\n\n`,
		];
		const port = await headServer((socket) => socket.write(Buffer.concat([sse(...parts), end])));
		expect(await drain(ask(port))).toEqual(['{ "task":{"id":"1"}, "x":1.0}', good]);
	});

	it("one event in several data lines", async () => {
		const port = await headServer((socket) =>
			socket.write(Buffer.concat([sse('data: {"jsonrpc":"2.0","id":1,\ndata: "result":{"task":{}}}\n\n'), end])),
		);
		expect(await drain(ask(port))).toEqual(['{"task":{}}']);
	});

	it("one JSON response instead of a stream", async () => {
		const port = await headServer((socket) => socket.write(ok(result(good))));
		expect(await drain(ask(port))).toEqual([good]);
	});

	it("an end without an event", async () => {
		const port = await headServer((socket) => socket.write(Buffer.concat([sse(), end])));
		expect(await drain(ask(port))).toEqual([]);
	});

	it.each<[string, Buffer | string, Record<string, unknown>]>([
		[
			"an error response",
			ok(failed({ code: -32004, message: "No" })),
			{ reason: "UNSUPPORTED_OPERATION", message: "No" },
		],
		["JSON that is no event", ok(result('{"task":5}')), { reason: "INVALID_AGENT_RESPONSE" }],
		["a result null", ok(result("null")), { reason: "INVALID_AGENT_RESPONSE" }],
		["HTML", answer("200 OK", "text/html", html), { reason: "INVALID_AGENT_RESPONSE" }],
		["an error page", answer("503 Service Unavailable", "text/html", html), { grpc: "UNAVAILABLE" }],
		[
			"events under an error status",
			answer("403 Forbidden", "text/event-stream", event),
			{ reason: "PERMISSION_DENIED" },
		],
		[
			"a challenge",
			answer("401 Unauthorized", "text/plain", "", "www-authenticate: Basic\r\n"),
			{ reason: "UNAUTHENTICATED", header: { "www-authenticate": "Basic" } },
		],
		["an empty answer", ok(""), { reason: "INVALID_AGENT_RESPONSE" }],
		["204", "HTTP/1.1 204 No Content\r\n\r\n", { reason: "INVALID_AGENT_RESPONSE" }],
	])("%s before the stream", async (_, bytes, expected) => {
		const port = await headServer((socket) => socket.write(bytes));
		expect(await failure(drain(ask(port)))).toMatchObject(expected);
	});

	it.each<[string, Buffer, Record<string, unknown>]>([
		[
			"an error response",
			sse(`data: ${failed({ code: -32001, message: "Gone" })}\n\n`),
			{ reason: "TASK_NOT_FOUND", message: "Gone" },
		],
		[
			"the same as an error event",
			sse(`event: error\ndata: ${failed({ code: -32603, message: "Gone" })}\n\n`),
			{ message: "Gone" },
		],
		["no JSON", sse("data: {oops\n\n"), { reason: "INVALID_AGENT_RESPONSE" }],
		["a bare message", sse(`data: ${good}\n\n`), { reason: "INVALID_AGENT_RESPONSE" }],
		["a batch", sse(`data: [${result(good)}]\n\n`), { reason: "INVALID_AGENT_RESPONSE" }],
		["a result null", sse(`data: ${result("null")}\n\n`), { reason: "INVALID_AGENT_RESPONSE" }],
		["a result of the wrong type", sse(`data: ${result('{"task":5}')}\n\n`), { reason: "INVALID_AGENT_RESPONSE" }],
		[
			"two results in one",
			sse(`data: ${result('{"task":{},"message":{}}')}\n\n`),
			{ reason: "INVALID_AGENT_RESPONSE" },
		],
		[
			"a member twice",
			sse(`data: ${result('{"task":{"id":"1","id":"2"}}')}\n\n`),
			{ reason: "INVALID_AGENT_RESPONSE" },
		],
		["too deep", sse(`data: ${"[".repeat(1000)}\n\n`), { reason: "INVALID_AGENT_RESPONSE" }],
		["an end inside an event", Buffer.concat([sse('data: {"jsonrpc"'), end]), { reason: "INVALID_AGENT_RESPONSE" }],
	])("%s inside the stream", async (_, bytes, expected) => {
		const closed = deferred();
		const port = await headServer((socket) => {
			socket.on("close", () => closed.resolve());
			socket.write(sse(event));
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
			socket.write(sse(event, "data: {"));
			cut(socket);
		});
		expect((await failure(drain(ask(port)))).reason).toMatch(/UNAVAILABLE|INVALID_AGENT_RESPONSE/);
	});

	it("one 10 MB line", async () => {
		const size = 10_000_000;
		const port = await headServer((socket) => {
			socket.write(sse('data: {"jsonrpc":"2.0","id":1,"result":{"task":{"id":"'));
			for (let sent = 0; sent < size; sent += 1_000_000) socket.write(chunk("x".repeat(1_000_000)));
			socket.write(Buffer.concat([chunk('"}}}\n\n'), end]));
		});
		const [text = ""] = await drain(ask(port));
		expect(text).toHaveLength(size + 18);
		expect((await failure(drain(ask(port, {}, { maxMessage: 1_000_000 })))).reason).toBe("INVALID_AGENT_RESPONSE");
	});

	it("silence", async () => {
		const port = await headServer((socket) => socket.write(sse(event)));
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
			socket.write(sse(event));
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

	it("a slow reader slows the agent", async () => {
		let written = 0;
		const port = await headServer((socket) => {
			const piece = Buffer.concat([chunk(`data: ${result(`{"task":{"id":"${"x".repeat(50_000)}"}}`)}\n\n`)]);
			socket.write(Buffer.from(chunkedHead("text/event-stream")));
			const more = () => {
				while (!socket.destroyed && written < 10_000) {
					written++;
					if (!socket.write(piece)) return;
				}
			};
			socket.on("drain", more);
			more();
		});
		const iterator = ((await ask(port)).messages as AsyncIterable<unknown>)[Symbol.asyncIterator]();
		await iterator.next();
		let before = -1;
		while (before !== written) {
			before = written;
			await new Promise((resolve) => setTimeout(resolve, 100));
		}
		expect(written).toBeLessThan(2000);
		await iterator.return?.();
	});
});

it("publicUrl has no trailing slash", () => {
	expect(jsonrpc.publicUrl(new URL("https://a.example/"))).toBe("https://a.example");
	expect(jsonrpc.publicUrl(new URL("https://a.example/agents/x/"))).toBe("https://a.example/agents/x");
});
