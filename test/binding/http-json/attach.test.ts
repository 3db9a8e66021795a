/** HTTP+JSON towards clients: every way to put a request, every form of answer and refusal. */
import { once } from "node:events";
import http from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import type { Call, Reply } from "../../../src/call/call.ts";
import { A2AError } from "../../../src/call/error.ts";
import type { Payload } from "../../../src/call/payload.ts";
import { reply } from "../../../src/call/stream.ts";
import type { Dialect } from "../../../src/dialect/dialect.ts";
import { v1 } from "../../../src/dialect/v1/index.ts";
import { closeAll, connect, deferred, readToEnd } from "../../wire/sockets.ts";
import { payload, recorder, serve } from "./harness.ts";

afterEach(closeAll);

const JSON_TYPE = { "content-type": "application/json" };

async function ask(base: string, line: string, init: RequestInit = {}) {
	const [method = "", path = ""] = line.split(" ");
	const res = await fetch(base + path, { method, ...init });
	const text = await res.text();
	return { status: res.status, type: res.headers.get("content-type"), header: res.headers, text };
}

describe("requests", () => {
	const body = ' {"message" : {"messageId":"m","n":1.0},"x":1e2}';
	it.each<[string, string | undefined, string, unknown, Record<string, string>]>([
		["POST /message:send", body, "SendMessage", JSON.parse(body), {}],
		["POST /message:send?k=v&k=w&tenant=t", "{}", "SendMessage", {}, { k: "v", tenant: "t" }],
		["POST /t%201/message:send", '{"tenant":"other"}', "SendMessage", { tenant: "t 1" }, {}],
		["POST /message:send", undefined, "SendMessage", {}, {}],
		["POST /message:send", "null", "SendMessage", {}, {}],
		[
			"POST /tasks/a:b:cancel",
			'{"id":"other","metadata":{"a":[1.50]}}',
			"CancelTask",
			{ id: "a:b", metadata: { a: [1.5] } },
			{},
		],
		["POST /tasks/a%2Fb:cancel", undefined, "CancelTask", { id: "a/b" }, {}],
		["POST /tasks/1:subscribe", undefined, "SubscribeToTask", { id: "1" }, {}],
		["GET /tasks/1:subscribe?tenant=t", undefined, "SubscribeToTask", { id: "1", tenant: "t" }, {}],
		[
			"POST /tasks/1/pushNotificationConfigs",
			'{"task_id":"x","url":"u"}',
			"CreateTaskPushNotificationConfig",
			{ taskId: "1", url: "u" },
			{},
		],
		["GET /tasks/1?historyLength=5", undefined, "GetTask", { id: "1", historyLength: 5 }, {}],
		[
			"GET /tasks/1?history_length=-5&id=2&api_key=s%20x",
			undefined,
			"GetTask",
			{ id: "1", historyLength: -5 },
			{ api_key: "s x" },
		],
		["GET /t/tasks/1?tenant=u", undefined, "GetTask", { tenant: "t", id: "1" }, {}],
		[
			"GET /tasks?contextId=c+d%2B&status=TASK_STATE_WORKING&pageSize=10&pageToken=p&includeArtifacts=true&statusTimestampAfter=2026-01-01T00:00:00Z",
			undefined,
			"ListTasks",
			{
				contextId: "c d+",
				status: "TASK_STATE_WORKING",
				pageSize: 10,
				pageToken: "p",
				includeArtifacts: true,
				statusTimestampAfter: "2026-01-01T00:00:00Z",
			},
			{},
		],
		[
			"GET /tasks?status=working&include_artifacts=false&page_size=0",
			undefined,
			"ListTasks",
			{ status: "TASK_STATE_WORKING", includeArtifacts: false, pageSize: 0 },
			{},
		],
		["GET /tasks?status=input-required", undefined, "ListTasks", { status: "TASK_STATE_INPUT_REQUIRED" }, {}],
		["GET /tasks?status=6&&", undefined, "ListTasks", { status: "TASK_STATE_INPUT_REQUIRED" }, {}],
		[
			"GET /tasks?contextId=&contextId2&__proto__=x",
			undefined,
			"ListTasks",
			{ contextId: "" },
			{ contextId2: "", ["__proto__"]: "x" },
		],
		[
			"GET /tasks/1/pushNotificationConfigs/2",
			undefined,
			"GetTaskPushNotificationConfig",
			{ taskId: "1", id: "2" },
			{},
		],
		[
			"DELETE /tasks/1/pushNotificationConfigs/2?tenant=t",
			undefined,
			"DeleteTaskPushNotificationConfig",
			{ taskId: "1", id: "2", tenant: "t" },
			{},
		],
		[
			"GET /tasks/1/pushNotificationConfigs?pageSize=3",
			undefined,
			"ListTaskPushNotificationConfigs",
			{ taskId: "1", pageSize: 3 },
			{},
		],
		["GET /extendedAgentCard", undefined, "GetExtendedAgentCard", {}, {}],
	])("%s %s", async (line, text, method, json, query) => {
		const { handler, calls } = recorder();
		const init = text === undefined ? {} : { body: text, headers: JSON_TYPE };
		expect((await ask(await serve(handler), line, init)).status).toBe(200);
		const [call] = calls;
		expect(call?.method.name).toBe(method);
		expect(call?.request.json()).toEqual(json);
		expect(JSON.parse(call?.request.text() ?? "")).toEqual(json);
		expect(Object.entries(call?.query ?? {})).toEqual(Object.entries(query));
		expect(call).toMatchObject({ agent: "a", id: "id-1", origin: { binding: "HTTP+JSON", version: "1.0" } });
	});

	it("keeps the body's text byte for byte", async () => {
		const { handler, calls } = recorder();
		const base = await serve(handler);
		const text = '\n{ "message":{"a":1.0, "a\\u0062":-0}, "big":12345678901234567890 }\t';
		await ask(base, "POST /message:send", {
			body: text,
			headers: { "content-type": "Application/A2A+JSON; charset=utf-8" },
		});
		await ask(base, "POST /t/message:send", { body: text, headers: JSON_TYPE });
		expect(calls.map((call) => call.request.text())).toEqual([text, text.replace(" }\t", ',"tenant":"t" }\t')]);
	});

	it.each([
		["A2A-Version=1.0", {}, "1.0"],
		["a2a-version=1.0&a2A-vERSION=2.0", {}, "1.0"],
		["A2A-Version=0.5", { "A2A-Version": "1.0" }, "1.0"],
		["A2A-Version=0.5", { "A2A-Version": "" }, "0.5"],
		["", {}, undefined],
	])("version %s %j", async (query, headers, version) => {
		const { handler, calls } = recorder();
		await ask(await serve(handler), `GET /tasks?${query}`, { headers: headers as Record<string, string> });
		expect(calls[0]?.header["a2a-version"]).toBe(version);
		expect(Object.keys(calls[0]?.query ?? {})).toEqual([]);
	});

	it("hands on the header without what ends here", async () => {
		const { handler, calls } = recorder();
		await ask(await serve(handler), "GET /tasks", { headers: { authorization: "Bearer x", "X-Y": "1" } });
		expect(calls[0]?.header).toMatchObject({ authorization: "Bearer x", "x-y": "1" });
		expect(calls[0]?.header).not.toHaveProperty("connection");
	});

	it.each<[string, RequestInit, number, string]>([
		["GET /tasks?pageSize=x", {}, 400, "pageSize"],
		["GET /tasks?pageSize=1.5", {}, 400, "pageSize"],
		["GET /tasks?pageSize=0x10", {}, 400, "pageSize"],
		["GET /tasks?pageSize=", {}, 400, "pageSize"],
		["GET /tasks?pageSize=2147483648", {}, 400, "pageSize"],
		["GET /tasks?pageSize=1&page_size=1", {}, 400, "pageSize"],
		["GET /tasks?includeArtifacts=yes", {}, 400, "includeArtifacts"],
		["GET /tasks?status=busy", {}, 400, "status"],
		["GET /tasks?status=toString", {}, 400, "status"],
		["GET /tasks?contextId=%zz", {}, 400, "INVALID_PARAMS"],
		["GET /tasks?contextId=%ff", {}, 400, "INVALID_PARAMS"],
		["GET /tasks/%zz", {}, 400, "INVALID_PARAMS"],
		["POST /message:send", { body: "{", headers: JSON_TYPE }, 400, "PARSE_ERROR"],
		["POST /message:send", { body: Buffer.from([0x7b, 0xff]), headers: JSON_TYPE }, 400, "PARSE_ERROR"],
		["POST /message:send", { body: "[".repeat(1000), headers: JSON_TYPE }, 400, "PARSE_ERROR"],
		["POST /message:send", { body: "[]", headers: JSON_TYPE }, 400, "INVALID_REQUEST"],
		["POST /message:send", { body: '"x"', headers: JSON_TYPE }, 400, "INVALID_REQUEST"],
		["POST /message:send", { body: '{"a":{"b":1,"b":2}}', headers: JSON_TYPE }, 400, "INVALID_REQUEST"],
		[
			"POST /message:send",
			{ body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } },
			415,
			"UNSUPPORTED_MEDIA_TYPE",
		],
		[
			"POST /message:send",
			{ body: "{}", headers: { ...JSON_TYPE, "content-encoding": "x" } },
			415,
			"UNSUPPORTED_MEDIA_TYPE",
		],
		["POST /message:send", { body: `"${"x".repeat(200_000)}"`, headers: JSON_TYPE }, 413, "REQUEST_TOO_LARGE"],
		[
			"POST /message:stream",
			{ body: "{}", headers: { ...JSON_TYPE, accept: "application/json" } },
			406,
			"NOT_ACCEPTABLE",
		],
		["GET /message:send", {}, 405, "METHOD_NOT_ALLOWED"],
	])("refuses %s", async (line, init, status, word) => {
		const reports: unknown[] = [];
		const { handler, calls } = recorder();
		const answer = await ask(await serve(handler, { report: (error) => reports.push(error) }), line, init);
		expect(answer.status).toBe(status);
		expect(answer.type).toBe("application/json");
		expect(JSON.parse(answer.text)).toMatchObject({
			error: { code: status, message: expect.any(String), details: expect.any(Array) },
		});
		expect(answer.text).toContain(word);
		expect(calls).toEqual([]);
		expect(reports).toHaveLength(1);
	});

	it.each([
		["GET /message:send", "POST"],
		["HEAD /tasks/1", "GET"],
		["PUT /tasks/1:subscribe", "GET, POST"],
		["OPTIONS /tasks", "GET"],
	])("%s is told which verbs there are", async (line, allow) => {
		const answer = await ask(await serve(recorder().handler), line);
		expect([answer.status, answer.header.get("allow")]).toEqual([405, allow]);
	});

	it.each(["GET /", "POST /", "GET /message", "GET /tasks/", "GET /.well-known/agent-card.json"])(
		"leaves %s",
		async (line) => {
			expect((await ask(await serve(recorder().handler), line)).status).toBe(418);
		},
	);

	it("takes the route of the version asked for where two dialects have the same", async () => {
		const old: Dialect = { ...v1, version: "0.9" };
		const { handler, calls } = recorder();
		const base = await serve(handler, {}, [v1, old]);
		for (const version of ["0.9", "1.0", "7.7"])
			await ask(base, "GET /tasks/1", { headers: { "a2a-version": version } });
		// Of one service the first counts; the same dialect twice is no choice.
		expect(calls.map((call) => call.origin.version)).toEqual(["1.0", "1.0", "1.0"]);
	});
});

describe("unary answers", () => {
	it("tell with an error what was lost before it", async () => {
		const base = await serve(async (call) => {
			call.losses.add("/x", "gone");
			throw new A2AError("TASK_NOT_FOUND");
		});
		const answer = await fetch(`${base}/tasks/1`);
		expect([answer.status, answer.headers.get("a2a-gateway-loss")]).toEqual([404, "/x"]);
		await answer.arrayBuffer();
	});

	const task = '{ "id":"1", "status":{"state":"TASK_STATE_NEW_ONE"}, "extra":1.0 }';

	it.each([
		[undefined, "application/a2a+json"],
		["*/*", "application/a2a+json"],
		["application/json", "application/json"],
		["application/json, application/a2a+json", "application/a2a+json"],
		["text/html", "application/json"],
	])("Accept: %s", async (accept, type) => {
		const { handler } = recorder((call) => reply(payload(call, task), { "a2a-extensions": "urn:x", etag: '"1"' }));
		const answer = await ask(await serve(handler), "GET /tasks/1", { headers: accept ? { accept } : {} });
		expect(answer).toMatchObject({ status: 200, type, text: task });
		expect(answer.header.get("a2a-extensions")).toBe("urn:x");
		expect(answer.header.get("etag")).toBe('"1"');
	});

	it.each([
		[undefined, "application/json"],
		["application/json", "application/json"],
		["application/a2a+json, application/json", "application/a2a+json"],
	])("errors for Accept: %s", async (accept, type) => {
		const { handler } = recorder(() => {
			throw new A2AError("UNAUTHENTICATED", { header: { "www-authenticate": "Bearer" } });
		});
		const answer = await ask(await serve(handler), "GET /tasks/1", { headers: accept ? { accept } : {} });
		expect(answer).toMatchObject({ status: 401, type });
		expect(answer.header.get("www-authenticate")).toBe("Bearer");
		expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 401, status: "UNAUTHENTICATED" } });
	});

	it("hides what broke, and reports it", async () => {
		const reports: unknown[] = [];
		const { handler } = recorder(() => {
			throw new Error("secret 10.0.0.1");
		});
		const base = await serve(handler, { report: (error) => reports.push(error) });
		const answer = await ask(base, "GET /tasks/1");
		expect(answer.status).toBe(500);
		expect(answer.text).not.toContain("secret");
		expect(reports).toMatchObject([{ cause: { message: "secret 10.0.0.1" } }]);
	});

	it("a deadline is a 504", async () => {
		const { handler } = recorder(
			(call) => new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(call.signal.reason))),
		);
		expect((await ask(await serve(handler, { unaryTimeout: 30 }), "GET /tasks/1")).status).toBe(504);
	});

	it("a client that leaves ends the call", async () => {
		const started = deferred<Call>();
		const { handler } = recorder((call) => {
			started.resolve(call);
			return new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(call.signal.reason)));
		});
		const req = http.get(`${await serve(handler)}/tasks/1`);
		req.on("error", () => {});
		const { signal } = await started.promise;
		req.destroy();
		if (!signal.aborted) await once(signal, "abort");
		expect(signal.reason).toMatchObject({ reason: "CANCELLED" });
	});

	it("the signal of a call that ended well is left alone", async () => {
		const { handler, calls } = recorder();
		await ask(await serve(handler), "GET /tasks/1", { headers: { connection: "close" } });
		expect(calls[0]?.signal.aborted).toBe(false);
	});
});

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
	const send = { body: "{}", headers: { ...JSON_TYPE, accept: "text/event-stream" } };

	it("one event per message", async () => {
		const base = await serve(events('{"task":{"id":"1"}}', '{"x":\n1}').handler);
		const answer = await ask(base, "POST /message:stream", send);
		expect(answer).toMatchObject({ status: 200, type: "text/event-stream" });
		expect(answer.header.get("a2a-extensions")).toBe("urn:x");
		expect(answer.text).toBe('data: {"task":{"id":"1"}}\n\ndata: {"x":\ndata: 1}\n\n');
	});

	it("needs no Accept, nor more than */*", async () => {
		const base = await serve(events('{"task":{}}').handler);
		expect((await ask(base, "GET /tasks/1:subscribe")).type).toBe("text/event-stream");
	});

	it("an error before the first event has its own status", async () => {
		const base = await serve(events(new A2AError("TASK_NOT_FOUND")).handler);
		const answer = await ask(base, "POST /message:stream", send);
		expect(answer).toMatchObject({ status: 404, type: "application/json" });
	});

	it("an error after it is the last event", async () => {
		const base = await serve(events('{"task":{}}', new A2AError("UNAVAILABLE")).handler);
		const { status, text } = await ask(base, "POST /message:stream", send);
		expect(status).toBe(200);
		const [first, last, rest] = text.split("\n\n");
		expect([first, rest]).toEqual(['data: {"task":{}}', ""]);
		const [name, data = ""] = last?.split("\n") ?? [];
		expect(name).toBe("event: error");
		expect(JSON.parse(data.slice(6))).toMatchObject({ error: { code: 503, status: "UNAVAILABLE" } });
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
		const req = http.get(`${await serve(handler)}/tasks/1:subscribe`);
		req.on("error", () => {});
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
		socket.write("GET /tasks/1:subscribe HTTP/1.1\r\nhost: x\r\n\r\n");
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

it("answers bad requests on a connection that serves the next one", async () => {
	const base = await serve(recorder().handler);
	const socket = await connect(Number(new URL(base).port));
	const post = (extra: string, body: string) =>
		`POST /message:send HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n${extra}\r\n${body}`;
	socket.write(
		post("content-type: text/plain\r\n", "x".repeat(5000)) + post("", "{") + post("connection: close\r\n", "{}"),
	);
	const text = await readToEnd(socket);
	expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 415", "HTTP/1.1 400", "HTTP/1.1 200"]);
});
