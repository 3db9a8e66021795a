import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type CredentialNames, credentialNames, selectCredentials } from "../../src/card/credentials.ts";
import { cardV1, cardV03 } from "./support.ts";

const key = (location: string, name: string) => ({ apiKeySecurityScheme: { location, name } });
const card = (...schemes: JsonObject[]): JsonObject => ({
	securitySchemes: Object.fromEntries(schemes.map((scheme, i) => [`s${i}`, scheme])),
});

describe("names", () => {
	it.each<[string, JsonObject, Partial<CredentialNames>]>([
		["v1.0", cardV1, { header: ["x-key"] }],
		["OpenAPI style", cardV03, { header: ["x-key"] }],
		["no schemes", {}, {}],
		[
			"every place",
			card(key("header", "X-A"), key("cookie", "Sid"), key("query", "Api_Key")),
			{ header: ["x-a"], cookie: ["Sid"], query: ["Api_Key"] },
		],
		["duplicates and case of the place", card(key("HEADER", "X-A"), key("header", "x-a")), { header: ["x-a"] }],
		[
			"proto names",
			{ security_schemes: { k: { api_key_security_scheme: { location: "query", name: "k" } } } },
			{ query: ["k"] },
		],
		[
			"nonsense",
			card(key("header", ""), key("header", "a b"), key("body", "x"), key("cookie", "a=b"), { type: "apiKey" }),
			{},
		],
		["not an object", { securitySchemes: [1, "x", null] }, {}],
	])("%s", (_, json, names) => {
		expect(credentialNames(json)).toEqual({ header: [], cookie: [], query: [], ...names });
	});

	it.each([
		"Host",
		"Connection",
		"transfer-encoding",
		"TE",
		"Upgrade",
		"proxy-authorization",
		"Content-Length",
		"content-type",
		"A2A-Version",
		"x-a2a-extensions",
		"Cookie",
		"X-Forwarded-For",
		"forwarded",
		"grpc-timeout",
		"authorization",
	])("a declaration does not make %s cross", (name) => {
		const { header } = selectCredentials(
			{ [name.toLowerCase()]: "x" },
			{},
			{ ...credentialNames(card(key("header", name))), query: [name], cookie: [name] },
		);
		expect(Object.keys(header).filter((n) => n !== "authorization")).toEqual([]);
		expect(credentialNames(card(key("header", name))).header).toEqual([]);
	});
});

describe("selection", () => {
	const names: CredentialNames = { header: ["x-key"], cookie: ["sid", "Auth"], query: ["apiKey"] };
	it.each<[string, Record<string, string>, Record<string, string>, Record<string, string>, Record<string, string>]>([
		["nothing", { host: "a", "x-other": "1" }, { other: "1" }, {}, {}],
		["authorization", { authorization: "Bearer x", cookie: "other=1" }, {}, { authorization: "Bearer x" }, {}],
		["a header", { "x-key": "k" }, {}, { "x-key": "k" }, {}],
		["declared cookies only", { cookie: "a=1; sid=2;Auth=3==; SID=4; sidx=5" }, {}, { cookie: "sid=2; Auth=3==" }, {}],
		["cookies of one name", { cookie: "sid=1; sid=2" }, {}, { cookie: "sid=1; sid=2" }, {}],
		["a quoted cookie", { cookie: 'sid="a b"; junk; =x' }, {}, { cookie: 'sid="a b"' }, {}],
		["query, case-sensitive", {}, { apiKey: "q", apikey: "no" }, {}, { apiKey: "q" }],
		["metadata for a query member", { apikey: "m" }, {}, {}, { apiKey: "m" }],
		["the query before metadata", { apikey: "m" }, { apiKey: "q" }, {}, { apiKey: "q" }],
		["metadata for cookies", { auth: "m", sid: "s" }, {}, { cookie: "sid=s; Auth=m" }, {}],
		["the cookie before metadata", { sid: "m", cookie: "sid=c" }, {}, { cookie: "sid=c" }, {}],
		["no cookie injection by metadata", { sid: "a; admin=1", auth: "a b" }, {}, {}, {}],
	])("%s", (_, header, query, outHeader, outQuery) => {
		expect(selectCredentials(header, query, names)).toEqual({ header: outHeader, query: outQuery });
	});

	it("is not fooled by names of Object.prototype", () => {
		const odd: CredentialNames = { header: ["constructor"], cookie: ["tostring"], query: ["valueOf", "__proto__"] };
		expect(selectCredentials({}, {}, odd)).toEqual({ header: {}, query: {} });
	});
});
