/** One port: what a request meets, the same for both versions of HTTP. */
import type { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { dial, echo, jsonOf, session, start, until, versions } from "./harness.ts";

describe.each(Object.entries(versions))("%s", (_name, ask) => {
	test("body, target and request id reach the handler", async () => {
		const { port } = await start({ resolve: (_h, path) => ({ agent: "b", path: path.slice(2) }) });
		const headers = { "x-request-id": "mine-1" };
		const answer = await ask(port, { verb: "POST", path: "/x/t%20a/b?q=1&r=?", headers, body: "12345" });
		expect(answer.status).toBe(200);
		expect(answer.headers["x-request-id"]).toBe("mine-1");
		expect(jsonOf(answer)).toMatchObject({ verb: "POST", agent: "b", path: "/t%20a/b", query: "q=1&r=?", length: 5 });
		expect(jsonOf(answer).id).toBe("mine-1");
	});

	test("10 MB go in", async () => {
		const { port } = await start();
		const answer = await ask(port, { verb: "POST", body: Buffer.alloc(10_000_000, 120) });
		expect(jsonOf(answer).length).toBe(10_000_000);
	});

	test.each([["a b"], ["x".repeat(129)], ["\u00e9"], [""]])("request id %j is replaced", async (given) => {
		const { port } = await start();
		const answer = await ask(port, { headers: { "x-request-id": given } });
		expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f]{16}-\w+$/);
		expect(jsonOf(answer).id).toBe(answer.headers["x-request-id"]);
	});

	test("fresh request ids differ", async () => {
		const { port } = await start();
		const ids = await Promise.all([1, 2, 3].map(async () => (await ask(port)).headers["x-request-id"]));
		expect(new Set(ids).size).toBe(3);
	});

	test("nobody took it: 404 in the Status form", async () => {
		const { port } = await start();
		const answer = await ask(port, { verb: "POST", path: "/nobody", body: "{}" });
		expect(answer.status).toBe(404);
		expect(answer.headers["content-type"]).toBe("application/json");
		expect(answer.headers["x-request-id"]).toBeDefined();
		expect(JSON.parse(answer.body)).toEqual({
			error: {
				code: 404,
				status: "NOT_FOUND",
				message: "Nothing is served at this path",
				details: [
					{
						"@type": "type.googleapis.com/google.rpc.ErrorInfo",
						reason: "METHOD_NOT_FOUND",
						domain: "a2a-protocol.org",
					},
				],
			},
		});
	});

	test("no mount: 404 without asking a handler; notFound can be replaced", async () => {
		const { port } = await start({
			resolve: () => undefined,
			http: [
				() => {
					throw new Error("asked");
				},
			],
			notFound: (_req, res, target) => {
				res.statusCode = 410;
				res.end(JSON.stringify(target));
			},
		});
		const answer = await ask(port, { path: "/agents/none?x" });
		expect(answer.status).toBe(410);
		expect(jsonOf(answer)).toMatchObject({ agent: "", path: "/agents/none", query: "x" });
	});

	test.each([["/throw"], ["/reject"]])("%s: 500 without the cause, reported, and the port lives on", async (path) => {
		const { port, reports } = await start();
		const answer = await ask(port, { verb: "POST", path: `${path}?key=s3cret`, body: "{}" });
		expect(answer.status).toBe(500);
		expect(answer.body).not.toContain("secret");
		expect(jsonOf(answer).error).toMatchObject({ code: 500, status: "INTERNAL" });
		expect(String(reports[0]?.error)).toContain(`secret of ${path}`);
		expect(reports[0]?.context).toEqual({ id: answer.headers["x-request-id"], method: `POST ${path}` });
		expect((await ask(port)).status).toBe(200);
	});

	test("a throw after the headers cuts the response, and the port lives on", async () => {
		const { port, reports } = await start();
		await ask(port, { path: "/throw-late" }).catch((error) => error);
		expect(reports).toHaveLength(1);
		expect((await ask(port)).status).toBe(200);
	});

	test("a throwing report harms nobody", async () => {
		const { port } = await start({
			report: () => {
				throw new Error("broken log");
			},
		});
		expect((await ask(port, { path: "/throw" })).status).toBe(500);
	});

	test("URL too long: 414; too many headers: 431", async () => {
		const { port } = await start();
		expect((await ask(port, { path: `/${"u".repeat(17_000)}` })).status).toBe(414);
		const headers = Object.fromEntries(Array.from({ length: 220 }, (_, i) => [`h${i}`, "v"]));
		const flooded = await ask(port, { headers });
		expect([flooded.status, jsonOf(flooded).error.code]).toEqual([431, 431]);
	});

	test("TRACE: 405 with Allow", async () => {
		const { port } = await start();
		const answer = await ask(port, { verb: "TRACE" });
		expect([answer.status, answer.headers.allow]).toEqual([405, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"]);
	});

	test("OPTIONS * answers", async () => {
		const { port } = await start();
		expect((await ask(port, { verb: "OPTIONS", path: "*" })).status).toBe(204);
	});

	test("fragments and non-ASCII in the target: 400", async () => {
		const { port } = await start();
		expect((await ask(port, { path: "/a#b" })).status).toBe(400);
	});

	test("unknown expectations: 417; 100-continue is met", async () => {
		const { port } = await start();
		expect((await ask(port, { verb: "POST", headers: { expect: "miracles" }, body: "x" })).status).toBe(417);
		const met = await ask(port, { verb: "POST", headers: { expect: "100-continue" }, body: "xyz" });
		expect(jsonOf(met).length).toBe(3);
	});

	test("a client vanishing mid-response closes the response and nothing else", async () => {
		let closed = () => {};
		const gone = new Promise<void>((resolve) => {
			closed = resolve;
		});
		const { port, reports } = await start({
			http: [
				(req, res, target) => {
					if (target.path !== "/endless") return echo(req, res, target);
					const out: Writable = res;
					const timer = setInterval(() => out.write("data: x\n\n"), 1);
					out.on("close", () => {
						clearInterval(timer);
						closed();
					});
					return true;
				},
			],
		});
		if (_name === "HTTP/2") {
			const client = session(`http://127.0.0.1:${port}`);
			const stream = client.request({ ":path": "/endless" });
			stream.on("error", () => {});
			stream.once("data", () => client.destroy());
		} else {
			const socket = dial(port);
			socket.write("GET /endless HTTP/1.1\r\nhost: h\r\n\r\n");
			await until(socket, (t) => t.includes("data: x"));
			socket.resetAndDestroy();
		}
		await gone;
		expect(reports).toEqual([]);
		expect((await ask(port)).status).toBe(200);
	});
});

test("an address in use rejects", async () => {
	const { port } = await start();
	await expect(start({ port })).rejects.toThrow("EADDRINUSE");
});

test("an IPv6 address is bracketed in the URL", async () => {
	const listener = await start({ host: "::1" }).catch(() => undefined);
	if (listener) expect(listener.url).toBe(`http://[::1]:${listener.port}`);
});
