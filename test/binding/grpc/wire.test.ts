/** gRPC's frames and header fields, by themselves. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deflate, FrameError, FrameReader, frame, inflate, prefix } from "../../../src/wire/grpc-frame.ts";
import {
	isMetadata,
	readBinary,
	readMessage,
	readMetadata,
	readTimeout,
	writeBinary,
	writeMessage,
	writeTimeout,
} from "../../../src/wire/grpc-metadata.ts";

describe("frames", () => {
	it("come out as they went in, however they are cut", () => {
		const messages = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 });
		fc.assert(
			fc.property(messages, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (sent, cuts) => {
				const bytes = Buffer.concat(sent.map((m) => frame(m)));
				const reader = new FrameReader(1000);
				const got: Buffer[] = [];
				for (let at = 0, i = 0; at < bytes.length; i++) {
					const size = cuts[i % cuts.length] ?? 1;
					reader.push(bytes.subarray(at, at + size));
					at += size;
					for (let next = reader.next(); next; next = reader.next()) got.push(next.bytes);
				}
				expect(got).toEqual(sent.map((m) => Buffer.from(m)));
				expect(reader.partial).toBe(false);
			}),
		);
	});

	it("a large one is refused at its prefix; one cut short is seen", () => {
		const reader = new FrameReader(10);
		reader.push(prefix(11));
		expect(() => reader.next()).toThrow(FrameError);
		const other = new FrameReader(10);
		other.push(prefix(10));
		expect(other.next()).toBeUndefined();
		expect(other.partial).toBe(true);
	});

	it("inflate is the inverse of deflate, within its bound", async () => {
		const bytes = Buffer.from("x".repeat(5000));
		const compressed = { compressed: true, bytes: await deflate(bytes) };
		expect(await inflate(compressed, "gzip", 5000)).toEqual(bytes);
		await expect(inflate(compressed, "gzip", 4999)).rejects.toMatchObject({ fault: "oversized" });
		await expect(inflate(compressed, "identity", 5000)).rejects.toMatchObject({ fault: "malformed" });
	});
});

describe("header fields", () => {
	it("messages survive, whatever they hold", () => {
		fc.assert(
			fc.property(fc.string({ unit: "grapheme" }), (text) => {
				expect(writeMessage(text)).toMatch(/^[\x20-\x7e]*$/);
				expect(readMessage(writeMessage(text))).toBe(text);
			}),
		);
		expect(readMessage("100%, %zz, %")).toBe("100%, %zz, %");
	});

	it("binary values survive", () => {
		fc.assert(
			fc.property(fc.uint8Array(), (bytes) => {
				expect(writeBinary(bytes)).not.toContain("=");
				expect(readBinary(writeBinary(bytes))).toEqual(Buffer.from(bytes));
			}),
		);
		expect(readBinary("AQ==")).toEqual(Buffer.from([1]));
	});

	it.each([
		["1H", 3_600_000],
		["2M", 120_000],
		["3S", 3000],
		["4m", 4],
		["5000u", 5],
		["6000000n", 6],
		["99999999S", 99_999_999_000],
		["0m", 0],
		["123456789m", undefined],
		["m", undefined],
		["1", undefined],
		["-1m", undefined],
		["1s", undefined],
		["1.5S", undefined],
		["", undefined],
		[" 1S", undefined],
	])("timeout %j", (text, ms) => {
		expect(readTimeout(text)).toBe(ms);
	});

	it("timeouts are never shorter than asked, and always well-formed", () => {
		fc.assert(
			fc.property(fc.double({ min: 0, max: 1e13, noNaN: true }), (ms) => {
				expect(readTimeout(writeTimeout(ms))).toBeGreaterThanOrEqual(ms);
			}),
		);
	});

	it("metadata: pseudo fields stay out, lists are joined, reserved names are known", () => {
		expect(readMetadata({ ":path": "/x", a: "1", "set-cookie": ["a", "b"] })).toEqual({ a: "1", "set-cookie": "a, b" });
		expect(isMetadata("x-api.key_1", "v")).toBe(true);
		for (const key of ["te", "grpc-status", ":path", "a b", "Upper", "content-length", ""]) {
			expect(isMetadata(key, "v")).toBe(false);
		}
		expect(isMetadata("x", "é")).toBe(false);
	});
});
