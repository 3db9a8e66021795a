/** Signatures of cards: vectors, the official SDK both ways, what is refused, and every way to change a signed card. */
import { createPrivateKey, createPublicKey, createSign, generateKeyPairSync, sign as rawSign } from "node:crypto";
import { AgentCard, generateAgentCardSignature } from "@a2a-js/sdk";
import { type DescMessage, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { FlattenedSign, flattenedVerify } from "jose";
import { describe, expect, it, test, vi } from "vitest";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { canonical, signable } from "../../src/card/canonical.ts";
import { generateKey } from "../../src/card/keys.ts";
import { ALGORITHMS, type PublicKey, readPrivate, readPublic, thumbprint } from "../../src/card/sign-jwk.ts";
import { sign, signAndCheck, type Verdict, type VerifyOptions, verify } from "../../src/card/signature.ts";
import { hybridCard } from "../../src/dialect/v0_3/card.ts";
import { arbitraryMessage } from "../arbitrary/message.ts";
import { pythonPayload, rfc7515, rfc7638, sdkVerify, throughSdk, vector1 } from "./sign-support.ts";
import { cardV1 } from "./support.ts";

/** Cards made at random are any messages to the compiler. */
const schema: DescMessage = AgentCardSchema;
const key = generateKey("ES256");
const check = (card: JsonObject, keys: readonly PublicKey[] = [key], options?: VerifyOptions): Promise<Verdict> =>
	verify(card, () => keys, options);
const copy = (card: JsonObject): JsonObject => JSON.parse(JSON.stringify(card)) as JsonObject;
const signatures = (card: JsonObject) => card["signatures"] as JsonObject[];

/** One signature over any payload, with any header. */
async function by(payload: string, header: JsonObject, keyOf = key): Promise<JsonObject> {
	const jws = await new FlattenedSign(Buffer.from(payload)).setProtectedHeader(header).sign(keyOf.private);
	return { protected: jws.protected ?? "", signature: jws.signature };
}

describe("vectors", () => {
	const [public1] = readPublic(JSON.stringify(vector1.jwk), "vector 1");
	const signed: JsonObject = {
		...vector1.card,
		signatures: [{ protected: vector1.protected, signature: vector1.signature }],
	};
	test("the reference's signature is accepted", async () => {
		expect(await check(signed, [public1 as PublicKey])).toMatchObject({ valid: true, kid: "gh-1", uncovered: [] });
	});
	test("and not on another card", async () => {
		expect(await check({ ...signed, version: "2.1.1" }, [public1 as PublicKey])).toMatchObject({
			valid: false,
			reason: expect.stringContaining("altered"),
		});
	});
	test("RFC 7515 A.3", async () => {
		const [found] = readPublic(JSON.stringify(rfc7515.jwk), "A.3");
		const { protected: head, payload, signature } = rfc7515;
		await flattenedVerify({ protected: head, payload, signature }, (found as PublicKey).key);
		expect(Object.keys((found as PublicKey).jwk)).not.toContain("d");
	});
	test("RFC 7638 3.1", () => {
		const [found] = readPublic(JSON.stringify(rfc7638.jwk), "3.1");
		expect(thumbprint((found as PublicKey).key)).toBe(rfc7638.thumbprint);
	});
});

describe.each(ALGORITHMS)("%s", (alg) => {
	const own = generateKey(alg);
	test("is signed, verified here, by the SDK, and through the SDK's types", async () => {
		for (const card of [vector1.card, cardV1, hybridCard(cardV1)]) {
			const signed = copy(await signAndCheck(signable(card), [own], { jku: "https://gw.example/jwks.json" }));
			expect(await check(signed, [own])).toMatchObject({ valid: true, kid: own.kid, uncovered: [] });
			expect(await sdkVerify(signed, [own])).toBeUndefined();
			expect(await sdkVerify(AgentCard.toJSON(AgentCard.fromJSON(signed)), [own])).toBeUndefined();
			expect(await check(throughSdk(signed), [own])).toMatchObject({ valid: true, uncovered: [] });
			const header = JSON.parse(Buffer.from(String(signatures(signed)[0]?.["protected"]), "base64url").toString());
			expect(header).toMatchObject({ alg, typ: "JOSE", kid: own.kid, jku: "https://gw.example/jwks.json" });
		}
	});
	test("of the SDK is accepted", async () => {
		const signer = generateAgentCardSignature(own.private, { alg, kid: "theirs", typ: "JOSE" });
		const theirs = [{ ...own, kid: "theirs" }];
		for (const card of [vector1.card, cardV1, hybridCard(cardV1)]) {
			const signed = copy((await signer(card as unknown as AgentCard)) as unknown as JsonObject);
			expect(await check(signed, theirs)).toMatchObject({ valid: true, kid: "theirs" });
		}
	});
});

describe("verifiers that differ", () => {
	const awkward: JsonObject = { ...vector1.card, description: "", name: "Beetsensor für Gärten ☀" };
	test("each finds a signature of its form; together they cover everything", async () => {
		const signed = copy(await signAndCheck(awkward, [key]));
		expect(signatures(signed)).toHaveLength(3);
		expect(await sdkVerify(signed, [key])).toBeUndefined();
		const python = Buffer.from(pythonPayload(signed)).toString("base64url");
		const results = await Promise.allSettled(
			signatures(signed).map((s) =>
				flattenedVerify(
					{ protected: String(s["protected"]), payload: python, signature: String(s["signature"]) },
					key.key,
				),
			),
		);
		expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
		expect(await check(signed)).toMatchObject({ valid: true, uncovered: [] });
		expect(await check(throughSdk(signed))).toMatchObject({ valid: true, uncovered: [] });
	});
	test("one signature does where they agree", async () => {
		expect(signatures(await signAndCheck(vector1.card, [key]))).toHaveLength(1);
	});
	test("what a foreign signature does not cover is told, or refused", async () => {
		const signed: JsonObject = {
			...cardV1,
			signatures: [await by(canonical(cardV1).payload("stripped"), { alg: "ES256", kid: key.kid })],
		};
		expect(await check(signed)).toMatchObject({ valid: true, uncovered: ["/securityRequirements/1"] });
		expect(await check(signed, [key], { uncovered: "refuse" })).toMatchObject({
			valid: false,
			reason: expect.stringContaining("does not cover /securityRequirements/1"),
		});
		expect(await check({ ...signed, extra: 1 })).toMatchObject({ uncovered: ["/securityRequirements/1", "/extra"] });
	});
	test("a signature that leaves out the security schemes counts only when that is allowed", async () => {
		const signer = generateAgentCardSignature(key.private, { alg: "ES256", kid: key.kid, typ: "JOSE" });
		const signed = copy(AgentCard.toJSON(await signer(AgentCard.fromJSON(cardV1))) as JsonObject);
		expect(await check(signed)).toMatchObject({
			valid: false,
			reason: expect.stringMatching(/does not cover \/securitySchemes.*JS SDK/),
		});
		expect(await check(signed, [key], { uncovered: "allow" })).toMatchObject({ valid: true });
	});
});

test("the SDK's client verifies its own types: where there are security schemes, only with the signature made for that", async () => {
	const held = async (card: JsonObject, inMemory: boolean) => {
		const signed = copy(await signAndCheck(signable(card), [key], { inMemory }));
		expect(await check(signed)).toMatchObject({ valid: true, uncovered: [] });
		expect(await sdkVerify(signed, [key])).toBeUndefined();
		return sdkVerify(AgentCard.fromJSON(signed), [key]);
	};
	expect(await held(vector1.card, false)).toBeUndefined();
	expect(await held(cardV1, false)).toContain("No valid signatures");
	expect(await held(cardV1, true)).toBeUndefined();
	// What makes it a choice: alone, that signature says nothing of the schemes. This verifier does not take it alone.
	const signed = copy(await signAndCheck(signable(cardV1), [key], { inMemory: true }));
	const { securitySchemes: _, ...robbed } = signed;
	expect(await check(robbed)).toMatchObject({ valid: false, reason: expect.stringContaining("altered") });
});

describe("refused", () => {
	const good = () => by(vector1.payload, { alg: "ES256", typ: "JOSE", kid: key.kid });
	const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
	const none = Buffer.from(JSON.stringify({ alg: "none", kid: key.kid })).toString("base64url");
	const secret = Buffer.from(key.key.export({ type: "spki", format: "pem" }));
	const cases: [string, () => unknown, RegExp][] = [
		["no signatures", () => undefined, /not signed/],
		["an empty list", () => [], /not signed/],
		["too many", () => Array.from({ length: 17 }, () => ({})), /more than 16/],
		["no object", () => ["x"], /malformed: not an object/],
		["no base64url", () => [{ protected: "a b", signature: "eA" }], /protected is not base64url/],
		["no JSON", () => [{ protected: "eA", signature: "eA" }], /not a JSON object/],
		["no kid", async () => [await by(vector1.payload, { alg: "ES256" })], /names no kid/],
		[
			"a kid without end",
			async () => [await by(vector1.payload, { alg: "ES256", kid: "k".repeat(300) })],
			/longer than 256/,
		],
		["none", () => [{ protected: none, signature: "eA" }], /alg "none" is refused/],
		[
			"a public key as a shared secret",
			async () => {
				const jws = new FlattenedSign(Buffer.from(vector1.payload)).setProtectedHeader({ alg: "HS256", kid: key.kid });
				return [await jws.sign(secret)];
			},
			/alg "HS256" is refused/,
		],
		[
			"crit",
			async () => {
				const head = Buffer.from(JSON.stringify({ alg: "ES256", kid: key.kid, crit: ["exp"], exp: 1 })).toString(
					"base64url",
				);
				const body = Buffer.from(vector1.payload).toString("base64url");
				const signature = rawSign("sha256", Buffer.from(`${head}.${body}`), {
					key: key.private,
					dsaEncoding: "ieee-p1363",
				});
				return [{ protected: head, signature: signature.toString("base64url") }];
			},
			/crit and b64 are refused/,
		],
		[
			"another key's name",
			async () => [await by(vector1.payload, { alg: "ES256", kid: "other" })],
			/unknown key \(key other\)/,
		],
		[
			"another key",
			async () => [await by(vector1.payload, { alg: "ES256", kid: key.kid }, generateKey())],
			/does not match/,
		],
		[
			"another algorithm",
			async () => {
				const head = { alg: "RS256", kid: key.kid };
				return [await new FlattenedSign(Buffer.from(vector1.payload)).setProtectedHeader(head).sign(rsa.privateKey)];
			},
			/RS256 does not fit/,
		],
		[
			"DER instead of r and s",
			async () => {
				const { protected: head } = await good();
				const body = Buffer.from(vector1.payload).toString("base64url");
				const der = createSign("sha256").update(`${head}.${body}`).sign(key.private);
				return [{ protected: head, signature: der.toString("base64url") }];
			},
			/does not match/,
		],
		["an unprotected header that repeats", async () => [{ ...(await good()), header: { kid: "x" } }], /repeats/],
	];
	test.each(cases)("%s", async (_, make, reason) => {
		const made = (await make()) as JsonValue | undefined;
		const verdict = await check({ ...vector1.card, ...(made !== undefined && { signatures: made }) });
		expect(verdict).toMatchObject({ valid: false, reason: expect.stringMatching(reason) });
	});
	test("an expired key", async () => {
		const signed: JsonObject = { ...vector1.card, signatures: [await good()] };
		const old = [{ ...key, expires: 1_000 }];
		expect(await check(signed, old, { now: () => 999_000 })).toMatchObject({ valid: true });
		expect(await check(signed, old, { now: () => 1_001_000 })).toMatchObject({
			reason: expect.stringContaining("expired"),
		});
	});
	test("a resolver's reason is told", async () => {
		const verdict = await verify({ ...vector1.card, signatures: [await good()] }, () => {
			throw new Error("no route to the keys");
		});
		expect(verdict).toMatchObject({ valid: false, reason: expect.stringContaining("no route to the keys") });
	});
	test("a card without canonical form", async () => {
		const card: JsonObject = { ...vector1.card, name: "\ud800", signatures: [await good()] };
		expect(await check(card)).toMatchObject({ valid: false, reason: expect.stringContaining("cannot be verified") });
	});
});

test("of several signatures any valid one suffices, and each is reported", async () => {
	const stale = await by("{}", { alg: "ES256", kid: key.kid });
	const foreign = await by("{}", { alg: "ES256", kid: "foreign" });
	const [own] = await sign(vector1.card, [key]);
	const verdict = await check({ ...vector1.card, signatures: [foreign, stale, { ...own } as JsonObject] });
	expect(verdict).toMatchObject({ valid: true, kid: key.kid });
	expect(verdict.signatures.map(({ valid }) => valid)).toEqual([false, false, true]);
});

test("signAndCheck throws when the key's halves do not belong together", async () => {
	const broken = { ...key, key: generateKey().key };
	await expect(signAndCheck(vector1.card, [broken])).rejects.toThrow("own signature");
});

test("signAndCheck replaces signatures that were there", async () => {
	const signed = await signAndCheck({ ...vector1.card, signatures: [{ protected: "eA", signature: "eA" }] }, [key]);
	expect(await check(signed)).toMatchObject({ valid: true });
	expect(signatures(signed)).toHaveLength(1);
});

describe("a member renamed", () => {
	it("is refused, an empty required one too", async () => {
		const own = generateKey("ES256");
		const card = { ...cardV1, description: "", skills: [] };
		const signed = copy(await signAndCheck(signable(card), [own]));
		expect(await check(signed, [own])).toMatchObject({ valid: true });
		for (const name of ["description", "skills"]) {
			const { [name]: value, ...rest } = signed as Record<string, never>;
			expect(await check({ ...rest, [`${name}s`]: value as unknown as never }, [own]), name).toMatchObject({
				valid: false,
			});
		}
	});
});

describe("a change of one character", () => {
	// A card with everything: members of other versions, empties, text that is not ASCII, two kinds of signatures.
	const rich = hybridCard({ ...cardV1, description: "", name: "Gärten", extra: { note: "kept" } });
	const alphabet = ["a", "Z", "0", "}", '"', "_", "="];
	it.each([
		["plain", vector1.card],
		["rich", rich],
	])("is refused anywhere in a %s card", async (_, card) => {
		const text = JSON.stringify(await signAndCheck(signable(card), [key]));
		const original = JSON.stringify(JSON.parse(text));
		let read = 0;
		// Every position of the small one; of the large one enough to meet every member, at changing offsets.
		const stride = Math.max(1, Math.floor(text.length / 700));
		for (let i = 0; i < text.length; i += stride) {
			const to = alphabet.find((c, n) => c !== text[i] && n >= i % alphabet.length) ?? "~";
			let changed: JsonValue;
			try {
				changed = JSON.parse(`${text.slice(0, i)}${to}${text.slice(i + 1)}`) as JsonValue;
			} catch {
				continue;
			}
			if (JSON.stringify(changed) === original) continue;
			read++;
			const verdict = await check(changed as JsonObject);
			expect(
				verdict.valid,
				`${i}: ${text.slice(Math.max(0, i - 20), i)}>${text[i]}<${text.slice(i + 1, i + 20)} → ${to}`,
			).toBe(false);
			expect(verdict.reason).not.toBe("");
		}
		expect(read).toBeGreaterThan(300);
	});
	it("is refused in the bits that base64url does not need", async () => {
		const [made] = await sign(vector1.card, [key]);
		const { protected: head = "", signature = "" } = made ?? {};
		// 64 bytes leave four bits of the last character unused.
		const alphabet64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
		const last = alphabet64[alphabet64.indexOf(signature.at(-1) ?? "") + 1] ?? "";
		const changed = `${signature.slice(0, -1)}${last}`;
		expect(Buffer.from(changed, "base64url")).toEqual(Buffer.from(signature, "base64url"));
		const card: JsonObject = { ...vector1.card, signatures: [{ protected: head, signature: changed }] };
		expect(await check(card)).toMatchObject({ valid: false, reason: expect.stringContaining("not base64url") });
	});
	it("is refused where no verifier of an SDK looks", async () => {
		const signed = copy(await signAndCheck(signable(rich), [key]));
		const changed = { ...signed, url: "https://evil.example/a2a" };
		expect(await sdkVerify(changed, [key])).toBeUndefined();
		expect(await check(changed)).toMatchObject({ valid: false, reason: expect.stringContaining("v1.0 does not know") });
		expect(await check({ ...signed, added: 1 })).toMatchObject({ valid: false });
	});
	it("is not made up for by dropping signatures", async () => {
		const signed = copy(await signAndCheck(signable(rich), [key]));
		const all = signatures(signed);
		expect(all.length).toBeGreaterThan(1);
		for (const one of all) expect(await check({ ...signed, signatures: [one] })).toMatchObject({ valid: false });
	});
});

it("any card is signed, verified by the SDK and by us, and so after its way through the SDK's types", async () => {
	const cards = arbitraryMessage(schema)
		.map((message) => toJson(schema, message) as JsonObject)
		// The SDK's objects know no member of that name.
		.filter((card) => !JSON.stringify(card).includes("__proto__"));
	await fc.assert(
		fc.asyncProperty(cards, async (card) => {
			const { signatures: _, ...unsigned } = card;
			const signed = copy(await signAndCheck(signable(unsigned), [key]));
			expect(await check(signed)).toMatchObject({ valid: true, uncovered: [] });
			expect(await sdkVerify(signed, [key])).toBeUndefined();
			expect(await check(throughSdk(signed))).toMatchObject({ valid: true, uncovered: [] });
		}),
		{ numRuns: 60 },
	);
});

test("nothing is logged while verifying", async () => {
	const spy = vi.spyOn(console, "debug");
	await check({ ...vector1.card, signatures: [{ protected: "eA", signature: "eA" }] });
	expect(spy).not.toHaveBeenCalled();
	spy.mockRestore();
	expect(createPublicKey(createPrivateKey(key.private.export({ type: "pkcs8", format: "pem" }))).type).toBe("public");
	expect(() => readPrivate("{}", "x")).toThrow("holds no private key");
});
