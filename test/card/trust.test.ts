/** Trust in an agent's signatures: policies, where keys may come from, and what is not fetched for a stranger. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, describe, expect, test } from "vitest";
import { CardError } from "../../src/card/error.ts";
import { generateKey } from "../../src/card/keys.ts";
import { isPublic, keyFetcher, MAX_JWKS } from "../../src/card/sign-fetch.ts";
import type { SigningKey } from "../../src/card/sign-jwk.ts";
import { jwksCache } from "../../src/card/sign-jwks.ts";
import { sign } from "../../src/card/signature.ts";
import { keyFinder, type TrustOptions, trust } from "../../src/card/trust.ts";
import { vector1 } from "./sign-support.ts";
import { certificate, json, serve } from "./support.ts";

const dir = mkdtempSync(join(tmpdir(), "a2a-gateway-trust-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const key = generateKey();
const other = generateKey("EdDSA");
const jwks = (...keys: SigningKey[]) => ({ keys: keys.map((k) => k.jwk) });
const keysFile = (...keys: SigningKey[]) => {
	const path = join(dir, `${keys.map((k) => k.kid).join("")}.json`);
	writeFileSync(path, JSON.stringify(jwks(...keys)));
	return path;
};
async function signed(by: SigningKey = key, jku?: string): Promise<JsonObject> {
	return { ...vector1.card, signatures: (await sign(vector1.card, [by], { jku })).map((s) => ({ ...s })) };
}

async function judge(card: JsonObject, options: Partial<TrustOptions>) {
	const own = trust({ policy: "require", ...options });
	try {
		return await own.judge(card);
	} finally {
		await own.close();
	}
}

describe("policies", () => {
	const files = [keysFile(key)];
	test.each([
		["require", true, true],
		["require", false, false],
		["warn", true, true],
		["warn", false, true],
		["ignore", false, true],
	] as const)("%s, good signature: %s", async (policy, good, accepted) => {
		const own = trust({ policy, files });
		const card = await signed(good ? key : other);
		const judgement = await own.judge(card);
		expect(judgement.accepted).toBe(accepted);
		expect(judgement.reason).toMatch(
			policy === "ignore" ? /not looked at/ : good ? /signed by the key/ : /unknown key/,
		);
		const admitted = own.admit(card, "here");
		if (!accepted) {
			const error = await admitted.catch((e: unknown) => e);
			expect(error).toBeInstanceOf(CardError);
			expect(error).toMatchObject({
				operator: expect.stringContaining("the card from here is not trusted: unknown key"),
			});
			expect((error as CardError).public).not.toContain("key");
		} else if (policy === "warn" && !good) expect(await admitted).toContain("not trusted, but used");
		else expect(await admitted).toBeUndefined();
		await own.close();
	});
	test("require without keys makes no sense", () => {
		expect(() => trust({ policy: "require" })).toThrow("no keys");
	});
	test("an unsigned card", async () => {
		expect(await judge(vector1.card, { files })).toMatchObject({ accepted: false, reason: "the card is not signed" });
	});
	test.each<[string, Partial<TrustOptions>]>([
		["no file", { files: [join(dir, "none")] }],
		["a file without keys", { files: [keysFile()] }],
		["no URL", { jwks: ["ftp://x"] }],
		["a URL with a password", { jwks: ["https://u:p@x/"] }],
		["no host", { jku: ["a/b"] }],
	])("%s is refused at once", (_, options) => {
		expect(() => trust({ policy: "require", ...options })).toThrow();
	});
	test("a file that changes is read again", async () => {
		const path = join(dir, "changing.json");
		writeFileSync(path, JSON.stringify(jwks(other)));
		const own = trust({ policy: "require", files: [path] });
		expect(await own.judge(await signed())).toMatchObject({ accepted: false });
		writeFileSync(path, JSON.stringify(jwks(other, key)));
		expect(await own.judge(await signed())).toMatchObject({ accepted: true });
		await own.close();
	});
});

describe("jku", () => {
	test("leads to an allowed origin, or to an allowed URL only", async () => {
		await using server = await serve({ "/jwks.json": json(jwks(key)), "/other.json": json(jwks(key)) });
		const card = await signed(key, `${server.url}/jwks.json`);
		expect(await judge(card, { jku: [server.url] })).toMatchObject({ accepted: true });
		expect(await judge(card, { jku: [`${server.url}/jwks.json`] })).toMatchObject({ accepted: true });
		expect(server.asked).toEqual(["/jwks.json", "/jwks.json"]);
		expect(await judge(card, { jku: [`${server.url}/other.json`] })).toMatchObject({
			accepted: false,
			reason: expect.stringContaining("not allowed"),
		});
		expect(server.asked).toHaveLength(2);
	});
	test.each<[string, (port: number) => string, (port: number) => string, RegExp]>([
		["another host", (p) => `http://127.0.0.1:${p}/k`, () => "keys.example", /not allowed/],
		["another port", (p) => `http://127.0.0.1:${p}/k`, (p) => `http://127.0.0.1:${p + 1}`, /not allowed/],
		["http on a host that is allowed", (p) => `http://localhost:${p}/k`, (p) => `localhost:${p}`, /not allowed/],
		["credentials", (p) => `http://u:p@127.0.0.1:${p}/k`, (p) => `http://127.0.0.1:${p}`, /not allowed/],
		[
			"a private address",
			(p) => `https://127.0.0.1:${p}/k`,
			(p) => `127.0.0.1:${p}`,
			/127\.0\.0\.1 is not a public address/,
		],
		["a private address in disguise", (p) => `https://0x7f.1:${p}/k`, (p) => `127.0.0.1:${p}`, /not a public address/],
		["IPv6 loopback", (p) => `https://[::1]:${p}/k`, (p) => `[::1]:${p}`, /::1 is not a public address/],
		[
			"a name with a private address",
			(p) => `https://localhost:${p}/k`,
			(p) => `localhost:${p}`,
			/localhost has the address .*not public/,
		],
		["a file", () => "file:///etc/passwd", () => "keys.example", /no http\(s\) URL/],
		["no URL", () => "::", () => "keys.example", /no http\(s\) URL/],
	])("to %s is not followed", async (_, jku, allow, reason) => {
		await using server = await serve({ "*": json(jwks(key)) });
		const judgement = await judge(await signed(key, jku(server.port)), { jku: [allow(server.port)] });
		expect(judgement).toMatchObject({ accepted: false, reason: expect.stringMatching(reason) });
		expect(judgement.reason).not.toContain("u:p");
		expect(server.asked).toEqual([]);
	});
	test("is not looked at when nobody allowed it", async () => {
		await using server = await serve({ "*": json(jwks(key)) });
		const judgement = await judge(await signed(key, `${server.url}/k`), { files: [keysFile(other)] });
		expect(judgement).toMatchObject({ accepted: false, reason: expect.stringContaining("unknown key") });
		expect(server.asked).toEqual([]);
	});
	test("over TLS, with the operator's authorities", async () => {
		await using server = await serve({ "/k": json(jwks(key)) }, true);
		const card = await signed(key, `${server.url}/k`);
		expect(await judge(card, { jku: [server.url], ca: certificate })).toMatchObject({ accepted: true });
		expect(await judge(card, { jku: [server.url] })).toMatchObject({ reason: expect.stringContaining("certificate") });
	});
});

test.each([
	["8.8.8.8", true],
	["2606:4700::1111", true],
	["0.0.0.0", false],
	["10.1.2.3", false],
	["100.64.0.1", false],
	["127.255.0.1", false],
	["169.254.169.254", false],
	["172.31.0.1", false],
	["172.32.0.1", true],
	["192.168.1.1", false],
	["224.0.0.1", false],
	["255.255.255.255", false],
	["::", false],
	["::1", false],
	["::ffff:10.0.0.1", false],
	["::ffff:8.8.8.8", false],
	["64:ff9b::a00:1", false],
	["2002:a00:1::", false],
	["2001:db8::1", false],
	["fc00::1", false],
	["fe80::1", false],
	["ff02::1", false],
	["nonsense", false],
])("%s is public: %s", (address, wanted) => expect(isPublic(address)).toBe(wanted));

describe("key sets at a URL", () => {
	test("bounds", async () => {
		await using server = await serve({
			"/moved": (_, res) => void res.writeHead(302, { location: "/good" }).end(),
			"/good": json(jwks(key)),
			"/large": (_, res) => void res.writeHead(200).end(" ".repeat(MAX_JWKS + 1)),
			"/html": (_, res) => void res.writeHead(200).end("<html>"),
			"/none": json({ keys: "x" }),
			"/slow": () => {},
			"/drip": (_, res) => void res.writeHead(200).write("{"),
			"/cut": (_, res) => {
				res.writeHead(200, { "content-length": "100" }).write("{");
				setTimeout(() => res.destroy(), 10);
			},
		});
		const from = async (path: string) =>
			(await judge(await signed(), { jwks: [`${server.url}${path}`], timeout: 300 })).reason;
		expect(await from("/good")).toContain("signed by");
		expect(await from("/moved")).toContain("redirects are not followed");
		expect(await from("/large")).toContain("larger than");
		expect(await from("/html")).toContain("no key that can be read");
		expect(await from("/none")).toContain('"keys" is no list');
		expect(await from("/slow")).toContain("no answer within 300 ms");
		expect(await from("/drip")).toContain("no answer within 300 ms");
		expect(await from("/cut")).toContain("cannot fetch the keys");
		expect(await from("/absent")).toContain("HTTP 404");
		expect(server.asked.filter((path) => path === "/good")).toHaveLength(1);
	});

	test("are cached; an unknown kid asks once more, not too often; one request at a time", async () => {
		let set = jwks(key);
		await using server = await serve({ "/k": (req, res) => json(set, { "cache-control": "max-age=600" })(req, res) });
		let now = 1_000_000;
		const fetcher = keyFetcher();
		const cache = jwksCache({ fetcher, now: () => now });
		const url = new URL(`${server.url}/k`);
		const kids = async (kid: string) => (await cache.keys(url, true, kid)).map((k) => k.kid);
		await Promise.all([kids(key.kid), kids(key.kid), kids("x")]);
		expect(server.asked).toHaveLength(1);
		set = jwks(key, other);
		for (let i = 0; i < 5; i++) expect(await kids(`unknown-${i}`)).toEqual([key.kid]);
		expect(server.asked).toHaveLength(1);
		now += 30_000;
		expect(await kids(other.kid)).toEqual([key.kid, other.kid]);
		for (let i = 0; i < 5; i++) await kids(`unknown-${i}`);
		expect(server.asked).toHaveLength(2);
		// Fresh for ten minutes, then asked again.
		now += 599_000;
		await kids(key.kid);
		expect(server.asked).toHaveLength(2);
		now += 1_000;
		await kids(key.kid);
		expect(server.asked).toHaveLength(3);
		await fetcher.close();
	});

	test("that cannot be had for a while are used on, but not for ever", async () => {
		let down = false;
		await using server = await serve({
			"/k": (req, res) =>
				down ? void res.writeHead(503).end() : json(jwks(key), { "cache-control": "max-age=60" })(req, res),
		});
		let now = 1_000_000;
		const fetcher = keyFetcher();
		const cache = jwksCache({ fetcher, now: () => now, stale: 100_000 });
		const url = new URL(`${server.url}/k`);
		await cache.keys(url, true, key.kid);
		down = true;
		now += 60_000;
		expect(await cache.keys(url, true, key.kid)).toHaveLength(1);
		now += 100_000;
		await expect(cache.keys(url, true, key.kid)).rejects.toThrow("HTTP 503");
		const before = server.asked.length;
		await expect(cache.keys(url, true, key.kid)).rejects.toThrow("HTTP 503");
		expect(server.asked).toHaveLength(before);
		down = false;
		now += 5_000;
		expect(await cache.keys(url, true, key.kid)).toHaveLength(1);
		await fetcher.close();
	});

	test("keys that are revoked, expired or for something else do not count", async () => {
		const good = key.jwk;
		await using server = await serve({
			"/revoked": json({ keys: [{ ...good, revoked: { revoked_at: 1 } }] }),
			"/expired": json({ keys: [{ ...good, exp: 1 }] }),
			"/enc": json({ keys: [{ ...good, use: "enc" }] }),
			"/mixed": json({ keys: [{ kty: "oct", k: "eA" }, "x", { kty: "EC", crv: "P-384", x: "eA", y: "eA" }, good] }),
		});
		const from = async (path: string) => (await judge(await signed(), { jwks: [`${server.url}${path}`] })).reason;
		expect(await from("/revoked")).toContain("unknown key");
		expect(await from("/expired")).toContain("the key has expired");
		expect(await from("/enc")).toContain("unknown key");
		expect(await from("/mixed")).toContain("signed by");
	});

	test("the next URL is asked when one has not the key", async () => {
		await using server = await serve({ "/a": json(jwks(other)), "/b": json(jwks(key)) });
		const finder = keyFinder({ jwks: [`${server.url}/none`, `${server.url}/a`, `${server.url}/b`] });
		const found = await finder.resolve({ kid: key.kid, alg: "ES256", jku: undefined });
		expect(found.map((k) => k.kid)).toEqual([key.kid]);
		await expect(finder.resolve({ kid: "nobody", alg: "ES256", jku: undefined })).rejects.toThrow(/HTTP 404/);
		await finder.close();
	});
});
