/** Keys as JSON (RFC 7517) and PEM, public and private: which algorithm they sign with, and under what name (RFC 7638; rule G37). */
import { createHash, createPrivateKey, createPublicKey, KeyObject, type webcrypto } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "./document.ts";

/** What cards are signed with. Everything else is refused, `none` and shared secrets first of all. */
export const ALGORITHMS = ["ES256", "EdDSA", "RS256", "PS256"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

/** Smallest RSA modulus, bits (RFC 7518 §3.3). */
const MIN_RSA = 2048;

export interface PublicKey {
	readonly kid: string;
	readonly alg: Algorithm;
	readonly key: KeyObject;
	/** Public members only, with `kid`, `alg` and `use`. */
	readonly jwk: JsonObject;
	/** Seconds since 1970 at which it ceases to count, from a JWK's `exp`. */
	readonly expires?: number;
	/** It came without a kid: `kid` is its thumbprint, and a signature may call it anything. */
	readonly unnamed?: boolean;
	/** An RSA key that came without an alg: it may verify RS256 and PS256. */
	readonly anyRsa?: boolean;
}

/** The private half stays in `private`, which neither JSON nor `inspect` shows. */
export interface SigningKey extends PublicKey {
	readonly private: KeyObject;
}

/** A key that cannot be used. The message never repeats any of it. */
export class KeyError extends Error {
	override readonly name = "KeyError";
}

export function isAlgorithm(name: unknown): name is Algorithm {
	return ALGORITHMS.some((known) => known === name);
}

/** The members that RFC 7638 hashes, which are also all that is public about a key. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
	EC: ["crv", "kty", "x", "y"],
	OKP: ["crv", "kty", "x"],
	RSA: ["e", "kty", "n"],
};

function publicMembers(key: KeyObject): JsonObject {
	const all: webcrypto.JsonWebKey = createPublic(key).export({ format: "jwk" });
	const names = MEMBERS[all.kty ?? ""] ?? [];
	return Object.fromEntries(names.map((name) => [name, String(Reflect.get(all, name))]));
}

function createPublic(key: KeyObject): KeyObject {
	return key.type === "private" ? createPublicKey(key) : key;
}

/** RFC 7638, SHA-256, base64url. */
export function thumbprint(key: KeyObject): string {
	return createHash("sha256")
		.update(JSON.stringify(publicMembers(key)))
		.digest("base64url");
}

/** What a key signs with; `wanted` is what it says itself. Throws KeyError. */
function algorithmOf(key: KeyObject, wanted: JsonValue | undefined, what: string): Algorithm {
	const said = wanted === "Ed25519" ? "EdDSA" : wanted;
	const fits = fitting(key, what);
	if (said === undefined) return fits[0];
	const found = fits.find((alg) => alg === said);
	if (!found) throw new KeyError(`${what}: its alg ${show(said)} does not fit, it is for ${fits.join(" or ")}`);
	return found;
}

function fitting(key: KeyObject, what: string): readonly [Algorithm, ...Algorithm[]] {
	const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
	switch (type) {
		case "ec":
			if (details?.namedCurve === "prime256v1") return ["ES256"];
			throw new KeyError(`${what}: an EC key must be on the curve P-256 (ES256)`);
		case "ed25519":
			return ["EdDSA"];
		case "rsa":
		case "rsa-pss": {
			const bits = details?.modulusLength ?? 0;
			if (bits < MIN_RSA) throw new KeyError(`${what}: an RSA key needs ${MIN_RSA} bits, it has ${bits}`);
			return type === "rsa" ? ["RS256", "PS256"] : ["PS256"];
		}
		default:
			throw new KeyError(`${what}: keys of type ${type ?? "unknown"} sign no cards; use P-256, Ed25519 or RSA`);
	}
}

function show(value: JsonValue): string {
	return JSON.stringify(value).slice(0, 40);
}

/** A public key as it is used here. `described`: the JWK it came from. */
function publicKey(key: KeyObject, described: JsonObject, what: string): PublicKey {
	const { kid: name, alg: wanted, exp } = described;
	const alg = algorithmOf(key, wanted, what);
	const named = typeof name === "string" && name !== "";
	const kid = named ? name : thumbprint(key);
	return {
		kid,
		...(!named && { unnamed: true }),
		...(wanted === undefined && key.asymmetricKeyType === "rsa" && { anyRsa: true }),
		alg,
		key: createPublic(key),
		jwk: { ...publicMembers(key), kid, alg, use: "sig" },
		...(typeof exp === "number" && { expires: exp }),
	};
}

/** From a private KeyObject. Throws KeyError. */
export function signingKey(key: KeyObject, described: JsonObject = {}, what = "the key"): SigningKey {
	const { use, key_ops: operations } = described;
	if (use !== undefined && use !== "sig") throw new KeyError(`${what}: its use is ${show(use)}, not sig`);
	if (Array.isArray(operations) && !operations.includes("sign")) throw new KeyError(`${what}: it is not for signing`);
	return { ...publicKey(key, described, what), private: key };
}

/** The private key in a text: a JWK, the first of a JWKS, or PEM (PKCS #8, SEC 1, PKCS #1). `what` names it. Throws KeyError. */
export function readPrivate(text: string, what: string): SigningKey {
	if (text.trimStart().startsWith("{")) {
		const json = parse(text, what);
		const jwk = Array.isArray(json["keys"]) ? json["keys"].filter(isObject).find((k) => "d" in k) : json;
		if (jwk?.["kty"] === "oct") throw new KeyError(`${what}: a shared secret signs no cards; use a private key`);
		if (!jwk || !("d" in jwk)) throw new KeyError(`${what}: it holds no private key`);
		return signingKey(
			make(what, () => createPrivateKey({ key: jwk as webcrypto.JsonWebKey, format: "jwk" })),
			jwk,
			what,
		);
	}
	if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(text)) {
		throw new KeyError(`${what}: it is encrypted; decrypt it first (openssl pkey)`);
	}
	if (/-----BEGIN (PUBLIC KEY|CERTIFICATE)-----/.test(text) && !/PRIVATE KEY-----/.test(text)) {
		throw new KeyError(`${what}: it holds no private key`);
	}
	return signingKey(
		make(what, () => createPrivateKey(text)),
		{},
		what,
	);
}

/** Every public key in a text: JWKS, JWK or PEM, private ones too. Those that sign no cards are left out. Throws KeyError. */
export function readPublic(text: string, what: string): readonly PublicKey[] {
	if (!text.trimStart().startsWith("{")) {
		return [
			publicKey(
				make(what, () => createPublicKey(text)),
				{},
				what,
			),
		];
	}
	const json = parse(text, what);
	const { keys } = json;
	if (keys === undefined) return [publicJwk(json, what)];
	if (!Array.isArray(keys)) throw new KeyError(`${what}: its "keys" is no list`);
	return keys.filter(isObject).flatMap((jwk) => {
		const { use, revoked } = jwk;
		if ((use !== undefined && use !== "sig") || (revoked !== undefined && revoked !== null)) return [];
		try {
			return [publicJwk(jwk, what)];
		} catch (error) {
			// A set may hold keys for other purposes (RFC 7517 §5).
			if (error instanceof KeyError) return [];
			throw error;
		}
	});
}

function publicJwk(jwk: JsonObject, what: string): PublicKey {
	const members = MEMBERS[String(jwk["kty"])];
	if (!members) throw new KeyError(`${what}: a key of type ${show(jwk["kty"] ?? null)} verifies no cards`);
	const bare = Object.fromEntries(members.map((name) => [name, jwk[name]]));
	return publicKey(
		make(what, () => createPublicKey({ key: bare as webcrypto.JsonWebKey, format: "jwk" })),
		jwk,
		what,
	);
}

function parse(text: string, what: string): JsonObject {
	try {
		const json = JSON.parse(text) as JsonValue;
		if (isObject(json)) return json;
	} catch {
		// The parser's message quotes the text, which may be a secret.
	}
	throw new KeyError(`${what}: it is not a JSON object`);
}

function make(what: string, create: () => KeyObject): KeyObject {
	try {
		const key = create();
		if (key instanceof KeyObject) return key;
	} catch {
		// OpenSSL's message helps nobody, and its cause may hold the key.
	}
	throw new KeyError(`${what}: it is no key that can be read (JWK or PEM: PKCS #8, SEC 1, PKCS #1)`);
}
