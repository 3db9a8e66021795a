/** HTTP/1.1 alone: pipelines, keep-alive, broken requests, slow ones. */
import { Agent, request as plainRequest } from "node:http";
import { describe, expect, test } from "vitest";
import { ask1, dial, drained, jsonOf, later, start, until } from "./harness.ts";

describe("HTTP/1.1", () => {
	test("pipelined requests are answered in order", async () => {
		const { port } = await start({
			http: [
				(_req, res, target) => {
					// The later the request, the sooner its answer is ready.
					setTimeout(() => res.end(`[${target.path}]`), 30 - 10 * Number(target.path.slice(1)));
					return true;
				},
			],
		});
		const socket = dial(port);
		socket.write([0, 1, 2].map((i) => `GET /${i} HTTP/1.1\r\nhost: h\r\n\r\n`).join(""));
		const text = await until(socket, (t) => t.includes("[/2]"));
		expect(text.match(/\[\/\d\]/g)).toEqual(["[/0]", "[/1]", "[/2]"]);
	});

	test("good requests followed by rubbish are answered before the connection ends", async () => {
		const { port } = await start({
			http: [
				(_req, res, target) => {
					setTimeout(() => res.end(`[${target.path}]`), 20);
					return true;
				},
			],
		});
		const socket = dial(port);
		const answered = drained(socket);
		socket.write("GET /0 HTTP/1.1\r\nhost: h\r\n\r\nGET /1 HTTP/1.1\r\nhost: h\r\n\r\n\x00rubbish\r\n\r\n");
		expect((await answered).match(/\[\/\d\]/g)).toEqual(["[/0]", "[/1]"]);
	});

	test("a broken body is answered 400 and the handler's request ends", async () => {
		const { port } = await start();
		const socket = dial(port);
		const answered = drained(socket);
		socket.write("POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n");
		expect(await answered).toMatch(/^HTTP\/1\.1 400 /);
	});

	test("keep-alive connections are reused", async () => {
		const { port } = await start();
		const agent = new Agent({ keepAlive: true, maxSockets: 1 });
		later(() => agent.destroy());
		const ports = new Set<number | undefined>();
		for (let i = 0; i < 3; i++) {
			await new Promise<void>((resolve, reject) => {
				const req = plainRequest({ host: "127.0.0.1", port, agent }, (res) => {
					ports.add(res.socket.localPort);
					res.resume();
					res.once("end", resolve);
				});
				req.on("error", reject);
				req.end();
			});
		}
		expect(ports.size).toBe(1);
	});

	test.each([
		["a header flood", `GET / HTTP/1.1\r\nhost: h\r\nx: ${"y".repeat(40_000)}\r\n\r\n`, 431],
		["a URL larger than any header", `GET /${"u".repeat(40_000)} HTTP/1.1\r\nhost: h\r\n\r\n`, 431],
		["no Host", "GET / HTTP/1.1\r\nconnection: close\r\n\r\n", 400],
		[
			"two kinds of framing",
			"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n",
			400,
		],
		["CONNECT", "CONNECT h:80 HTTP/1.1\r\nhost: h\r\n\r\n", 405],
		["a target that is none", "GET nowhere HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n", 400],
		["a target of *", "GET * HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n", 400],
		["a flood that goes on", `GET / HTTP/1.1\r\nhost: h\r\nx: ${"y".repeat(8_000_000)}\r\n\r\n`, 431],
		["no HTTP version known", "GET / HTTP/7.3\r\nhost: h\r\n\r\n", 400],
	])("%s: a clear answer and the end", async (_name, bytes, code) => {
		const { port, reports } = await start();
		const socket = dial(port);
		const answered = drained(socket);
		socket.write(bytes);
		const text = await answered;
		expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${code} `));
		expect(text).toMatch(/\r\nx-request-id: \S+\r\n/i);
		expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n"))).error.code).toBe(code);
		expect(reports).toEqual([]);
	});

	test.each([
		["mid-header", "GET / HTTP/1.1\r\nhost: h\r\nx-a: b\r\n"],
		["mid-request-line", "GET /"],
	])("slow-loris %s: 408 by the headers timeout, however much it trickles", async (_name, bytes) => {
		const { port } = await start({ limits: { headersTimeout: 150 } });
		const socket = dial(port);
		const answered = drained(socket);
		socket.write(bytes);
		const trickle = setInterval(() => socket.write("x"), 40);
		const text = await answered;
		clearInterval(trickle);
		expect(text).toMatch(/^HTTP\/1\.1 408 /);
	});

	test("a body that does not arrive is cut by the request timeout", async () => {
		const { port } = await start({ limits: { headersTimeout: 50, requestTimeout: 200 } });
		const socket = dial(port);
		const answered = drained(socket);
		socket.write("POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 10\r\n\r\nabc");
		expect(await answered).toMatch(/^HTTP\/1\.1 408 /);
	});

	test("absolute-form targets, whose authority wins", async () => {
		const { port } = await start({ resolve: (host, path) => ({ agent: host ?? "", path }) });
		const one = await ask1(port, { path: "http://other:81/p?q", headers: { host: "mine" } });
		expect(jsonOf(one)).toMatchObject({ agent: "other:81", path: "/p", query: "q" });
		const two = await ask1(port, { path: "HTTP://other?q", headers: { host: "mine" } });
		expect(jsonOf(two)).toMatchObject({ agent: "other", path: "/", query: "q" });
		expect((await ask1(port, { path: "http://u:p@other/", headers: { host: "mine" } })).status).toBe(400);
	});

	test.each([
		["h2c", { connection: "upgrade, http2-settings", upgrade: "h2c", "http2-settings": "AAMAAABkAAQAAP__" }],
		["websocket", { connection: "upgrade", upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" }],
	])("Upgrade: %s is ignored", async (_name, headers) => {
		const { port } = await start();
		expect((await ask1(port, { headers })).status).toBe(200);
		expect((await ask1(port, { headers, path: "/nobody" })).status).toBe(404);
	});
});
