import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { grpcUrl, httpUrl, normalBinding, normalVersion } from "../../src/card/endpoint.ts";
import { CardError } from "../../src/card/error.ts";
import { legacyVersion, read, shapes } from "../../src/card/read.ts";
import type { Shape } from "../../src/card/shape.ts";
import { cardV1, cardV01, cardV03 } from "./support.ts";

const options = { from: "the test", base: "https://gh.example/.well-known/agent-card.json" };

/** `only`: as if these shapes were all there are. */
function failure(json: JsonObject, only = shapes): CardError {
	try {
		read(json, { ...options, shapes: only });
	} catch (error) {
		expect(error).toBeInstanceOf(CardError);
		return error as CardError;
	}
	throw new Error("it was read");
}

/** The interface and the warnings of a card with one entry. */
function one(entry: JsonObject) {
	const { interfaces, warnings } = read({ ...cardV1, supportedInterfaces: [entry] }, options);
	return { ...interfaces[0], warnings };
}

describe("shapes", () => {
	it("reads the card of the specification without a word", () => {
		const reading = read(cardV1, options);
		expect(reading.warnings).toEqual([]);
		expect(reading).toMatchObject({ shape: "1.0", hybrid: false, json: cardV1 });
		expect(reading.interfaces).toEqual([
			{ url: "https://gh.example/a2a", binding: "JSONRPC", version: "1.0", tenant: "" },
			{ url: "https://gh.example/rest", binding: "HTTP+JSON", version: "1.0", tenant: "north" },
			{ url: "gh.example:443", binding: "GRPC", version: "1.0", tenant: "" },
			{ url: "https://gh.example/a2a", binding: "JSONRPC", version: "0.3", tenant: "" },
		]);
		expect(reading.card.capabilities?.streaming).toBe(true);
		expect(reading.card.securitySchemes["key"]?.scheme.case).toBe("apiKeySecurityScheme");
	});

	it("takes the v1.0 part of a hybrid card", () => {
		const reading = read({ ...cardV03, url: "https://old.example/", ...cardV1 }, options);
		expect(reading).toMatchObject({ shape: "1.0", hybrid: true });
		expect(reading.interfaces.map((i) => i.url)).not.toContain("https://old.example/");
	});

	it.each([
		["0.3", cardV03],
		["0.1", cardV01],
		["0.2", { name: "a", url: "http://a/", protocolVersion: "0.2.6" }],
		["0.1", { name: "a", url: "http://a/" }],
		["0.3", { name: "a", url: "http://a/", preferredTransport: "GRPC" }],
	])("reads %s, and says so where its shape is not known", (version, card) => {
		expect(legacyVersion(card)).toBe(version);
		const reading = read(card, options);
		expect(reading).toMatchObject({ shape: version, hybrid: false, json: card });
		expect(reading.interfaces[0]).toMatchObject({ version });
		expect(reading.core["supportedInterfaces"]).toHaveLength(reading.interfaces.length);
		expect(failure(card, shapes.slice(0, 1)).operator).toBe(
			`the card from the test is an A2A ${version} card; it needs dialect support that this build lacks (${version})`,
		);
	});

	it("takes a further shape from the registry", () => {
		const old: Shape = {
			version: "0.3",
			matches: (json) => "url" in json,
			read: (json, base, warn) => ({
				...(shapes[0] as Shape).read(cardV1, base, warn),
				interfaces: [{ url: String(json["url"]), binding: "JSONRPC", version: "0.3", tenant: "" }],
			}),
		};
		const both = { ...options, shapes: [...shapes.slice(0, 1), old] };
		expect(read(cardV03, both)).toMatchObject({ shape: "0.3", hybrid: false });
		expect(read({ ...cardV03, ...cardV1 }, both)).toMatchObject({ shape: "1.0", hybrid: true });
	});

	it.each<[string, JsonObject, RegExp]>([
		["nothing", {}, /not an agent card/],
		["no entry", { ...cardV1, supportedInterfaces: [] }, /empty supportedInterfaces/],
		[
			"no usable entry",
			{ supportedInterfaces: [{ url: "", protocolBinding: "JSONRPC" }, 7] },
			/\[0\] has no url.*\[1\] is not an object/,
		],
	])("refuses %s", (_, card, text) => {
		expect(failure(card).operator).toMatch(text);
	});
});

describe("tolerance", () => {
	it("misses required members without failing", () => {
		const reading = read({ supportedInterfaces: [{ url: "/a2a", protocolBinding: "jsonrpc" }] }, options);
		expect(reading.interfaces).toEqual([
			{ url: "https://gh.example/a2a", binding: "JSONRPC", version: "1.0", tenant: "" },
		]);
		expect(reading.card.name).toBe("");
		expect(reading.warnings).toEqual(
			expect.arrayContaining(["name is missing", "skills is missing", expect.stringContaining("1.0 is assumed")]),
		);
	});

	it("keeps what fits of a card with wrong types, and the JSON whole", () => {
		const card = { ...cardV1, version: 3, skills: "many", future: { x: 1 } };
		const reading = read(card, options);
		expect(reading.card.name).toBe("Bed Sensor Agent");
		expect(reading.card.version).toBe("");
		expect(reading.card.capabilities?.streaming).toBe(true);
		expect(reading.json).toBe(card);
		expect(reading.warnings.join("\n")).toMatch(/version does not fit.*\n.*skills does not fit/);
	});

	it("reads proto names and null", () => {
		const card = {
			name: null,
			supported_interfaces: [{ url: "http://a/x", protocol_binding: "REST", protocol_version: 1, tenant: null }],
			capabilities: { push_notifications: true },
		};
		const reading = read(card, options);
		expect(reading.interfaces).toEqual([{ url: "http://a/x", binding: "HTTP+JSON", version: "1.0", tenant: "" }]);
		expect(reading.card.capabilities?.pushNotifications).toBe(true);
	});

	it.each<[string, string | undefined]>([
		["1.0", "1.0"],
		["1.0.0", "1.0"],
		["1.0.1", "1.0"],
		["v1.0", "1.0"],
		["1", "1.0"],
		["0.3.0", "0.3"],
		["1.0-rc1", "1.0"],
		["01.00", "1.0"],
		["latest", undefined],
		["1.x", undefined],
		["", undefined],
	])("version %j is %j", (written, version) => {
		expect(normalVersion(written)).toBe(version);
	});

	it.each([
		["JSONRPC", "JSONRPC", true],
		["JsonRpc", "JSONRPC", true],
		["grpc", "GRPC", true],
		["http+json", "HTTP+JSON", true],
		["REST", "HTTP+JSON", false],
		["HTTP_JSON", "HTTP+JSON", false],
		["HTTP/JSON", "HTTP+JSON", false],
		["JSON-RPC 2.0", "JSONRPC", false],
		["https://x.example/bindings/mqtt/v1", "https://x.example/bindings/mqtt/v1", true],
		["constructor", "constructor", true],
	])("binding %j is %j", (written, binding, exact) => {
		expect(normalBinding(written)).toEqual({ binding, exact });
	});

	it("keeps a binding that nobody knows, for the explanation", () => {
		expect(one({ url: "mqtt.example:1", protocolBinding: "MQTT", protocolVersion: "1.0" })).toMatchObject({
			binding: "MQTT",
		});
	});

	it.each<[string, string | undefined, string | RegExp]>([
		["https://a.example/x", undefined, "https://a.example/x"],
		["https://a.example", undefined, "https://a.example/"],
		["HTTP://A.example:80/x#f", undefined, "http://a.example/x"],
		["/x", "https://b.example/.well-known/agent-card.json", "https://b.example/x"],
		["//c.example/x", "https://b.example/", "https://c.example/x"],
		["localhost:9999/x", undefined, "http://localhost:9999/x"],
		["a.example:8443", "https://b.example/", "https://a.example:8443/"],
		["[::1]:9", undefined, "http://[::1]:9/"],
		["https://me:pw@a.example/x?y=1", undefined, "https://a.example/x?y=1"],
		["/x", undefined, /not an absolute URL/],
		["ftp://a.example/", undefined, /scheme ftp:/],
		["http://", "https://b.example/", /not a URL/],
		["http://a b/", undefined, /URL/],
	])("HTTP URL %j from %j", (written, base, expected) => {
		const located = httpUrl(written, base);
		if (typeof expected === "string") expect(located).toMatchObject({ url: expected });
		else expect(located).toMatchObject({ problem: expect.stringMatching(expected) });
	});

	it.each([
		["host:50051", "host:50051"],
		["host", "host:443"],
		["10.0.0.1:50051", "10.0.0.1:50051"],
		["[::1]:50051", "[::1]:50051"],
		["http://host:50051", "http://host:50051"],
		["http://host/", "http://host:80"],
		["https://host", "https://host:443"],
		["https://host:443/", "https://host:443"],
		["grpc://host:1", "http://host:1"],
		["GRPCS://host:1", "https://host:1"],
		["grpcs://host", "https://host:443"],
		["dns:///host:1", "dns:///host:1"],
		["dns:host:1", "dns:host:1"],
		["dns://8.8.8.8/host:1", "dns://8.8.8.8/host:1"],
		["ipv4:10.0.0.1:1,10.0.0.2:1", "ipv4:10.0.0.1:1,10.0.0.2:1"],
		["dns:50051", "dns:50051"],
		["host:1/proxy/", "host:1/proxy"],
		["https://host/some/path?q", "https://host:443/some/path"],
		["unix:/tmp/x", undefined],
		["unix:///tmp/x", undefined],
		["ftp://host:1", undefined],
		["dns:///", undefined],
		["host:99999", undefined],
		["", undefined],
		["http://", undefined],
	])("gRPC URL %j is %j", (written, expected) => {
		const located = grpcUrl(written);
		expect("url" in located ? located.url : undefined).toBe(expected);
	});

	it("warns of what it tolerated", () => {
		expect(one({ url: "https://u:p@a/", protocolBinding: "rest", protocolVersion: "1.0.0" }).warnings).toEqual([
			'supportedInterfaces[0].protocolBinding "rest" is taken for HTTP+JSON',
			"supportedInterfaces[0].url holds credentials, which are not used",
			'supportedInterfaces[0].protocolVersion "1.0.0" is taken for 1.0',
		]);
	});
});
