/** Server-sent events: the reader against the standard's rules, the writer against real responses, both as inverses. */
import { once } from "node:events";
import http, { type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { type SseEvent, type SseWriter, sseReader, sseWriter } from "../../src/wire/sse.ts";

async function* chunks(list: readonly (string | Buffer)[]): AsyncIterable<Buffer> {
	for (const each of list) yield Buffer.from(each);
}

async function read(list: readonly (string | Buffer)[], maxEvent = 1 << 24): Promise<SseEvent[]> {
	const events: SseEvent[] = [];
	for await (const event of sseReader(chunks(list), { maxEvent })) events.push(event);
	return events;
}

/** Cuts a buffer at the given places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
	const at = [0, ...places.map((p) => p % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
	return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

describe("sseReader", () => {
	it.each<[string, string, [string, string][]]>([
		[
			"LF",
			"data: a\n\ndata: b\n\n",
			[
				["a", ""],
				["b", ""],
			],
		],
		[
			"CRLF",
			"data: a\r\n\r\ndata: b\r\n\r\n",
			[
				["a", ""],
				["b", ""],
			],
		],
		[
			"CR",
			"data: a\r\rdata: b\r\r",
			[
				["a", ""],
				["b", ""],
			],
		],
		[
			"mixed",
			"data: a\r\n\ndata: b\n\rdata: c\r\r\n",
			[
				["a", ""],
				["b", ""],
				["c", ""],
			],
		],
		["several lines", "data: {\ndata:  1\ndata:}\n\n", [["{\n 1\n}", ""]]],
		["no space", "data:a\n\n", [["a", ""]]],
		["one space only is dropped", "data:  a\n\n", [[" a", ""]]],
		["comments", ":\n\n: x\ndata: a\n:y\ndata: b\n\n:\n\n", [["a\nb", ""]]],
		[
			"events",
			"event: error\ndata: a\n\ndata: b\n\n",
			[
				["a", "error"],
				["b", ""],
			],
		],
		["other fields", "id: 1\nretry: 5\nfoo\ndatax: 1\ndat: 2\ndata: a\n\n", [["a", ""]]],
		["an event without data", "event: x\n\ndata: a\n\n", [["a", ""]]],
		[
			"empty data",
			"data\n\ndata:\n\n",
			[
				["", ""],
				["", ""],
			],
		],
		["a byte order mark", "\ufeffdata: a\n\n", [["a", ""]]],
		["unicode", "data: h€llo 🌡️\n\n", [["h€llo 🌡️", ""]]],
		["a comment cut off", "data: a\n\n: half", [["a", ""]]],
		["another field cut off", "data: a\n\neve", [["a", ""]]],
		["nothing", "", []],
	])("%s", async (_, text, expected) => {
		const events = expected.map(([data, event]) => ({ data, event }));
		expect(await read([text])).toEqual(events);
		// One byte at a time, empty chunks between.
		const bytes = Buffer.from(text);
		expect(await read([...bytes].flatMap((b) => [Buffer.of(b), Buffer.alloc(0)]))).toEqual(events);
	});

	it.each([
		["in its data", "data: a\n\ndata: {"],
		["after its data", "data: a\n\ndata: b\n"],
		["in its second line", "data: a\ndata"],
	])("reports an event cut off %s", async (_, text) => {
		await expect(read([text])).rejects.toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
	});

	it("bounds an event, not the stream, and not its comments", async () => {
		const event = `data: ${"x".repeat(90)}\n\n`;
		expect(await read(Array(50).fill(event), 100)).toHaveLength(50);
		expect(await read([":".repeat(60), "\n", ":".repeat(60), "\n", event], 100)).toHaveLength(1);
		for (const big of [
			[`data: ${"x".repeat(100)}\n\n`],
			[`data: ${"x".repeat(60)}\n`, `data: ${"x".repeat(60)}\n\n`],
		]) {
			await expect(read(big, 100)).rejects.toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
		}
		await expect(read(Array(1000).fill("data"), 100)).rejects.toThrow("larger than 100 bytes");
	});

	it("refuses invalid UTF-8", async () => {
		await expect(read([Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0x0a, 0x0a])])).rejects.toThrow("UTF-8");
	});

	it("takes one 10 MB line in little chunks", async () => {
		const size = 10_000_000;
		async function* source(): AsyncIterable<Buffer> {
			yield Buffer.from("data: ");
			const piece = Buffer.alloc(100, "x");
			for (let sent = 0; sent < size; sent += piece.length) yield piece;
			yield Buffer.from("\n\n");
		}
		const lengths: number[] = [];
		for await (const { data } of sseReader(source(), { maxEvent: 11_000_000 })) lengths.push(data.length);
		expect(lengths).toEqual([size]);
	});

	it("is linear on a chunk of line ends", async () => {
		expect(await read([Buffer.alloc(1 << 20, "\r"), Buffer.alloc(1 << 20, "\n")])).toEqual([]);
	});

	it("ends the source when the reader stops", async () => {
		let ended = false;
		async function* source(): AsyncIterable<Buffer> {
			try {
				for (;;) yield Buffer.from("data: a\n\n");
			} finally {
				ended = true;
			}
		}
		for await (const _ of sseReader(source(), { maxEvent: 100 })) break;
		expect(ended).toBe(true);
	});
});

describe("sseWriter", () => {
	const closers: (() => unknown)[] = [];
	afterEach(async () => {
		for (const close of closers.splice(0)) await close();
	});

	async function serve(handler: (res: ServerResponse) => void): Promise<number> {
		const server = http.createServer((_, res) => handler(res));
		server.listen(0, "127.0.0.1");
		await once(server, "listening");
		closers.push(() => {
			server.closeAllConnections();
			server.close();
		});
		return (server.address() as AddressInfo).port;
	}
	const get = async (port: number): Promise<http.IncomingMessage> => {
		const [res] = await once(http.get({ port, host: "127.0.0.1", agent: false }), "response");
		return res as http.IncomingMessage;
	};
	const text = async (port: number): Promise<{ res: http.IncomingMessage; body: string }> => {
		const res = await get(port);
		let body = "";
		for await (const chunk of res.setEncoding("utf8")) body += chunk;
		return { res, body };
	};

	it("writes header and events", async () => {
		const port = await serve(async (res) => {
			const sse = sseWriter(res, { keepAlive: 0, header: { "x-a": "1", "cache-control": "public" } });
			await sse.send('{"a":1}');
			await sse.send("x\ny\r\nz\r", "error");
			sse.end();
			sse.end();
			await sse.send("late");
			expect(sse.closed).toBe(true);
		});
		const { res, body } = await text(port);
		expect(res.statusCode).toBe(200);
		expect(res.headers).toMatchObject({
			"content-type": "text/event-stream",
			"cache-control": "no-cache",
			connection: expect.any(String),
			"x-accel-buffering": "no",
			"x-a": "1",
		});
		expect(body).toBe('data: {"a":1}\n\nevent: error\ndata: x\ndata: y\ndata: z\ndata: \n\n');
	});

	it("writes the header of an empty stream", async () => {
		const port = await serve((res) => sseWriter(res, { keepAlive: 0 }).end());
		const { res, body } = await text(port);
		expect([res.headers["content-type"], body]).toEqual(["text/event-stream", ""]);
	});

	it("comments on silence, for all streams, until the end", async () => {
		const writers: SseWriter[] = [];
		const port = await serve((res) => {
			const sse = sseWriter(res, { keepAlive: 20 });
			writers.push(sse);
			void sse.send("first");
		});
		const answers = await Promise.all([get(port), get(port)]);
		await Promise.all(
			answers.map(async (res) => {
				let body = "";
				for await (const chunk of res.setEncoding("utf8")) {
					body += chunk;
					if (body.split(":\n\n").length > 3) break;
				}
				expect(body).toMatch(/^data: first\n\n(:\n\n)+/);
			}),
		);
		for (const writer of writers) while (!writer.closed) await sleep(5);
	});

	it("waits for a slow client, and stops waiting when it leaves", async () => {
		let sent = 0;
		let finished: (value: unknown) => void = () => {};
		const done = new Promise((resolve) => {
			finished = resolve;
		});
		const port = await serve(async (res) => {
			const sse = sseWriter(res, { keepAlive: 0 });
			const data = "x".repeat(64 * 1024);
			while (!sse.closed) {
				await sse.send(data);
				sent++;
			}
			await sse.send("after");
			sse.end();
			finished(undefined);
		});
		const res = await get(port);
		res.pause();
		// Full buffers on both sides: the count stands still.
		let before = -1;
		while (before !== sent) {
			before = sent;
			await sleep(100);
		}
		expect(sent).toBeLessThan(1000);
		res.destroy();
		await done;
	});

	it("knows a response that was gone before it began", async () => {
		let checked: (value: boolean) => void = () => {};
		const closed = new Promise<boolean>((resolve) => {
			checked = resolve;
		});
		const port = await serve((res) => {
			res.on("close", async () => {
				const sse = sseWriter(res, { keepAlive: 10 });
				await sse.send("x");
				sse.end();
				checked(sse.closed);
			});
			res.req.socket.destroy();
		});
		await expect(get(port)).rejects.toThrow();
		expect(await closed).toBe(true);
	});

	it("is the inverse of the reader under any chunking", async () => {
		/** Collects what a response would send. */
		function paper(): { res: ServerResponse; written: () => Buffer } {
			const parts: Buffer[] = [];
			const res = {
				writableEnded: false,
				destroyed: false,
				on: () => res,
				writeHead: () => res,
				write: (part: string) => parts.push(Buffer.from(part)) > 0,
				end: () => res,
			};
			return { res: res as unknown as ServerResponse, written: () => Buffer.concat(parts) };
		}
		const name = fc.stringMatching(/^[a-z]{1,5}$/);
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.tuple(fc.string({ unit: "binary" }), fc.option(name, { nil: undefined })), { maxLength: 5 }),
				fc.array(fc.nat(), { maxLength: 10 }),
				async (events, places) => {
					const { res, written } = paper();
					const sse = sseWriter(res, { keepAlive: 0 });
					for (const [data, event] of events) await sse.send(data, event);
					sse.end();
					// Line ends are all one to the format; characters that are no text are not its business.
					const expected = events.map(([data, event]) => ({
						data: Buffer.from(data.replace(/\r\n?/g, "\n")).toString(),
						event: event ?? "",
					}));
					expect(await read(cut(written(), places))).toEqual(expected);
				},
			),
		);
	});
});
