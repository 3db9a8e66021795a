/** The pages of the port: cards with their conditional requests, liveness, readiness. */
import { describe, expect, test } from "vitest";
import type { Target } from "../../src/binding/binding.ts";
import { type CardRequest, createSite, mountApp, page, type SiteOptions, siteApp } from "../../src/listener/site.ts";
import { ask1, ask2, jsonOf, pair, session, start, versions } from "./harness.ts";

const card = {
	body: '{"name":"Ä"}',
	etag: '"v1"',
	lastModified: new Date("2026-01-02T03:04:05.678Z"),
	cacheControl: "public, max-age=60",
};
const reports: unknown[] = [];
const site = (options: Partial<SiteOptions> = {}) =>
	createSite({
		card: () => card,
		jwks: () => keys,
		notReady: () => [],
		report: (error) => reports.push(error),
		...options,
	});
const keys = { keys: [{ kty: "EC", kid: "k" }] };
const PATH = "/.well-known/agent-card.json";

/** request header → is it 304? */
const conditions: readonly (readonly [Record<string, string>, boolean])[] = [
	[{ "if-none-match": '"v1"' }, true],
	[{ "if-none-match": 'W/"v1"' }, true],
	[{ "if-none-match": '"a,b", W/"v1"' }, true],
	[{ "if-none-match": '"v0","v1"' }, true],
	[{ "if-none-match": "*" }, true],
	[{ "if-none-match": '"v2"' }, false],
	[{ "if-none-match": "v1" }, false],
	[{ "if-none-match": '"a,"v1' }, false],
	[{ "if-none-match": "" }, false],
	[{ "if-modified-since": "Fri, 02 Jan 2026 03:04:05 GMT" }, true],
	[{ "if-modified-since": "Fri, 02 Jan 2026 03:04:06 GMT" }, true],
	[{ "if-modified-since": "Fri, 02 Jan 2026 03:04:04 GMT" }, false],
	[{ "if-modified-since": "Fri, 02 Jan 2126 03:04:04 GMT" }, false],
	[{ "if-modified-since": "yesterday" }, false],
	// If-None-Match decides alone.
	[{ "if-none-match": '"v2"', "if-modified-since": "Fri, 02 Jan 2026 03:04:05 GMT" }, false],
];

describe.each(Object.entries(versions))("%s", (name, ask) => {
	test("a card", async () => {
		const { port } = await start({ site: site() });
		const answer = await ask(port, { path: PATH });
		expect([answer.status, answer.body]).toEqual([200, card.body]);
		expect(answer.headers).toMatchObject({
			"content-type": "application/json",
			"content-length": "13",
			etag: '"v1"',
			"last-modified": "Fri, 02 Jan 2026 03:04:05 GMT",
			"cache-control": "public, max-age=60",
			vary: "A2A-Version",
			"access-control-allow-origin": "*",
			"x-request-id": expect.stringMatching(/./),
		});
	});

	test("HEAD says what GET says, without the body", async () => {
		const { port } = await start({ site: site() });
		const fixed = { "x-request-id": "1" };
		const [get, head] = [
			await ask(port, { path: PATH, headers: fixed }),
			await ask(port, { path: PATH, verb: "HEAD", headers: fixed }),
		];
		expect(head.body).toBe("");
		const ignore = { date: "", connection: "", "keep-alive": "" };
		expect({ ...head.headers, ...ignore }).toEqual({ ...get.headers, ...ignore });
	});

	test.each(conditions)("%j → 304: %s", async (headers, current) => {
		const { port } = await start({ site: site() });
		for (const verb of ["GET", "HEAD"]) {
			const answer = await ask(port, { verb, path: PATH, headers });
			expect(answer.status).toBe(current ? 304 : 200);
			expect(answer.headers).toMatchObject({ etag: '"v1"', vary: "A2A-Version", "access-control-allow-origin": "*" });
			if (current) expect([answer.body, answer.headers["content-type"]]).toEqual(["", undefined]);
		}
	});

	test("the provider learns agent, document and whatever the card may depend on", async () => {
		const seen: [Target, CardRequest][] = [];
		const { port } = await start({
			resolve: (_h, path) => (path.startsWith("/agents/x/") ? { agent: "x", path: path.slice(9) } : undefined),
			site: site({
				card: (target, request) => {
					seen.push([target, request]);
					return { ...card, vary: "Host" };
				},
			}),
		});
		const path = "/agents/x/.well-known/agent.json";
		const answer = await ask(port, { path: `${path}?v=1`, headers: { "a2a-version": "0.3" } });
		expect(answer.headers.vary).toBe("A2A-Version, Host");
		expect(seen[0]?.[0]).toMatchObject({ agent: "x", path: "/.well-known/agent.json", query: "v=1" });
		expect(seen[0]?.[1]).toMatchObject({ authority: `127.0.0.1:${port}`, secure: false });
		expect(seen[0]?.[1].header["a2a-version"]).toBe("0.3");
		// Outside every mount there is no card, but there is health.
		expect((await ask(port, { path: PATH })).status).toBe(404);
		expect((await ask(port, { path: "/healthz" })).status).toBe(200);
		// And below a mount "healthz" is a path like others.
		expect((await ask(port, { path: "/agents/x/healthz" })).headers["content-type"]).toBe("application/json");
		expect(jsonOf(await ask(port, { path: "/agents/x/healthz" })).agent).toBe("x");
	});

	test("no card yet: 503; no such agent: 404; a failing provider: 500 without the cause", async () => {
		let answer: () => ReturnType<SiteOptions["card"]> = () => ({ unavailable: "The agent was not reached yet" });
		const { port } = await start({ site: site({ card: () => answer() }) });
		const unavailable = await ask(port, { path: PATH });
		expect([unavailable.status, unavailable.headers["retry-after"]]).toEqual([503, "5"]);
		expect(jsonOf(unavailable).error).toMatchObject({
			status: "UNAVAILABLE",
			message: "The agent was not reached yet",
		});
		answer = () => undefined;
		expect((await ask(port, { path: PATH })).status).toBe(404);
		for (const fail of [() => Promise.reject(new Error("secret a")), () => thrower()]) {
			answer = fail;
			const failed = await ask(port, { path: PATH });
			expect([failed.status, failed.body.includes("secret")]).toEqual([500, false]);
			expect(String(reports.pop())).toContain("secret");
		}
	});

	test("liveness and readiness", async () => {
		let reasons: readonly string[] = [];
		const { port } = await start({ site: site({ notReady: async () => reasons }) });
		const live = await ask(port, { path: "/healthz" });
		expect([live.status, live.body, live.headers["cache-control"]]).toEqual([200, '{"status":"ok"}', "no-store"]);
		expect((await ask(port, { path: "/readyz" })).status).toBe(200);
		reasons = ["agent a: not reached yet"];
		const red = await ask(port, { path: "/readyz" });
		expect([red.status, JSON.parse(red.body)]).toEqual([503, { status: "not ready", reasons }]);
		expect((await ask(port, { path: "/readyz", verb: "HEAD" })).status).toBe(503);
	});

	test.each([[PATH], ["/healthz"], ["/readyz"]])("%s: other verbs get 405 with Allow", async (path) => {
		const { port } = await start({ site: site() });
		for (const verb of ["POST", "PUT", "DELETE"]) {
			const answer = await ask(port, { verb, path, body: "{}" });
			expect([answer.status, answer.headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
			expect(jsonOf(answer).error.code).toBe(405);
		}
	});

	test("a preflight for a card passes whatever --cors says", async () => {
		const { port } = await start({ site: site(), cors: [] });
		const headers = {
			origin: "https://x.example",
			"access-control-request-method": "GET",
			"access-control-request-headers": "a2a-version",
		};
		const answer = await ask(port, { verb: "OPTIONS", path: PATH, headers });
		expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([204, "*"]);
		expect(answer.headers["access-control-allow-headers"]).toContain("a2a-version");
	});

	test("paths beside the site's go to the handlers", async () => {
		const { port } = await start({ site: site() });
		for (const path of [`${PATH}/`, "/healthz/x", "/HEALTHZ", "//healthz"]) {
			expect(jsonOf(await ask(port, { path })).path).toBe(path);
		}
	});

	test("a page of another app, whose failing is answered and reported", async () => {
		const app = siteApp();
		page(app, "/boom", () => thrower());
		const { port } = await start({
			site: mountApp(
				app,
				(path) => path === "/boom",
				(error) => reports.push(error),
			),
		});
		expect((await ask(port, { path: "/boom" })).status).toBe(500);
		expect(String(reports.pop())).toContain("secret");
	});

	if (name === "HTTP/1.1") {
		test("a Host that is none: 400", async () => {
			const { port } = await start({ site: site() });
			const answer = await ask(port, { path: PATH, headers: { host: "a b/c" } });
			expect([answer.status, jsonOf(answer).error.code]).toEqual([400, 400]);
		});
	}
});

test("over TLS the provider knows", async () => {
	const seen: boolean[] = [];
	const { url } = await start({
		tls: pair,
		site: site({
			card: (_t, { secure }) => {
				seen.push(secure);
				return card;
			},
		}),
	});
	expect((await ask2(session(url), { path: PATH })).status).toBe(200);
	expect(seen).toEqual([true]);
});

test("global Request and Response stay node's own", async () => {
	const before = [globalThis.Request, globalThis.Response];
	const { port } = await start({ site: site() });
	await ask1(port, { path: PATH });
	expect([globalThis.Request, globalThis.Response]).toEqual(before);
});

function thrower(): never {
	throw new Error("secret b");
}
