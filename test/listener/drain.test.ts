/** Draining: what is under way finishes, nothing new begins, the deadline ends the rest. */
import type { Writable } from "node:stream";
import { connect as tlsConnect } from "node:tls";
import { describe, expect, test } from "vitest";
import type { HttpHandler } from "../../src/binding/binding.ts";
import { ask1, ask2, dial, drained, type Gate, gate, pair, session, start, until } from "./harness.ts";

/** `/wait` answers when the gate opens, `/stream` has begun by then, anything else answers at once. */
function waiting(released: Gate, begun: (path: string) => void = () => {}): HttpHandler {
	return (_req, res: Writable, { path }) => {
		if (path === "/stream") res.write("first;");
		if (path === "/now") res.end("now");
		else void released.opened.then(() => res.end("last"));
		begun(path);
		return true;
	};
}

/** Resolves when the handler has seen `count` requests. */
function counted(count: number): { seen: Promise<void>; tick: () => void } {
	const done = gate();
	let left = count;
	return {
		seen: done.opened,
		tick: () => {
			left -= 1;
			if (left === 0) done.open();
		},
	};
}

describe("HTTP/1.1", () => {
	test("a call under way is answered with connection: close; new connections are refused", async () => {
		const released = gate();
		const { seen, tick } = counted(1);
		const { port, close } = await start({ http: [waiting(released, tick)] });
		const socket = dial(port);
		const text = drained(socket);
		socket.write("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
		await seen;
		const closed = close(20_000);
		await expect(ask1(port)).rejects.toThrow("ECONNREFUSED");
		released.open();
		expect(await text).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n.*last/is);
		await closed;
	});

	test("a stream that has begun finishes, and its connection ends with it", async () => {
		const released = gate();
		const { port, close } = await start({ http: [waiting(released)] });
		const socket = dial(port);
		const text = drained(socket);
		socket.write("GET /stream HTTP/1.1\r\nhost: h\r\n\r\n");
		await until(socket, (t) => t.includes("first;"));
		const closed = close(20_000);
		released.open();
		expect(await text).toMatch(/first;.*last/s);
		await closed;
	});

	test("a request that arrives on a busy connection while draining is still answered, as the last", async () => {
		const released = gate();
		const { seen, tick } = counted(2);
		const { port, close } = await start({ http: [waiting(released, tick)] });
		const socket = dial(port);
		const text = drained(socket);
		socket.write("GET /stream HTTP/1.1\r\nhost: h\r\n\r\nGET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
		await seen;
		const closed = close(20_000);
		released.open();
		expect(await text).toMatch(/first;.*last.*connection: close.*last/is);
		await closed;
	});

	test("idle, undecided and silent connections end at once", async () => {
		const { port, close } = await start({ http: [waiting(gate())] });
		const idle = dial(port);
		idle.write("GET /now HTTP/1.1\r\nhost: h\r\n\r\n");
		await until(idle, (t) => t.endsWith("now\r\n0\r\n\r\n") || t.endsWith("now"));
		const half = dial(port);
		half.write("PRI * HT");
		const silent = dial(port);
		const ends = [idle, half, silent].map(drained);
		// The three are accepted before this one is answered.
		await ask1(port, { path: "/now" });
		await close(20_000);
		await Promise.all(ends);
	});
});

describe("HTTP/2", () => {
	test("GOAWAY; streams under way finish; new ones are refused", async () => {
		const released = gate();
		const { seen, tick } = counted(2);
		const { url, close } = await start({ http: [waiting(released, tick)] });
		const client = session(url);
		const under = [ask2(client, { path: "/wait" }), ask2(client, { path: "/stream" })];
		await seen;
		const goaway = new Promise((resolve) => client.once("goaway", resolve));
		const closed = close(20_000);
		expect(await goaway).toBe(0);
		await expect((async () => ask2(client, { path: "/now" }))()).rejects.toThrow();
		released.open();
		expect((await Promise.all(under)).map((a) => a.body)).toEqual(["last", "first;last"]);
		await closed;
	});

	test("an idle session ends at once", async () => {
		const { url, close } = await start({ http: [waiting(gate())] });
		const client = session(url);
		await ask2(client, { path: "/now" });
		const ended = new Promise((resolve) => client.once("close", resolve));
		await close(20_000);
		await ended;
	});
});

test("the deadline cuts what is left, and its handlers hear of it", async () => {
	const { seen, tick } = counted(4);
	const left = counted(4);
	const { port, url, close } = await start({
		http: [
			(req, res, target) => {
				(res as Writable).on("close", left.tick);
				return waiting(gate(), tick)(req, res, target);
			},
		],
	});
	const client = session(url);
	const calls = [
		ask1(port, { path: "/wait" }),
		ask1(port, { path: "/stream" }),
		ask2(client, { path: "/wait" }),
		ask2(client, { path: "/stream" }),
	].map((call) => call.then(String, () => "cut"));
	await seen;
	await close(50);
	await left.seen;
	expect((await Promise.all(calls)).filter((c) => c === "cut").length).toBeGreaterThanOrEqual(2);
});

test("over TLS the deadline cuts HTTP/1.1, HTTP/2 and a handshake that hangs", async () => {
	const { seen, tick } = counted(2);
	const { port, url, close } = await start({ tls: pair, http: [waiting(gate(), tick)] });
	const one = tlsConnect({ host: "127.0.0.1", port, ca: pair.cert, ALPNProtocols: ["http/1.1"] });
	one.write("GET /stream HTTP/1.1\r\nhost: h\r\n\r\n");
	const ends = [drained(one), drained(dial(port)), ask2(session(url), { path: "/wait" }).catch(() => "cut")];
	await seen;
	await close(50);
	await Promise.all(ends);
});

test("a second close can only shorten the deadline", async () => {
	const { seen, tick } = counted(1);
	const { port, close } = await start({ http: [waiting(gate(), tick)] });
	const call = ask1(port, { path: "/wait" }).catch(() => "cut");
	await seen;
	const first = close(60_000);
	const second = close(0);
	const third = close(60_000);
	await Promise.all([first, second, third]);
	expect(await call).toBe("cut");
});
