import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { CardError } from "../../src/card/error.ts";
import { candidates, fetchCard } from "../../src/card/fetch.ts";
import { freshFor } from "../../src/card/freshness.ts";
import { cardDispatcher } from "../../src/card/http.ts";
import { type Answer, cardV1, cardV01, certificate, json, type Local, serve } from "./support.ts";

const CARD = "/.well-known/agent-card.json";
const OLD = "/.well-known/agent.json";
const dispatcher = cardDispatcher(2_000, undefined);
afterAll(() => dispatcher.destroy());

async function failure(promise: Promise<unknown>): Promise<CardError> {
	const error = await promise.then(
		() => undefined,
		(thrown: unknown) => thrown,
	);
	expect(error).toBeInstanceOf(CardError);
	return error as CardError;
}

describe("where a card is looked for", () => {
	it.each([
		["http://a", [CARD, OLD, "/"]],
		["http://a/", [CARD, OLD, "/"]],
		["http://a/x/y/", [`/x/y${CARD}`, CARD, `/x/y${OLD}`, OLD, "/x/y/"]],
		["http://a/cards/mine.json", ["/cards/mine.json"]],
		[`http://a/x${OLD}`, [`/x${OLD}`]],
		["http://a/v1/agent-card", ["/v1/agent-card"]],
		[
			"http://a/my-agent-card-agent",
			[`/my-agent-card-agent${CARD}`, CARD, `/my-agent-card-agent${OLD}`, OLD, "/my-agent-card-agent"],
		],
	])("%s", (url, paths) => {
		expect(candidates(new URL(url)).map((u) => u.pathname)).toEqual(paths);
	});

	it.each<[string, Record<string, Answer>, string, string[]]>([
		["the well-known path", { [CARD]: json(cardV1) }, "", [CARD]],
		["below the base", { [`/x${CARD}`]: json(cardV1) }, "/x", [`/x${CARD}`]],
		["at the origin", { [CARD]: json(cardV1) }, "/x", [`/x${CARD}`, CARD]],
		["the old path", { [OLD]: json(cardV01) }, "", [CARD, OLD]],
		["the old path below the base", { [`/x${OLD}`]: json(cardV01) }, "/x/", [`/x${CARD}`, CARD, `/x${OLD}`]],
		["the URL itself", { "/card": json(cardV1) }, "/card", [`/card${CARD}`, CARD, `/card${OLD}`, OLD, "/card"]],
		["past a web site", { [CARD]: (_q, s) => s.end("<html>app</html>"), [OLD]: json(cardV1) }, "", [CARD, OLD]],
		["past other JSON", { [CARD]: json({ error: "no" }), [OLD]: json(cardV1) }, "", [CARD, OLD]],
	])("finds %s", async (_, routes, path, asked) => {
		await using local = await serve(routes);
		const got = await fetchCard(new URL(local.url + path), { dispatcher });
		expect(got.json["name"]).toBe("Bed Sensor Agent");
		expect(local.asked).toEqual(asked);
	});

	it("says who it is and what it wants", async () => {
		await using local = await serve({ "*": json(cardV1) });
		const url = new URL(local.url);
		url.username = "me";
		url.password = "p@ss";
		await fetchCard(url, { dispatcher });
		const { headers } = local.requests[0] ?? {};
		expect(headers).toMatchObject({
			"a2a-version": "1.0",
			accept: "application/json, application/a2a+json",
			authorization: `Basic ${Buffer.from("me:p@ss").toString("base64")}`,
		});
	});

	it("names every place it tried, and not the password", async () => {
		await using local = await serve({});
		const error = await failure(fetchCard(new URL(local.url.replace("//", "//me:secret@")), { dispatcher }));
		expect(error.operator).toContain(`${local.url}${CARD} has no card (HTTP 404)`);
		expect(error.operator).toContain(OLD);
		expect(error.operator).not.toContain("secret");
		expect(error.public).toBe("The agent is not available");
		expect(error.toA2AError()).toMatchObject({ reason: "UNAVAILABLE", message: "The agent is not available" });
	});
});

const big = Buffer.from(JSON.stringify({ ...cardV1, filler: "x".repeat(1_100_000) }));

describe("misbehaving servers", () => {
	it.each<[string, Answer, RegExp, string]>([
		[
			"HTML",
			(_q, s) => s.setHeader("content-type", "text/html").end("<!doctype html><p>hi"),
			/HTML page/,
			"UNAVAILABLE",
		],
		["not JSON", (_q, s) => s.end("{"), /is not JSON/, "INVALID_AGENT_RESPONSE"],
		["an array", json([]), /not a JSON object/, "INVALID_AGENT_RESPONSE"],
		["empty", (_q, s) => s.end(), /is empty/, "UNAVAILABLE"],
		["invalid UTF-8", (_q, s) => s.end(Buffer.from([0x7b, 0xff, 0x7d])), /not UTF-8/, "INVALID_AGENT_RESPONSE"],
		[
			"too deep",
			(_q, s) => s.end(`{"a":${"[".repeat(500_000)}${"]".repeat(500_000)}}`),
			/nested deeper/,
			"INVALID_AGENT_RESPONSE",
		],
		["too large", (_q, s) => s.end(big), /larger than/, "INVALID_AGENT_RESPONSE"],
		["endless", (_q, s) => void drip(s, Buffer.alloc(65_536, 0x20)), /larger than/, "INVALID_AGENT_RESPONSE"],
		[
			"a gzip bomb",
			(_q, s) => s.setHeader("content-encoding", "gzip").end(gzipSync(big)),
			/larger than/,
			"INVALID_AGENT_RESPONSE",
		],
		[
			"broken gzip",
			(_q, s) => s.setHeader("content-encoding", "gzip").end("no gzip"),
			/incorrect header/,
			"UNAVAILABLE",
		],
		["unknown coding", (_q, s) => s.setHeader("content-encoding", "toString").end("x"), /not supported/, "UNAVAILABLE"],
		[
			"cut off",
			(_q, s) => void s.writeHead(200, { "content-length": "99" }).write("{", () => s.destroy()),
			/cannot fetch/,
			"UNAVAILABLE",
		],
		["silent", () => {}, /within 300 ms/, "UNAVAILABLE"],
		["silent after the header", (_q, s) => s.writeHead(200).flushHeaders(), /within 300 ms/, "UNAVAILABLE"],
		["500", (_q, s) => s.writeHead(500).end("secret stack"), /answered HTTP 500/, "UNAVAILABLE"],
		["401", (_q, s) => s.writeHead(401).end(), /wants authentication .* --card/, "UNAVAILABLE"],
		[
			"a redirect loop",
			(_q, s) => s.writeHead(302, { location: CARD }).end(),
			/redirects more than 3 times/,
			"INVALID_AGENT_RESPONSE",
		],
		[
			"a redirect to a file",
			(_q, s) => s.writeHead(302, { location: "file:///etc/passwd" }).end(),
			/no HTTP URL/,
			"INVALID_AGENT_RESPONSE",
		],
		["a 304 nobody asked for", (_q, s) => s.writeHead(304).end(), /answered HTTP 304/, "UNAVAILABLE"],
		["a closed connection", (q) => q.destroy(), /closed before an answer/, "UNAVAILABLE"],
	])("%s", async (_, answer, text, reason) => {
		await using local = await serve({ "*": answer });
		const error = await failure(fetchCard(new URL(local.url), { dispatcher, timeout: 300 }));
		expect(error.operator).toMatch(text);
		expect(error.reason).toBe(reason);
		expect(error.public).not.toContain(String(local.port));
		expect(error.operator).not.toContain("secret");
	});

	it("nobody there", async () => {
		const local = await serve({});
		await local[Symbol.asyncDispose]();
		const error = await failure(fetchCard(new URL(local.url), { dispatcher }));
		expect(error.operator).toMatch(/connection refused; is the agent running\?/);
	});

	it("reads gzip, a byte order mark and the wrong content type", async () => {
		const body = gzipSync(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(cardV1))]));
		await using local = await serve({
			"*": (_q, s) => s.writeHead(200, { "content-type": "text/html", "content-encoding": "gzip" }).end(body),
		});
		expect((await fetchCard(new URL(local.url), { dispatcher })).json).toEqual(cardV1);
	});

	it("follows redirects to another host, without the password", async () => {
		await using target = await serve({ "/moved.json": json(cardV1) });
		await using local = await serve({
			[CARD]: (_q, s) => s.writeHead(301, { location: `${target.url}/moved.json` }).end("x".repeat(1_000)),
		});
		const got = await fetchCard(new URL(local.url.replace("//", "//me:secret@")), { dispatcher });
		expect(got.url.href).toBe(`${target.url}/moved.json`);
		expect(local.requests[0]?.headers["authorization"]).toBeDefined();
		expect(target.requests[0]?.headers["authorization"]).toBeUndefined();
	});

	it("tells another host nothing that the caller gave, and its own all of it", async () => {
		await using target = await serve({ "/moved.json": json(cardV1) });
		await using local = await serve({
			[CARD]: (_q, s) => s.writeHead(302, { location: "/next.json" }).end(),
			"/next.json": (_q, s) => s.writeHead(307, { location: `${target.url}/moved.json` }).end(),
		});
		const headers = { Authorization: "Bearer secret", "x-api-key": "secret", cookie: "secret=1", accept: "text/x" };
		await fetchCard(new URL(local.url), { dispatcher, headers });
		for (const request of local.requests.slice(0, 2)) {
			expect(request.headers).toMatchObject({ authorization: "Bearer secret", "x-api-key": "secret" });
		}
		expect(local.requests.length).toBe(2);
		expect(target.requests.length).toBe(1);
		expect(JSON.stringify(target.requests[0]?.headers)).not.toContain("secret");
		expect(target.requests[0]?.headers).toMatchObject({ "a2a-version": "1.0", "user-agent": "a2a-gateway" });
	});
});

describe("TLS", () => {
	const trusting = cardDispatcher(2_000, certificate);
	afterAll(() => trusting.destroy());

	it("is trusted by the authority given, and by no other", async () => {
		await using local = await serve({ [CARD]: json(cardV1) }, true);
		expect((await fetchCard(new URL(local.url), { dispatcher: trusting })).json).toEqual(cardV1);
		const error = await failure(fetchCard(new URL(local.url), { dispatcher }));
		expect(error.operator).toMatch(/certificate is not trusted/);
	});

	it("is not left by a redirect, but may be entered", async () => {
		await using plain = await serve({ "/x.json": json(cardV1) });
		await using down = await serve(
			{ [CARD]: (_q, s) => s.writeHead(302, { location: `${plain.url}/x.json` }).end() },
			true,
		);
		const error = await failure(fetchCard(new URL(down.url), { dispatcher: trusting }));
		expect(error.operator).toMatch(/redirects from https to http/);
		expect(plain.asked).toEqual([]);
		await using secure = await serve({ "/x.json": json(cardV1) }, true);
		await using up = await serve({ [CARD]: (_q, s) => s.writeHead(302, { location: `${secure.url}/x.json` }).end() });
		expect((await fetchCard(new URL(up.url), { dispatcher: trusting })).url.href).toBe(`${secure.url}/x.json`);
	});

	it("is missed where there is none, with a word that helps", async () => {
		await using plain = await serve({});
		const error = await failure(fetchCard(new URL(plain.url.replace("http:", "https:")), { dispatcher }));
		expect(error.operator).toMatch(/does not speak TLS/);
	});

	it("helps with a port that speaks HTTP/2 only", async () => {
		const server = createHttp2Server();
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		const { port } = server.address() as AddressInfo;
		const error = await failure(fetchCard(new URL(`http://127.0.0.1:${port}`), { dispatcher }));
		await new Promise((resolve) => server.close(resolve));
		expect(error.operator).toMatch(/gRPC/);
	});
});

describe("asking again", () => {
	const tagged: Answer = (q, s) => {
		if (q.headers["if-none-match"] === '"1"') s.writeHead(304, { "cache-control": "max-age=70" }).end();
		else
			json(cardV1, { etag: '"1"', "last-modified": "Fri, 20 Nov 2026 10:00:00 GMT", "cache-control": "max-age=60" })(
				q,
				s,
			);
	};

	it("is conditional, and a 304 renews", async () => {
		await using local = await serve({ [OLD]: tagged });
		const first = await fetchCard(new URL(local.url), { dispatcher });
		const second = await fetchCard(new URL(local.url), { dispatcher }, first);
		expect(first.freshFor).toBe(60_000);
		expect(second.freshFor).toBe(70_000);
		expect(second.json).toBe(first.json);
		expect(second.validators.etag).toBe('"1"');
		expect(local.asked).toEqual([CARD, OLD, OLD]);
		expect(local.requests[2]?.headers["if-modified-since"]).toBe("Fri, 20 Nov 2026 10:00:00 GMT");
	});

	it("looks everywhere when the card has moved", async () => {
		const routes: Record<string, Answer> = { [OLD]: tagged };
		await using local: Local = await serve(routes);
		const first = await fetchCard(new URL(local.url), { dispatcher });
		delete routes[OLD];
		routes[CARD] = json({ ...cardV1, version: "3" });
		expect((await fetchCard(new URL(local.url), { dispatcher }, first)).json["version"]).toBe("3");
	});

	const now = Date.parse("Fri, 20 Nov 2026 10:00:00 GMT");
	const later = "Fri, 20 Nov 2026 10:10:00 GMT";
	it.each<[Record<string, string>, number]>([
		[{}, 300_000],
		[{ "cache-control": "public, max-age=120" }, 120_000],
		[{ "cache-control": 'MAX-AGE="120"', age: "20" }, 100_000],
		[{ "cache-control": "max-age=120, max-age=999" }, 120_000],
		[{ "cache-control": "s-maxage=9999, max-age=60" }, 60_000],
		[{ "cache-control": "max-age=60, no-cache" }, 10_000],
		[{ "cache-control": "no-store" }, 10_000],
		[{ "cache-control": "max-age=soon" }, 10_000],
		[{ "cache-control": "max-age=0" }, 10_000],
		[{ "cache-control": "max-age=99999999" }, 86_400_000],
		[{ expires: later }, 600_000],
		[{ expires: later, date: "Fri, 20 Nov 2026 10:08:00 GMT" }, 120_000],
		[{ expires: later, age: "60" }, 540_000],
		[{ expires: "0" }, 10_000],
		[{ expires: "never" }, 10_000],
		[{ expires: later, "cache-control": "max-age=30" }, 30_000],
	])("%j is fresh for %i ms", (fields, ms) => {
		expect(freshFor(fields, now)).toBe(ms);
	});
});

function drip(res: import("node:http").ServerResponse, chunk: Buffer): void {
	if (!res.destroyed) res.write(chunk, (error) => !error && setImmediate(() => drip(res, chunk)));
}
