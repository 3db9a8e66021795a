/** gRPC-Web and Connect towards clients, with connect-web's transports and with fetch. */
import { connect as connectHttp2, constants, createServer } from "node:http2";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport as nodeConnect, createGrpcWebTransport as nodeGrpcWeb } from "@connectrpc/connect-node";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { afterEach, describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import {
	A2AService,
	MessageSchema,
	SendMessageRequestSchema,
	SendMessageResponseSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { grpc } from "../../../src/binding/grpc/index.ts";
import type { Call, Handler } from "../../../src/call/call.ts";
import { A2AError, invalidParams } from "../../../src/call/error.ts";
import type { Payload } from "../../../src/call/payload.ts";
import { v1 } from "../../../src/dialect/v1/index.ts";
import { fromMessage } from "../../../src/schema/payload.ts";
import { frame } from "../../../src/wire/grpc-frame.ts";
import { attachOptions, cleanUp, event, onCleanUp, SEND, serveWebCore, textRequest, until } from "./harness.ts";

afterEach(cleanUp);

function echo(seen: Call[] = []): Handler {
	return async (call) => {
		seen.push(call);
		const { message } = fromBinary(SendMessageRequestSchema, call.request.binary());
		const value = create(SendMessageResponseSchema, {
			payload: { case: "message", value: message ?? create(MessageSchema) },
		});
		return { header: { "a2a-extensions": "x" }, messages: [fromMessage(SendMessageResponseSchema, value)] };
	};
}
const failing =
	(error: unknown): Handler =>
	async () => {
		throw error;
	};

const json = { "content-type": "application/json" };

describe.each([
	["gRPC-Web", "GRPC-WEB", (baseUrl: string) => createGrpcWebTransport({ baseUrl })],
	["Connect, binary", "CONNECT", (baseUrl: string) => createConnectTransport({ baseUrl, useBinaryFormat: true })],
	["Connect, JSON", "CONNECT", (baseUrl: string) => createConnectTransport({ baseUrl })],
])("%s", (_name, binding, transport) => {
	const clientOf = async (core: Handler, options = {}) =>
		createClient(A2AService, transport(await serveWebCore(core, options)));

	it("carries message and headers both ways", async () => {
		const seen: Call[] = [];
		const client = await clientOf(echo(seen));
		let header = new Headers();
		const reply = await client.sendMessage(
			{ message: { messageId: "m-1", parts: [{ content: { case: "text", value: "hé" } }] } },
			{
				headers: { "a2a-version": "1.0" },
				timeoutMs: 5000,
				onHeader: (h) => {
					header = h;
				},
			},
		);
		expect(reply.payload.value).toMatchObject({ messageId: "m-1" });
		expect(header.get("a2a-extensions")).toBe("x");
		expect(seen[0]).toMatchObject({ agent: "a", id: "id-1", origin: { binding, version: "1.0" } });
		expect(seen[0]?.header["a2a-version"]).toBe("1.0");
		expect((seen[0]?.deadline ?? 0) - Date.now()).toBeLessThan(5001);
	});

	it("carries errors with their details and headers", async () => {
		const error = new A2AError("TASK_NOT_FOUND", {
			message: "No such täsk",
			metadata: { taskId: "t-404" },
			header: { "www-authenticate": "Bearer" },
		});
		const client = await clientOf(failing(error));
		const got = await client.getTask({ id: "t" }).then(
			() => undefined,
			(e: unknown) => ConnectError.from(e),
		);
		expect(got?.code).toBe(Code.NotFound);
		expect(got?.rawMessage).toBe("No such täsk");
		expect(got?.findDetails(ErrorInfoSchema)[0]).toMatchObject({
			reason: "TASK_NOT_FOUND",
			domain: "a2a-protocol.org",
			metadata: { taskId: "t-404" },
		});
		expect(got?.metadata.get("www-authenticate")).toBe("Bearer");
		const invalid = await (await clientOf(failing(invalidParams([{ field: "id", description: "must be set" }]))))
			.getTask({})
			.catch((e: unknown) => ConnectError.from(e));
		expect(invalid instanceof ConnectError && invalid.findDetails(BadRequestSchema)[0]).toMatchObject({
			fieldViolations: [{ field: "id", description: "must be set" }],
		});
	});

	it("tells nothing of foreign errors", async () => {
		const client = await clientOf(failing(new Error("secret")));
		const got = await client.getTask({ id: "t" }).catch((e: unknown) => ConnectError.from(e));
		expect(got instanceof ConnectError && got.code).toBe(Code.Internal);
		expect(String(got)).not.toContain("secret");
	});

	it("streams, and ends with the error", async () => {
		const client = await clientOf(async () => ({
			header: { "a2a-extensions": "x" },
			messages: (async function* (): AsyncGenerator<Payload> {
				for (let i = 0; i < 100; i++) yield event(String(i));
				throw new A2AError("UNSUPPORTED_OPERATION");
			})(),
		}));
		let n = 0;
		const read = async () => {
			for await (const { payload } of client.sendStreamingMessage({})) {
				expect(payload.case === "message" && payload.value.messageId).toBe(String(n++));
			}
		};
		const error = await read().catch((e: unknown) => ConnectError.from(e));
		expect(n).toBe(100);
		expect(error?.code).toBe(Code.FailedPrecondition);
		expect(error?.findDetails(ErrorInfoSchema)[0]?.reason).toBe("UNSUPPORTED_OPERATION");
	});

	it("tells the core when the client leaves", async () => {
		const seen: Call[] = [];
		let returned = false;
		const client = await clientOf(async (call) => {
			seen.push(call);
			return {
				header: {},
				messages: (async function* () {
					try {
						yield event("0");
						await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
						throw call.signal.reason;
					} finally {
						returned = true;
					}
				})(),
			};
		});
		const controller = new AbortController();
		const messages = client.sendStreamingMessage({}, { signal: controller.signal })[Symbol.asyncIterator]();
		await messages.next();
		controller.abort();
		await messages.next().catch(() => {});
		await until(() => returned && seen[0]?.signal.aborted === true);
	});

	it("keeps the client's deadline", async () => {
		const client = await clientOf(() => new Promise(() => {}));
		const got = await client.getTask({ id: "t" }, { timeoutMs: 100 }).catch((e: unknown) => ConnectError.from(e));
		expect(got instanceof ConnectError && got.code).toBe(Code.DeadlineExceeded);
	});

	it("keeps its own limits", async () => {
		const slow = await clientOf(() => new Promise(() => {}), { unaryTimeout: 50 });
		const late = await slow.getTask({ id: "t" }).catch((e: unknown) => ConnectError.from(e));
		expect(late instanceof ConnectError && late.code).toBe(Code.DeadlineExceeded);
		const small = await clientOf(echo(), { maxMessage: 1000 });
		const big = await small
			.sendMessage({ message: { messageId: "x".repeat(2000) } })
			.catch((e: unknown) => ConnectError.from(e));
		expect(big instanceof ConnectError && big.code).toBe(Code.ResourceExhausted);
	});
});

it("speaks HTTP/2 as well, and passes query members on", async () => {
	const seen: Call[] = [];
	const { http } = grpc.attach(echo(seen), [v1], attachOptions);
	const server = createServer((req, res) => {
		http?.(req, res, { agent: "a", path: req.url.split("?")[0] ?? "", query: "key=a%20b", id: "id-1" });
	});
	server.on("session", (session) => onCleanUp(() => session.destroy()));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onCleanUp(() => void server.close());
	const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	for (const transport of [nodeGrpcWeb({ baseUrl, httpVersion: "2" }), nodeConnect({ baseUrl, httpVersion: "2" })]) {
		const reply = await createClient(A2AService, transport).sendMessage({ message: { messageId: "m-1" } });
		expect(reply.payload.value).toMatchObject({ messageId: "m-1" });
	}
	expect(seen[0]?.query).toEqual({ key: "a b" });
});

describe("by hand", () => {
	it("keeps unknown fields", async () => {
		const url = await serveWebCore(echo());
		const unknown = Buffer.from([0xfa, 0x3f, 0x01, 0x78]);
		const message = Buffer.concat([toBinary(MessageSchema, create(MessageSchema, { messageId: "m" })), unknown]);
		const body = Buffer.concat([Buffer.from([0x12, message.length]), message]);
		expect(fromBinary(SendMessageRequestSchema, body).message?.messageId).toBe("m");
		const answer = await fetch(url + SEND, { method: "POST", headers: { "content-type": "application/proto" }, body });
		expect(Buffer.from(await answer.arrayBuffer()).includes(unknown)).toBe(true);
	});

	it.each([
		["malformed JSON", json, "{", 400],
		["JSON of the wrong type", json, '{"message":7}', 400],
		["not UTF-8", json, Buffer.from([0x22, 0xff]), 400],
		["bad protobuf", { "content-type": "application/proto" }, Buffer.from([0x0a, 0xff]), 400],
		["a wrong content type", { "content-type": "text/plain" }, "x", 415],
		["no content type", { "content-type": "" }, "x", 415],
		["an unknown encoding", { ...json, "content-encoding": "snappy" }, "{}", 501],
	])("%s", async (_name, headers, body, status) => {
		const url = await serveWebCore(echo());
		const answer = await fetch(url + SEND, { method: "POST", headers, body });
		expect(answer.status).toBe(status);
		const text = await answer.text();
		expect(text).not.toMatch(/\bat .*\.(ts|js)/);
		if (status !== 415) expect(JSON.parse(text)).toHaveProperty("code");
	});

	it.each<[string, Record<string, string>, Uint8Array]>([
		["Connect, JSON", { ...json, "content-encoding": "gzip" }, gzipSync('{"message":{"messageId":"m-1"}}')],
		[
			"Connect, binary",
			{ "content-type": "application/proto", "content-encoding": "gzip" },
			gzipSync(textRequest("m-1").binary()),
		],
		["Connect, binary and empty", { "content-type": "application/proto", "content-encoding": "gzip" }, gzipSync("")],
		[
			"gRPC-Web",
			{ "content-type": "application/grpc-web+proto", "grpc-encoding": "gzip" },
			frame(gzipSync(textRequest("m-1").binary()), true),
		],
		[
			"gRPC-Web, uncompressed after all",
			{ "content-type": "application/grpc-web", "grpc-encoding": "gzip" },
			frame(textRequest("m-1").binary()),
		],
		["gRPC-Web, JSON", { "content-type": "application/grpc-web+json" }, frame(Buffer.from("{}"))],
	])("reads what is compressed: %s", async (name, headers, body) => {
		const seen: Call[] = [];
		const url = await serveWebCore(echo(seen));
		const answer = await fetch(url + SEND, { method: "POST", headers, body: Buffer.from(body) });
		expect(answer.status).toBe(200);
		await answer.arrayBuffer();
		expect(seen.length).toBe(1);
		if (!/empty|JSON/.test(name)) expect(Buffer.from(seen[0]?.request.binary() ?? []).includes("m-1")).toBe(true);
	});

	it("tells with an error what was lost before it", async () => {
		const lossy: Handler = async (call) => {
			call.losses.add("/configuration/a b", "gone");
			throw new A2AError("TASK_NOT_FOUND");
		};
		const url = await serveWebCore(lossy);
		const answer = await fetch(url + SEND, { method: "POST", headers: json, body: "{}" });
		expect(answer.status).toBe(404);
		expect(answer.headers.get("a2a-gateway-loss")).toBe("/configuration/a%20b");
		await answer.arrayBuffer();
		const headers = { "content-type": "application/grpc-web+proto" };
		const web = await fetch(url + SEND, { method: "POST", headers, body: frame(textRequest("x").binary()) });
		expect(`${await web.text()}\r\n${web.headers.get("a2a-gateway-loss")}`).toContain("/configuration/a%20b");
	});

	it("takes a client that leaves over HTTP/2 for no fault of its own", async () => {
		let signal: AbortSignal | undefined;
		const told: unknown[] = [];
		const waits: Handler = (call) => {
			({ signal } = call);
			return new Promise(() => {});
		};
		const { http } = grpc.attach(waits, [v1], { ...attachOptions, report: (error) => told.push(error) });
		const server = createServer((req, res) => {
			http?.(req, res, { agent: "a", path: req.url, query: "", id: "id-1" });
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		onCleanUp(() => void server.close());
		const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
		onCleanUp(() => client.destroy());
		const bytes = frame(textRequest("x").binary());
		for (const body of [bytes, bytes.subarray(0, 7)]) {
			signal = undefined;
			const stream = client.request({ ":method": "POST", ":path": SEND, "content-type": "application/grpc-web+proto" });
			stream.on("error", () => {});
			if (body === bytes) stream.end(body);
			else stream.write(body);
			if (body === bytes) await until(() => signal !== undefined);
			else await new Promise((resolve) => setTimeout(resolve, 30));
			stream.close(constants.NGHTTP2_CANCEL);
			if (body === bytes) await until(() => signal?.aborted === true);
			await new Promise((resolve) => client.ping(() => resolve(undefined)));
		}
		await new Promise((resolve) => setTimeout(resolve, 30));
		expect(told).toEqual([]);
	});

	it.each([
		["an encoding nobody has", { "grpc-encoding": "rot13" }],
		["text for browsers", { "content-type": "application/grpc-web-text" }],
	])("over HTTP/2 a client that is refused for %s is told to stop sending", async (_, header) => {
		const { http } = grpc.attach(echo(), [v1], attachOptions);
		const server = createServer((req, res) => {
			http?.(req, res, { agent: "a", path: req.url, query: "", id: "id-1" });
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		onCleanUp(() => void server.close());
		const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
		onCleanUp(() => client.destroy());
		const stream = client.request({
			":method": "POST",
			":path": SEND,
			"content-type": "application/grpc-web+proto",
			...header,
		});
		stream.on("error", () => {});
		stream.resume();
		// Never ended by the client: only the server can close it.
		stream.write(frame(textRequest("x").binary()).subarray(0, 7));
		await new Promise((resolve) => stream.on("close", resolve));
		expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
	});

	it("does not take in for ever what it has refused", async () => {
		const { port, hostname } = new URL(await serveWebCore(echo()));
		const socket = connectTcp(Number(port), hostname);
		socket.on("error", () => {});
		let text = "";
		socket.on("data", (chunk) => {
			text += chunk.toString("latin1");
		});
		const head = "content-type: application/grpc-web+proto\r\ngrpc-encoding: rot13\r\ncontent-length: 1000000000000";
		socket.write(`POST ${SEND} HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n`);
		// A client that falls silent is cut off by Node; this one does not.
		const sending = setInterval(() => socket.writableNeedDrain || socket.write(Buffer.alloc(1 << 18)), 10);
		onCleanUp(() => clearInterval(sending));
		await new Promise((resolve) => socket.on("close", resolve));
		expect(text).toContain("grpc-status: 12");
	});

	it("answers a broken gRPC-Web frame in gRPC-Web", async () => {
		const url = await serveWebCore(echo());
		const body = frame(textRequest("x").binary()).subarray(0, 9);
		const headers = { "content-type": "application/grpc-web+proto" };
		const answer = await fetch(url + SEND, { method: "POST", headers, body });
		const text = `${await answer.text()}grpc-status: ${answer.headers.get("grpc-status")}`;
		expect(text).toMatch(/grpc-status: ?[1-9]/);
	});

	it("allows POST alone, and leaves other paths alone", async () => {
		const url = await serveWebCore(echo());
		const got = await fetch(url + SEND);
		expect(got.status).toBe(405);
		expect(got.headers.get("allow")).toBe("POST");
		expect((await fetch(`${url}/other.Service/Nope`, { method: "POST", headers: json, body: "{}" })).status).toBe(404);
	});

	it("does not wait for ever for a body", async () => {
		const url = await serveWebCore(echo(), { bodyTimeout: 50 });
		const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("{")) });
		const answer = await fetch(url + SEND, { method: "POST", headers: json, body, duplex: "half" });
		expect(answer.status).toBe(408);
	});
});
