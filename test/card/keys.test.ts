/** Signing keys: formats and modes of files, what is refused, what never shows, and rotation. */
import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { generateKey, type KeyRingOptions, keyRing, loadKey, privateJwk } from "../../src/card/keys.ts";
import { ALGORITHMS, KeyError, readPublic, type SigningKey } from "../../src/card/sign-jwk.ts";
import { signAndCheck, verify } from "../../src/card/signature.ts";
import { vector1 } from "./sign-support.ts";

const dir = mkdtempSync(join(tmpdir(), "a2a-gateway-keys-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

let count = 0;
function file(content: string, mode = 0o600): string {
	const path = join(dir, `key-${count++}`);
	writeFileSync(path, content, { mode });
	chmodSync(path, mode);
	return path;
}
const jwkFile = (key: SigningKey, mode?: number) => file(JSON.stringify(privateJwk(key)), mode);
/** In place, as deployments do it: by renaming. */
function replace(path: string, content: string): void {
	const next = `${path}.next`;
	writeFileSync(next, content, { mode: 0o600 });
	renameSync(next, path);
}
const pem = (key: KeyObject, type: "pkcs8" | "sec1" | "pkcs1" = "pkcs8") =>
	String(key.export({ type: type as "pkcs8", format: "pem" }));

const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const ed = generateKeyPairSync("ed25519").privateKey;
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

describe("files", () => {
	test.each<[string, () => string, string]>([
		["PKCS #8, P-256", () => pem(ec), "ES256"],
		["SEC 1", () => pem(ec, "sec1"), "ES256"],
		["PKCS #8, Ed25519", () => pem(ed), "EdDSA"],
		["PKCS #8, RSA", () => pem(rsa), "RS256"],
		["PKCS #1", () => pem(rsa, "pkcs1"), "RS256"],
		["JWK", () => JSON.stringify(ec.export({ format: "jwk" })), "ES256"],
		["JWK that says PS256", () => JSON.stringify({ ...rsa.export({ format: "jwk" }), alg: "PS256" }), "PS256"],
		["JWK that says Ed25519", () => JSON.stringify({ ...ed.export({ format: "jwk" }), alg: "Ed25519" }), "EdDSA"],
		["JWKS", () => JSON.stringify({ keys: [generateKey().jwk, ec.export({ format: "jwk" })] }), "ES256"],
	])("%s", async (_, content, alg) => {
		const { key, warnings } = loadKey(file(content()));
		expect([key.alg, warnings]).toEqual([alg, []]);
		const signed = await signAndCheck(vector1.card, [key]);
		expect(await verify(signed, () => readPublic(JSON.stringify({ keys: [key.jwk] }), "published"))).toMatchObject({
			valid: true,
		});
	});

	test("the kid is the JWK's, else RFC 7638's thumbprint, the same in every format", () => {
		const jwk = ec.export({ format: "jwk" });
		const hashed = JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y });
		const thumbprint = createHash("sha256").update(hashed).digest("base64url");
		expect(loadKey(file(pem(ec))).key.kid).toBe(thumbprint);
		expect(loadKey(file(JSON.stringify(jwk))).key.kid).toBe(thumbprint);
		expect(loadKey(file(JSON.stringify({ ...jwk, kid: "mine" }))).key.kid).toBe("mine");
	});

	test.each<[string, string, RegExp]>([
		["nothing", "", /no key that can be read/],
		["a public JWK", JSON.stringify(generateKey().jwk), /no private key/],
		["a public PEM", String(generateKey().key.export({ type: "spki", format: "pem" })), /no private key/],
		["a shared secret", JSON.stringify({ kty: "oct", k: "c2VjcmV0", d: "x" }), /shared secret/],
		["another curve", pem(generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey), /P-256/],
		["X25519", pem(generateKeyPairSync("x25519").privateKey), /sign no cards/],
		["a short RSA key", pem(generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey), /2048 bits/],
		["an alg that does not fit", JSON.stringify({ ...ec.export({ format: "jwk" }), alg: "RS256" }), /does not fit/],
		["a key for encryption", JSON.stringify({ ...ec.export({ format: "jwk" }), use: "enc" }), /not sig/],
		[
			"a key that may not sign",
			JSON.stringify({ ...ec.export({ format: "jwk" }), key_ops: ["verify"] }),
			/not for signing/,
		],
		["no JSON", '{"kty":"EC","d":"topsecret"', /not a JSON object/],
		[
			"an encrypted key",
			String(ec.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" })),
			/encrypted/,
		],
	])("refused: %s", (_, content, reason) => {
		const path = file(content);
		expect(() => loadKey(path)).toThrow(KeyError);
		expect(() => loadKey(path)).toThrow(reason);
		expect(() => loadKey(path)).not.toThrow(/topsecret/);
	});
	test("refused: a file that is not there, or too large", () => {
		expect(() => loadKey(join(dir, "none"))).toThrow(/no such file/);
		expect(() => loadKey(file(" ".repeat(70_000)))).toThrow(/larger than/);
	});

	test.skipIf(process.platform === "win32")("modes", () => {
		const key = generateKey();
		for (const mode of [0o644, 0o604, 0o622, 0o620]) {
			const path = jwkFile(key, mode);
			expect(() => loadKey(path)).toThrow(/chmod 600/);
			expect(loadKey(path, true).warnings).toEqual([expect.stringContaining("chmod 600")]);
		}
		expect(loadKey(jwkFile(key, 0o640)).warnings).toEqual([expect.stringContaining("its group may read it")]);
		expect(loadKey(jwkFile(key, 0o400)).warnings).toEqual([]);
	});
});

test.each(ALGORITHMS)("%s: nothing private shows but where it is asked for", (alg) => {
	const key = generateKey(alg);
	const { d, p } = privateJwk(key) as { d: string; p?: string };
	const ring = keyRing({ files: [jwkFile(key)] });
	for (const text of [
		JSON.stringify(key),
		inspect(key, { depth: 9, showHidden: true }),
		JSON.stringify(ring.jwks),
		inspect(ring, { depth: 9 }),
	]) {
		expect(text).not.toContain(d);
		if (p) expect(text).not.toContain(p);
	}
	expect(Object.keys(ring.jwks.keys[0] ?? {}).filter((name) => /^(d|p|q|dp|dq|qi|k|oth)$/.test(name))).toEqual([]);
});

describe("the ring", () => {
	const [a, b, c] = [generateKey(), generateKey("EdDSA"), generateKey()];
	const text = (key: SigningKey) => JSON.stringify(privateJwk(key));
	function ringOf(files: readonly string[], more: Partial<KeyRingOptions> = {}) {
		const clock = { now: 1_000_000 };
		const reports: unknown[] = [];
		const ring = keyRing({
			files,
			announce: 300,
			overlap: 1_000,
			now: () => clock.now,
			report: (error) => reports.push(error),
			...more,
		});
		const kids = () => ring.jwks.keys.map(({ kid }) => kid);
		return { ring, clock, reports, kids };
	}

	test("without files: a key of its own, said so", () => {
		const { ring, kids } = ringOf([]);
		expect(ring.ephemeral).toBe(true);
		expect(kids()).toEqual([ring.signing.kid]);
		expect(ring.refresh()).toBe(false);
	});

	test("all files are published, the first signs", () => {
		const { ring, kids } = ringOf([jwkFile(a), jwkFile(b)]);
		expect([ring.ephemeral, ring.signing.kid, kids()]).toEqual([false, a.kid, [a.kid, b.kid]]);
		const { jwks } = ring;
		expect(ring.refresh()).toBe(false);
		expect(ring.jwks).toBe(jwks);
	});

	test("a key replaced in place is announced before it signs, and its predecessor published after", () => {
		const path = jwkFile(a);
		const { ring, clock, kids } = ringOf([path]);
		replace(path, text(b));
		expect(ring.refresh()).toBe(true);
		expect([ring.signing.kid, kids()]).toEqual([a.kid, [b.kid, a.kid]]);
		clock.now += 299;
		expect(ring.refresh()).toBe(false);
		clock.now += 1;
		expect(ring.refresh()).toBe(true);
		expect([ring.signing.kid, kids()]).toEqual([b.kid, [b.kid, a.kid]]);
		clock.now += 999;
		expect(ring.refresh()).toBe(false);
		clock.now += 1;
		expect(ring.refresh()).toBe(true);
		expect(kids()).toEqual([b.kid]);
	});

	test("a key published beforehand signs at once when it moves to the front", () => {
		const [first, second] = [jwkFile(a), jwkFile(b)];
		const { ring, kids } = ringOf([first, second]);
		replace(first, text(b));
		replace(second, text(c));
		expect(ring.refresh()).toBe(true);
		expect([ring.signing.kid, kids()]).toEqual([b.kid, [b.kid, c.kid, a.kid]]);
	});

	test("a removed key that comes back is like any other", () => {
		const path = jwkFile(a);
		const { ring, clock, kids } = ringOf([path]);
		replace(path, text(b));
		ring.refresh();
		replace(path, text(a));
		ring.refresh();
		clock.now += 5_000;
		ring.refresh();
		expect([ring.signing.kid, kids()]).toEqual([a.kid, [a.kid]]);
	});

	test("files that cannot be used leave the keys as they are, and are told", () => {
		const path = jwkFile(a);
		const { ring, kids, reports } = ringOf([path]);
		for (const bad of ["{", JSON.stringify({ ...privateJwk(c), kid: a.kid })]) {
			replace(path, bad);
			expect(ring.refresh()).toBe(false);
			expect([ring.signing.kid, kids()]).toEqual([a.kid, [a.kid]]);
		}
		rmSync(path);
		expect(ring.refresh()).toBe(false);
		expect(reports.map(String)).toEqual([
			expect.stringContaining("not a JSON object"),
			expect.stringContaining("another key has the kid"),
			expect.stringContaining("no such file"),
		]);
		writeFileSync(path, text(b), { mode: 0o600 });
		expect(ring.refresh()).toBe(true);
	});

	test("two files with one kid are refused, as is a file that cannot be read", () => {
		expect(() => keyRing({ files: [jwkFile(a), jwkFile(a)] })).toThrow("the same kid");
		expect(() => keyRing({ files: [join(dir, "none")] })).toThrow("no such file");
	});

	test("nobody with a JWKS as old as the announcement ever meets a signature without its key", async () => {
		const path = jwkFile(a);
		const { ring, clock } = ringOf([path], { overlap: 2_000 });
		let cached = { at: clock.now, keys: ring.jwks.keys };
		const used = new Set<string>();
		for (let step = 0; step < 60; step++) {
			if (step === 10) replace(path, text(b));
			if (step === 30) replace(path, text(c));
			clock.now += 50;
			ring.refresh();
			// The worst client: it asks for keys only when what it has is 300 old.
			if (clock.now - cached.at >= 300) cached = { at: clock.now, keys: ring.jwks.keys };
			expect(cached.keys.map(({ kid }) => kid)).toContain(ring.signing.kid);
			used.add(ring.signing.kid);
		}
		expect([...used]).toEqual([a.kid, b.kid, c.kid]);
	});

	test("watch tells of changes until it is ended", async () => {
		const path = jwkFile(a);
		const { ring } = ringOf([path]);
		const changed = Promise.withResolvers<void>();
		const end = ring.watch(() => changed.resolve(), 5);
		replace(path, text(b));
		await changed.promise;
		end();
		expect(ring.jwks.keys).toHaveLength(2);
	});
});
