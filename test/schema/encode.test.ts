/** The short cuts between ProtoJSON and binary against protobuf-es: they give up or agree, byte for byte. */
import {
	type DescMessage,
	fromBinary,
	fromJson,
	type JsonObject,
	type JsonValue,
	toBinary,
	toJson,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { file_lf_a2a_v1_a2a, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { decodeJson } from "../../src/schema/decode.ts";
import { encodeJson, surelyFits } from "../../src/schema/encode.ts";
import { arbitraryMessage } from "../arbitrary/message.ts";

const types = file_lf_a2a_v1_a2a.messages;

function long(type: DescMessage, json: JsonValue): Uint8Array | undefined {
	try {
		return toBinary(type, fromJson(type, json, { ignoreUnknownFields: true }));
	} catch {
		return undefined;
	}
}

/** Gives up, or says what the long way says. Tells which. */
function agrees(type: DescMessage, json: JsonValue): boolean {
	const bytes = encodeJson(type, json);
	const fits = surelyFits(type, json);
	if (bytes !== undefined) expect(fits).toBe(true);
	if (fits) expect(long(type, json)).toBeDefined();
	if (bytes !== undefined) expect(Buffer.from(bytes).toString("hex")).toBe(hex(long(type, json)));
	return bytes !== undefined;
}

const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("hex");

/** Every place in a value, as paths. */
function* places(value: JsonValue, path: (string | number)[] = []): Iterable<(string | number)[]> {
	yield path;
	if (typeof value !== "object" || value === null) return;
	for (const [key, inner] of Object.entries(value)) yield* places(inner as JsonValue, [...path, key]);
}

function put(value: JsonValue, path: readonly (string | number)[], odd: JsonValue): JsonValue {
	const [first, ...rest] = path;
	if (first === undefined) return odd;
	const copy = (Array.isArray(value) ? [...value] : { ...(value as JsonObject) }) as Record<string | number, JsonValue>;
	copy[first] = put(copy[first] as JsonValue, rest, odd);
	return copy as JsonValue;
}

const odd: readonly JsonValue[] = [
	null, true, false, 0, -1, 1.5, 2 ** 31, 2 ** 40, "", "x", "\ud800", "1", "NaN", [], [null], [1], ["a", []], {}, { a: null },
	{ a: { b: [1, "\udc00"] } }, "2025-02-29T00:00:00Z", "2025-02-30T00:00:00.5Z", "0000-01-01T00:00:00Z", "1969-12-31T23:59:59Z",
	"2025-01-02T03:04:05.123456789Z", "2025-01-02T03:04:05.12Z", "2025-01-02T03:04:05+01:00", "2025-01-02T24:00:00Z", "TASK_STATE_WORKING",
	"TASK_STATE_NEW", 3, 99, "AAA=", { task: {}, message: {} }, { text: "a", raw: "AAA=" }, { text: "a", url: null },
	{ context_id: "a", contextId: "b" }, { messageId: "é€😀".repeat(20) }, "x".repeat(200), "é".repeat(42), "é".repeat(43),
]; // biome-ignore format: a list

describe.each(types.map((type) => [type.name, type] as const))("%s", (_, type) => {
	test("valid, and with anything odd in any place", () => {
		let short = 0;
		fc.assert(
			fc.property(arbitraryMessage(type), fc.nat(), fc.constantFrom(...odd), (message, at, strange) => {
				const json = JSON.parse(JSON.stringify(toJson(type, message))) as JsonValue;
				if (agrees(type, json)) short++;
				const all = [...places(json)];
				agrees(type, put(json, all[at % all.length] ?? [], strange));
			}),
			{ numRuns: 150 },
		);
		// A short cut that never is one would pass everything above.
		expect(short).toBeGreaterThan(0);
	});
});

test("content of every size around the lengths' own sizes", () => {
	for (const size of [
		0, 1, 41, 42, 43, 100, 119, 120, 126, 127, 128, 129, 16_370, 16_383, 16_384, 16_390, 65_000, 70_000,
	]) {
		for (const letter of ["x", "é", "€"]) {
			const said = letter.repeat(size);
			agrees(StreamResponseSchema, {
				message: { messageId: "m", role: "ROLE_USER", parts: [{ text: said }, { data: { [said]: [said] } }] },
			});
		}
	}
	expect(encodeJson(StreamResponseSchema, { message: { messageId: "x".repeat(20_000) } })).toBeDefined();
	for (const size of [65_000, 70_000, 2_097_000, 2_097_151, 2_097_152, 3_000_000]) {
		for (const letter of ["x", "é"]) {
			const json = {
				message: { messageId: "m", parts: [{ text: letter.repeat(size) }], metadata: { numbers: [1, 2, 3] } },
			};
			const bytes = encodeJson(StreamResponseSchema, json, size);
			if (letter === "x") expect(bytes).toBeDefined();
			const same =
				bytes === undefined || Buffer.compare(bytes, long(StreamResponseSchema, json) ?? new Uint8Array()) === 0;
			expect(same).toBe(true);
		}
	}
});

test("deep content", () => {
	for (let depth = 1; depth < 120; depth++) {
		let data: JsonValue = 1;
		for (let i = 0; i < depth; i++) data = i % 2 === 0 ? [data] : { a: data };
		agrees(StreamResponseSchema, { message: { parts: [{ data }] } });
	}
});

function longJson(type: DescMessage, bytes: Uint8Array): JsonValue | undefined {
	try {
		return toJson(type, fromBinary(type, bytes));
	} catch {
		return undefined;
	}
}

/** Whether it gave up; what it says otherwise is what the long way says. */
function decodes(type: DescMessage, bytes: Uint8Array): boolean {
	const json = decodeJson(type, bytes);
	if (json !== undefined) expect(json).toEqual(longJson(type, bytes));
	return json !== undefined;
}

describe.each(types.map((type) => [type.name, type] as const))("%s from binary", (_, type) => {
	test("valid, cut, repeated, and with any byte changed", () => {
		let short = 0;
		fc.assert(
			fc.property(arbitraryMessage(type), fc.nat(), fc.integer({ min: 0, max: 255 }), (message, at, strange) => {
				const bytes = toBinary(type, message);
				if (decodes(type, bytes)) short++;
				const changed = Uint8Array.from(bytes);
				if (bytes.length > 0) changed[at % bytes.length] = strange;
				decodes(type, changed);
				decodes(type, bytes.subarray(0, at % (bytes.length + 1)));
				decodes(type, Buffer.concat([bytes, changed]));
			}),
			{ numRuns: 200 },
		);
		expect(short).toBeGreaterThan(0);
	});

	test("with fields it does not know", () => {
		fc.assert(
			fc.property(arbitraryMessage(type, { unknown: true }), (message) => {
				decodes(type, toBinary(type, message));
			}),
			{ numRuns: 50 },
		);
	});
});

test("deep content from binary", () => {
	for (let depth = 1; depth < 45; depth++) {
		let data: JsonValue = 1;
		for (let i = 0; i < depth; i++) data = i % 2 === 0 ? [data] : { a: data };
		const bytes = long(StreamResponseSchema, { message: { parts: [{ data }] } });
		if (bytes) decodes(StreamResponseSchema, bytes);
	}
});
