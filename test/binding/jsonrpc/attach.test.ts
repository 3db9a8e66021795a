/** JSON-RPC towards clients: every envelope, good and bad, and every form of answer. */
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import zlib from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { jsonrpc } from "../../../src/binding/jsonrpc/index.ts";
import type { Call, Reply } from "../../../src/call/call.ts";
import { A2AError, errors, invalidParams, type Reason } from "../../../src/call/error.ts";
import type { Payload } from "../../../src/call/payload.ts";
import { reply } from "../../../src/call/stream.ts";
import { core, v1 } from "../../../src/dialect/v1/index.ts";
import { closeAll, connect, deferred, http2Server, onClose, readToEnd } from "../../wire/sockets.ts";
import { attachOptions, payload, recorder } from "../http-json/harness.ts";
import { ask, envelope, eventsOf, JSON_TYPE, serve } from "./harness.ts";

afterEach(closeAll);

const INFO = "type.googleapis.com/google.rpc.ErrorInfo";

describe("envelopes", () => {
	it.each(core.methods.map((m) => m.name))("%s is found by its name", async (name) => {
		const { handler, calls } = recorder();
		await ask(await serve(handler), envelope(name, '{"id":"x","unknown":[1.0]}'));
		expect(calls).toHaveLength(1);
		expect(calls[0]).toMatchObject({ agent: "a", id: "id-1", origin: { binding: "JSONRPC", version: "1.0" } });
		expect(calls[0]?.method.name).toBe(name);
		expect(calls[0]?.request.text()).toBe('{"id":"x","unknown":[1.0]}');
	});

	it.each([
		"1",
		"0",
		"-1",
		"1.0",
		"1e2",
		"12345678901234567890123",
		"9007199254740993",
		"null",
		'""',
		'"q-7"',
		'"\\u00e9\\n\\"\\\\"',
		'"é😀"',
	])("id %s comes back as it was written", async (id) => {
		const { handler } = recorder((call) => reply(payload(call, '{"n":1.0}')));
		const base = await serve(handler);
		expect((await ask(base, envelope("GetTask", '{"id":"1"}', id))).text).toBe(
			`{"jsonrpc":"2.0","id":${id},"result":{"n":1.0}}`,
		);
		const failed = await ask(base, envelope("Nonsense", "{}", id));
		expect(failed.text.startsWith(`{"jsonrpc":"2.0","id":${id},"error":{`)).toBe(true);
	});

	it("spaces and order of members do not matter; unknown members are let be", async () => {
		const { handler, calls } = recorder((call) => reply(payload(call, "{}")));
		const text =
			'\n{ "params" : { "id":"1",  "n":1.0 } ,"x":[{"id":5}], "method":"Get\\u0054ask","id" : 7 ,"jsonrpc":"2.0"}\t';
		const answer = await ask(await serve(handler), text);
		expect(answer.text).toBe('{"jsonrpc":"2.0","id":7,"result":{}}');
		expect(calls[0]?.request.text()).toBe('{ "id":"1",  "n":1.0 }');
	});

	it.each([
		["absent", '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}'],
		["null", '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":null}'],
		["empty", '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}'],
	])("params %s are none", async (_, body) => {
		const { handler, calls } = recorder();
		await ask(await serve(handler), body);
		expect(calls[0]?.request.json()).toEqual({});
	});

	const big = "x".repeat(200_000);
	it.each<[string, string | Buffer, Reason, string]>([
		["nothing", "", "PARSE_ERROR", "null"],
		["rubbish", "{oops", "PARSE_ERROR", "null"],
		["a truncated body", '{"jsonrpc":"2.0","id":7,"method":"GetTask","par', "PARSE_ERROR", "null"],
		["two values", `${envelope("GetTask")}${envelope("GetTask")}`, "PARSE_ERROR", "null"],
		["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), "PARSE_ERROR", "null"],
		["UTF-16", Buffer.from(envelope("GetTask"), "utf16le"), "PARSE_ERROR", "null"],
		["a byte order mark", `\ufeff${envelope("GetTask")}`, "PARSE_ERROR", "null"],
		["deep nesting", `{"id":1,"params":${"[".repeat(5000)}${"]".repeat(5000)}}`, "PARSE_ERROR", "null"],
		["unclosed deep nesting", "[".repeat(50_000), "PARSE_ERROR", "null"],
		["NaN", '{"id":NaN}', "PARSE_ERROR", "null"],
		["a batch", `[${envelope("GetTask")},${envelope("GetTask")}]`, "INVALID_REQUEST", "null"],
		["an empty batch", "[]", "INVALID_REQUEST", "null"],
		["a string", '"GetTask"', "INVALID_REQUEST", "null"],
		["null", "null", "INVALID_REQUEST", "null"],
		["a number", "1", "INVALID_REQUEST", "null"],
		["a notification", '{"jsonrpc":"2.0","method":"GetTask","params":{"id":"1"}}', "INVALID_REQUEST", "null"],
		["an id that is an object", envelope("GetTask", "{}", "{}"), "INVALID_REQUEST", "null"],
		["an id that is an array", envelope("GetTask", "{}", "[1]"), "INVALID_REQUEST", "null"],
		["an id that is a boolean", envelope("GetTask", "{}", "true"), "INVALID_REQUEST", "null"],
		["two ids", '{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}', "INVALID_REQUEST", "null"],
		["two methods", '{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"CancelTask"}', "INVALID_REQUEST", "null"],
		["a member of params twice", envelope("GetTask", '{"id":"1","id":"2"}'), "INVALID_REQUEST", "null"],
		["the same in escapes", envelope("GetTask", '{"id":"1","\\u0069d":"2"}'), "INVALID_REQUEST", "null"],
		["no jsonrpc", '{"id":"q","method":"GetTask"}', "INVALID_REQUEST", '"q"'],
		["jsonrpc 1.0", '{"jsonrpc":"1.0","id":"q","method":"GetTask"}', "INVALID_REQUEST", '"q"'],
		["jsonrpc as a number", '{"jsonrpc":2.0,"id":"q","method":"GetTask"}', "INVALID_REQUEST", '"q"'],
		["no method", '{"jsonrpc":"2.0","id":"q"}', "INVALID_REQUEST", '"q"'],
		["a method that is no string", '{"jsonrpc":"2.0","id":"q","method":{}}', "INVALID_REQUEST", '"q"'],
		["an unknown method", envelope("DoIt"), "METHOD_NOT_FOUND", "1"],
		["an empty method", envelope(""), "METHOD_NOT_FOUND", "1"],
		["a method in the wrong case", envelope("getTask"), "METHOD_NOT_FOUND", "1"],
		["a method of every object", envelope("toString"), "METHOD_NOT_FOUND", "1"],
		["__proto__", envelope("__proto__"), "METHOD_NOT_FOUND", "1"],
		["a long method", envelope("m".repeat(10_000)), "METHOD_NOT_FOUND", "1"],
		["params as an array", envelope("GetTask", "[]"), "INVALID_PARAMS", "1"],
		["params as a string", envelope("GetTask", '"x"'), "INVALID_PARAMS", "1"],
		["params as a number", envelope("GetTask", "0"), "INVALID_PARAMS", "1"],
		["params as false", envelope("GetTask", "false"), "INVALID_PARAMS", "1"],
		["too much", envelope("GetTask", `{"id":"${big}"}`), "REQUEST_TOO_LARGE", "null"],
	])("%s is refused", async (_, body, reason, id) => {
		const { handler, calls } = recorder();
		const answer = await ask(await serve(handler), body);
		expect(answer.type).toBe("application/json");
		expect(answer.status).toBe(reason === "REQUEST_TOO_LARGE" ? 413 : 200);
		expect(answer.text.startsWith(`{"jsonrpc":"2.0","id":${id},"error":{`)).toBe(true);
		expect(answer.text.length).toBeLessThan(1000);
		expect(JSON.parse(answer.text).error).toMatchObject({
			code: errors[reason].rpc,
			message: expect.stringMatching(/\S/),
			data: [{ "@type": INFO, reason, domain: "a2a-protocol.org" }],
		});
		expect(calls).toEqual([]);
	});

	it("members named like those of Object.prototype are plain members", async () => {
		const { handler, calls } = recorder((call) => reply(payload(call, "{}")));
		const body =
			'{"jsonrpc":"2.0","id":1,"__proto__":{"method":"x"},"method":"GetTask","params":{"id":"1","__proto__":{"id":"2"}}}';
		expect((await ask(await serve(handler), body)).text).toContain('"result"');
		expect(calls[0]?.request.message()).toMatchObject({ id: "1" });
		const no = await ask(await serve(handler), '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"GetTask"}}');
		expect(JSON.parse(no.text)).toMatchObject({ id: null, error: { code: -32600 } });
	});

	it("params that do not fit name the field", async () => {
		const { handler } = recorder((call) => {
			call.request.message();
			return reply(payload(call, "{}"));
		});
		const base = await serve(handler);
		for (const params of ['{"id":5}', '{"id":"1","historyLength":"many"}', '{"id":{}}']) {
			const { error } = JSON.parse((await ask(base, envelope("GetTask", params))).text);
			expect(error.code).toBe(-32602);
			expect(error.data).toContainEqual({
				"@type": "type.googleapis.com/google.rpc.BadRequest",
				fieldViolations: [{ field: expect.any(String), description: expect.any(String) }],
			});
		}
	});
});

describe("HTTP", () => {
	it.each(["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])("%s is told to POST", async (method) => {
		const body = method === "PUT" ? envelope("GetTask") : null;
		const answer = await ask(await serve(recorder().handler), body, { method });
		expect([answer.status, answer.header.get("allow"), answer.type]).toEqual([405, "POST", "application/json"]);
		if (method !== "HEAD") {
			expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32600 } });
		}
	});

	it.each([
		[undefined],
		["text/plain"],
		["application/x-www-form-urlencoded"],
		["multipart/form-data; boundary=x"],
		["application/jsonp"],
		["application"],
	])("content type %s is refused", async (type) => {
		const { handler, calls } = recorder();
		const body = Buffer.from(envelope("GetTask"));
		const answer = await ask(await serve(handler), body, { headers: type ? { "content-type": type } : {} });
		expect(answer.status).toBe(415);
		expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32600 } });
		expect(calls).toEqual([]);
	});

	it.each(["application/json", "Application/JSON; charset=utf-8", "application/a2a+json", "application/json;"])(
		"content type %s is taken",
		async (type) => {
			const answer = await ask(await serve(recorder().handler), envelope("GetTask"), {
				headers: { "content-type": type },
			});
			expect(answer).toMatchObject({ status: 200, type: "application/json" });
		},
	);

	it.each([
		["gzip", zlib.gzipSync],
		["deflate", zlib.deflateSync],
		["br", zlib.brotliCompressSync],
		["identity", (b: Buffer) => b],
	])("a body in %s", async (coding, encode) => {
		const { handler, calls } = recorder();
		const body = encode(Buffer.from(envelope("GetTask", '{"id":"1"}')));
		await ask(await serve(handler), body, { headers: { ...JSON_TYPE, "content-encoding": coding } });
		expect(calls[0]?.request.json()).toEqual({ id: "1" });
	});

	it.each<[string, string, Buffer, number, number]>([
		["an unknown coding", "rot13", Buffer.from("{}"), 415, -32600],
		["broken gzip", "gzip", Buffer.from("nonsense"), 200, -32700],
		["a bomb", "gzip", zlib.gzipSync(Buffer.alloc(50_000_000, 0x20)), 413, -32600],
	])("%s is refused", async (_, coding, body, status, code) => {
		const { handler, calls } = recorder();
		const answer = await ask(await serve(handler), body, { headers: { ...JSON_TYPE, "content-encoding": coding } });
		expect(answer.status).toBe(status);
		expect(JSON.parse(answer.text)).toMatchObject({ id: null, error: { code } });
		expect(calls).toEqual([]);
	});

	it("a body that never ends is given up", async () => {
		const base = await serve(recorder().handler, { bodyTimeout: 50 });
		const socket = await connect(Number(new URL(base).port));
		const read = new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString())));
		socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{");
		expect(await read).toContain('"reason":"DEADLINE_EXCEEDED"');
	});

	it("a client that leaves inside its body makes no call", async () => {
		const { handler, calls } = recorder();
		const reports: unknown[] = [];
		const base = await serve(handler, { report: (error) => reports.push(error) });
		const socket = await connect(Number(new URL(base).port));
		socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{");
		await new Promise((resolve) => setTimeout(resolve, 20));
		socket.resetAndDestroy();
		expect((await ask(base, envelope("ListTasks"))).status).toBe(200);
		expect(calls.map((c) => c.method.name)).toEqual(["ListTasks"]);
		expect(reports).toEqual([]);
	});

	it("bad requests leave the connection fit for the next one", async () => {
		const base = await serve(recorder().handler);
		const socket = await connect(Number(new URL(base).port));
		const raw = (verb: string, type: string, body: string, extra = "") =>
			`${verb} / HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n${extra}\r\n${body}`;
		socket.write(raw("POST", "text/plain", "x".repeat(5000)));
		socket.write(raw("PUT", "application/json", "x".repeat(5000)));
		socket.write(raw("POST", "application/json", "{"));
		socket.write(raw("POST", "application/json", envelope("ListTasks"), "connection: close\r\n"));
		const text = await readToEnd(socket);
		expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 415", "HTTP/1.1 405", "HTTP/1.1 200", "HTTP/1.1 200"]);
		expect(text.match(/"result":/g)).toHaveLength(1);
	});

	it.each(["/x", "/GetTask", "//"])("leaves %s", async (path) => {
		const answer = await ask((await serve(recorder().handler)) + path, envelope("GetTask"));
		expect(answer.status).toBe(418);
	});

	it("hands on the header and the query", async () => {
		const { handler, calls } = recorder();
		await ask(`${await serve(handler)}/?key=s%20x&key=2&__proto__=y`, envelope("GetTask"), {
			headers: { ...JSON_TYPE, authorization: "Bearer x", "X-Y": "1", "a2a-version": "1.0" },
		});
		expect(calls[0]?.header).toMatchObject({ authorization: "Bearer x", "x-y": "1", "a2a-version": "1.0" });
		expect(calls[0]?.header).not.toHaveProperty("connection");
		expect(calls[0]?.header).not.toHaveProperty("content-type");
		expect(Object.entries(calls[0]?.query ?? {})).toEqual([
			["key", "s x"],
			["__proto__", "y"],
		]);
	});

	it("works over HTTP/2, a body nobody wants included", async () => {
		const { http: handle } = jsonrpc.attach(recorder().handler, [v1], attachOptions);
		const port = await http2Server((req, res) => {
			handle?.(req, res, { agent: "a", path: req.url, query: "", id: "id-1" });
		});
		const client = http2.connect(`http://127.0.0.1:${port}`);
		onClose(() => client.destroy());
		const send2 = async (type: string, body: string) => {
			const stream = client.request({ ":method": "POST", ":path": "/", "content-type": type });
			stream.on("error", () => {});
			const [head] = (await Promise.all([once(stream, "response"), stream.end(body)]))[0];
			let text = "";
			for await (const part of stream) text += part;
			return [head[":status"], JSON.parse(text)];
		};
		expect(await send2("application/json", envelope("ListTasks"))).toEqual([
			200,
			{ jsonrpc: "2.0", id: 1, result: {} },
		]);
		expect((await send2("text/plain", "x".repeat(50_000)))[0]).toBe(415);
		expect((await send2("application/json", `"${"x".repeat(150_000)}"`))[0]).toBe(413);
		expect((await send2("application/json", envelope("ListTasks")))[0]).toBe(200);
	});
});

describe("unary answers", () => {
	it("tell with an error what was lost before it", async () => {
		const base = await serve(async (call) => {
			call.losses.add("/x", "gone");
			throw new A2AError("TASK_NOT_FOUND");
		});
		const answer = await ask(base, envelope("GetTask", '{"id":"1"}'));
		expect(answer.text).toContain("-32001");
		expect(answer.header.get("a2a-gateway-loss")).toBe("/x");
	});

	const task = '{ "id":"1", "status":{"state":"TASK_STATE_NEW_ONE"}, "extra":1.0 }';

	it("pass byte for byte, with their header", async () => {
		const { handler } = recorder((call) => reply(payload(call, task), { "a2a-extensions": "urn:x" }));
		const answer = await ask(await serve(handler), envelope("GetTask", '{"id":"1"}'));
		expect(answer).toMatchObject({ status: 200, type: "application/json" });
		expect(answer.text).toBe(`{"jsonrpc":"2.0","id":1,"result":${task}}`);
		expect(answer.header.get("a2a-extensions")).toBe("urn:x");
	});

	it("a deletion's result is an empty object", async () => {
		const answer = await ask(await serve(recorder().handler), envelope("DeleteTaskPushNotificationConfig"));
		expect(answer.text).toBe('{"jsonrpc":"2.0","id":1,"result":{}}');
	});

	const http: Partial<Record<Reason, number>> = {
		UNAUTHENTICATED: 401,
		PERMISSION_DENIED: 403,
		METHOD_NOT_ALLOWED: 405,
		UNSUPPORTED_MEDIA_TYPE: 415,
		REQUEST_TOO_LARGE: 413,
	};
	it.each(Object.keys(errors) as Reason[])("error %s", async (reason) => {
		const { handler } = recorder(() => {
			throw new A2AError(reason, { message: 'no "x"\n', metadata: { k: "v" } });
		});
		const answer = await ask(await serve(handler), envelope("GetTask", '{"id":"1"}', '"q"'));
		expect([answer.status, answer.type]).toEqual([http[reason] ?? 200, "application/json"]);
		expect(JSON.parse(answer.text)).toEqual({
			jsonrpc: "2.0",
			id: "q",
			error: {
				code: errors[reason].rpc,
				message: 'no "x"\n',
				data: [{ "@type": INFO, reason, domain: "a2a-protocol.org", metadata: { k: "v" } }],
			},
		});
	});

	it("field violations, foreign codes and foreign data", async () => {
		const thrown = [
			invalidParams([{ field: "message.parts[0]", description: "must be set" }]),
			new A2AError("UNKNOWN", { message: "m", wire: { rpc: -32050, data: { why: ["because"] } } }),
		];
		const { handler } = recorder(() => {
			throw thrown.shift();
		});
		const base = await serve(handler);
		const body = envelope("GetTask", '{"id":"1"}');
		expect(JSON.parse((await ask(base, body)).text).error.data[1]).toEqual({
			"@type": "type.googleapis.com/google.rpc.BadRequest",
			fieldViolations: [{ field: "message.parts[0]", description: "must be set" }],
		});
		expect(JSON.parse((await ask(base, body)).text).error).toEqual({
			code: -32050,
			message: "m",
			data: { why: ["because"] },
		});
	});

	it.each<[Reason, Record<string, string>]>([
		["UNAUTHENTICATED", { "www-authenticate": 'Bearer realm="x"' }],
		["PERMISSION_DENIED", { "www-authenticate": 'Bearer error="insufficient_scope"' }],
		["UNAVAILABLE", { "retry-after": "7" }],
		["RESOURCE_EXHAUSTED", { "retry-after": "9" }],
	])("%s brings %j", async (reason, header) => {
		const { handler } = recorder(() => {
			throw new A2AError(reason, { header });
		});
		const answer = await ask(await serve(handler), envelope("GetTask"));
		for (const name in header) expect(answer.header.get(name)).toBe(header[name]);
	});

	it("hides what broke, and reports it", async () => {
		const reports: unknown[] = [];
		const { handler } = recorder(() => {
			throw new TypeError("secret 10.0.0.1");
		});
		const answer = await ask(
			await serve(handler, { report: (error, call) => reports.push([error, call]) }),
			envelope("GetTask"),
		);
		expect(JSON.parse(answer.text)).toMatchObject({ id: 1, error: { code: -32603, message: "Internal error" } });
		expect(answer.text).not.toMatch(/secret|TypeError|\.ts/);
		expect(reports).toMatchObject([[{ cause: { message: "secret 10.0.0.1" } }, { id: "id-1", method: "GetTask" }]]);
	});

	it("a deadline ends the call", async () => {
		const { handler, calls } = recorder(
			(call) => new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(call.signal.reason))),
		);
		const answer = await ask(await serve(handler, { unaryTimeout: 30 }), envelope("GetTask"));
		expect(answer.text).toContain('"reason":"DEADLINE_EXCEEDED"');
		expect(calls[0]?.signal.aborted).toBe(true);
	});

	it("a client that leaves ends the call", async () => {
		const started = deferred<Call>();
		const reports: unknown[] = [];
		const { handler } = recorder((call) => {
			started.resolve(call);
			return new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(call.signal.reason)));
		});
		const base = await serve(handler, { report: (error) => reports.push(error) });
		const req = post(base, envelope("GetTask"));
		const { signal } = await started.promise;
		req.destroy();
		if (!signal.aborted) await once(signal, "abort");
		expect(signal.reason).toMatchObject({ reason: "CANCELLED" });
		expect(reports).toEqual([]);
	});

	it("the signal of a call that ended well is left alone", async () => {
		const { handler, calls } = recorder();
		await ask(await serve(handler), envelope("GetTask"), { headers: { ...JSON_TYPE, connection: "close" } });
		expect(calls[0]?.signal.aborted).toBe(false);
	});
});

function post(base: string, body: string): http.ClientRequest {
	const req = http.request(base, { method: "POST", headers: JSON_TYPE });
	req.on("error", () => {});
	req.end(body);
	return req;
}

describe("streams", () => {
	const events = (...texts: (string | Error)[]) =>
		recorder((call) => {
			async function* messages(): AsyncIterable<Payload> {
				for (const text of texts) {
					if (text instanceof Error) throw text;
					yield payload(call, text);
				}
			}
			return { header: { "a2a-extensions": "urn:x" }, messages: messages() };
		});
	const send = envelope("SendStreamingMessage", "{}", '"q\\n"');

	it("one event per message, each a response with the id as written", async () => {
		const answer = await ask(
			await serve(events('{"task":{"n":1.0}}', '{"x":\n1}', '{"y":"\\r\\u2028"}').handler),
			send,
		);
		expect(answer).toMatchObject({ status: 200, type: "text/event-stream" });
		expect(answer.header.get("a2a-extensions")).toBe("urn:x");
		expect(answer.header.get("cache-control")).toBe("no-cache");
		expect(eventsOf(answer.text)).toEqual([
			'{"jsonrpc":"2.0","id":"q\\n","result":{"task":{"n":1.0}}}',
			'{"jsonrpc":"2.0","id":"q\\n","result":{"x":\n1}}',
			'{"jsonrpc":"2.0","id":"q\\n","result":{"y":"\\r\\u2028"}}',
		]);
	});

	it("an error before the first event is plain JSON", async () => {
		const answer = await ask(await serve(events(new A2AError("TASK_NOT_FOUND")).handler), send);
		expect(answer).toMatchObject({ status: 200, type: "application/json" });
		expect(JSON.parse(answer.text)).toMatchObject({ id: "q\n", error: { code: -32001 } });
	});

	it("a challenge before the first event has its status", async () => {
		const error = new A2AError("UNAUTHENTICATED", { header: { "www-authenticate": "Bearer" } });
		const answer = await ask(await serve(events(error).handler), send);
		expect([answer.status, answer.header.get("www-authenticate")]).toEqual([401, "Bearer"]);
	});

	it.each([new A2AError("UNAVAILABLE", { message: "gone" }), new TypeError("secret")])(
		"an error after it is the last event: %s",
		async (error) => {
			const reports: unknown[] = [];
			const base = await serve(events('{"task":{}}', error).handler, { report: (e) => reports.push(e) });
			const answer = await ask(base, send);
			const [first, last, ...rest] = eventsOf(answer.text);
			expect(first).toContain('"result":{"task":{}}');
			expect(JSON.parse(last ?? "")).toMatchObject({ jsonrpc: "2.0", id: "q\n", error: { code: -32603 } });
			expect(rest).toEqual([]);
			expect(answer.text).not.toContain("secret");
			expect(reports).toHaveLength(1);
		},
	);

	it("a stream without events is an empty stream", async () => {
		expect(await ask(await serve(events().handler), send)).toMatchObject({
			status: 200,
			type: "text/event-stream",
			text: "",
		});
	});

	it("silence is filled with comments", async () => {
		const more = deferred();
		const { handler } = recorder((call): Reply => {
			async function* messages(): AsyncIterable<Payload> {
				yield payload(call, '{"task":{}}');
				await more.promise;
			}
			return { header: {}, messages: messages() };
		});
		const req = post(await serve(handler, { keepAlive: 20 }), send);
		const [res] = (await once(req, "response")) as [http.IncomingMessage];
		let text = "";
		for await (const part of res) {
			text += part;
			if (text.includes("\n\n:")) more.resolve();
		}
		expect(text).toMatch(/^data: .*\n\n(:\n\n)+$/);
	});

	it("a client that leaves ends the source", async () => {
		const ended = deferred();
		const { handler } = recorder((call): Reply => {
			async function* messages(): AsyncIterable<Payload> {
				try {
					yield payload(call, '{"task":{}}');
					await once(call.signal, "abort");
					throw call.signal.reason;
				} finally {
					ended.resolve();
				}
			}
			return { header: {}, messages: messages() };
		});
		const req = post(await serve(handler), send);
		const [res] = (await once(req, "response")) as [http.IncomingMessage];
		await once(res, "data");
		req.destroy();
		await ended.promise;
	});

	it("a slow client slows the source, and ends it by leaving", async () => {
		let made = 0;
		const ended = deferred();
		const { handler } = recorder((call): Reply => {
			const big = JSON.stringify({ task: { id: "x".repeat(50_000) } });
			async function* messages(): AsyncIterable<Payload> {
				try {
					for (;;) {
						made++;
						yield payload(call, big);
					}
				} finally {
					ended.resolve();
				}
			}
			return { header: {}, messages: messages() };
		});
		const base = await serve(handler);
		const socket = await connect(Number(new URL(base).port));
		socket.write(
			`POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${send.length}\r\n\r\n${send}`,
		);
		let before = -1;
		while (made === 0 || before !== made) {
			before = made;
			await new Promise((resolve) => setTimeout(resolve, 100));
		}
		expect(made).toBeLessThan(2000);
		socket.destroy();
		await ended.promise;
	});
});
