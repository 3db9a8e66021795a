/** Bad input in every client's binding, through the whole gateway: the right error in its own form, and nothing breaks. */
import { once } from "node:events";
import http2 from "node:http2";
import net from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Reason } from "../../src/call/error.ts";
import { startScripted } from "../peer/agents/scripted.ts";
import { type Agent, grpcPath, methods } from "../peer/protocol.ts";
import {
	byPath,
	closeAll,
	expectAlive,
	expectClean,
	expectReason,
	type Gate,
	later,
	list,
	message,
	openGate,
	polite,
	streaming,
	tight,
	unary,
} from "./harness.ts";
import {
	ask,
	binaryOf,
	exchange,
	type FormName,
	forms,
	frame,
	http1,
	http2Once,
	type Init,
	outcome,
	requestOf,
} from "./raw.ts";

let agent: Agent;
let gate: Gate;
beforeAll(async () => {
	agent = await startScripted({ bindings: ["JSONRPC"], script: polite });
	later(() => agent.close());
	gate = await openGate(agent.url, { config: tight });
});
afterEach(() => expectAlive(gate.url));
afterAll(closeAll);

const JSON_TYPE = { "content-type": "application/json" };
const rpc = (params: string, method = byPath.name): Init => ({
	header: JSON_TYPE,
	body: `{"jsonrpc":"2.0","id":"q","method":"${method}","params":${params}}`,
});
const rest = (body: string | Uint8Array, header: Record<string, string> = JSON_TYPE): Init => ({
	path: "/message:send",
	header,
	body,
});
const GRPC = { "content-type": "application/grpc", te: "trailers" };
const grpc = (body: Uint8Array, header: Record<string, string> = {}, path = grpcPath(byPath)): Init => ({
	path,
	header: { ...GRPC, ...header },
	body,
});
const WEB = { "content-type": "application/grpc-web+proto", "x-grpc-web": "1" };
const web = (body: Uint8Array, header: Record<string, string> = {}): Init => ({
	path: grpcPath(byPath),
	header: { ...WEB, ...header },
	body,
});
const CONNECT = { ...JSON_TYPE, "connect-protocol-version": "1" };
const connect = (body: string | Uint8Array, header: Record<string, string> = {}, method = byPath): Init => ({
	path: grpcPath(method),
	header: { ...CONNECT, ...header },
	body,
});
const PROTO = { "content-type": "application/proto" };
const STREAM = { "content-type": "application/connect+proto" };
const good = binaryOf(byPath, { id: "t" });
const big = "x".repeat(200_000);
const deep = `${"[".repeat(80)}${"]".repeat(80)}`;

type Row = readonly [form: FormName, name: string, init: Init, reason: Reason];

const rows: readonly Row[] = [
	["JSONRPC", "no JSON", { header: JSON_TYPE, body: "{oops" }, "PARSE_ERROR"],
	["JSONRPC", "invalid UTF-8", { header: JSON_TYPE, body: Buffer.from('{"\xff":1}', "latin1") }, "PARSE_ERROR"],
	["JSONRPC", "a batch", { header: JSON_TYPE, body: "[]" }, "INVALID_REQUEST"],
	["JSONRPC", "a notification", { header: JSON_TYPE, body: '{"jsonrpc":"2.0","method":"x"}' }, "INVALID_REQUEST"],
	[
		"JSONRPC",
		"two ids",
		{ header: JSON_TYPE, body: '{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}' },
		"INVALID_REQUEST",
	],
	["JSONRPC", "deep nesting", rpc(deep), "PARSE_ERROR"],
	["JSONRPC", "an unknown method", rpc("{}", "Nonsense"), "METHOD_NOT_FOUND"],
	["JSONRPC", "a missing field", rpc("{}"), "INVALID_PARAMS"],
	["JSONRPC", "a wrong type", rpc('{"id":7}'), "INVALID_PARAMS"],
	["JSONRPC", "params of the wrong kind", rpc("[]"), "INVALID_PARAMS"],
	[
		"JSONRPC",
		"bad base64",
		rpc('{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"*"}]}}', unary.name),
		"INVALID_PARAMS",
	],
	[
		"JSONRPC",
		"a wrong content type",
		{ header: { "content-type": "text/xml" }, body: "<x/>" },
		"UNSUPPORTED_MEDIA_TYPE",
	],
	["JSONRPC", "no content type", { body: "{}" }, "UNSUPPORTED_MEDIA_TYPE"],
	[
		"JSONRPC",
		"an unknown coding",
		{ header: { ...JSON_TYPE, "content-encoding": "x" }, body: "{}" },
		"UNSUPPORTED_MEDIA_TYPE",
	],
	["JSONRPC", "too much", rpc(`{"id":"${big}"}`), "REQUEST_TOO_LARGE"],
	[
		"JSONRPC",
		"a bomb",
		{ header: { ...JSON_TYPE, "content-encoding": "gzip" }, body: gzipSync(Buffer.alloc(9_000_000)) },
		"REQUEST_TOO_LARGE",
	],
	["JSONRPC", "GET", { verb: "GET" }, "METHOD_NOT_ALLOWED"],
	["JSONRPC", "DELETE", { verb: "DELETE" }, "METHOD_NOT_ALLOWED"],

	["HTTP+JSON", "no JSON", rest("{oops"), "PARSE_ERROR"],
	["HTTP+JSON", "nothing", rest(""), "INVALID_PARAMS"],
	["HTTP+JSON", "invalid UTF-8", rest(Buffer.from('{"\xff":1}', "latin1")), "PARSE_ERROR"],
	["HTTP+JSON", "a batch", rest("[]"), "INVALID_REQUEST"],
	["HTTP+JSON", "a member twice", rest('{"message":{"role":1,"role":2}}'), "INVALID_REQUEST"],
	["HTTP+JSON", "deep nesting", rest(`{"x":${deep}}`), "PARSE_ERROR"],
	["HTTP+JSON", "a missing field", rest("{}"), "INVALID_PARAMS"],
	["HTTP+JSON", "a wrong type", rest('{"message":5}'), "INVALID_PARAMS"],
	[
		"HTTP+JSON",
		"bad base64",
		rest('{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"*"}]}}'),
		"INVALID_PARAMS",
	],
	["HTTP+JSON", "a wrong content type", rest("<x/>", { "content-type": "text/xml" }), "UNSUPPORTED_MEDIA_TYPE"],
	["HTTP+JSON", "too much", rest(`{"x":"${big}"}`), "REQUEST_TOO_LARGE"],
	[
		"HTTP+JSON",
		"a wrong Accept for a stream",
		{ ...rest("{}"), path: "/message:stream", header: { ...JSON_TYPE, accept: "text/html" } },
		"NOT_ACCEPTABLE",
	],
	["HTTP+JSON", "an unknown route", { verb: "GET", path: "/nowhere" }, "METHOD_NOT_FOUND"],
	["HTTP+JSON", "the wrong verb", { verb: "DELETE", path: "/tasks/1" }, "METHOD_NOT_ALLOWED"],
	["HTTP+JSON", "a bad escape in the path", { verb: "GET", path: "/tasks/%zz" }, "INVALID_PARAMS"],
	["HTTP+JSON", "a bad escape in the query", { verb: "GET", path: "/tasks?contextId=%ff" }, "INVALID_PARAMS"],
	["HTTP+JSON", "a number that is none", { verb: "GET", path: "/tasks?pageSize=ten" }, "INVALID_PARAMS"],
	["HTTP+JSON", "an unknown state", { verb: "GET", path: "/tasks?status=busy" }, "INVALID_PARAMS"],

	["GRPC", "invalid protobuf", grpc(frame(Buffer.from([0x0a, 0xff, 0x01]))), "INVALID_PARAMS"],
	["GRPC", "invalid UTF-8 in a string", grpc(frame(Buffer.from([0x0a, 0x01, 0xff]))), "INVALID_PARAMS"],
	["GRPC", "a missing field", grpc(frame(new Uint8Array())), "INVALID_PARAMS"],
	["GRPC", "a truncated frame", grpc(frame(good).subarray(0, 6)), "INVALID_REQUEST"],
	["GRPC", "a truncated prefix", grpc(frame(good).subarray(0, 3)), "INVALID_REQUEST"],
	["GRPC", "an oversized frame", grpc(frame(binaryOf(byPath, { id: big }))), "REQUEST_TOO_LARGE"],
	["GRPC", "a frame that promises 4 GB", grpc(Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1])), "REQUEST_TOO_LARGE"],
	["GRPC", "no message", grpc(new Uint8Array()), "UNIMPLEMENTED"],
	["GRPC", "two messages", grpc(Buffer.concat([frame(good), frame(good)])), "UNIMPLEMENTED"],
	["GRPC", "compression without its name", grpc(frame(good, 1)), "INVALID_REQUEST"],
	["GRPC", "broken gzip", grpc(frame(good, 1), { "grpc-encoding": "gzip" }), "INVALID_REQUEST"],
	[
		"GRPC",
		"a bomb",
		grpc(frame(gzipSync(Buffer.alloc(9_000_000)), 1), { "grpc-encoding": "gzip" }),
		"REQUEST_TOO_LARGE",
	],
	["GRPC", "an unknown encoding", grpc(frame(good), { "grpc-encoding": "rot13" }), "UNIMPLEMENTED"],
	["GRPC", "a malformed timeout", grpc(frame(good), { "grpc-timeout": "soon" }), "INVALID_REQUEST"],

	["GRPC-WEB", "a missing field", web(frame(new Uint8Array())), "INVALID_PARAMS"],
	["GRPC-WEB", "invalid protobuf", web(frame(Buffer.from([0x0a, 0xff, 0x01]))), "INVALID_PARAMS"],
	["GRPC-WEB", "invalid UTF-8 in a string", web(frame(Buffer.from([0x0a, 0x01, 0xff]))), "INVALID_PARAMS"],
	["GRPC-WEB", "a truncated frame", web(frame(good).subarray(0, 6)), "INVALID_REQUEST"],
	["GRPC-WEB", "a truncated prefix", web(frame(good).subarray(0, 3)), "INVALID_REQUEST"],
	["GRPC-WEB", "an oversized frame", web(frame(binaryOf(byPath, { id: big }))), "REQUEST_TOO_LARGE"],
	["GRPC-WEB", "a frame that promises 4 GB", web(Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1])), "REQUEST_TOO_LARGE"],
	["GRPC-WEB", "no message", web(new Uint8Array()), "UNIMPLEMENTED"],
	["GRPC-WEB", "two messages", web(Buffer.concat([frame(good), frame(good)])), "UNIMPLEMENTED"],
	["GRPC-WEB", "compression without its name", web(frame(good, 1)), "INVALID_REQUEST"],
	["GRPC-WEB", "broken gzip", web(frame(good, 1), { "grpc-encoding": "gzip" }), "INVALID_REQUEST"],
	[
		"GRPC-WEB",
		"a bomb",
		web(frame(gzipSync(Buffer.alloc(9_000_000)), 1), { "grpc-encoding": "gzip" }),
		"REQUEST_TOO_LARGE",
	],

	["CONNECT", "a missing field", connect("{}"), "INVALID_PARAMS"],
	["CONNECT", "invalid protobuf", connect(Buffer.from([0x0a, 0xff, 1]), PROTO), "INVALID_PARAMS"],
	["CONNECT", "no JSON", connect("{oops"), "PARSE_ERROR"],
	["CONNECT", "nothing", connect(""), "PARSE_ERROR"],
	["CONNECT", "invalid UTF-8", connect(Buffer.from('{"id":"\xff"}', "latin1")), "PARSE_ERROR"],
	["CONNECT", "a batch", connect("[]"), "INVALID_REQUEST"],
	["CONNECT", "a member twice", connect('{"id":"t","id":"u"}'), "INVALID_REQUEST"],
	["CONNECT", "deep nesting", connect(`{"x":${deep}}`), "PARSE_ERROR"],
	["CONNECT", "a wrong type", connect('{"id":7}'), "INVALID_PARAMS"],
	[
		"CONNECT",
		"bad base64",
		connect('{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"*"}]}}', {}, unary),
		"INVALID_PARAMS",
	],
	["CONNECT", "too much", connect(`{"id":"${big}"}`), "REQUEST_TOO_LARGE"],
	["CONNECT", "broken gzip", connect("{}", { "content-encoding": "gzip" }), "PARSE_ERROR"],
	[
		"CONNECT",
		"a bomb",
		connect(gzipSync(Buffer.alloc(9_000_000)), { "content-encoding": "gzip" }),
		"REQUEST_TOO_LARGE",
	],
	["CONNECT", "a stream's truncated frame", connect(frame(good).subarray(0, 6), STREAM, streaming), "INVALID_REQUEST"],
	[
		"CONNECT",
		"a stream's invalid protobuf",
		connect(frame(Buffer.from([0x0a, 0xff, 1])), STREAM, streaming),
		"INVALID_PARAMS",
	],
];

/** What connect-node refuses for the header alone, in its own words: the code alone counts. */
const library: readonly (readonly [FormName, string, Init, number | string])[] = [
	["GRPC-WEB", "a malformed timeout", web(frame(good), { "grpc-timeout": "soon" }), 3],
	["GRPC-WEB", "an unknown encoding", web(frame(good), { "grpc-encoding": "rot13" }), 12],
	["CONNECT", "an unknown coding", connect("{}", { "content-encoding": "rot13" }), "unimplemented"],
	["CONNECT", "a malformed timeout", connect('{"id":"t"}', { "connect-timeout-ms": "soon" }), "invalid_argument"],
];

describe("an error in the client's own form", () => {
	it.each(rows)("%s: %s", async (form, name, init, reason) => {
		const before = agent.calls.length;
		const answer = await exchange(gate.url, form, init);
		expectReason(answer, reason);
		expectClean(answer, [new URL(agent.url).host]);
		if (reason === "METHOD_NOT_ALLOWED") expect(answer.header["allow"]).toMatch(/GET|POST/);
		if (reason === "INVALID_PARAMS" && /field|type/.test(name)) {
			expect(answer.details.some((d) => d["@type"].endsWith("google.rpc.BadRequest"))).toBe(true);
		}
		expect(agent.calls.length).toBe(before);
	});

	it.each(library)("%s: %s", async (form, _, init, code) => {
		const before = agent.calls.length;
		const answer = await exchange(gate.url, form, init);
		expect(answer.code).toBe(code);
		expectClean(answer, [new URL(agent.url).host]);
		expect(agent.calls.length).toBe(before);
	});
});

describe("a connection after a refused request", () => {
	const post = (header: string, body: Uint8Array) =>
		Buffer.concat([
			Buffer.from(
				`POST ${grpcPath(byPath)} HTTP/1.1\r\nhost: x\r\n${header}\r\ncontent-length: ${body.length}\r\n\r\n`,
			),
			body,
		]);
	const type = "content-type: application/grpc-web+proto";
	const large = frame(binaryOf(byPath, { id: big }));
	it.each([
		["gRPC-Web, oversized", post(type, large)],
		["gRPC-Web, an encoding nobody has", post(`${type}\r\ngrpc-encoding: rot13`, large)],
		["gRPC-Web, two messages", post(type, Buffer.concat([frame(good), frame(good)]))],
		["Connect, oversized", post("content-type: application/json", Buffer.from(`{"id":"${big}"}`))],
		["Connect, a coding nobody has", post("content-type: application/json\r\ncontent-encoding: rot13", large)],
		["text for browsers", post("content-type: application/grpc-web-text", large)],
	])("serves the next over HTTP/1.1: %s", async (_, refused) => {
		const socket = net.connect(Number(new URL(gate.url).port), "127.0.0.1");
		socket.on("error", () => {});
		let text = "";
		const answers = () => text.match(/HTTP\/1.1 \d+/g) ?? [];
		const answered = new Promise<void>((resolve) => {
			socket.on("close", () => resolve());
			socket.on("data", (chunk) => {
				text += chunk.toString("latin1");
				if (answers().length === 2 && text.includes("grpc-status: 0")) resolve();
			});
		});
		socket.write(Buffer.concat([refused, post(type, frame(good))]));
		await answered;
		socket.destroy();
		expect(answers().length).toBe(2);
		expect(answers()[1]).toBe("HTTP/1.1 200");
	});
});

describe("routes", () => {
	it.each([
		["/lf.a2a.v1.A2AService/Nonsense", 12],
		["/nobody.Service/Get", 12],
		["/", 12],
		["/tasks", 12],
		["/%zz", 12],
	])("gRPC %s is unimplemented", async (path, status) => {
		const answer = outcome("GRPC", await http2Once(gate.url, { path, header: GRPC, body: frame(good) }));
		expect(answer.code).toBe(status);
		expectClean(answer);
	});

	it.each([
		[
			"HTTP/1.1 gRPC",
			http1,
			{ path: grpcPath(byPath), header: { "content-type": "application/grpc" }, body: frame(good) },
			505,
		],
		["GET on a gRPC route", http2Once, { verb: "GET", path: grpcPath(byPath), header: GRPC }, 405],
		["GET on a Connect route", http1, { verb: "GET", path: grpcPath(byPath) }, 405],
		[
			"text on a Connect route",
			http1,
			{ path: grpcPath(byPath), header: { "content-type": "text/plain" }, body: "x" },
			415,
		],
		[
			"gRPC with a codec nobody has",
			http2Once,
			{ path: grpcPath(byPath), header: { ...GRPC, "content-type": "application/grpc+json" }, body: frame(good) },
			415,
		],
		["POST on a card", http1, { path: "/.well-known/agent-card.json" }, 405],
		["DELETE of readiness", http1, { verb: "DELETE", path: "/readyz" }, 405],
		["TRACE", http2Once, { verb: "TRACE", path: "/" }, 405],
	] as const)("%s is %s", async (_, transport, init, status) => {
		const answer = await transport(gate.url, init as Init);
		expect(answer.http).toBe(status);
		expect(answer.header["x-request-id"]).toBeDefined();
	});
});

describe("below the bindings", () => {
	const { port, hostname } = { port: () => Number(new URL(gate.url).port), hostname: "127.0.0.1" };
	async function raw(bytes: string | Buffer): Promise<string> {
		const socket = net.connect(port(), hostname);
		socket.on("error", () => {});
		let text = "";
		socket.on("data", (chunk) => {
			text += chunk.toString("latin1");
		});
		socket.end(bytes);
		if (!socket.closed) await once(socket, "close");
		return text;
	}

	it.each<[string, string, RegExp]>([
		["a header flood", `GET / HTTP/1.1\r\nhost: x\r\n${"a: b\r\n".repeat(500)}\r\n`, /^HTTP\/1.1 431/],
		["a huge header", `GET / HTTP/1.1\r\nhost: x\r\na: ${"b".repeat(70_000)}\r\n\r\n`, /^HTTP\/1.1 431/],
		["a long URL", `GET /${"x".repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, /^HTTP\/1.1 414/],
		["no HTTP", "\x16\x03\x01\x02\x00\x01", /^(HTTP\/1.1 400|$)/],
		["rubbish", "hello there\r\n\r\n", /^HTTP\/1.1 400/],
		["two lengths", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx", /^HTTP\/1.1 400/],
		[
			"length and chunks",
			"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
			/^HTTP\/1.1 400/,
		],
		[
			"a bad chunk",
			"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
			/^HTTP\/1.1 400/,
		],
		["no Host", "GET / HTTP/1.1\r\n\r\n", /^HTTP\/1.1 400/],
		[
			"a Host that is none",
			`POST ${grpcPath(byPath)} HTTP/1.1\r\nhost: a b:c\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
			/^HTTP\/1.1 400/,
		],
		["an authority form", "CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1.1 405/],
		["half a preface", "PRI * HTTP/2.0\r\n\r\nSM", /^$/],
	])("%s over HTTP/1.1", async (_, bytes, expected) => {
		const text = await raw(bytes);
		expect(text).toMatch(expected);
		if (text !== "") expect(text.toLowerCase()).toContain("x-request-id:");
		expect(text).not.toMatch(/\.ts|node_modules| at /);
	});

	const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	const h2 = (
		type: number,
		flags: number,
		id: number,
		payload: Uint8Array = Buffer.alloc(0),
		length = payload.length,
	) => {
		const head = Buffer.alloc(9);
		head.writeUIntBE(length, 0, 3);
		head[3] = type;
		head[4] = flags;
		head.writeUInt32BE(id, 5);
		return Buffer.concat([head, payload]);
	};
	const field = (name: string, value: string) =>
		Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);
	const pseudo = (verb: string, path: string) =>
		Buffer.concat([field(":method", verb), field(":scheme", "http"), field(":path", path), field(":authority", "x")]);
	const getTask = pseudo("GET", "/tasks/t");
	const postGrpc = Buffer.concat([pseudo("POST", grpcPath(byPath)), field("content-type", "application/grpc")]);
	it.each<[string, Buffer]>([
		["no settings", h2(1, 5, 1, Buffer.from([0x82]))],
		["a frame larger than allowed", Buffer.concat([h2(4, 0, 0), h2(0, 0, 1, Buffer.alloc(0), 0xffffff)])],
		["data on stream 0", Buffer.concat([h2(4, 0, 0), h2(0, 0, 0, Buffer.from("x"))])],
		["broken HPACK", Buffer.concat([h2(4, 0, 0), h2(1, 5, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))])],
		["an even stream", Buffer.concat([h2(4, 0, 0), h2(1, 5, 2, Buffer.from([0x82, 0x86, 0x84]))])],
		["a continuation of nothing", Buffer.concat([h2(4, 0, 0), h2(9, 4, 1, Buffer.from([0x82]))])],
		["settings of an odd length", h2(4, 0, 0, Buffer.alloc(5))],
		// In one segment: the request's stream is dead before anybody has heard of it.
		[
			"a good request, then settings of an odd length",
			Buffer.concat([h2(4, 0, 0), h2(1, 5, 1, getTask), h2(4, 0, 0, Buffer.alloc(5))]),
		],
		[
			"a good gRPC request, then data on stream 0",
			Buffer.concat([h2(4, 0, 0), h2(1, 4, 1, postGrpc), h2(0, 0, 0, Buffer.from("x"))]),
		],
		["a window update of zero", Buffer.concat([h2(4, 0, 0), h2(8, 0, 0, Buffer.alloc(4))])],
		["unknown frames", Buffer.concat([h2(4, 0, 0), h2(0x77, 0xff, 3, Buffer.from("what"))])],
		[
			"rapid resets",
			Buffer.concat([
				h2(4, 0, 0),
				...Array.from({ length: 200 }, (_, i) =>
					Buffer.concat([
						h2(1, 4, 2 * i + 1, Buffer.from([0x83, 0x86, 0x84])),
						h2(3, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8])),
					]),
				),
			]),
		],
	])("%s over HTTP/2", async (_, bytes) => {
		const socket = net.connect(port(), hostname);
		socket.on("error", () => {});
		socket.resume();
		socket.write(Buffer.concat([Buffer.from(PREFACE), bytes]));
		await new Promise((resolve) => setTimeout(resolve, 30));
		socket.destroy();
	});

	it("a header flood over HTTP/2 gets an answer in its own form", async () => {
		const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x-${i}`, "y"]));
		const answer = outcome("GRPC", await http2Once(gate.url, grpc(frame(good), many)));
		expect(answer.code).toBe(8);
		const plain = await http2Once(gate.url, { ...rpc('{"id":"t"}'), header: { ...JSON_TYPE, ...many } });
		expect(plain.http).toBe(431);
	});

	it.each(forms)("a request cut off, by %s", async (form) => {
		const init = requestOf(form, unary, message);
		const before = agent.calls.length;
		if (form === "GRPC") {
			const session = http2.connect(gate.url);
			session.on("error", () => {});
			const stream = session.request({ ":method": "POST", ":path": init.path, ...init.header });
			stream.on("error", () => {});
			stream.write(Buffer.from(init.body as Uint8Array).subarray(0, 8));
			await new Promise((resolve) => setTimeout(resolve, 20));
			session.destroy();
		} else {
			const body = Buffer.from(init.body as Uint8Array);
			const socket = net.connect(port(), hostname);
			socket.on("error", () => {});
			const fields = Object.entries(init.header ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
			socket.write(
				`${init.verb ?? "POST"} ${init.path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n${fields.join("")}\r\n`,
			);
			socket.write(body.subarray(0, 8));
			await new Promise((resolve) => setTimeout(resolve, 20));
			socket.destroy();
		}
		await expectAlive(gate.url, form);
		expect(agent.calls.slice(before).map((c) => c.method.name)).toEqual([byPath.name]);
	});

	it.each(forms)("a body that stalls is given up, by %s", async (form) => {
		const init = requestOf(form, unary, message);
		const session = http2.connect(gate.url);
		session.on("error", () => {});
		const stream = session.request({ ":method": init.verb ?? "POST", ":path": init.path, ...init.header });
		stream.on("error", () => {});
		stream.write(Buffer.from(init.body as Uint8Array).subarray(0, 8));
		const [head] = (await once(stream, "response")) as [http2.IncomingHttpHeaders];
		if (form === "GRPC") expect(head["grpc-status"]).toBe("4");
		else expect([408, 200]).toContain(head[":status"]);
		session.destroy();
	});
});

it("the same id may be used any number of times at once", async () => {
	const answers = await Promise.all(Array.from({ length: 20 }, () => ask(gate.url, "JSONRPC", byPath, { id: "t" })));
	expect(answers.map((a) => a.code)).toEqual(Array(20).fill(undefined));
});

it.each(forms)("%s: every operation has an answer, none is missing", async (form) => {
	for (const method of methods) {
		const fields = new Set(method.input.fields.map((f) => f.name));
		const request = fields.has("message")
			? message
			: Object.fromEntries(
					["id", "task_id"].filter((n) => fields.has(n)).map((n) => [n === "id" ? "id" : "taskId", "1"]),
				);
		const answer = await ask(
			gate.url,
			form,
			method,
			fields.has("url") ? { ...request, url: "https://x.example" } : request,
		);
		expect([method.name, answer.reason, answer.code]).toEqual([method.name, undefined, undefined]);
	}
});

it("the process has neither lost a promise nor an error", () => {
	for (const line of gate.lines) expect(line).not.toMatch(/"level":"error"/);
	expect([list, streaming]).toBeDefined();
});
