/** The catalogue's search: what matches, what does not, and that pages cover everything exactly once. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Catalogue, createCatalogue } from "../../src/catalogue/catalogue.ts";
import { mirror } from "../../src/catalogue/mirror.ts";
import { type CatalogueFilter, readQuery } from "../../src/catalogue/query.ts";
import { agent, cardOf, nameOf, only } from "./support.ts";

function filled(cards: Readonly<Record<string, JsonObject>>): Catalogue {
	const catalogue = createCatalogue();
	for (const [name, card] of Object.entries(cards))
		catalogue.put(name, card, `https://gw.example/agents/${name}/card`, 1);
	return catalogue;
}
const found = (catalogue: Pick<Catalogue, "search">, query: string) =>
	catalogue.search(readQuery(query)).agents.map((a) => a.name);

const café: JsonObject = {
	name: "Café Zürich",
	description: "Bestellt Straßenkaffee; knows ΟΔΟΣ and 検索エージェント",
	provider: { organization: "Société Générale", url: "https://sg.example" },
	capabilities: { streaming: true, pushNotifications: false, extensions: [{ uri: "https://ext.example/geo/v1" }] },
	defaultInputModes: ["text/plain", "Application/JSON; charset=utf-8"],
	skills: [
		{ id: "order-coffee", name: "Kaffee bestellen", description: "macht Espresso", tags: ["Coffee", "Gastronomie"] },
		{ id: "see", name: "Look", tags: ["vision"], inputModes: ["image/png"] },
	],
};
const plain: JsonObject = { name: "Plain", capabilities: { extendedAgentCard: true }, defaultInputModes: ["*/*"] };
/** As wrong as a card can be. */
const odd = {
	name: 3,
	skills: [null, "x", { id: 4, tags: "no" }],
	capabilities: [],
	provider: "me",
	defaultInputModes: {},
};
/** In the proto's own spelling. */
const snake: JsonObject = {
	name: "Snake",
	default_input_modes: ["audio/wav"],
	skills: [{ id: "s", input_modes: ["audio/ogg"] }],
};

/** query → names */
const searches: readonly (readonly [string, readonly string[]])[] = [
	["", ["café", "odd", "plain", "snake"]],
	["skill=order-coffee", ["café"]],
	["skill=Kaffee%20bestellen", ["café"]],
	["skill=kaffee+BESTELLEN", ["café"]],
	["skill=kaffee", []],
	["skill=order-coffee&skill=see", ["café"]],
	["skill=order-coffee&skill=s", []],
	["tag=coffee", ["café"]],
	["tag=coffee&tag=vision", ["café"]],
	["tag=coff", []],
	["q=cafe", ["café"]],
	["q=CAF%C3%89", ["café"]],
	["q=caf", ["café"]],
	["q=afe", []],
	["q=zurich+cafe", ["café"]],
	["q=zurich&q=cafe", ["café"]],
	["q=zurich+plain", []],
	["q=strassen", ["café"]],
	["q=%CE%BF%CE%B4%CE%BF%CF%82", ["café"]],
	["q=%E6%A4%9C%E7%B4%A2", ["café"]],
	["q=%E7%B4%A2", ["café"]],
	["q=order+espresso+gastro", ["café"]],
	["q=generale", ["café"]],
	["q=!!!", ["café", "odd", "plain", "snake"]],
	["q=pla", ["plain"]],
	["provider=societe+generale", ["café"]],
	["provider=https://sg.example", ["café"]],
	["provider=societe", []],
	["inputMode=text/plain", ["café", "plain"]],
	["inputMode=TEXT/*", ["café", "plain"]],
	["inputMode=application/json", ["café", "plain"]],
	["inputMode=application/json;charset=x", ["café", "plain"]],
	["inputMode=image/*", ["café", "plain"]],
	["inputMode=image/gif", ["plain"]],
	["inputMode=audio/wav&inputMode=audio/ogg", ["plain", "snake"]],
	["inputMode=*/*", ["café", "plain", "snake"]],
	["capability=streaming", ["café"]],
	["capability=pushNotifications", []],
	["capability=extendedAgentCard", ["plain"]],
	["capability=https://ext.example/geo/v1", ["café"]],
	["capability=streaming&capability=extendedAgentCard", []],
	["capability=https://ext.example/geo", []],
	["q=&tag=&skill=", ["café", "odd", "plain", "snake"]],
	[
		"q=cafe&tag=vision&inputMode=image/png&capability=streaming&provider=SOCI%C3%89T%C3%89+G%C3%89N%C3%89RALE",
		["café"],
	],
];

test.each(searches)("?%s → %j", (query, names) => {
	expect(found(filled({ plain, odd, café, snake }), query)).toEqual([...names].sort());
});

/** bad query → the parameters that are named */
const mistakes: readonly (readonly [string, readonly string[]])[] = [
	["skil=x", ["skil"]],
	["pageSize=0", ["pageSize"]],
	["pageSize=101", ["pageSize"]],
	["pageSize=-1", ["pageSize"]],
	["pageSize=1.5", ["pageSize"]],
	["pageSize=1e1", ["pageSize"]],
	["pageSize=1&pageSize=2", ["pageSize"]],
	["pageToken=x", ["pageToken"]],
	["inputMode=text", ["inputMode"]],
	["inputMode=a/b/c", ["inputMode"]],
	["capability=flying", ["capability"]],
	[`q=${"x".repeat(513)}`, ["q"]],
	[Array.from({ length: 33 }, (_, i) => `tag=${i}`).join("&"), ["tag"]],
	["nope=1&pageSize=x&inputMode=y", ["nope", "inputMode", "pageSize"]],
	["__proto__=1", ["__proto__"]],
];

test.each(mistakes)("?%s is refused", (query, fields) => {
	let thrown: unknown;
	try {
		readQuery(query);
	} catch (error) {
		thrown = error;
	}
	expect(thrown).toMatchObject({ reason: "INVALID_PARAMS", http: 400 });
	const [, request] = (thrown as { details: { fieldViolations?: { field: string }[] }[] }).details;
	expect(request?.fieldViolations?.map((v) => v.field)).toEqual(fields);
});

test("a page token belongs to its search", () => {
	const catalogue = filled({ a: cardOf(0), b: cardOf(10), c: cardOf(20) });
	const { nextPageToken = "" } = catalogue.search(readQuery("pageSize=1&tag=weather&q=weather"));
	expect(nextPageToken).not.toBe("");
	// The order of the parameters and the size of the page may change.
	expect(found(catalogue, `q=weather&tag=weather&pageSize=5&pageToken=${nextPageToken}`)).toEqual(["b", "c"]);
	expect(() => readQuery(`pageToken=${nextPageToken}&q=weather`)).toThrow(/pageToken/);
});

test("a page of very large cards is shorter than asked for, and nothing is left out", () => {
	const names = ["a", "b", "c", "d", "e", "f", "g"];
	const sizes = [1, 3, 1, 1, 5, 5, 0];
	const catalogue = filled(
		Object.fromEntries(names.map((name, i) => [name, { name, description: "x".repeat((sizes[i] ?? 0) * 1_000_000) }])),
	);
	const pages: string[] = [];
	let token: string | undefined = "";
	while (token !== undefined) {
		const page = catalogue.search(readQuery(`pageToken=${token}`));
		expect(page.totalSize).toBe(7);
		pages.push(page.agents.map((a) => a.name).join(""));
		token = page.nextPageToken;
	}
	expect(pages).toEqual(["ab", "cd", "e", "f", "g"]);
});

test("only what is visible is shown or counted", () => {
	const catalogue = filled({ a: plain, b: plain, c: plain });
	expect(catalogue.search(readQuery(""), only("b"))).toMatchObject({ agents: [{ name: "b" }], totalSize: 1 });
	expect(catalogue.search(readQuery("pageSize=1"), only("a", "c")).totalSize).toBe(2);
	expect(catalogue.all(only("c")).map((a) => a.name)).toEqual(["c"]);
	expect(catalogue.search(readQuery(""), () => false)).toMatchObject({
		agents: [],
		totalSize: 0,
		nextPageToken: undefined,
	});
});

test("the ETag is of what is shown", () => {
	const catalogue = filled({ a: plain, b: café });
	const tag = (query = "") => catalogue.search(readQuery(query)).etag;
	const before = tag();
	catalogue.put("b", structuredClone(café), "https://gw.example/agents/b/card", 99);
	expect(tag()).toBe(before);
	expect(tag("tag=coffee")).not.toBe(before);
	catalogue.put("b", { ...café, version: "2" }, "https://gw.example/agents/b/card", 2);
	const changed = tag();
	expect(changed).not.toBe(before);
	catalogue.put("b", { ...café, version: "2" }, "https://other.example/card", 2);
	expect(tag()).not.toBe(changed);
	catalogue.put("b", café, "https://gw.example/agents/b/card", 3);
	expect(tag()).toBe(before);
	catalogue.remove("b");
	catalogue.remove("b");
	expect(tag()).not.toBe(before);
	expect(before).toMatch(/^"[\w-]+"$/);
});

describe("properties", () => {
	const topics = fc.constantFrom("Wetter", "wetter", "Ménage", "menage", "x-ray", "Ö");
	const modes = fc.constantFrom("text/plain", "text/*", "image/png", "*/*", "audio/wav; rate=8");
	const card: fc.Arbitrary<JsonObject> = fc.record(
		{
			name: topics,
			description: fc.array(topics).map((t) => t.join(" ")),
			provider: fc.record({ organization: topics }),
			capabilities: fc.record({
				streaming: fc.boolean(),
				extensions: fc.array(fc.record({ uri: fc.constantFrom("u:1", "u:2") })),
			}),
			defaultInputModes: fc.array(modes),
			skills: fc.array(fc.record({ id: topics, name: topics, tags: fc.array(topics), inputModes: fc.array(modes) }), {
				maxLength: 3,
			}),
		},
		{ requiredKeys: ["name"] },
	) as fc.Arbitrary<JsonObject>;
	const some = <T>(of: fc.Arbitrary<T>) => fc.array(of, { maxLength: 2 });
	const filter: fc.Arbitrary<CatalogueFilter> = fc.record({
		skill: some(topics),
		tag: some(topics),
		q: some(fc.constantFrom("wet", "MEN", "x", "ray", "o", "ter")),
		provider: some(topics),
		inputMode: some(fc.constantFrom("text/plain", "image/*", "*/*")),
		capability: some(fc.constantFrom("streaming", "u:1", "u:2")),
	});

	test("a search finds what a naive filter finds", () => {
		fc.assert(
			fc.property(fc.array(card, { maxLength: 8 }), filter, (cards, wanted) => {
				const catalogue = filled(Object.fromEntries(cards.map((c, i) => [`a${i}`, c])));
				const expected = cards.flatMap((c, i) => (naive(c, wanted) ? [`a${i}`] : []));
				const page = catalogue.search({ ...wanted, pageSize: 100, after: "" });
				expect(page.agents.map((a) => a.name)).toEqual(expected.sort());
				expect(page.totalSize).toBe(expected.length);
			}),
			{ numRuns: 400 },
		);
	});

	test("pages cover what stays exactly once, whatever comes and goes meanwhile", () => {
		const names = fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 60 });
		const changes = fc.array(
			fc.record({ put: fc.array(fc.integer({ min: 0, max: 400 })), remove: fc.array(fc.nat(59)) }),
		);
		fc.assert(
			fc.property(names, changes, fc.integer({ min: 1, max: 20 }), (initial, steps, size) => {
				const catalogue = filled(Object.fromEntries(initial.map((i) => [nameOf(i), cardOf(i)])));
				const removed = new Set<string>();
				const seen: string[] = [];
				let token = "";
				for (let turn = 0; ; turn++) {
					const page = catalogue.search(readQuery(`pageSize=${size}&pageToken=${token}`));
					seen.push(...page.agents.map((a) => a.name));
					if (page.nextPageToken === undefined) break;
					expect(page.agents.length).toBe(size);
					token = page.nextPageToken;
					for (const i of steps[turn]?.remove ?? []) {
						const name = nameOf(initial[i % initial.length] ?? 0);
						removed.add(name);
						catalogue.remove(name);
					}
					for (const i of steps[turn]?.put ?? []) catalogue.put(nameOf(i), cardOf(i), "https://x.example", 1);
				}
				expect(new Set(seen).size).toBe(seen.length);
				expect(seen).toEqual(seen.toSorted());
				for (const i of initial) if (!removed.has(nameOf(i))) expect(seen).toContain(nameOf(i));
			}),
			{ numRuns: 100 },
		);
	});
});

/** The documentation's words, without regard to speed. */
function naive(card: JsonObject, wanted: CatalogueFilter): boolean {
	interface Skill {
		id: string;
		name: string;
		tags: string[];
		inputModes: string[];
	}
	const {
		name,
		description = "",
		provider,
		capabilities,
		defaultInputModes = [],
		skills = [],
	} = card as unknown as {
		name: string;
		description?: string;
		provider?: { organization: string };
		capabilities?: { streaming: boolean; extensions: { uri: string }[] };
		defaultInputModes?: string[];
		skills?: Skill[];
	};
	const same = (a: string, b: string) => a.localeCompare(b, "en", { sensitivity: "base" }) === 0;
	const texts = [name, description, provider?.organization ?? "", ...skills.flatMap((s) => [s.id, s.name, ...s.tags])];
	const tokens = texts.flatMap((t) => t.split(/[\s-]+/));
	const accepts = [...defaultInputModes, ...skills.flatMap((s) => s.inputModes)].map((m) => m.split(";")[0] ?? "");
	const glob = (a: string, b: string) =>
		a.split("/").every((part, i) => part === "*" || b.split("/")[i] === "*" || b.split("/")[i] === part);
	return (
		wanted.skill.every((w) => skills.some((s) => same(s.id, w) || same(s.name, w))) &&
		wanted.tag.every((w) => skills.some((s) => s.tags.some((t) => same(t, w)))) &&
		wanted.q.every((w) => tokens.some((t) => same(t.slice(0, w.length), w))) &&
		wanted.provider.every((w) => provider !== undefined && same(provider.organization, w)) &&
		wanted.inputMode.every((w) => accepts.some((a) => glob(w, a))) &&
		wanted.capability.every((w) =>
			w === "streaming" ? capabilities?.streaming === true : capabilities?.extensions.some((e) => e.uri === w),
		)
	);
}

describe("the mirror", () => {
	test("follows agents, their cards and their going, when asked", () => {
		let agents = [agent("a", plain), agent("b", undefined), agent("c", café)];
		let asked = 0;
		const catalogue = mirror(() => {
			asked += 1;
			return agents;
		});
		expect(found(catalogue, "")).toEqual(["a", "c"]);
		expect(catalogue.all()[0]?.url).toBe("https://gw.example/agents/a/.well-known/agent-card.json");
		agents = [agent("b", café), agent("c", plain, "https://c.example/")];
		expect(found(catalogue, "")).toEqual(["a", "c"]);
		expect(asked).toBe(1);
		for (let i = 0; i < 5; i++) catalogue.touch();
		expect(found(catalogue, "")).toEqual(["b", "c"]);
		expect(found(catalogue, "q=zurich")).toEqual(["b"]);
		expect(catalogue.all()[1]?.url).toBe("https://c.example/.well-known/agent-card.json");
		expect(asked).toBe(2);
	});
});

test("1,000 agents: time of a search and memory per agent, printed", () => {
	setFlagsFromString("--expose-gc");
	const collect = runInNewContext("gc") as () => void;
	collect();
	const before = process.memoryUsage().heapUsed;
	const started = performance.now();
	const catalogue = createCatalogue();
	// Parsed, as the mirror does: cards share no strings with each other then.
	const texts = Array.from({ length: 1_000 }, (_, i) => JSON.stringify(cardOf(i)));
	for (const [i, text] of texts.entries())
		catalogue.put(nameOf(i), JSON.parse(text) as JsonObject, "https://x.example", 1);
	const built = performance.now() - started;
	collect();
	const size = texts.reduce((sum, text) => sum + text.length, 0) / texts.length;
	texts.length = 0;
	collect();
	const perAgent = (process.memoryUsage().heapUsed - before) / 1_000;
	const line = [
		`build ${built.toFixed(0)} ms`,
		`card ${(size / 1024).toFixed(1)} KiB`,
		`heap ${(perAgent / 1024).toFixed(1)} KiB per agent`,
	];
	const queries = [
		"",
		"tag=law",
		"q=gardening+plan",
		"q=nothing",
		"skill=plan-law&capability=streaming",
		"inputMode=image/*",
		"provider=societe+alpha",
	];
	for (const text of queries) {
		const query = readQuery(text);
		const times = Array.from({ length: 50 }, () => {
			const at = performance.now();
			catalogue.search(query);
			return performance.now() - at;
		}).sort((a, b) => a - b);
		const { totalSize } = catalogue.search(query);
		line.push(`?${text} ${(times[25] ?? 0).toFixed(2)} ms (${totalSize})`);
	}
	console.log(line.join("\n"));
	expect(catalogue.search(readQuery("")).totalSize).toBe(1_000);
	expect(catalogue.search(readQuery("tag=law")).totalSize).toBe(100);
});
