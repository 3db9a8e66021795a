/** Canonical forms of cards: the reference's vectors, RFC 8785's, properties, and the official SDK's idea of them. */
import { createHash } from "node:crypto";
import { canonicalizeAgentCard } from "@a2a-js/sdk";
import { type DescMessage, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { canonical, digestOf, jcs, signable } from "../../src/card/canonical.ts";
import { snakeCase } from "../../src/card/document.ts";
import { hybridCard } from "../../src/dialect/v0_3/card.ts";
import { arbitraryMessage } from "../arbitrary/message.ts";
import { pythonPayload, throughSdk, vector1, vector2 } from "./sign-support.ts";
import { cardV1 } from "./support.ts";

/** Cards made at random are any messages to the compiler. */
const schema: DescMessage = AgentCardSchema;
const spec = (card: JsonObject) => canonical(card).payload("specification");

describe("vectors of the reference", () => {
	test("1: no empty members", () => {
		expect(spec(vector1.card)).toBe(vector1.payload);
		expect(createHash("sha256").update(spec(vector1.card)).digest("hex")).toBe(vector1.sha256);
		for (const form of ["stripped", "ascii", "unionless"] as const) {
			expect(canonical(vector1.card).payload(form)).toBe(vector1.payload);
		}
	});
	test("2: defaults", () => expect(spec(vector2.card)).toBe(vector2.payload));
});

describe("RFC 8785", () => {
	test("3.2.3: sorting by UTF-16 code units, and a number's and a string's form", () => {
		const text = String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`;
		expect(jcs(JSON.parse(text) as JsonValue)).toBe(
			String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		);
		const keys = String.raw`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`;
		expect([...jcs(JSON.parse(keys) as JsonValue).matchAll(/:"([^"]*)"/g)].map(([, value]) => value)).toEqual([
			"Carriage Return",
			"One",
			"Control",
			"Latin Small Letter O With Diaeresis",
			"Euro Sign",
			"Emoji: Grinning Face",
			"Hebrew Letter Dalet With Dagesh",
		]);
	});
	test.each([
		[-0, "0"],
		[5e-324, "5e-324"],
		[1e21, "1e+21"],
		[999999999999999900000, "999999999999999900000"],
		[9007199254740992, "9007199254740992"],
	])("appendix B: %d", (number, text) => expect(jcs(number)).toBe(text));
	test("half a surrogate pair has no canonical form", () => {
		expect(() => spec({ ...vector1.card, name: "\ud800" })).toThrow("no canonical form");
	});
});

describe("members", () => {
	test.each<[string, JsonObject, unknown]>([
		["a REQUIRED list that is missing", { skills: null }, { skills: [] }],
		["a REQUIRED message that is missing", { capabilities: null }, { capabilities: {} }],
		["an optional one at its default", { documentationUrl: "" }, { documentationUrl: "" }],
		["an optional one that is null", { documentationUrl: null }, {}],
		["a default", { securityRequirements: [] }, {}],
		[
			"an empty union member",
			{ securitySchemes: { m: { mtlsSecurityScheme: {} } } },
			{ securitySchemes: { m: { mtlsSecurityScheme: {} } } },
		],
		["the other spelling", { documentation_url: "https://d" }, { documentationUrl: "https://d" }],
		["a wrong type", { name: 5 }, { name: 5 }],
		["an unknown one", { url: "https://x" }, {}],
	])("%s", (_, change, wanted) => {
		const base = JSON.parse(vector1.payload) as JsonObject;
		expect(JSON.parse(spec({ ...vector1.card, ...change }))).toEqual({ ...base, ...(wanted as JsonObject) });
	});
	test("written twice", () => {
		expect(() => canonical({ ...vector1.card, icon_url: "a", iconUrl: "b" })).toThrow("/iconUrl is written twice");
	});
	test("unknown members are told, with their places", () => {
		const { unknown } = canonical({ ...vector1.card, url: "u", capabilities: { x: [1] }, signatures: [{ y: 1 }] });
		expect(unknown).toEqual([
			["/capabilities/x", [1]],
			["/url", "u"],
		]);
	});
	test("what stripping loses, with its place", () => {
		const card: JsonObject = {
			...cardV1,
			description: "",
			capabilities: { extensions: [{ uri: "u", params: { a: "" } }] },
			skills: [{ id: "i", name: "n", description: "d", tags: ["", "t"] }],
		};
		expect(canonical(card).dropped("stripped")).toEqual([
			["/capabilities/extensions/0/params", { a: "" }],
			["/securityRequirements/1", { schemes: { key: {} } }],
			["/skills/0/tags/0", ""],
		]);
		expect(
			canonical(card)
				.dropped("unionless")
				.map(([at]) => at),
		).toContain("/securitySchemes");
		expect(canonical(card).dropped("specification")).toEqual([]);
	});
	test("signable: empties that say nothing go, empty capabilities say their default, the rest stays", () => {
		const made = signable({ ...vector2.card, capabilities: {}, url: "https://old" });
		expect(made).toMatchObject({ capabilities: { streaming: false }, url: "https://old", description: "", skills: [] });
		for (const name of ["iconUrl", "securitySchemes", "securityRequirements"]) expect(made).not.toHaveProperty(name);
		const { description: _, skills: __, ...full } = made;
		const filled: JsonObject = { ...full, description: "d", skills: vector1.card["skills"] ?? [] };
		expect(canonical(filled).payload("stripped")).toBe(spec(filled));
	});
});

/** Any card as JSON. */
const cards = arbitraryMessage(schema).map((message) => toJson(schema, message) as JsonObject);

const isObject = (value: unknown): value is JsonObject =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** The same value with its members in another order. */
function shuffled(value: JsonValue, seed: number): JsonValue {
	if (Array.isArray(value)) return value.map((item) => shuffled(item, seed));
	if (!isObject(value)) return value;
	const rank = (name: string) => createHash("sha1").update(`${seed}${name}`).digest("hex");
	const names = Object.keys(value).sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
	return Object.fromEntries(names.map((name) => [name, shuffled(value[name] as JsonValue, seed)]));
}

const sdkReads = (card: JsonObject) => {
	// The SDK takes strings for what they look like and knows no `__proto__`; ProtoJSON of a real message has neither.
	const text = JSON.stringify(card);
	return !text.includes("__proto__") && text.isWellFormed();
};

describe("any card", () => {
	it("has one form, whatever the order of its members", () => {
		fc.assert(
			fc.property(cards, fc.nat(), (card, seed) => {
				expect(spec(shuffled(card, seed) as JsonObject)).toBe(spec(card));
			}),
			{ numRuns: 150 },
		);
	});

	it("has one form, whether defaults are spelled out or left out, in either spelling", () => {
		fc.assert(
			fc.property(arbitraryMessage(schema), (message) => {
				const short = toJson(schema, message) as JsonObject;
				const long = toJson(schema, message, { alwaysEmitImplicit: true }) as JsonObject;
				const snake = toJson(schema, message, { useProtoFieldName: true }) as JsonObject;
				expect(spec(long)).toBe(spec(short));
				expect(spec(snake)).toBe(spec(short));
				expect(canonical(snake).unknown).toEqual([]);
			}),
			{ numRuns: 150 },
		);
	});

	it("keeps its form through signing's own normalisation, but for empty optional texts", () => {
		fc.assert(
			fc.property(cards, (card) => {
				const once = signable(card);
				expect(signable(once)).toEqual(once);
				expect(canonical(once).payload("stripped").length).toBeGreaterThan(0);
				expect(spec(signable(JSON.parse(spec(once)) as JsonObject))).toBe(spec(once));
			}),
			{ numRuns: 100 },
		);
	});

	it("is stripped as the official JS SDK does it, and as Python's", () => {
		fc.assert(
			fc.property(cards.filter(sdkReads), (card) => {
				expect(canonical(card).payload("stripped")).toBe(canonicalizeAgentCard(card as never));
				expect(canonical(card).payload("ascii")).toBe(pythonPayload(card));
			}),
			{ numRuns: 150 },
		);
	});

	it("gives the same to the SDK's types and back, wherever the forms agree", () => {
		for (const card of [vector1.card, cardV1, hybridCard(cardV1)]) {
			expect(spec(throughSdk(card))).toBe(spec(card));
		}
	});

	it("of the SDK's own types loses its unions there, which is the form called unionless", async () => {
		const { AgentCard } = await import("@a2a-js/sdk");
		expect(canonicalizeAgentCard(AgentCard.fromJSON(cardV1))).toBe(canonical(cardV1).payload("unionless"));
	});
});

test("a hybrid card's v1.0 form is that of the card it was made of", () => {
	const hybrid = hybridCard(cardV1);
	expect(spec(hybrid)).toBe(spec(cardV1));
	expect(canonical(hybrid).unknown.map(([at]) => at)).toContain("/url");
	expect(digestOf(canonical(hybrid).unknown)).toBe(digestOf(canonical(shuffled(hybrid, 7) as JsonObject).unknown));
	expect(snakeCase("iconUrl")).toBe("icon_url");
});
