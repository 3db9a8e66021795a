/** The agent's half of gRPC: against a grpc-js server, and against servers that misbehave by hand. */
import { createServer as createHttp } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer as createTcp } from "node:net";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { Metadata, Server, ServerCredentials, type ServerWritableStream, type sendUnaryData } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { SendMessageResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError, type Reason } from "../../../src/call/error.ts";
import { iterate, single } from "../../../src/call/stream.ts";
import { frame, prefix } from "../../../src/wire/grpc-frame.ts";
import {
	answerWith,
	call,
	cleanUp,
	collect,
	event,
	onCleanUp,
	request,
	sendMessage,
	sendStreamingMessage,
	serveStreams,
	textRequest,
	until,
	upstream,
} from "./harness.ts";

import { dataFrame, headersFrame, rawAgent, rstFrame } from "./raw-agent.ts";

afterEach(cleanUp);

const replyBytes = toBinary(
	SendMessageResponseSchema,
	create(SendMessageResponseSchema, { payload: { case: "message", value: { messageId: "r" } } }),
);
const good = frame(replyBytes);
const VECTOR =
	"CAUSDE5vIHN1Y2ggdGFzaxpfCih0eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5ycGMuRXJyb3JJbmZvEjMKDlRBU0tfTk9UX0ZPVU5EEhBhMmEtcHJvdG9jb2wub3JnGg8KBnRhc2tJZBIFdC00MDQ";

async function errorOf(promise: Promise<unknown>): Promise<A2AError> {
	const error = await promise.then(
		() => undefined,
		(e: unknown) => e,
	);
	expect(error).toBeInstanceOf(A2AError);
	return error as A2AError;
}

type Unary = (metadata: Metadata, bytes: Buffer, callback: sendUnaryData<Buffer>, deadline: Date | number) => void;
type Streaming = (call: ServerWritableStream<Buffer, Buffer>) => void;

async function serveGrpcJs(unary: Unary, streaming: Streaming = (c) => c.end()): Promise<number> {
	const same = (bytes: Buffer) => bytes;
	const shape = { requestStream: false, requestSerialize: same, requestDeserialize: same };
	const rest = { responseSerialize: same, responseDeserialize: same };
	const path = "/lf.a2a.v1.A2AService/";
	const server = new Server({ "grpc.max_receive_message_length": -1 });
	server.addService(
		{
			SendMessage: { path: `${path}SendMessage`, responseStream: false, ...shape, ...rest },
			SendStreamingMessage: { path: `${path}SendStreamingMessage`, responseStream: true, ...shape, ...rest },
		},
		{
			SendMessage: (
				c: { metadata: Metadata; request: Buffer; getDeadline(): Date | number },
				cb: sendUnaryData<Buffer>,
			) => unary(c.metadata, c.request, cb, c.getDeadline()),
			SendStreamingMessage: streaming,
		},
	);
	const port = await new Promise<number>((resolve, reject) =>
		server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (e, p) => (e ? reject(e) : resolve(p))),
	);
	onCleanUp(() => server.forceShutdown());
	return port;
}

/** Both carriers: the own channel, and grpc-js for targets with a resolver scheme. */
describe.each([
	["own", (port: number) => `127.0.0.1:${port}`],
	["grpc-js", (port: number) => `dns:///127.0.0.1:${port}`],
])("channel: %s", (_name, url) => {
	it("carries message, metadata and deadline", async () => {
		const got: { metadata?: Metadata; deadline?: Date | number; bytes?: Buffer } = {};
		const port = await serveGrpcJs((metadata, bytes, callback, deadline) => {
			Object.assign(got, { metadata, bytes, deadline });
			const trailer = new Metadata();
			trailer.set("etag", '"1"');
			trailer.set("x-internal", "no");
			callback(null, Buffer.from(replyBytes), trailer);
		});
		const sent = request();
		const reply = await upstream(url(port))(
			call(sendMessage, sent, {
				header: { authorization: "Bearer x", "grpc-evil": "1", te: "gzip", "odd key": "1" },
				query: { "api-key": "k", "no good": "1" },
				deadline: Date.now() + 5000,
			}),
		);
		expect(Buffer.from((await single(reply)).binary())).toEqual(Buffer.from(replyBytes));
		expect(reply.header).toEqual({ etag: '"1"' });
		expect(got.bytes).toEqual(Buffer.from(sent.binary()));
		const map = got.metadata?.getMap() ?? {};
		expect(map).toMatchObject({ authorization: "Bearer x", "api-key": "k", "a2a-version": "1.0" });
		expect(Object.keys(map)).not.toContain("grpc-evil");
		expect(Object.keys(map)).not.toContain("odd key");
		const left = Number(got.deadline) - Date.now();
		expect(left).toBeGreaterThan(1000);
		expect(left).toBeLessThan(6000);
	});

	it("carries 10 MB both ways", async () => {
		const port = await serveGrpcJs((_m, bytes, callback) => callback(null, bytes));
		const text = "y".repeat(10 * 1024 * 1024);
		const reply = await upstream(url(port))(call(sendMessage, textRequest(text)));
		expect((await single(reply)).binary().length).toBeGreaterThan(text.length);
	});

	it("reads the details of errors.md, and the challenge", async () => {
		const port = await serveGrpcJs((_m, _b, callback) => {
			const metadata = new Metadata();
			metadata.set("grpc-status-details-bin", Buffer.from(VECTOR, "base64"));
			metadata.set("www-authenticate", "Bearer");
			callback({ code: 5, details: "No such täsk", metadata });
		});
		const error = await errorOf(upstream(url(port))(call(sendMessage, request())));
		expect(error.reason).toBe("TASK_NOT_FOUND");
		expect(error.details).toContainEqual(expect.objectContaining({ metadata: { taskId: "t-404" } }));
		expect(error.header).toEqual({ "www-authenticate": "Bearer" });
	});

	it("streams in order, and ends with the agent's error", async () => {
		const port = await serveGrpcJs(
			(_m, b, callback) => callback(null, b),
			(c) => {
				for (let i = 0; i < 500; i++) c.write(Buffer.from(event(String(i)).binary()));
				const metadata = new Metadata();
				metadata.set("grpc-status-details-bin", Buffer.from(VECTOR, "base64"));
				c.emit("error", { code: 5, details: "gone", metadata });
			},
		);
		const reply = await upstream(url(port))(call(sendStreamingMessage, request()));
		let n = 0;
		const error = await errorOf(
			(async () => {
				for await (const message of iterate(reply)) {
					expect(message.json()).toMatchObject({ message: { messageId: String(n++) } });
				}
			})(),
		);
		expect(n).toBe(500);
		expect(error.reason).toBe("TASK_NOT_FOUND");
	});

	it("cancels the agent's stream on return and on abort", async () => {
		const cancelled: string[] = [];
		const port = await serveGrpcJs(
			(_m, b, callback) => callback(null, b),
			(c) => {
				c.write(Buffer.from(event("0").binary()));
				c.on("cancelled", () => cancelled.push("x"));
			},
		);
		const handler = upstream(url(port));
		const iterator = iterate(await handler(call(sendStreamingMessage, request())))[Symbol.asyncIterator]();
		await iterator.next();
		await iterator.return?.();
		await until(() => cancelled.length === 1);
		const controller = new AbortController();
		const { signal } = controller;
		const second = iterate(await handler(call(sendStreamingMessage, request(), { signal })))[Symbol.asyncIterator]();
		await second.next();
		const pending = second.next();
		controller.abort(new A2AError("DEADLINE_EXCEEDED"));
		expect((await errorOf(Promise.resolve(pending))).reason).toBe("DEADLINE_EXCEEDED");
		await until(() => cancelled.length === 2);
	});

	it("cancels a unary call on abort", async () => {
		const controller = new AbortController();
		const port = await serveGrpcJs(() => controller.abort(new A2AError("CANCELLED")));
		const error = await errorOf(upstream(url(port))(call(sendMessage, request(), { signal: controller.signal })));
		expect(error.reason).toBe("CANCELLED");
		const again = errorOf(upstream(url(port))(call(sendMessage, request(), { signal: controller.signal })));
		expect((await again).reason).toBe("CANCELLED");
	});

	it("says UNAVAILABLE, and nothing of hosts, when nobody is there", async () => {
		const server = createTcp();
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		const { port } = server.address() as AddressInfo;
		await new Promise((resolve) => server.close(resolve));
		const error = await errorOf(upstream(url(port))(call(sendMessage, request())));
		expect(error.reason).toBe("UNAVAILABLE");
		expect(error.message).not.toContain("127.0.0.1");
	});

	it("ends a silent stream after idleTimeout", async () => {
		const port = await serveGrpcJs(
			(_m, b, callback) => callback(null, b),
			(c) => {
				c.write(Buffer.from(event("0").binary()));
			},
		);
		const reply = await upstream(url(port), { idleTimeout: 100 })(call(sendStreamingMessage, request()));
		expect((await errorOf(collect(iterate(reply)))).reason).toBe("UNAVAILABLE");
	});

	it("rejects a reply beyond maxMessage", async () => {
		const port = await serveGrpcJs((_m, bytes, callback) => callback(null, bytes));
		const handler = upstream(url(port), { maxMessage: 1000 });
		const error = await errorOf(handler(call(sendMessage, textRequest("x".repeat(2000)))));
		expect(["INVALID_AGENT_RESPONSE", "RESOURCE_EXHAUSTED"]).toContain(error.reason);
	});
});

describe("misbehaving agents", () => {
	const ok = { ":status": 200, "content-type": "application/grpc" };
	const respond =
		(headers: object, ...chunks: Uint8Array[]) =>
		(stream: ServerHttp2Stream) => {
			stream.respond({ ...headers });
			for (const chunk of chunks) stream.write(chunk);
			stream.end();
		};
	const trailed =
		(trailers: object, ...chunks: Uint8Array[]) =>
		(stream: ServerHttp2Stream) => {
			stream.respond(ok, { waitForTrailers: true });
			stream.on("wantTrailers", () => stream.sendTrailers({ ...trailers }));
			for (const chunk of chunks) stream.write(chunk);
			stream.end();
		};
	const html = (status: number, extra = {}) =>
		respond({ ":status": status, "content-type": "text/html", ...extra }, Buffer.from("<h1>10.1.2.3</h1>"));
	const reset = (code: number) => (stream: ServerHttp2Stream) => stream.close(code);

	const cases: [name: string, behave: (stream: ServerHttp2Stream) => void, reason: Reason][] = [
		["HTML with 200", html(200), "INVALID_AGENT_RESPONSE"],
		["JSON with 200", respond({ ":status": 200, "content-type": "application/json" }), "INVALID_AGENT_RESPONSE"],
		["400", html(400), "INTERNAL_ERROR"],
		["401", html(401, { "www-authenticate": "Basic" }), "UNAUTHENTICATED"],
		["403", html(403), "PERMISSION_DENIED"],
		["404", html(404), "UNIMPLEMENTED"],
		["429", html(429, { "retry-after": "3" }), "UNAVAILABLE"],
		["500", html(500), "UNKNOWN"],
		["502", html(502), "UNAVAILABLE"],
		["no status: headers only", respond(ok), "INVALID_AGENT_RESPONSE"],
		["no status: message, no trailers", respond(ok, good), "INVALID_AGENT_RESPONSE"],
		["no status in the trailers", trailed({ "x-a": "1" }, good), "INVALID_AGENT_RESPONSE"],
		["a status that is no number", trailed({ "grpc-status": "fine" }, good), "INVALID_AGENT_RESPONSE"],
		["OK without a message", trailed({ "grpc-status": "0" }), "INVALID_AGENT_RESPONSE"],
		["OK, trailers only", respond({ ...ok, "grpc-status": "0" }), "INVALID_AGENT_RESPONSE"],
		["two messages", trailed({ "grpc-status": "0" }, good, good), "INVALID_AGENT_RESPONSE"],
		["a truncated frame", trailed({ "grpc-status": "0" }, good.subarray(0, 7)), "INVALID_AGENT_RESPONSE"],
		["a message and a bit", trailed({ "grpc-status": "0" }, good, prefix(5)), "INVALID_AGENT_RESPONSE"],
		["unknown flags", trailed({ "grpc-status": "0" }, Buffer.from([9, 0, 0, 0, 0])), "INVALID_AGENT_RESPONSE"],
		["a frame of 4 GB", trailed({ "grpc-status": "0" }, prefix(0xffffffff)), "INVALID_AGENT_RESPONSE"],
		["invalid protobuf", trailed({ "grpc-status": "0" }, frame(Buffer.from([0x0a, 0x7f]))), "INVALID_AGENT_RESPONSE"],
		[
			"compressed, no encoding",
			trailed({ "grpc-status": "0" }, frame(gzipSync(replyBytes), true)),
			"INVALID_AGENT_RESPONSE",
		],
		["an unknown encoding", respond({ ...ok, "grpc-encoding": "br" }, good), "INVALID_AGENT_RESPONSE"],
		["reset before headers: INTERNAL_ERROR", reset(2), "INVALID_AGENT_RESPONSE"],
		["reset before headers: CANCEL", reset(8), "CANCELLED"],
		["the connection lost", (s) => s.session?.destroy(), "UNAVAILABLE"],
		["bad details", trailed({ "grpc-status": "5", "grpc-status-details-bin": "////" }, good), "NOT_FOUND"],
		["bad escapes in the message", trailed({ "grpc-status": "5", "grpc-message": "%zz%e" }), "NOT_FOUND"],
		["a status beyond the table", trailed({ "grpc-status": "99" }), "UNKNOWN"],
	];

	describe.each([
		["unary", sendMessage],
		["stream", sendStreamingMessage],
	])("%s", (kind, method) => {
		it.each(cases)("%s", async (name, behave, reason) => {
			const { port } = await serveStreams(behave);
			const handler = upstream(`grpc://127.0.0.1:${port}`);
			const run = handler(call(method, request())).then((reply) => collect(iterate(reply)));
			const legal = ["OK without a message", "OK, trailers only", "two messages"];
			if (kind === "stream" && legal.includes(name)) {
				expect((await run).length).toBe(name === "two messages" ? 2 : 0);
				return;
			}
			const error = await errorOf(run);
			expect(error.reason).toBe(reason);
			expect(error.message).not.toContain("10.1.2.3");
			if (name === "401") expect(error.header).toEqual({ "www-authenticate": "Basic" });
			if (name === "429") expect(error.header).toEqual({ "retry-after": "3" });
		});
	});

	it("inflates, but no further than maxMessage", async () => {
		const headers = { ...ok, "grpc-encoding": "gzip" };
		const { port } = await serveStreams((stream) => {
			stream.respond(headers, { waitForTrailers: true });
			stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
			const bomb = stream.id === 3;
			stream.end(frame(gzipSync(bomb ? Buffer.alloc(100_000) : replyBytes), true));
		});
		const handler = upstream(`127.0.0.1:${port}`, { maxMessage: 50_000 });
		const reply = await handler(call(sendMessage, request()));
		expect(Buffer.from((await single(reply)).binary())).toEqual(Buffer.from(replyBytes));
		expect((await errorOf(handler(call(sendMessage, request())))).reason).toBe("INVALID_AGENT_RESPONSE");
	});

	it("a server that speaks HTTP/1.1, one that says nothing, one that hangs up", async () => {
		const http = createHttp((_q, s) => s.end("hello"));
		const mute = createTcp((socket) => socket.on("error", () => {}));
		const rude = createTcp((socket) => socket.destroy());
		for (const server of [http, mute, rude]) {
			await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
			onCleanUp(() => void server.close());
			const { port } = server.address() as AddressInfo;
			const handler = upstream(`127.0.0.1:${port}`, { connectTimeout: 200 });
			expect((await errorOf(handler(call(sendMessage, request())))).reason).toBe("UNAVAILABLE");
		}
	});

	it("an answer after the deadline is nobody's, and its stream is cancelled", async () => {
		const { port, streams } = await serveStreams(() => {});
		const controller = new AbortController();
		const pending = errorOf(upstream(`127.0.0.1:${port}`)(call(sendMessage, request(), { signal: controller.signal })));
		await until(() => streams.length === 1);
		controller.abort(new A2AError("DEADLINE_EXCEEDED"));
		expect((await pending).reason).toBe("DEADLINE_EXCEEDED");
		await until(() => streams[0]?.rstCode === 8);
	});
});

describe("resets after a message", () => {
	it.each([
		[0, "INVALID_AGENT_RESPONSE"],
		[2, "INVALID_AGENT_RESPONSE"],
		[7, "UNAVAILABLE"],
		[8, "CANCELLED"],
		[11, "RESOURCE_EXHAUSTED"],
		[12, "PERMISSION_DENIED"],
	])("code %d", async (code, reason) => {
		const { port } = await rawAgent({
			onRequest: (agent, id) => agent.send(headersFrame(id), dataFrame(id, good), rstFrame(id, code)),
		});
		const handler = upstream(`127.0.0.1:${port}`);
		const unary = await errorOf(handler(call(sendMessage, request())));
		expect(unary.reason).toBe(reason);
		const reply = await handler(call(sendStreamingMessage, request()));
		expect((await errorOf(collect(iterate(reply)))).reason).toBe(reason);
	});
});

it("lets a slow reader slow the agent, with little in between", async () => {
	const total = 10_000;
	let produced = 0;
	const { port } = await serveStreams(async (stream) => {
		stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
		stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
		for (; produced < total; produced++) {
			const room = stream.write(frame(event(`${produced} ${"x".repeat(1000)}`).binary()));
			if (!room) await new Promise((resolve) => stream.once("drain", resolve));
		}
		stream.end();
	});
	const reply = await upstream(`127.0.0.1:${port}`)(call(sendStreamingMessage, request()));
	const iterator = iterate(reply)[Symbol.asyncIterator]();
	await iterator.next();
	let last = -1;
	while (last !== produced) {
		last = produced;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	expect(produced).toBeLessThan(1000);
	let n = 1;
	for (let next = await iterator.next(); !next.done; next = await iterator.next()) n++;
	expect(n).toBe(total);
});

it("leaves no listeners on a signal that outlives its calls", async () => {
	const { port } = await serveStreams((stream) => answerWith(stream, [replyBytes], { "grpc-status": "0" }));
	const handler = upstream(`127.0.0.1:${port}`);
	const { signal } = new AbortController();
	let listeners = 0;
	const add = signal.addEventListener.bind(signal);
	const remove = signal.removeEventListener.bind(signal);
	signal.addEventListener = (...args: Parameters<typeof add>) => {
		listeners++;
		add(...args);
	};
	signal.removeEventListener = (...args: Parameters<typeof remove>) => {
		listeners--;
		remove(...args);
	};
	for (let i = 0; i < 20; i++) await handler(call(sendMessage, request(), { signal }));
	expect(listeners).toBeLessThanOrEqual(0);
});
