/** Many streams on one connection, and the abuse of resetting them. */
import { constants } from "node:http2";
import type { Writable } from "node:stream";
import { expect, test } from "vitest";
import { ask2, dial, gate, jsonOf, session, start } from "./harness.ts";

test("1,000 streams at the same time on one connection", async () => {
	const all = 1_000;
	const responses: Writable[] = [];
	const arrived = gate();
	const { url } = await start({
		http: [
			(_req, res) => {
				const out: Writable = res;
				out.write("begun;");
				if (responses.push(out) === all) arrived.open();
				return true;
			},
		],
	});
	const client = session(url);
	const asks = Array.from({ length: all }, () => ask2(client));
	await arrived.opened;
	for (const res of responses) res.end("done");
	const bodies = new Set((await Promise.all(asks)).map((a) => a.body));
	expect([...bodies]).toEqual(["begun;done"]);
});

test("1,000 gRPC streams of one session cancelled at once leave the session alive", async () => {
	const all = 1_000;
	let open = 0;
	const arrived = gate();
	const left = gate();
	const { url } = await start({
		grpc: [
			(stream) => {
				open += 1;
				if (open === all) arrived.open();
				stream.respond({ ":status": 200, "content-type": "application/grpc" });
				stream.on("close", () => {
					open -= 1;
					if (open === 0) left.open();
				});
				return true;
			},
		],
	});
	const client = session(url);
	const streams = Array.from({ length: all }, () => {
		const head = { ":method": "POST", ":path": "/s/m", "content-type": "application/grpc" };
		return client.request(head, { endStream: false }).on("error", () => {});
	});
	await arrived.opened;
	for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
	await left.opened;
	expect((await ask2(client)).status).toBe(200);
});

test("rapid resets end the abusive session, not the process", async () => {
	const { url, reports } = await start();
	const abusive = session(url);
	const ended = new Promise((resolve) => abusive.once("close", resolve));
	for (let round = 0; round < 200 && !abusive.destroyed && !abusive.closed; round++) {
		for (let i = 0; i < 100 && !abusive.destroyed && !abusive.closed; i++) {
			const grpc = i % 2 === 0 ? { ":method": "POST", "content-type": "application/grpc" } : {};
			const stream = abusive.request({ ":path": "/known.Service/Do", ...grpc });
			stream.on("error", () => {});
			stream.close(constants.NGHTTP2_CANCEL);
		}
		await new Promise(setImmediate);
	}
	await ended;
	expect((await ask2(session(url))).status).toBe(200);
	expect(reports).toEqual([]);
});

/** A small deterministic generator (mulberry32): a failing round can be run again. */
function random(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
}

test("random frames and random requests end connections, not the process", async () => {
	const { port, reports } = await start();
	const next = random(20261120);
	const byte = () => Math.floor(next() * 256);
	const bytes = (n: number) => Buffer.from(Array.from({ length: n }, byte));
	/** Mostly well-formed headers of frames of mostly known types on few streams. */
	const frame = () => {
		const payload = bytes(Math.floor(next() * 40));
		const length = next() < 0.9 ? payload.length : byte();
		const head = [0, 0, length, Math.floor(next() * 11), byte() & 0x2d, 0, 0, 0, Math.floor(next() * 6)];
		return Buffer.concat([Buffer.from(head), payload]);
	};
	const request = [0, 0, 10, 1, 4, 0, 0, 0, 1, 0x83, 0x86, 0x84, 0x01, 1, 0x68, 0x5f, 1, 0x78, 0x80];
	const settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
	for (let round = 0; round < 300; round++) {
		const socket = dial(port);
		const closed = new Promise((resolve) => socket.once("close", resolve));
		socket.resume();
		if (round % 3 === 0) {
			const text = Buffer.from(
				"POST /x HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
			);
			for (let i = 0; i < 3; i++) text[Math.floor(next() * text.length)] = byte();
			socket.end(text);
		} else {
			const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
			const frames = Array.from({ length: 8 }, frame);
			const head = round % 3 === 1 ? Buffer.from([...settings, ...request]) : Buffer.from(settings);
			socket.end(Buffer.concat([preface, head, ...frames]));
		}
		await closed;
	}
	expect((await ask2(session(`http://127.0.0.1:${port}`))).status).toBe(200);
	expect(reports).toEqual([]);
});

test("a large header over HTTP/2 is refused, the session lives", async () => {
	const { url } = await start();
	const client = session(url);
	for (const size of [40_000, 60_000]) {
		const answer = await ask2(client, { headers: { x: "y".repeat(size) } });
		expect([answer.status, jsonOf(answer).error.code]).toEqual([431, 431]);
	}
	const grpc = { verb: "POST", headers: { "content-type": "application/grpc", x: "y".repeat(40_000) } };
	expect((await ask2(client, grpc)).headers["grpc-status"]).toBe("8");
	await expect(ask2(client, { headers: { x: "y".repeat(200_000) } })).rejects.toThrow();
	expect((await ask2(client)).status).toBe(200);
});
