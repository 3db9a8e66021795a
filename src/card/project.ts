/**
 * The agent's card as the gateway serves it (§4.4, §8.3, §8.6; rules G3, G4, G11, G14).
 *
 * Kept: every member the gateway does not answer for, unknown ones included. Replaced: the
 * interfaces, and what the operator's policy says (policy.ts). Dropped: signatures (they sign another card) and the
 * top-level members of older versions that name endpoints. Everywhere else the agent's own addresses are concealed (conceal.ts
 * says how), with one exception: an extension's `uri` is an identifier that clients send back byte for
 * byte and the agent compares (F4, F7), not an address to call.
 */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Binding } from "../binding/binding.ts";
import { type ConcealOptions, concealer } from "./conceal.ts";
import { isObject, list, member, snakeCase, text } from "./document.ts";
import { applyPolicy, evidenceOf, type Policy, withEvidence } from "./policy.ts";

export interface OfferOptions {
	readonly bindings: readonly Pick<Binding, "name" | "publicUrl">[];
	/** Dialects served, newest first, and the names of the bindings each has. */
	readonly dialects: readonly { readonly version: string; readonly bindings: readonly string[] }[];
	/** Public base URL of the agent's mount point. */
	readonly base: URL;
	/** The binding that comes first: the agent's own preference. Default: the order given. */
	readonly preferred?: string | undefined;
	/** Routing key on bindings whose URL cannot tell agents apart. Default: none. */
	readonly tenant?: string | undefined;
}

/** The AgentInterfaces the gateway offers: one per version and binding, the preferred binding first within each version. */
export function offers({ bindings, dialects, base, preferred, tenant }: OfferOptions): readonly JsonObject[] {
	const first = bindings.filter((b) => b.name === preferred);
	const ordered = [...first, ...bindings.filter((b) => b.name !== preferred)];
	// A URL with a path tells agents apart by itself.
	const needsTenant = (binding: Pick<Binding, "publicUrl">) =>
		tenant !== undefined && binding.publicUrl(base) === binding.publicUrl(new URL("/", base));
	return dialects.flatMap((dialect, i) =>
		// Readers of older cards take the first interface for the card's URL: for them the order given counts.
		(i === 0 ? ordered : bindings)
			// Older versions have no tenant: a client could not say which agent it means.
			.filter((binding) => dialect.bindings.includes(binding.name) && (i === 0 || !needsTenant(binding)))
			.map((binding) => ({
				url: binding.publicUrl(base),
				protocolBinding: binding.name,
				protocolVersion: dialect.version,
				...(needsTenant(binding) && { tenant: tenant as string }),
			})),
	);
}

export interface ProjectOptions extends Omit<ConcealOptions, "hosts"> {
	/** What `supportedInterfaces` becomes. */
	readonly offers: readonly JsonObject[];
	/** What the operator says of the card. Default: nothing. */
	readonly policy?: Policy | undefined;
	/** The card as the agent wrote it, whose signatures are the evidence. Default: the one projected. */
	readonly original?: JsonObject | undefined;
	/** What the gateway serves whatever this card says of it. Default: what it says. */
	readonly serves?: Serves | undefined;
}

/** Capabilities by their names in the card. */
export interface Serves {
	readonly streaming: boolean;
	readonly pushNotifications: boolean;
	readonly extendedAgentCard: boolean;
}

const DROPPED = ["signatures", "url", "preferredTransport", "additionalInterfaces", "protocolVersion"];
const OWN = new Set([...DROPPED, "supportedInterfaces"].flatMap((name) => [name, snakeCase(name)]));

/**
 * The gateway's card from an agent's, public or extended. Pure; shares unchanged parts with `card`.
 * The result is unsigned: whoever signs takes it from here, before `serialise`.
 */
export function project(card: JsonObject, options: ProjectOptions): JsonObject {
	const conceal = concealer({ ...options, interfaces: [...options.interfaces, ...ownUrls(card)] });
	const kept = Object.entries(card).filter(([name]) => !OWN.has(name));
	const position = Object.keys(card).findIndex(
		(name) => name === "supportedInterfaces" || name === "supported_interfaces",
	);
	const before =
		position < 0
			? kept.length
			: Object.keys(card)
					.slice(0, position)
					.filter((name) => !OWN.has(name)).length;
	const members = kept.map(([name, value]): [string, JsonValue] => [
		conceal(name),
		name === "capabilities" ? capabilities(value, conceal) : rewrite(value, conceal),
	]);
	members.splice(before, 0, ["supportedInterfaces", [...options.offers]]);
	const told = options.serves ? truthful(Object.fromEntries(members), options.serves) : Object.fromEntries(members);
	const { policy = {}, original = card } = options;
	const hidden = policy.signatures === "evidence" ? concealer({ ...options, hosts: true }) : undefined;
	const evidence = hidden && evidenceOf(original, (text) => hidden(text) !== text);
	return withEvidence(applyPolicy(told, policy), evidence);
}

/** Capabilities as they are: an extended card may claim what the gateway refuses by the public one, a tolerated card what nobody could read. */
function truthful(card: JsonObject, serves: Serves): JsonObject {
	const said = member(card, "capabilities");
	const facts: JsonObject = isObject(said) ? { ...said } : {};
	let same = true;
	for (const [name, fact] of Object.entries(serves)) {
		const before = member(facts, name);
		if (before === fact || (before === undefined && !fact)) continue;
		delete facts[snakeCase(name)];
		facts[name] = fact;
		same = false;
	}
	return same ? card : { ...card, capabilities: facts };
}

/** The endpoints a card names, in either shape, as written. */
export function ownUrls(card: JsonObject): readonly string[] {
	const entries = [...list(card, "supportedInterfaces"), ...list(card, "additionalInterfaces")];
	const urls = entries.map((entry) => (isObject(entry) ? text(entry, "url") : undefined));
	return [text(card, "url"), ...urls].filter((url) => url !== undefined);
}

function capabilities(value: JsonValue, conceal: (text: string) => string): JsonValue {
	const rewritten = rewrite(value, conceal);
	if (!isObject(value) || !isObject(rewritten)) return rewritten;
	const before = member(value, "extensions");
	const after = member(rewritten, "extensions");
	if (before === after || !Array.isArray(before) || !Array.isArray(after)) return rewritten;
	const extensions = after.map((extension, i) => {
		const original = before[i];
		const uri = isObject(original) ? text(original, "uri") : undefined;
		return uri !== undefined && isObject(extension) ? { ...extension, uri } : extension;
	});
	return { ...rewritten, extensions };
}

/** Conceals in every string, keys included. Returns `value` itself when nothing changed. */
function rewrite(value: JsonValue, conceal: (text: string) => string): JsonValue {
	if (typeof value === "string") return conceal(value);
	if (typeof value !== "object" || value === null) return value;
	if (Array.isArray(value)) {
		const items = value.map((item) => rewrite(item, conceal));
		return items.every((item, i) => item === value[i]) ? value : items;
	}
	let same = true;
	const members = Object.entries(value).map(([name, old]): [string, JsonValue] => {
		const now: [string, JsonValue] = [conceal(name), rewrite(old, conceal)];
		if (now[0] !== name || now[1] !== old) same = false;
		return now;
	});
	// fromEntries, not assignment: a member called __proto__ is a member.
	return same ? value : Object.fromEntries(members);
}

/** Replaces the agent's addresses in error texts, and in JSON text. Compile once per card, call often. */
export function redactor(options: Omit<ConcealOptions, "hosts">): (text: string) => string {
	return concealer({ ...options, hosts: true });
}

/** A card ready to serve. */
export interface Serialised {
	readonly body: Buffer;
	/** Strong, from the body's SHA-256: `"…"`, quotes included. */
	readonly etag: string;
	/** IMF-fixdate. */
	readonly lastModified: string;
}

/** `changed`: epoch milliseconds of the last change. */
export function serialise(card: JsonObject, changed: number): Serialised {
	const text = JSON.stringify(card);
	// Not from node's pool: a body that lives long would keep its whole slab.
	const body = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
	body.write(text);
	const etag = `"${createHash("sha256").update(body).digest("base64url")}"`;
	return { body, etag, lastModified: new Date(changed).toUTCString() };
}
