/** The log keeps credentials and control characters out, whatever it is given. */
import { expect, test } from "vitest";
import { createLog, type LogOptions } from "../../src/config/log.ts";

function lines(options: Partial<LogOptions>, use: (log: ReturnType<typeof createLog>) => void): string[] {
	const written: string[] = [];
	use(createLog({ level: "debug", format: "json", ...options, write: (line) => written.push(line) }));
	return written;
}

test("json: one object a line, fields cannot replace level and message", () => {
	const [line = ""] = lines({}, (log) => log.info("hello", { a: 1, level: "x", message: "y" }));
	expect(line.endsWith("\n")).toBe(true);
	expect(JSON.parse(line)).toMatchObject({ level: "info", message: "hello", a: 1 });
});

test("levels", () => {
	const all = (level: LogOptions["level"]) =>
		lines({ level }, (log) => {
			log.debug("d");
			log.info("i");
			log.warn("w");
			log.error("e");
		}).length;
	expect([all("debug"), all("info"), all("warn"), all("error")]).toEqual([4, 3, 2, 1]);
});

test.each([
	{ authorization: "Bearer abcdefgh" },
	{ headers: { Cookie: "session=abcdefgh", "x-api-key": "abcdefgh" } },
	{
		list: [
			{ accessToken: "abcdefgh" },
			{ clientSecret: "abcdefgh" },
			{ password: "abcdefgh" },
			{ credentials: ["abcdefgh"] },
		],
	},
	{ url: "postgres://user:abcdefgh@host/db" },
	{ error: new Error("fetch https://user:abcdefgh@host failed: Authorization Bearer abcdefgh") },
	{ error: new Error("outer", { cause: new Error("Basic abcdefgh") }) },
])("credentials are blacked out: %#", (fields) => {
	for (const format of ["json", "pretty"] as const) {
		const text = lines({ format }, (log) => log.warn("with https://u:abcdefgh@h", fields)).join("");
		expect(text).not.toContain("abcdefgh");
		expect(text).toContain("redacted");
	}
});

test("pretty: no line can be forged, no terminal driven", () => {
	const text = lines({ format: "pretty" }, (log) => log.info("a\nb\x1b[2J", { "k\n": "v\nw", z: "\x1b]0;x\x07" })).join(
		"",
	);
	expect(text.split("\n")).toHaveLength(2);
	expect(text).not.toContain("\x1b");
});

test("odd values are shown as what they are", () => {
	const loop: Record<string, unknown> = {};
	loop["self"] = loop;
	const broken = {
		get value() {
			throw new Error("no");
		},
	};
	const fields = {
		loop,
		broken,
		big: 1n,
		fn: () => {},
		sym: Symbol("s"),
		bytes: new Uint8Array(3),
		none: undefined,
		nil: null,
	};
	const [line = "{}"] = lines({}, (log) => log.info("odd", fields));
	expect(JSON.parse(line)).toMatchObject({
		broken: "[unreadable]",
		big: "1",
		fn: "[function]",
		bytes: "[3 bytes]",
		nil: null,
	});
});

test("stacks only when debugging", () => {
	const at = (level: LogOptions["level"]) =>
		lines({ level }, (log) => log.error("x", { error: new Error("y") })).join("");
	expect(at("debug")).toContain("log.test.ts");
	expect(at("info")).not.toContain("log.test.ts");
});
