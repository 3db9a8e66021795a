/** `keys new`: the files it makes, what it prints, what it refuses. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadKey } from "../../src/card/keys.ts";
import { keys } from "../../src/cli/keys.ts";
import { inside } from "./inside.ts";

const dir = mkdtempSync(join(tmpdir(), "a2a-gateway-keys-new-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test.each([
	["ES256", "a.json"],
	["EdDSA", "b.json"],
	["RS256", "c.json"],
	["PS256", "d.json"],
	["ES256", "e.pem"],
	["EdDSA", "f.pem"],
	["RS256", "g.PEM"],
])("%s in %s", async (alg, name) => {
	const path = join(dir, name);
	const got = await inside(keys, ["new", "--alg", alg, "--out", path]);
	expect([got.code, got.stderr]).toEqual([0, `private key written to ${path}\n`]);
	const printed = JSON.parse(got.stdout);
	expect(printed).toMatchObject({ alg, use: "sig", kid: expect.any(String) });
	expect(printed).not.toHaveProperty("d");
	if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o600);
	const { key, warnings } = loadKey(path);
	expect([key.jwk, warnings]).toEqual([printed, []]);
});

test("a file is never overwritten", async () => {
	const path = join(dir, "once.json");
	await inside(keys, ["new", "--out", path]);
	const before = readFileSync(path, "utf8");
	const got = await inside(keys, ["new", "--out", path]);
	expect([got.code, got.stdout]).toEqual([1, ""]);
	expect(got.stderr).toContain("the file exists");
	expect(readFileSync(path, "utf8")).toBe(before);
});

test.each([
	[[], /needs the word new/],
	[["old"], /needs the word new/],
	[["new", "--alg", "HS256"], /^--alg: must be one of ES256/],
	[["new", "--alg", "PS256", "--out", join(dir, "x.pem")], /needs a JWK file/],
	[["new", "--ouput", "x"], /^--ouput: unknown flag/],
])("usage: %j", async (argv, message) => {
	const got = await inside(keys, argv);
	expect([got.code, got.stdout]).toEqual([2, ""]);
	expect(got.stderr).toMatch(message);
	expect(existsSync(join(dir, "x.pem"))).toBe(false);
});

test("a directory that is not there", async () => {
	expect(await inside(keys, ["new", "--out", join(dir, "none", "k")])).toMatchObject({ code: 1 });
});

test("help", () => expect(keys.help()).toContain("--alg"));
