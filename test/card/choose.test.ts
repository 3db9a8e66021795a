import { describe, expect, it } from "vitest";
import type { Interface } from "../../src/binding/binding.ts";
import { choose, explainChoice, override, type Prefer } from "../../src/card/choose.ts";

const make = (binding: string, version: string, url: string): Interface => ({ binding, version, url, tenant: "" });
const grpc = make("GRPC", "1.0", "pub.example:443");
const old = make("JSONRPC", "0.3", "https://pub.example/old");
const rpc = make("JSONRPC", "1.0", "https://pub.example/rpc?x=1");
const rest = make("HTTP+JSON", "1.0", "https://pub.example/rest");
const mqtt = make("urn:mqtt", "1.0", "mqtt.example:1");
const card = [mqtt, old, grpc, rpc, rest];
const all = { bindings: ["JSONRPC", "GRPC", "HTTP+JSON"], versions: ["1.0"] };

describe("choice", () => {
	it.each<[string, Partial<typeof all>, Prefer, Interface | undefined, Interface[]]>([
		["card order", {}, {}, grpc, [rpc, rest]],
		["supported bindings", { bindings: ["HTTP+JSON", "JSONRPC"] }, {}, rpc, [rest]],
		["supported versions", { versions: ["0.3"] }, {}, old, []],
		["both versions: the card's order still", { versions: ["1.0", "0.3"] }, {}, old, [grpc, rpc, rest]],
		["configured binding", {}, { binding: "http+json" }, rest, [grpc, rpc]],
		[
			"configured version",
			{ versions: ["1.0", "0.3"] },
			{ version: "1.0", binding: undefined },
			grpc,
			[rpc, rest, old],
		],
		["configured URL", {}, { url: "https://PUB.example:443/rest" }, rest, [grpc, rpc]],
		["configured, but absent", {}, { binding: "JSONRPC", version: "0.9" }, grpc, [rpc, rest]],
		["nothing", { bindings: [] }, {}, undefined, []],
	])("by %s", (_, options, prefer, chosen, fallbacks) => {
		const choice = choose(card, { ...all, ...options, prefer });
		expect(choice.chosen).toBe(chosen);
		expect(choice.fallbacks).toEqual(fallbacks);
		expect(choice.considered.map((c) => c.interface)).toEqual(card);
		expect(choice.considered.filter((c) => c.verdict.startsWith("chosen"))).toHaveLength(chosen ? 1 : 0);
	});

	it("says why", () => {
		expect(explainChoice(choose(card, { ...all, prefer: { binding: "JSONRPC" } }))).toBe(
			[
				'urn:mqtt 1.0 mqtt.example:1: skipped: binding "urn:mqtt" is not known',
				"JSONRPC 0.3 https://pub.example/old: skipped: version 0.3 is not supported (this build speaks 1.0)",
				"GRPC 1.0 pub.example:443: fallback 1",
				"JSONRPC 1.0 https://pub.example/rpc?x=1: chosen: first in the card that is as configured",
				"HTTP+JSON 1.0 https://pub.example/rest: fallback 2",
			].join("\n"),
		);
	});
});

describe("override", () => {
	it("puts the gRPC address given in the place of the card's", () => {
		expect(override([rpc, grpc], { grpc: "grpc://127.0.0.1:50051" }).map((i) => i.url)).toEqual([
			rpc.url,
			"http://127.0.0.1:50051",
		]);
	});
	it("makes a gRPC interface where the card has none", () => {
		expect(override([rpc], { grpc: "grpcs://a" })).toEqual([make("GRPC", "1.0", "https://a:443"), rpc]);
	});
	it("keeps the agent's own host where the card advertises another", () => {
		expect(
			override(
				[
					rpc,
					grpc,
					make("GRPC", "1.0", "https://x:1/p"),
					make("GRPC", "1.0", "dns:///x:1"),
					make("GRPC", "1.0", "x:1/p"),
				],
				{
					origin: "http://127.0.0.1:9000/base",
				},
			).map((i) => i.url),
		).toEqual([
			"http://127.0.0.1:9000/rpc?x=1",
			"127.0.0.1:443",
			"https://127.0.0.1:1/p",
			"127.0.0.1:1",
			"127.0.0.1:1/p",
		]);
	});
	it("changes nothing otherwise", () => {
		expect(override(card, {})).toEqual(card);
	});
});
