/** Request fields in the URL's query (v1.0 §11.5): read by the input type's descriptor, and written, its inverse. */
import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import type { Header } from "../../call/call.ts";
import { A2AError, invalidParams } from "../../call/error.ts";
import type { Violation } from "../../call/payload.ts";

const VERSION = "a2a-version";

/** A query taken apart. */
export interface Query {
	/** Name and value of each member, decoded, in order; without the version. */
	readonly members: readonly (readonly [name: string, value: string])[];
	/** Value of the member `A2A-Version` in any case: a service parameter, no field (§3.6.1). */
	readonly version: string | undefined;
}

const none: Query = { members: [], version: undefined };

/** Splits a raw query. Throws A2AError INVALID_PARAMS for bad percent-escapes and invalid UTF-8. */
export function splitQuery(raw: string): Query {
	if (raw === "") return none;
	const members: [string, string][] = [];
	let version: string | undefined;
	for (const part of raw.split("&")) {
		if (part === "") continue;
		const equals = part.indexOf("=");
		const name = decode(equals < 0 ? part : part.slice(0, equals));
		const value = equals < 0 ? "" : decode(part.slice(equals + 1));
		if (name.toLowerCase() === VERSION) version ??= value;
		else members.push([name, value]);
	}
	return { members, version };
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text.includes("+") ? text.replaceAll("+", " ") : text);
	} catch (error) {
		throw new A2AError("INVALID_PARAMS", { message: "Invalid percent-encoding in the query", cause: error });
	}
}

/** The members that no field takes, as `Call.query`; of a repeated name the first. */
export function otherMembers(members: Query["members"], fields?: Fields): Header {
	const other: Record<string, string> = Object.create(null);
	for (const [name, value] of members) if (!fields?.has(name)) other[name] ??= value;
	return other;
}

/** The fields of a type that a query can hold, by both of their ProtoJSON names. */
export type Fields = ReadonlyMap<string, DescField>;

export function queryFields(type: DescMessage): Fields {
	const fields = new Map<string, DescField>();
	for (const field of type.fields) fields.set(field.name, field).set(field.jsonName, field);
	return fields;
}

/**
 * The fields that query members give, as ProtoJSON. A name in `bound` (proto name: the path has it) is passed over.
 * Throws A2AError INVALID_PARAMS naming every field whose value does not fit.
 */
export function readFields(
	members: Query["members"],
	fields: Fields,
	bound: Readonly<Record<string, string>>,
): JsonObject {
	const values = new Map<DescField, string[]>();
	for (const [name, value] of members) {
		const field = fields.get(name);
		if (!field || Object.hasOwn(bound, field.name)) continue;
		const list = values.get(field);
		if (list) list.push(value);
		else values.set(field, [value]);
	}
	const json: JsonObject = {};
	const violations: Violation[] = [];
	for (const [field, texts] of values) {
		const value = readField(field, texts);
		if (typeof value === "object" && "problem" in value) {
			violations.push({ field: field.jsonName, description: value.problem });
		} else json[field.jsonName] = value.json;
	}
	if (violations.length > 0) throw invalidParams(violations);
	return json;
}

type Read = { readonly json: JsonValue } | { readonly problem: string };

function readField(field: DescField, texts: readonly string[]): Read {
	if (field.fieldKind === "map") return { problem: "cannot be given in a query" };
	if (field.fieldKind !== "list") {
		return texts.length === 1 ? readOne(field, texts[0] ?? "") : { problem: "must be given once" };
	}
	// Repeated by name or separated by commas.
	const list: JsonValue[] = [];
	for (const text of texts.flatMap((each) => each.split(","))) {
		const item = readOne(field, text);
		if ("problem" in item) return item;
		list.push(item.json);
	}
	return { json: list };
}

function readOne(field: DescField, text: string): Read {
	if (field.message) {
		// These are strings in ProtoJSON; their own grammar is checked with the message.
		const textual = /^google\.protobuf\.(Timestamp|Duration|FieldMask)$/.test(field.message.typeName);
		return textual ? { json: text } : { problem: "cannot be given in a query" };
	}
	if (field.enum) return readEnum(field.enum, text);
	switch (field.scalar) {
		case ScalarType.STRING:
		case ScalarType.BYTES:
			return { json: text };
		case ScalarType.BOOL:
			return text === "true" || text === "false" ? { json: text === "true" } : { problem: "must be true or false" };
		case ScalarType.FLOAT:
		case ScalarType.DOUBLE: {
			const number = Number(text);
			return text.trim() !== "" && Number.isFinite(number) ? { json: number } : { problem: "must be a number" };
		}
		case ScalarType.INT64:
		case ScalarType.SINT64:
		case ScalarType.SFIXED64:
		case ScalarType.UINT64:
		case ScalarType.FIXED64:
			return /^-?(0|[1-9]\d{0,19})$/.test(text) ? { json: text } : { problem: "must be a whole number" };
		case ScalarType.UINT32:
		case ScalarType.FIXED32:
			return readInteger(text, 0, 0xffff_ffff);
		default:
			return readInteger(text, -0x8000_0000, 0x7fff_ffff);
	}
}

function readInteger(text: string, min: number, max: number): Read {
	const number = /^-?(0|[1-9]\d*)$/.test(text) ? Number(text) : Number.NaN;
	return number >= min && number <= max
		? { json: number }
		: { problem: `must be a whole number from ${min} to ${max}` };
}

/** By name, by number, or by the short lower-case name that v1.0.0 showed (`input-required`). */
function readEnum(type: NonNullable<DescField["enum"]>, text: string): Read {
	const short = `${type.sharedPrefix ?? ""}${text.toLowerCase().replaceAll("-", "_")}`;
	const found = type.values.find(
		(value) => value.name === text || String(value.number) === text || value.name.toLowerCase() === short,
	);
	return found
		? { json: found.name }
		: { problem: `must be one of ${type.values.map((value) => value.name).join(", ")}` };
}

/**
 * A request's members as a raw query, leaving out those named in `bound`: camelCase names, enums by name. Members that
 * a query cannot hold (objects unknown to the type) and fields at their default are left out.
 */
export function writeFields(json: JsonObject, fields: Fields, bound: readonly string[]): string {
	const parts: string[] = [];
	for (const [name, value] of Object.entries(json)) {
		if (value === null || bound.includes(name)) continue;
		const field = fields.get(name);
		if (field && isDefault(field, value)) continue;
		const key = encodeURIComponent(field?.jsonName ?? name);
		for (const item of Array.isArray(value) ? value : [value]) {
			if (typeof item === "object") continue;
			const text = field?.enum && typeof item === "number" ? enumName(field.enum, item) : String(item);
			parts.push(`${key}=${encodeURIComponent(text)}`);
		}
	}
	return parts.join("&");
}

/** Fields without presence mean nothing at their default, and some servers refuse to read it. */
function isDefault(field: DescField, value: JsonValue): boolean {
	if (field.fieldKind === "scalar" && field.presence === IMPLICIT)
		return value === "" || value === 0 || value === false;
	if (field.fieldKind === "enum" && field.presence === IMPLICIT) {
		return value === 0 || value === field.enum.values.find((each) => each.number === 0)?.name;
	}
	return false;
}

/** FeatureSet.FieldPresence.IMPLICIT */
const IMPLICIT = 2;

function enumName(type: NonNullable<DescField["enum"]>, number: number): string {
	return type.value[number]?.name ?? String(number);
}
