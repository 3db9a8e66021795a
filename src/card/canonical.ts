/**
 * The payload that a card's signature signs: ProtoJSON with the presence rules of the proto file, then RFC 8785
 * (§8.4.1, rules G31–G36), and what official SDKs make of it instead.
 *
 * Members that v1.0 does not know (those of v0.3 in a hybrid card, extensions of others) are in no payload: every
 * official verifier reads the card into its own types first, which have no place for them.
 */
import { createHash } from "node:crypto";
import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import canonicalize from "canonicalize";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { pointer } from "../call/loss.ts";
import { isRequired } from "../schema/required.ts";
import { isObject } from "./document.ts";

/**
 * Who makes the payload that way: the specification (G31–G36); the JS SDK, which strips every empty value (`stripped`); the Python
 * SDK, which strips them and escapes what is not ASCII (`ascii`); the JS SDK from a card in its own types, which
 * loses every union: the payload says nothing about security schemes (`unionless`, a2a-js #663).
 */
export type Form = "specification" | "stripped" | "ascii" | "unionless";

/** A place in the card (JSON pointer) and what is there. */
export type Place = readonly [at: string, value: JsonValue];

export interface Canonical {
	/** The payload of a form. */
	payload(form: Form): string;
	/** What is in the card and in no payload: members that v1.0 does not know. By place. */
	readonly unknown: readonly Place[];
	/** What is in the specification's payload, has a meaning, and is not in this form's. */
	dropped(form: Form): readonly Place[];
}

/** A card that has no canonical form. The message is for the operator. */
export class CanonicalError extends Error {
	override readonly name = "CanonicalError";
}

/** Reads a card of v1.0, also a hybrid one, in either ProtoJSON spelling. Throws CanonicalError. */
export function canonical(card: JsonObject): Canonical {
	const unknown: Place[] = [];
	const { [AgentCardSchema.field.signatures.jsonName]: _, ...tree } = message(AgentCardSchema, card, "", unknown);
	unknown.sort(([a], [b]) => (a < b ? -1 : 1));
	return {
		unknown,
		payload(form) {
			if (form === "specification") return jcs(tree);
			const text = jcs(strip(form === "unionless" ? withoutUnions(tree) : tree) ?? {});
			return form === "ascii" ? escaped(text) : text;
		},
		dropped(form) {
			if (form === "specification") return [];
			const found: Place[] = [];
			losses(AgentCardSchema, tree, "", form === "unionless", found);
			return found;
		},
	};
}

/** RFC 8785. Throws CanonicalError for what it cannot say: text that is no Unicode. */
export function jcs(value: JsonValue): string {
	try {
		return canonicalize(value) ?? "null";
	} catch (error) {
		throw new CanonicalError(`no canonical form: ${error instanceof Error ? error.message : "unknown"}`);
	}
}

/** SHA-256 of places in canonical form, base64url. */
export function digestOf(places: readonly Place[]): string {
	return createHash("sha256")
		.update(jcs(places.map(([at, value]) => [at, value])))
		.digest("base64url");
}

/**
 * The card as it should be served to be signed: nothing says what its absence says too, so that the forms differ as little as they can.
 * Where they differ all the same (an empty REQUIRED member, a security requirement without scopes, an empty
 * value in an extension's params), it takes a signature per form. Members that v1.0 does not know stay.
 */
export function signable(card: JsonObject): JsonObject {
	const tree = tidy(AgentCardSchema, card);
	const name = AgentCardSchema.field.capabilities.jsonName;
	const facts = tree[name];
	// Empty, the stripping forms lose it; the default said out loud is the same to every reader.
	if (facts === undefined || (isObject(facts) && strip(facts) === undefined)) tree[name] = { streaming: false };
	return tree;
}

const opaque = (type: DescMessage): boolean => type.typeName.startsWith("google.");
/** A field that is absent when it has its default. */
const implicit = (field: DescField): boolean => field.presence === FeatureSet_FieldPresence.IMPLICIT;

function isDefault(field: DescField, value: JsonValue): boolean {
	switch (field.fieldKind) {
		case "scalar":
			return value === "" || value === false || value === 0;
		case "enum":
			return value === 0 || value === field.enum.values[0]?.name;
		case "list":
			return Array.isArray(value) && value.length === 0;
		case "map":
			return isObject(value) && Object.keys(value).length === 0;
		default:
			return false;
	}
}

/** The name under which a field is written, undefined when it is not. Throws when it is written twice: which one counts? */
function written(field: DescField, value: JsonObject, at: string): string | undefined {
	const said = (name: string) => Object.hasOwn(value, name) && value[name] !== null && value[name] !== undefined;
	const { jsonName, name } = field;
	if (name === jsonName || !said(name)) return said(jsonName) ? jsonName : undefined;
	if (said(jsonName)) throw new CanonicalError(`${pointer(at, jsonName)} is written twice, as ${name} too`);
	return name;
}

/** The message by G32–G34; a value of a wrong type stays what it is, so that no two different cards have one form. */
function message(type: DescMessage, value: JsonObject, at: string, unknown: Place[]): JsonObject {
	const members: [string, JsonValue][] = [];
	const known = new Set<string>();
	for (const field of type.fields) {
		const name = written(field, value, at);
		known.add(field.jsonName).add(field.name);
		const item = name === undefined ? undefined : value[name];
		if (item === undefined) {
			if (!isRequired(field)) continue;
			members.push([field.jsonName, empty(field)]);
		} else if (isRequired(field) || !implicit(field) || !isDefault(field, item)) {
			// Signatures are read elsewhere: what is unknown in them signs nothing.
			const place = pointer(at, field.jsonName);
			const into = field === AgentCardSchema.field.signatures ? [] : unknown;
			members.push([field.jsonName, inner(field, item, place, into)]);
		}
	}
	for (const [name, item] of Object.entries(value)) {
		if (!known.has(name) && item !== null) unknown.push([pointer(at, name), item]);
	}
	return Object.fromEntries(members);
}

/** A REQUIRED field that nobody set. */
function empty(field: DescField): JsonValue {
	switch (field.fieldKind) {
		case "list":
			return [];
		case "map":
			return {};
		case "message":
			return message(field.message, {}, "", []);
		case "enum":
			return field.enum.values[0]?.name ?? 0;
		case "scalar":
			return field.scalar === ScalarType.STRING ? "" : field.scalar === ScalarType.BOOL ? false : 0;
	}
}

function inner(field: DescField, item: JsonValue, at: string, unknown: Place[]): JsonValue {
	const type = field.message;
	if (!type || opaque(type)) return item;
	const one = (value: JsonValue, place: string) => (isObject(value) ? message(type, value, place, unknown) : value);
	if (field.fieldKind === "list") return Array.isArray(item) ? item.map((e, i) => one(e, pointer(at, i))) : item;
	if (field.fieldKind !== "map") return one(item, at);
	if (!isObject(item)) return item;
	return Object.fromEntries(Object.entries(item).map(([key, e]) => [key, one(e, pointer(at, key))]));
}

/** What the SDKs do: every empty string, list, object and null goes, and what is empty then. */
function strip(value: JsonValue): JsonValue | undefined {
	if (value === "" || value === null) return undefined;
	if (typeof value !== "object") return value;
	if (Array.isArray(value)) {
		const items = value.map(strip).filter((item) => item !== undefined);
		return items.length > 0 ? items : undefined;
	}
	const members = Object.entries(value).flatMap(([name, item]): [string, JsonValue][] => {
		const kept = strip(item);
		return kept === undefined ? [] : [[name, kept]];
	});
	return members.length > 0 ? Object.fromEntries(members) : undefined;
}

/** Fields of a card whose messages are unions. */
const unions = AgentCardSchema.fields.filter((field) => (field.message?.oneofs.length ?? 0) > 0);

function withoutUnions(tree: JsonObject): JsonObject {
	return Object.fromEntries(Object.entries(tree).filter(([name]) => !unions.some((f) => f.jsonName === name)));
}

/** As Python's json.dumps writes it. */
function escaped(text: string): string {
	return text.replace(/[\x7f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Finds what stripping loses and a reader would miss: entries of maps, elements of lists, contents of a Struct. */
function losses(type: DescMessage, value: JsonObject, at: string, noUnions: boolean, found: Place[]): void {
	for (const field of type.fields) {
		const item = value[field.jsonName];
		if (item === undefined) continue;
		const place = pointer(at, field.jsonName);
		if (noUnions && unions.includes(field)) {
			found.push([place, item]);
			continue;
		}
		const into = (element: JsonValue, here: string) => {
			if (strip(element) === undefined) found.push([here, element]);
			else if (field.message && isObject(element)) losses(field.message, element, here, noUnions, found);
		};
		if (field.message && opaque(field.message)) {
			if (jcs(strip(item) ?? {}) !== jcs(item)) found.push([place, item]);
		} else if (Array.isArray(item)) {
			for (const [i, e] of item.entries()) into(e, pointer(place, i));
		} else if (field.fieldKind === "map" && isObject(item))
			for (const [key, e] of Object.entries(item)) into(e, pointer(place, key));
		else if (field.message && isObject(item)) {
			if (field.oneof && strip(item) === undefined) found.push([place, item]);
			else losses(field.message, item, place, noUnions, found);
		}
	}
}

/** Without the members that say what their absence says: defaults of fields that need not be there, and null. */
function tidy(type: DescMessage, value: JsonObject): JsonObject {
	const fields = new Map(type.fields.flatMap((f) => [[f.jsonName, f] as const, [f.name, f] as const]));
	const members = Object.entries(value).flatMap(([name, item]): [string, JsonValue][] => {
		const field = fields.get(name);
		if (!field) return [[name, item]];
		// Written twice: the newer spelling is what readers take.
		if (name !== field.jsonName && (value[field.jsonName] ?? undefined) !== undefined) return [];
		// An empty URL is none, whatever its presence would say.
		const dispensable = !isRequired(field) && (implicit(field) ? isDefault(field, item) : item === "");
		if (item === null || dispensable) return [];
		const { message: inside } = field;
		if (!inside || opaque(inside)) return [[field.jsonName, item]];
		const one = (element: JsonValue) => (isObject(element) ? tidy(inside, element) : element);
		if (field.fieldKind === "list") return [[field.jsonName, Array.isArray(item) ? item.map(one) : item]];
		if (field.fieldKind !== "map") return [[field.jsonName, one(item)]];
		const entries = isObject(item) ? Object.entries(item).map(([key, element]) => [key, one(element)]) : undefined;
		return [[field.jsonName, entries ? Object.fromEntries(entries) : item]];
	});
	return Object.fromEntries(members);
}
