/** Header sets and content negotiation. */
import { describe, expect, it } from "vitest";
import { accepts, mediaType, pick, toHeader } from "../../src/wire/header.ts";

describe("toHeader", () => {
	it("keeps end-to-end fields only, joined", () => {
		expect(
			toHeader({
				":path": "/x",
				host: "h",
				connection: "Keep-Alive, X-Private",
				"keep-alive": "timeout=5",
				"transfer-encoding": "chunked",
				te: "trailers",
				upgrade: "h2c",
				"proxy-authorization": "Basic x",
				"x-private": "1",
				"content-type": "application/json",
				"content-length": "2",
				"content-encoding": "gzip",
				cookie: "a=1; b=2",
				"set-cookie": ["a=1", "b=2"],
				"a2a-version": "1.0",
				"x-none": undefined,
			}),
		).toEqual({ host: "h", cookie: "a=1; b=2", "set-cookie": "a=1, b=2", "a2a-version": "1.0" });
	});
	it("is not moved by odd names", () => {
		const header = toHeader(JSON.parse('{"__proto__":"x","constructor":"y"}'));
		expect(header["constructor"]).toBe("y");
		expect(Object.getPrototypeOf(header)).toBe(Object.prototype);
	});
});

it("pick takes what is there", () => {
	expect(pick({ a: "1", b: "2" }, ["b", "c"])).toEqual({ b: "2" });
});

it.each([
	[undefined, ""],
	["application/json", "application/json"],
	[" Application/JSON ; charset=utf-8", "application/json"],
	["", ""],
])("mediaType(%j) is %j", (value, expected) => {
	expect(mediaType(value)).toBe(expected);
});

describe("accepts", () => {
	const a2a = "application/a2a+json";
	const json = "application/json";
	it.each([
		[undefined, a2a],
		["", a2a],
		["*/*", a2a],
		["application/*", a2a],
		[json, json],
		[`${a2a}, ${json}`, a2a],
		[`${json}, ${a2a}`, a2a],
		[`${json}, */*`, json],
		[`${json}, text/plain, */*`, json],
		[`${a2a};q=0.5, ${json}`, json],
		["APPLICATION/JSON; Q=0.1", json],
		[`*/*, ${a2a};q=0`, json],
		["*/*;q=0.1", a2a],
		["text/html", undefined],
		["text/html;q=0.8, */*;q=0", undefined],
		[`${json};q=0`, undefined],
		[`${json};q=x`, undefined],
		[`${json};charset=utf-8;q=0.3`, json],
		[",;,/", undefined],
	])("%j wants %j", (accept, expected) => {
		expect(accepts(accept, [a2a, json])).toBe(expected);
	});
});
