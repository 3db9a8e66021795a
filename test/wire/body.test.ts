/** Request bodies over real sockets: HTTP/1.1 and HTTP/2, bounded, timed, decoded, refused without harm. */
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import zlib from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { A2AError } from "../../src/call/error.ts";
import { readBody } from "../../src/wire/body.ts";
import { closeAll, connect, deferred, http2Server, httpServer, onClose, readToEnd } from "./sockets.ts";

afterEach(closeAll);

const MAX = 100_000;

/** Answers with the body's length, or the error's status and reason. */
async function reply(req: http.IncomingMessage | http2.Http2ServerRequest, res: http.ServerResponse, timeout: number) {
	try {
		const body = await readBody(req, { max: MAX, timeout });
		res.writeHead(200).end(`${body.length} ${body.subarray(0, 20).toString("latin1")}`);
	} catch (error) {
		if (!(error instanceof A2AError)) throw error;
		res.writeHead(error.http, { ...error.header }).end(error.reason);
	}
}

type Client = (
	body: Buffer | undefined,
	header?: Record<string, string>,
	timeout?: number,
) => Promise<{ status: number; text: string }>;

const h1: Client = async (body, header = {}, timeout = 5000) => {
	const port = await httpServer((req, res) => void reply(req, res, timeout));
	const req = http.request({ port, host: "127.0.0.1", method: "POST", headers: header, agent: false });
	req.on("error", () => {});
	req.end(body);
	const [res] = (await once(req, "response")) as [http.IncomingMessage];
	let text = "";
	for await (const chunk of res) text += chunk;
	return { status: res.statusCode ?? 0, text };
};

const h2: Client = async (body, header = {}, timeout = 5000) => {
	const port = await http2Server((req, res) => void reply(req, res as unknown as http.ServerResponse, timeout));
	const session = http2.connect(`http://127.0.0.1:${port}`);
	onClose(() => session.destroy());
	const stream = session.request({ ":method": "POST", ":path": "/", ...header });
	stream.on("error", () => {});
	stream.end(body);
	const [headers] = (await once(stream, "response")) as [http2.IncomingHttpHeaders];
	let text = "";
	for await (const chunk of stream) text += chunk;
	return { status: Number(headers[":status"]), text };
};

const long = Buffer.alloc(90_000, "y");
const big = Buffer.alloc(MAX + 1, "x");
const bomb = zlib.gzipSync(Buffer.alloc(50_000_000));

describe.each([
	["HTTP/1.1", h1],
	["HTTP/2", h2],
])("readBody on %s", (_, post) => {
	it.each<[string, Buffer | undefined, Record<string, string>, number, string]>([
		["nothing", undefined, {}, 200, "0 "],
		["little", Buffer.from("hello"), {}, 200, "5 hello"],
		["much", long, {}, 200, `90000 ${"y".repeat(20)}`],
		["declared", long, { "content-length": "90000" }, 200, `90000 ${"y".repeat(20)}`],
		["identity", Buffer.from("hi"), { "content-encoding": "identity" }, 200, "2 hi"],
		["gzip", zlib.gzipSync(long), { "content-encoding": "GZIP" }, 200, `90000 ${"y".repeat(20)}`],
		["x-gzip", zlib.gzipSync("hi"), { "content-encoding": "x-gzip" }, 200, "2 hi"],
		["deflate", zlib.deflateSync("hi"), { "content-encoding": "deflate" }, 200, "2 hi"],
		["raw deflate", zlib.deflateRawSync("hi"), { "content-encoding": "deflate" }, 200, "2 hi"],
		["br", zlib.brotliCompressSync("hi"), { "content-encoding": "br" }, 200, "2 hi"],
		["zstd", zlib.zstdCompressSync("hi"), { "content-encoding": "zstd" }, 200, "2 hi"],
		["too much", big, {}, 413, "REQUEST_TOO_LARGE"],
		["too much, declared", big, { "content-length": String(MAX + 1) }, 413, "REQUEST_TOO_LARGE"],
		["too much, packed", bomb, { "content-encoding": "gzip" }, 413, "REQUEST_TOO_LARGE"],
		["an unknown coding", Buffer.from("hi"), { "content-encoding": "toString" }, 415, "UNSUPPORTED_MEDIA_TYPE"],
		["two codings", Buffer.from("hi"), { "content-encoding": "gzip, br" }, 415, "UNSUPPORTED_MEDIA_TYPE"],
		["broken gzip", Buffer.from("hi"), { "content-encoding": "gzip" }, 400, "PARSE_ERROR"],
		["cut gzip", zlib.gzipSync(long).subarray(0, 50), { "content-encoding": "gzip" }, 400, "PARSE_ERROR"],
	])("%s", async (_name, body, header, status, text) => {
		expect(await post(body, header)).toEqual({ status, text });
	});
});

const post = (extra: string): string => `POST / HTTP/1.1\r\nhost: x\r\n${extra}\r\n`;

it("refuses a declared length at once, and the connection lives on when the rest is small", async () => {
	const port = await httpServer((req, res) => void reply(req, res, 5000));
	const socket = await connect(port);
	socket.write(post(`content-length: ${MAX + 10}\r\n`));
	const [first] = (await once(socket, "data")) as [Buffer];
	expect(first.toString()).toContain("413");
	socket.write(Buffer.alloc(MAX + 10));
	socket.write(`${post("content-length: 2\r\nconnection: close\r\n")}ok`);
	expect(await readToEnd(socket)).toContain("2 ok");
});

it("closes the connection of a client that goes on for ever", async () => {
	const port = await httpServer((req, res) => void reply(req, res, 5000));
	const socket = await connect(port);
	socket.on("data", () => {});
	socket.write(post(`content-length: ${1e12}\r\n`));
	const piece = Buffer.alloc(256 * 1024);
	await new Promise<void>((resolve) => {
		const more = () => {
			while (socket.writable && socket.write(piece));
		};
		socket.on("drain", more);
		socket.on("close", () => resolve());
		more();
	});
	expect(socket.bytesWritten).toBeLessThan(1e9);
});

it("gives up on a body that does not arrive", async () => {
	const port = await httpServer((req, res) => void reply(req, res, 50));
	const socket = await connect(port);
	socket.write(post("content-length: 10\r\n"));
	const [first] = (await once(socket, "data")) as [Buffer];
	expect(first.toString()).toMatch(/^HTTP\/1.1 408 .*DEADLINE_EXCEEDED/s);
});

describe("a client that leaves", () => {
	it("on HTTP/1.1", async () => {
		const reason = deferred<unknown>();
		const port = await httpServer((req) => {
			readBody(req, { max: MAX, timeout: 5000 }).then(reason.resolve, reason.resolve);
			req.socket.once("data", () => {});
		});
		const socket = await connect(port);
		socket.write(`${post("content-length: 10\r\n")}half`);
		setTimeout(() => socket.resetAndDestroy(), 50);
		expect(await reason.promise).toMatchObject({ reason: "CANCELLED" });
	});
	it.each([
		["resets its stream", false],
		["closes its connection", true],
	])("on HTTP/2: %s", async (_, all) => {
		const reason = deferred<unknown>();
		const port = await http2Server((req) => {
			readBody(req, { max: MAX, timeout: 5000 }).then(reason.resolve, reason.resolve);
		});
		const session = http2.connect(`http://127.0.0.1:${port}`);
		onClose(() => session.destroy());
		const stream = session.request({ ":method": "POST", ":path": "/" });
		stream.on("error", () => {});
		stream.write("half");
		setTimeout(() => (all ? session : stream).destroy(), 50);
		expect(await reason.promise).toMatchObject({ reason: "CANCELLED" });
	});
	it("before the body is read", async () => {
		const reason = deferred<unknown>();
		const port = await httpServer((req) => {
			req.on("close", () => readBody(req, { max: MAX, timeout: 5000 }).then(reason.resolve, reason.resolve));
		});
		const socket = await connect(port);
		socket.write(post("content-length: 10\r\n"));
		setTimeout(() => socket.destroy(), 50);
		expect(await reason.promise).toMatchObject({ reason: "CANCELLED" });
	});
});
