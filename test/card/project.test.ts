import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concealer } from "../../src/card/conceal.ts";
import { offers, type ProjectOptions, project, redactor, serialise } from "../../src/card/project.ts";
import { publicBase } from "../../src/card/public-base.ts";
import { read } from "../../src/card/read.ts";
import { cardAt, cardV1, cardV03 } from "./support.ts";

const base = new URL("https://gw.example/agents/bed");
const bindings = [
	{ name: "JSONRPC", publicUrl: (b: URL) => b.href },
	{ name: "HTTP+JSON", publicUrl: (b: URL) => `${b.href}/rest` },
	{ name: "GRPC", publicUrl: (b: URL) => `${b.hostname}:${b.port || 443}` },
];

function options(card: JsonObject, origins: readonly string[] = []): ProjectOptions {
	const { interfaces } = read(card, { from: "test", base: undefined });
	return {
		offers: offers({
			bindings,
			dialects: [{ version: "1.0", bindings: ["JSONRPC", "HTTP+JSON", "GRPC"] }],
			base,
			preferred: interfaces[0]?.binding,
		}),
		base,
		interfaces: interfaces.map((i) => i.url),
		origins,
	};
}

describe("offers", () => {
	it("puts the agent's binding first in the newest version and has every binding in every version that can be told apart there", () => {
		const offered = offers({
			bindings,
			dialects: [
				{ version: "1.0", bindings: ["JSONRPC", "HTTP+JSON", "GRPC"] },
				{ version: "0.3", bindings: ["JSONRPC", "HTTP+JSON", "GRPC"] },
			],
			base,
			preferred: "GRPC",
			tenant: "bed",
		});
		expect(offered.map((o) => `${o["protocolBinding"]} ${o["protocolVersion"]}`)).toEqual([
			"GRPC 1.0",
			"JSONRPC 1.0",
			"HTTP+JSON 1.0",
			"JSONRPC 0.3",
			"HTTP+JSON 0.3",
		]);
		expect(offered[0]).toEqual({
			url: "gw.example:443",
			protocolBinding: "GRPC",
			protocolVersion: "1.0",
			tenant: "bed",
		});
	});
	it("names no tenant unless there is one", () => {
		expect(
			offers({ bindings, dialects: [{ version: "1.0", bindings: ["JSONRPC", "HTTP+JSON", "GRPC"] }], base })[0],
		).not.toHaveProperty("tenant");
	});
});

describe("projection", () => {
	it("changes nothing but the interfaces of a card that names itself nowhere else", () => {
		const card = { ...cardV1, signatures: [{ protected: "eA", signature: "eA" }], future: { deep: [1, null, "x"] } };
		const before = JSON.stringify(card);
		const opts = options(card);
		const { signatures: _, ...rest } = card;
		const projected = project(card, opts);
		expect(projected).toEqual({ ...rest, supportedInterfaces: opts.offers });
		expect(Object.keys(projected)).toEqual(Object.keys(rest));
		expect(JSON.stringify(card)).toBe(before);
		expect(projected["skills"]).toBe(cardV1["skills"]);
	});

	it("drops the endpoints of older versions and conceals them", () => {
		const card = { ...cardV03, url: "http://10.1.2.3:7/old", ...cardV1, url_note: "was http://10.1.2.3:7/old/x" };
		const projected = project(card, options(card));
		for (const name of ["url", "preferredTransport", "additionalInterfaces", "protocolVersion"]) {
			expect(projected).not.toHaveProperty(name);
		}
		expect(projected["supportsAuthenticatedExtendedCard"]).toBe(true);
		expect(projected["url_note"]).toBe("was https://gw.example/agents/bed/x");
	});

	it("conceals everywhere, but keeps an extension's identifier", () => {
		const own = "http://agent.internal:8000";
		const card = cardAt(`${own}/a2a`, {
			documentationUrl: `${own}/a2a/docs`,
			iconUrl: `${own}/icon.png`,
			provider: { url: "https://third.example/x", organization: `at ${own}` },
			capabilities: {
				extensions: [{ uri: `${own}/ext/v1`, params: { endpoint: `${own}/a2a`, [`${own}/key`]: 1 } }],
				streaming: true,
			},
		});
		expect(project(card, options(card))).toMatchObject({
			documentationUrl: "https://gw.example/agents/bed/docs",
			iconUrl: "https://gw.example/icon.png",
			provider: { url: "https://third.example/x", organization: "at https://gw.example" },
			capabilities: {
				extensions: [
					{
						uri: `${own}/ext/v1`,
						params: { endpoint: "https://gw.example/agents/bed", "https://gw.example/key": 1 },
					},
				],
				streaming: true,
			},
		});
	});

	it("conceals what only an extended card names", () => {
		const extended = cardAt("http://other.internal:9/a2a", { description: "http://other.internal:9/a2a?x" });
		expect(project(extended, options(cardV1))["description"]).toBe("https://gw.example/agents/bed?x");
	});

	it("keeps a member called __proto__", () => {
		const card = { ...cardV1, ext: JSON.parse('{"__proto__": {"u": "https://gh.example/a2a"}}') } as JsonObject;
		expect(JSON.stringify(project(card, options(card))["ext"])).toBe(
			'{"__proto__":{"u":"https://gw.example/agents/bed"}}',
		);
	});

	const word = fc.stringMatching(/^[a-z]{1,8}$/);
	const host = fc.oneof(
		fc.tuple(word, word).map(([a, b]) => `${a}.${b}.internal`),
		fc.constantFrom("localhost", "127.0.0.1", "[::1]", "0.0.0.0", "10.0.0.7", "[fd00::7]", "agent"),
	);
	const origin = fc
		.tuple(fc.constantFrom("http", "https"), host, fc.integer({ min: 1025, max: 65535 }))
		.map(([scheme, name, port]) => `${scheme}://${name}:${port}`);
	const path = fc.array(word, { maxLength: 2 }).map((parts) => parts.map((p) => `/${p}`).join(""));
	const upper = fc.boolean();

	it("leaks no origin of any card and keeps every unknown member", () => {
		fc.assert(
			fc.property(
				fc.array(fc.tuple(origin, path), { minLength: 1, maxLength: 3 }),
				origin,
				fc.array(fc.tuple(fc.nat(), fc.boolean(), path, fc.string(), fc.string(), upper), { maxLength: 6 }),
				fc.dictionary(word, fc.jsonValue(), { maxKeys: 4 }),
				(interfaces, cardOrigin, mentions, unknown) => {
					const all = [...interfaces.map(([o]) => o), cardOrigin];
					const text = mentions
						.map(([i, schemeless, p, before, after, up]) => {
							const o = all[i % all.length] ?? "";
							const shown = schemeless ? o.replace(/^\w+:\/\//, "") : o;
							return `${before} (${up ? shown.toUpperCase() : shown}${p}${/^\d/.test(after) ? "/" : ""}${after}`;
						})
						.join(" ");
					const extra = Object.fromEntries(Object.entries(unknown).map(([k, v]) => [`x-${k}`, v as JsonValue]));
					const card: JsonObject = {
						...cardV1,
						...extra,
						supportedInterfaces: interfaces.map(([o, p]) => ({
							url: o + p,
							protocolBinding: "JSONRPC",
							protocolVersion: "1.0",
						})),
						description: text,
						"x-nested": [{ [`k ${text}`]: [text, { y: text }] }],
					};
					const projected = project(card, options(card, [`${cardOrigin}/.well-known/agent-card.json`]));
					const served = JSON.stringify(projected).toLowerCase();
					for (const o of all) expect(served).not.toContain(o.replace(/^\w+:\/\//, "").toLowerCase());
					for (const [name, value] of Object.entries(extra)) expect(projected[name]).toEqual(value);
					expect(projected["skills"]).toEqual(cardV1["skills"]);
				},
			),
			{ numRuns: 300 },
		);
	});
});

describe("concealing", () => {
	const make = (hosts: boolean) =>
		concealer({
			interfaces: [
				"http://agent:8000/a2a",
				"https://gh.example/rest",
				"https://gh.example/rest/v2",
				"ipv4:10.0.0.7:50051,10.0.0.8:50051",
				"dns:///db.agent:6",
				"https://bücher.example/x",
			],
			origins: ["http://127.0.0.1:9000/.well-known/agent-card.json"],
			base,
			hosts,
		});
	const gw = "https://gw.example";

	it.each([
		["http://agent:8000/a2a", `${gw}/agents/bed`],
		["http://agent:8000/a2a/", `${gw}/agents/bed/`],
		["see http://agent:8000/a2a.", `see ${gw}/agents/bed.`],
		["http://agent:8000/a2a.json", `${gw}/a2a.json`],
		["http://agent:8000/a2ab", `${gw}/a2ab`],
		["<HTTP://AGENT:8000/x>", `<${gw}/x>`],
		["ws://user:pw@agent:8000/a2a?q", `${gw}/agents/bed?q`],
		["https://gh.example/rest/v2/x", `${gw}/agents/bed/x`],
		["https://gh.example:443/rest/x", `${gw}/agents/bed/x`],
		["http://gh.example", gw],
		["//gh.example/logo.png", "//gw.example/logo.png"],
		["grpc://10.0.0.7:50051", "gw.example"],
		["dial 10.0.0.7:50051: refused", "dial gw.example: refused"],
		["dns:///10.0.0.7:50051", "gw.example"],
		["10.0.0.8:50051 db.agent:6", "gw.example gw.example"],
		["https://bücher.example/x/y", `${gw}/agents/bed/y`],
		["https://xn--bcher-kva.example/x", `${gw}/agents/bed`],
		["http://localhost:9000/x and http://[::1]:9000", `${gw}/x and ${gw}`],
		["http://agent:8000/a2a,http://agent:8000/a2a", `${gw}/agents/bed,${gw}/agents/bed`],
	])("%s", (text, expected) => {
		expect(make(false)(text)).toBe(expected);
		expect(make(true)(text)).toBe(expected);
	});

	it.each([
		"the agent sent no reply",
		"agent: 8000 tasks",
		"http://agent:80001/",
		"http://agent:8001/a2a",
		"https://gh.example.org/rest",
		"https://www.gh.example/rest",
		"https://xgh.example/rest",
		"ops@gh.example",
		"https://third.example/?gh=1",
		"a2a-protocol.org",
	])("leaves %j", (text) => {
		expect(make(false)(text)).toBe(text);
		expect(make(true)(text)).toBe(text);
	});

	it.each([
		["getaddrinfo ENOTFOUND gh.example", "getaddrinfo ENOTFOUND gw.example"],
		["connect ECONNREFUSED 10.0.0.7:1", "connect ECONNREFUSED gw.example"],
		["connect ECONNREFUSED ::1:9000", "connect ECONNREFUSED gw.example"],
		['{"reason":"x","metadata":{"u":"http://agent:8000/a2a"}}', `{"reason":"x","metadata":{"u":"${gw}/agents/bed"}}`],
	])("in errors also %j", (text, expected) => {
		expect(
			redactor({
				interfaces: ["http://agent:8000/a2a", "https://gh.example/rest", "10.0.0.7:50051"],
				origins: ["http://[::1]:9000"],
				base,
			})(text),
		).toBe(expected);
	});

	it("is linear in hostile texts", () => {
		const conceal = make(true);
		const started = performance.now();
		for (const piece of ["a", "/", "a://", "http://", "agent:", "http://agent", "//x@agent:8000", "gh.example"]) {
			conceal(piece.repeat(Math.ceil(400_000 / piece.length)));
		}
		// A quadratic scan takes minutes.
		expect(performance.now() - started).toBeLessThan(8_000);
	});
});

describe("serialised", () => {
	it("has a strong tag of the content", () => {
		const at = Date.parse("2026-11-20T10:00:00Z");
		const one = serialise(cardV1, at);
		expect(one.body.toString()).toBe(JSON.stringify(cardV1));
		expect(one.etag).toMatch(/^"[\w-]{43}"$/);
		expect(one.lastModified).toBe("Fri, 20 Nov 2026 10:00:00 GMT");
		expect(serialise(cardV1, 0).etag).toBe(one.etag);
		expect(serialise({ ...cardV1, version: "3" }, at).etag).not.toBe(one.etag);
	});
});

describe("public base", () => {
	const here = { host: "127.0.0.1", port: 8080, tls: false };
	it.each<[string | undefined, string, string]>([
		[undefined, "", "http://127.0.0.1:8080/"],
		[undefined, "agents/bed", "http://127.0.0.1:8080/agents/bed"],
		["https://gw.example", "", "https://gw.example/"],
		["https://gw.example/a/", "", "https://gw.example/a"],
		["https://gw.example//a//", "/agents/bed/", "https://gw.example/a/agents/bed"],
	])("%s and %j", (configured, path, expected) => {
		expect(publicBase(configured, here, path).href).toBe(expected);
	});
	it.each([
		["0.0.0.0", "http://localhost:8080/"],
		["::", "http://localhost:8080/"],
		["::1", "http://[::1]:8080/"],
		["box.example", "http://box.example:8080/"],
	])("listening on %s", (host, expected) => {
		expect(publicBase(undefined, { ...here, host }).href).toBe(expected);
	});
	it.each(["gw.example", "ftp://x/", "https://u@x/", "https://x/?a", "https://x/#a"])("refuses %s", (configured) => {
		expect(() => publicBase(configured, here)).toThrow(TypeError);
	});
});
