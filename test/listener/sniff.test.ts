/** Protocols told apart by the connection: preface, ALPN, silence and rubbish. */
import { connect as connect2 } from "node:http2";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { connect as tlsConnect } from "node:tls";
import { describe, expect, test } from "vitest";
import { ask1, ask2, dial, drained, gate, jsonOf, later, pair, renewed, session, start, until } from "./harness.ts";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

describe("sniffing", () => {
	test("HTTP/1.1 and h2c share the port", async () => {
		const { port, url } = await start();
		const [one, two] = await Promise.all([ask1(port), ask2(session(url))]);
		expect(jsonOf(one).version).toBe("1.1");
		expect(jsonOf(two).version).toBe("2.0");
	});

	test("HTTP/1.1 byte by byte, starting like a preface", async () => {
		const { port } = await start();
		const socket = dial(port);
		socket.setNoDelay();
		const answered = drained(socket);
		for (const byte of "PUT /p HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n") {
			socket.write(byte);
			await new Promise(setImmediate);
		}
		expect(await answered).toMatch(/^HTTP\/1\.1 200 .*"verb":"PUT"/s);
	});

	test("the preface byte by byte", async () => {
		const { port } = await start();
		const socket = dial(port);
		socket.setNoDelay();
		const answered = until(socket, (t) => t.length >= 9);
		for (const byte of Buffer.concat([PREFACE, SETTINGS])) {
			socket.write(Buffer.of(byte));
			await new Promise(setImmediate);
		}
		// The server's first frame: SETTINGS on stream 0.
		expect((await answered).charCodeAt(3)).toBe(4);
	});

	test("preface, settings and a whole request in one packet", async () => {
		const { port } = await start();
		const socket = dial(port);
		// HPACK: GET, http, path "/one" and authority "h" as literals.
		const block = Buffer.from([0x82, 0x86, 0x04, 4, ...Buffer.from("/one"), 0x01, 1, 0x68]);
		const head = Buffer.from([0, 0, block.length, 1, 5, 0, 0, 0, 1]);
		socket.write(Buffer.concat([PREFACE, SETTINGS, head, block]));
		expect(await until(socket, (t) => t.includes('"path":"/one"'))).toContain('"version":"2.0"');
	});

	test("garbage gets a clear 400, is cut, and the port lives on", async () => {
		const { port, reports } = await start();
		const socket = dial(port);
		const answered = drained(socket);
		socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 0xff, 0xfe, 0]));
		const text = await answered;
		expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
		expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n"))).error.code).toBe(400);
		expect(reports).toEqual([]);
		expect((await ask1(port)).status).toBe(200);
	});

	test.each([
		["almost a preface", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"],
		["a preface and garbage", `${PREFACE.toString()}${"\xff".repeat(64)}`],
		["a preface twice", `${PREFACE.toString()}${PREFACE.toString()}`],
	])("%s: cut, and the port lives on", async (_name, bytes) => {
		const { port } = await start();
		const socket = dial(port);
		socket.write(bytes, "latin1");
		await drained(socket);
		expect((await ask1(port)).status).toBe(200);
	});

	test("a silent connection and half a preface are cut after the sniff timeout", async () => {
		const { port } = await start({ limits: { sniffTimeout: 100 } });
		const silent = dial(port);
		const half = dial(port);
		half.write(PREFACE.subarray(0, 10));
		expect(await Promise.all([drained(silent), drained(half)])).toEqual(["", ""]);
	});

	test("a preface without settings is cut after the headers timeout", async () => {
		const { port } = await start({ limits: { headersTimeout: 100 } });
		const socket = dial(port);
		socket.write(PREFACE);
		await drained(socket);
	});

	test("an idle HTTP/2 session gets GOAWAY", async () => {
		const { url } = await start({ limits: { sessionIdleTimeout: 100 } });
		const client = session(url);
		await ask2(client);
		const code = await new Promise((resolve) => client.once("goaway", resolve));
		expect(code).toBe(0);
	});

	test("an idle session's GOAWAY leaves its silent streams alone", async () => {
		const released = gate();
		const { url } = await start({
			limits: { sessionIdleTimeout: 50 },
			http: [
				(_req, res) => {
					void released.opened.then(() => res.end("late"));
					return true;
				},
			],
		});
		const client = session(url);
		const asked = ask2(client);
		await new Promise((resolve) => client.once("goaway", resolve));
		released.open();
		expect((await asked).body).toBe("late");
	});

	test("connections over the bound are dropped", async () => {
		const { port } = await start({ limits: { maxConnections: 1 } });
		const first = dial(port);
		first.write("GET / HTTP/1.1\r\nhost: h\r\n\r\n");
		await until(first, (t) => t.includes("200 OK"));
		expect(await drained(dial(port))).toBe("");
	});
});

describe("TLS", () => {
	const get = (port: number) =>
		new Promise<{ status: number | undefined; issuer: string }>((resolve, reject) => {
			const agent = new TlsAgent({ ca: [pair.cert, renewed.cert] });
			const req = tlsRequest({ host: "127.0.0.1", port, agent }, (res) => {
				const socket = res.socket as import("node:tls").TLSSocket;
				resolve({ status: res.statusCode, issuer: String(socket.getPeerCertificate().subject.CN) });
				res.resume();
			});
			req.on("error", reject);
			req.end();
		});

	test("ALPN picks HTTP/2 or HTTP/1.1; without ALPN the preface does", async () => {
		const { port, url } = await start({ tls: pair });
		expect(url).toBe(`https://127.0.0.1:${port}`);
		expect((await get(port)).status).toBe(200);
		expect(jsonOf(await ask2(session(url))).version).toBe("2.0");
		const socket = tlsConnect({ host: "127.0.0.1", port, ca: pair.cert });
		const client = connect2(url, { createConnection: () => socket });
		client.on("error", () => {});
		later(() => client.destroy());
		expect(jsonOf(await ask2(client)).version).toBe("2.0");
		expect(socket.alpnProtocol).toBe(false);
	});

	test("old TLS, plain HTTP and rubbish are turned away, and the port lives on", async () => {
		const { port, reports } = await start({ tls: pair });
		const old = tlsConnect({ host: "127.0.0.1", port, ca: pair.cert, maxVersion: "TLSv1.1", minVersion: "TLSv1" });
		await expect(new Promise((_, reject) => old.once("error", reject))).rejects.toThrow();
		const plain = dial(port);
		plain.write("GET / HTTP/1.1\r\nhost: h\r\n\r\n");
		await drained(plain);
		expect(reports).toEqual([]);
		expect((await get(port)).status).toBe(200);
	});

	test("a handshake that never starts is cut", async () => {
		const { port } = await start({ tls: pair, limits: { sniffTimeout: 100 } });
		await drained(dial(port));
	});

	test("a new certificate serves new connections; a bad one is refused and changes nothing", async () => {
		const listener = await start({ tls: pair });
		expect((await get(listener.port)).issuer).toBe("localhost");
		expect(() => listener.reloadTls(pair.cert, renewed.key)).toThrow();
		expect((await get(listener.port)).issuer).toBe("localhost");
		listener.reloadTls(renewed.cert, renewed.key);
		expect((await get(listener.port)).issuer).toBe("renewed");
	});

	test("client certificates", async () => {
		const { port } = await start({ tls: { ...pair, clientCa: renewed.cert } });
		await expect(get(port)).rejects.toThrow();
		const client = connect2(`https://127.0.0.1:${port}`, { ca: pair.cert, ...renewed });
		client.on("error", () => {});
		later(() => client.destroy());
		expect((await ask2(client)).status).toBe(200);
	});
});
