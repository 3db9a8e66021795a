/**
 * Signatures of cards (§8.4, RFC 7515; rules G30, G37–G41): made here, and checked here by the same rules.
 *
 * Official verifiers differ on empty values and on text that is not ASCII (canonical.ts). A card on which they differ gets a
 * signature per form, all by one key: each verifier needs one that it understands. A protected header
 * parameter of ours (`HEADER`) ties them together and to the members that no form signs, so that this verifier
 * notices any change; others ignore it, as RFC 7515 §4.3 has it.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { FlattenedSign, flattenedVerify } from "jose";
import { pointer } from "../call/loss.ts";
import { type Canonical, CanonicalError, canonical, digestOf, type Form, type Place } from "./canonical.ts";
import { isObject, member } from "./document.ts";
import { ALGORITHMS, type Algorithm, isAlgorithm, type PublicKey, type SigningKey } from "./sign-jwk.ts";

/** Private header parameter: `{ signatures?: n, rest: digest }`; `signatures` where there are several. */
const HEADER = "a2a-gateway";
/** Most signatures looked at: each may cost a key from afar. */
const MAX_SIGNATURES = 16;
/** Longest name of a key: it is told in reasons. */
const MAX_KID = 256;
/** Forms made, and in which order forms are tried. */
const MADE: readonly Form[] = ["specification", "stripped", "ascii"];
const TRIED: readonly Form[] = [...MADE, "unionless"];

/** An AgentCardSignature in ProtoJSON. */
export type CardSignature = { readonly protected: string; readonly signature: string };

export interface SignOptions {
	/** URL of the public keys, for the `jku` header. Default: none. */
	readonly jku?: string | undefined;
	/**
	 * Also sign the form in which the JS SDK verifies a card that it holds in its own types (`Client.getAgentCard(…, verifier)`). That
	 * form says nothing of security schemes (a2a-js #663): whoever takes that signature alone can exchange
	 * them unnoticed by other verifiers than this one. Default: no.
	 */
	readonly inMemory?: boolean | undefined;
}

/** Signs a card's v1.0 members with each key, once per form that differs. The card's own signatures do not matter. Throws CanonicalError. */
export async function sign(
	card: JsonObject,
	keys: readonly SigningKey[],
	{ jku, inMemory = false }: SignOptions = {},
): Promise<readonly CardSignature[]> {
	const form = canonical(card);
	const payloads = [...new Set((inMemory ? TRIED : MADE).map((name) => form.payload(name)))];
	const facts: JsonObject = {
		...(payloads.length > 1 && { signatures: payloads.length }),
		// Of nothing, too: a member renamed into one that nobody knows must not pass.
		rest: digestOf(form.unknown),
	};
	const made: CardSignature[] = [];
	for (const { kid, alg, private: key } of keys) {
		const header = {
			alg,
			typ: "JOSE",
			kid,
			...(jku !== undefined && { jku }),
			[HEADER]: facts,
		};
		for (const payload of payloads) {
			const jws = await new FlattenedSign(Buffer.from(payload)).setProtectedHeader(header).sign(key);
			made.push({ protected: jws.protected ?? "", signature: jws.signature });
		}
	}
	return made;
}

/** What a signature says about the key that it wants. Nothing of it is verified yet. */
export interface Wanted {
	readonly kid: string;
	readonly alg: Algorithm;
	readonly jku: string | undefined;
}

/** Finds the keys a signature may be by; throws an Error whose message says why there is none. */
export type ResolveKey = (wanted: Wanted) => readonly PublicKey[] | Promise<readonly PublicKey[]>;

export interface Checked {
	readonly valid: boolean;
	readonly kid: string | undefined;
	readonly reason: string;
}

export interface Verdict {
	/** At least one signature is valid (and, of signatures that belong together, all are). */
	readonly valid: boolean;
	/** For the operator, one line. */
	readonly reason: string;
	/** The key that signed, when valid. */
	readonly kid?: string;
	/** JSON pointers to what the valid signatures do not cover. */
	readonly uncovered: readonly string[];
	/** In the card's order. */
	readonly signatures: readonly Checked[];
}

export interface VerifyOptions {
	/**
	 * Official SDKs sign less than the card says. `report`: their signatures count, `uncovered` tells what they leave out,
	 * but a signature that leaves out the security schemes counts only with `allow`. `refuse`: only a
	 * signature of everything counts. Default: report.
	 */
	readonly uncovered?: "refuse" | "report" | "allow";
	/** Epoch milliseconds. */
	readonly now?: () => number;
}

/** A signature that somebody made, over some form of the card. */
interface Good {
	readonly at: number;
	readonly kid: string;
	readonly form: Form;
	readonly facts: JsonObject;
}

/** Verifies a card's signatures. Never throws. */
export async function verify(card: JsonObject, resolve: ResolveKey, options: VerifyOptions = {}): Promise<Verdict> {
	const invalid = (reason: string, signatures: readonly Checked[] = []): Verdict => ({
		valid: false,
		reason,
		uncovered: [],
		signatures,
	});
	const entries = member(card, "signatures");
	if (!Array.isArray(entries) || entries.length === 0) return invalid("the card is not signed");
	if (entries.length > MAX_SIGNATURES) return invalid(`the card has more than ${MAX_SIGNATURES} signatures`);
	let form: Canonical;
	const bodies = new Map<string, Form>();
	try {
		form = canonical(card);
		for (const name of TRIED) {
			const body = Buffer.from(form.payload(name)).toString("base64url");
			if (!bodies.has(body)) bodies.set(body, name);
		}
	} catch (error) {
		if (error instanceof CanonicalError) return invalid(`the card cannot be verified: ${error.message}`);
		return invalid("the card cannot be verified");
	}
	const checked: Checked[] = [];
	const good: Good[] = [];
	for (const [at, entry] of entries.entries()) {
		const outcome = await check(entry, bodies, resolve, options.now ?? Date.now);
		if ("form" in outcome) good.push({ ...outcome, at });
		checked.push({ kid: outcome.kid, valid: "form" in outcome, reason: "form" in outcome ? "valid" : outcome.reason });
	}
	const refuse = (those: readonly Good[], reason: string) => {
		for (const { at, kid } of those) checked[at] = { kid, valid: false, reason };
	};
	const accepted: Good[] = [];
	for (const [kid, group] of Map.groupBy(good, (entry) => entry.kid)) {
		const reason = altered(group, entries, form);
		if (reason === undefined) accepted.push(...group);
		else refuse(group, `by the key ${kid}, but ${reason}`);
	}
	const uncovered = accepted.length === 0 ? [] : places(accepted, form);
	const weak = accepted.length > 0 && accepted.every((entry) => entry.form === "unionless");
	const mode = options.uncovered ?? "report";
	if (uncovered.length > 0 && (mode === "refuse" || (weak && mode === "report"))) {
		const what = listed(uncovered);
		const why = weak ? " (the official JS SDK signs a card it holds in memory without its security schemes)" : "";
		refuse(accepted, `its signature does not cover ${what}${why}`);
		accepted.length = 0;
	}
	const [first] = accepted;
	if (!first) {
		return invalid(
			checked.map(({ reason }, i) => `${checked.length > 1 ? `[${i}] ` : ""}${reason}`).join("; "),
			checked,
		);
	}
	const gap = uncovered.length > 0 ? `; not covered: ${listed(uncovered)}` : "";
	return {
		valid: true,
		reason: `signed by the key ${first.kid}${gap}`,
		kid: first.kid,
		uncovered,
		signatures: checked,
	};
}

/** Why signatures of one key, each valid by itself, do not hold: something they are tied to was changed. */
function altered(group: readonly Good[], entries: readonly JsonValue[], form: Canonical): string | undefined {
	const count = Math.max(...group.map(({ facts }) => Number(facts["signatures"] ?? 0)));
	const distinct = new Set(group.map(({ at }) => JSON.stringify(entries[at])));
	if (distinct.size < count) {
		return `only ${distinct.size} of its ${count} signatures are valid: the card or a signature was altered`;
	}
	const { unknown } = form;
	const rest = group.map(({ facts }) => facts["rest"]).find((digest) => digest !== undefined);
	// Gone altogether is what reading it into a type without them does, and leaves nothing unsigned.
	if (rest === undefined || unknown.length === 0 || digestOf(unknown) === rest) return undefined;
	return `members that v1.0 does not know were altered, of ${listed(unknown.map(([at]) => at))}`;
}

/** What none of these signatures covers. */
function places(accepted: readonly Good[], form: Canonical): readonly string[] {
	const tied = accepted.some(({ facts }) => facts["rest"] !== undefined);
	const gaps = accepted.map((entry) => form.dropped(entry.form));
	const least = gaps.reduce((a, b) => (b.length < a.length ? b : a));
	const all: readonly Place[] = tied ? least : [...least, ...form.unknown];
	return all.map(([at]) => at);
}

function listed(pointers: readonly string[]): string {
	return pointers.length > 8
		? `${pointers.slice(0, 8).join(", ")} and ${pointers.length - 8} more`
		: pointers.join(", ");
}

type Outcome = Omit<Good, "at"> | { readonly kid: string | undefined; readonly reason: string };

/** One signature against every form. Never throws. */
async function check(
	entry: JsonValue,
	bodies: ReadonlyMap<string, Form>,
	resolve: ResolveKey,
	now: () => number,
): Promise<Outcome> {
	if (!isObject(entry)) return { kid: undefined, reason: "malformed: not an object" };
	const { protected: head, signature } = entry;
	if (!isBase64url(head)) return { kid: undefined, reason: "malformed: protected is not base64url" };
	const header = parseHeader(head);
	if (!header) return { kid: undefined, reason: "malformed: protected is not a JSON object" };
	const { kid, alg, jku, crit, b64 } = header;
	if (typeof kid !== "string" || kid === "") return { kid: undefined, reason: "malformed: its header names no kid" };
	if (kid.length > MAX_KID)
		return { kid: undefined, reason: `malformed: its kid is longer than ${MAX_KID} characters` };
	const no = (reason: string) => ({ kid, reason: `${reason} (key ${kid})` });
	if (!isBase64url(signature)) return no("malformed: signature is not base64url");
	if (!isAlgorithm(alg))
		return no(`alg ${JSON.stringify(alg ?? null)} is refused; accepted are ${ALGORITHMS.join(", ")}`);
	if (crit !== undefined || b64 !== undefined) return no("headers crit and b64 are refused");
	const unprotected = entry["header"];
	if (
		isObject(unprotected) &&
		Object.keys(unprotected).some((name) => Object.hasOwn(header, name) || name === "crit")
	) {
		return no("its unprotected header repeats the protected one");
	}
	if (jku !== undefined && typeof jku !== "string") return no("malformed: jku is not a string");
	let keys: readonly PublicKey[];
	try {
		keys = await resolve({ kid, alg, jku });
	} catch (error) {
		return no(error instanceof Error ? error.message : "no key");
	}
	const named = keys.filter((key) => key.kid === kid || key.unnamed);
	if (named.length === 0) return no("unknown key");
	const usable = named.filter((key) => key.expires === undefined || key.expires * 1000 > now());
	if (usable.length === 0) return no("the key has expired");
	const fitting = usable.filter((key) => suits(key, alg));
	if (fitting.length === 0) return no(`alg ${alg} does not fit the key, which is for ${usable[0]?.alg}`);
	for (const { key } of fitting) {
		for (const [payload, form] of bodies) {
			try {
				await flattenedVerify({ protected: head, payload, signature }, key, { algorithms: [alg] });
			} catch {
				continue;
			}
			const facts = header[HEADER];
			return { kid, form, facts: isObject(facts) ? facts : {} };
		}
	}
	return no("the signature does not match: the card or the signature was altered, or another key of that name made it");
}

/** A JWK that names no alg is read as RS256; RSA keys may sign both ways unless the key says which. */
function suits(key: PublicKey, alg: Algorithm): boolean {
	return key.alg === alg || (key.anyRsa === true && (alg === "RS256" || alg === "PS256"));
}

function parseHeader(encoded: string): JsonObject | undefined {
	try {
		const json = JSON.parse(
			new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(encoded, "base64url")),
		) as JsonValue;
		return isObject(json) ? json : undefined;
	} catch {
		return undefined;
	}
}

/** Exactly one way to write it: decoders that forgive spare bits would let a changed character pass. */
function isBase64url(value: JsonValue | undefined): value is string {
	return typeof value === "string" && value !== "" && Buffer.from(value, "base64url").toString("base64url") === value;
}

/** Signs a card and checks it with this verifier before anybody sees it. Throws when that refuses it: nothing may be served then. */
export async function signAndCheck(
	card: JsonObject,
	keys: readonly SigningKey[],
	options: SignOptions = {},
): Promise<JsonObject> {
	const name = "signatures";
	const { [name]: _, ...unsigned } = card;
	const signed = { ...unsigned, [name]: (await sign(unsigned, keys, options)).map((s): JsonObject => ({ ...s })) };
	// As clients get it: through text.
	const served = JSON.parse(JSON.stringify(signed)) as JsonObject;
	const verdict = await verify(served, () => keys, { uncovered: "refuse" });
	const failed = verdict.signatures.findIndex(({ valid }) => !valid);
	if (!verdict.valid || failed >= 0) {
		throw new Error(
			`the gateway's own signature ${failed >= 0 ? pointer("", failed) : ""} does not verify: ${verdict.reason}`,
		);
	}
	return signed;
}
