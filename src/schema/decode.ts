/**
 * Protobuf binary → ProtoJSON in one step, compiled per message type; the inverse of encode.ts, with the same rule:
 * whatever is unusual makes it give up, and the long way through a message decides.
 */
import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";

/** The JSON protobuf-es would write for these bytes, before defaults; undefined when unsure. Fresh. */
export function decodeJson(type: DescMessage, bytes: Uint8Array): JsonObject | undefined {
	const source = new Source(bytes);
	const value = messageOf(type)(source, bytes.length, 0);
	return value === undefined ? undefined : (value as JsonObject);
}

/** Reads a value that ends at `end`; undefined when unsure. */
type Read = (source: Source, end: number, depth: number) => JsonValue | undefined;

/** protobuf-es allows 100, and counts some steps twice. */
const DEPTH = 30;

class Source {
	at = 0;
	readonly #bytes: Buffer;

	constructor(bytes: Uint8Array) {
		this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	}

	/** A varint of at most 49 bits; NaN when it is longer or passes `end`. */
	varint(end: number): number {
		let value = 0;
		for (let factor = 1; factor <= 2 ** 42; factor *= 128) {
			if (this.at >= end) return Number.NaN;
			const byte = this.#bytes[this.at++] ?? 0;
			value += (byte & 0x7f) * factor;
			if (byte < 0x80) return value;
		}
		return Number.NaN;
	}

	/** End of the length-delimited content that begins here; NaN when it passes `end`. */
	until(end: number): number {
		const size = this.varint(end);
		return this.at + size <= end ? this.at + size : Number.NaN;
	}

	/** Undefined for what is not, or may not be, UTF-8. */
	string(end: number): string | undefined {
		const text = this.#bytes.toString("utf8", this.at, end);
		this.at = end;
		return text.includes("\ufffd") ? undefined : text;
	}

	base64(end: number): string {
		const text = this.#bytes.toString("base64", this.at, end);
		this.at = end;
		return text;
	}

	double(end: number): number {
		if (this.at + 8 > end) return Number.NaN;
		this.at += 8;
		return this.#bytes.readDoubleLE(this.at - 8);
	}
}

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
/** FeatureSet.FieldPresence.IMPLICIT: a zero is the same as nothing. */
const IMPLICIT = 2;

const compiled = new WeakMap<DescMessage, Read>();
const unsure: Read = () => undefined;

function messageOf(type: DescMessage): Read {
	let read = compiled.get(type);
	if (!read) {
		read = wellKnown(type);
		if (!read) {
			// Registered first, as types contain themselves.
			let inner: Read | undefined;
			compiled.set(type, (source, end, depth) => inner?.(source, end, depth));
			inner = compileMessage(type);
			read = inner;
		}
		compiled.set(type, read);
	}
	return read;
}

function wellKnown(type: DescMessage): Read | undefined {
	switch (type.typeName) {
		case "google.protobuf.Struct":
			return struct;
		case "google.protobuf.Value":
			return anyValue;
		case "google.protobuf.ListValue":
			return list;
		case "google.protobuf.Timestamp":
			return timestamp;
		default:
			return type.typeName.startsWith("google.protobuf.") && type.typeName !== "google.protobuf.Empty"
				? unsure
				: undefined;
	}
}

interface Member {
	readonly name: string;
	readonly wire: number;
	/** Which of the type's oneofs it is in, as a bit. */
	readonly oneof: number;
	readonly kind: "one" | "list" | "map";
	/** What is left out: the zero of a field without presence. */
	readonly zero: JsonValue | undefined;
	readonly read: Read;
}

function compileMessage(type: DescMessage): Read {
	const members: (Member | undefined)[] = [];
	if (type.oneofs.length > 30) return unsure;
	for (const field of type.fields) {
		const oneof = field.oneof ? 1 << type.oneofs.indexOf(field.oneof) : 0;
		const member = memberOf(field, oneof);
		if (field.number > 1000 || !member || field.jsonName in Object.prototype) return unsure;
		members[field.number] = member;
	}
	return (source, end, depth) => {
		if (depth > DEPTH) return undefined;
		const json: Record<string, JsonValue> = {};
		let seen = 0;
		while (source.at < end) {
			const tag = source.varint(end);
			const member = members[Math.floor(tag / 8)];
			if (member === undefined || member.wire !== tag % 8 || (seen & member.oneof) !== 0) return undefined;
			seen |= member.oneof;
			const { name, kind } = member;
			const to = member.wire === BYTES ? source.until(end) : end;
			if (Number.isNaN(to)) return undefined;
			const before = json[name];
			// Of a field given twice protobuf merges both.
			if (before !== undefined && kind === "one") return undefined;
			if (kind === "map") {
				const map = (before ?? {}) as JsonObject;
				if (!readEntry(source, to, depth, member.read, map)) return undefined;
				json[name] = map;
				continue;
			}
			const value = member.read(source, to, depth + 1);
			if (value === undefined) return undefined;
			if (kind === "one") {
				if (value !== member.zero) json[name] = value;
			} else if (before === undefined) json[name] = [value];
			else (before as JsonValue[]).push(value);
		}
		return source.at === end ? json : undefined;
	};
}

/** Undefined for kinds that take the long way. */
function memberOf(field: DescField, oneof: number): Member | undefined {
	const member = (wire: number, kind: Member["kind"], read: Read, zero?: JsonValue): Member => ({
		name: field.jsonName,
		wire,
		oneof,
		kind,
		zero: field.presence === IMPLICIT ? zero : undefined,
		read,
	});
	switch (field.fieldKind) {
		case "message":
			return field.delimitedEncoding ? undefined : member(BYTES, "one", messageOf(field.message));
		case "list":
			if (field.listKind === "message" && !field.delimitedEncoding) {
				return member(BYTES, "list", messageOf(field.message));
			}
			return field.listKind === "scalar" && field.scalar === ScalarType.STRING
				? member(BYTES, "list", text)
				: undefined;
		case "map":
			if (field.mapKey !== ScalarType.STRING) return undefined;
			if (field.mapKind === "message") return member(BYTES, "map", messageOf(field.message));
			return field.mapKind === "scalar" && field.scalar === ScalarType.STRING ? member(BYTES, "map", text) : undefined;
		case "enum": {
			const names = new Map(field.enum.values.map((v) => [v.number, v.name]));
			const zero = names.get(0);
			return member(VARINT, "one", (source, end) => names.get(source.varint(end)), zero);
		}
		case "scalar":
			if (field.scalar === ScalarType.STRING) return member(BYTES, "one", text, "");
			if (field.scalar === ScalarType.BYTES) return member(BYTES, "one", (source, end) => source.base64(end), "");
			if (field.scalar === ScalarType.BOOL) return member(VARINT, "one", bool, false);
			return field.scalar === ScalarType.INT32 ? member(VARINT, "one", int32, 0) : undefined;
	}
}

const text: Read = (source, end) => source.string(end);

function bool(source: Source, end: number): boolean | undefined {
	const value = source.varint(end);
	return value === 0 ? false : value === 1 ? true : undefined;
}

/** Negative numbers have ten bytes: the long way. */
function int32(source: Source, end: number): number | undefined {
	const value = source.varint(end);
	return value <= 0x7fffffff ? value : undefined;
}

/** One entry of a map with string keys. */
function readEntry(source: Source, end: number, depth: number, read: Read, into: JsonObject): boolean {
	if (source.varint(end) !== 8 + BYTES) return false;
	const keyEnd = source.until(end);
	const key = Number.isNaN(keyEnd) ? undefined : source.string(keyEnd);
	if (key === undefined || key === "__proto__" || source.varint(end) !== 16 + BYTES) return false;
	const to = source.until(end);
	if (to !== end) return false;
	const value = read(source, to, depth + 1);
	if (value === undefined) return false;
	into[key] = value;
	return source.at === end;
}

/** google.protobuf.Value: exactly one of its members. */
function anyValue(source: Source, end: number, depth: number): JsonValue | undefined {
	if (depth > DEPTH) return undefined;
	const tag = source.varint(end);
	const to = tag % 8 === BYTES ? source.until(end) : end;
	if (to !== end) return undefined;
	let value: JsonValue | undefined;
	switch (tag) {
		case 8 + VARINT:
			value = source.varint(end) === 0 ? null : undefined;
			break;
		case 16 + FIXED64:
			value = source.double(end);
			if (!Number.isFinite(value)) return undefined;
			break;
		case 24 + BYTES:
			value = source.string(end);
			break;
		case 32 + VARINT:
			value = bool(source, end);
			break;
		case 40 + BYTES:
			value = struct(source, end, depth + 1);
			break;
		case 48 + BYTES:
			value = list(source, end, depth + 1);
			break;
	}
	return source.at === end ? value : undefined;
}

function struct(source: Source, end: number, depth: number): JsonValue | undefined {
	const value: JsonObject = {};
	while (source.at < end) {
		if (source.varint(end) !== 8 + BYTES) return undefined;
		const to = source.until(end);
		if (Number.isNaN(to) || !readEntry(source, to, depth, anyValue, value)) return undefined;
	}
	return value;
}

function list(source: Source, end: number, depth: number): JsonValue | undefined {
	const values: JsonValue[] = [];
	while (source.at < end) {
		if (source.varint(end) !== 8 + BYTES) return undefined;
		const to = source.until(end);
		const value = Number.isNaN(to) ? undefined : anyValue(source, to, depth + 1);
		if (value === undefined) return undefined;
		values.push(value);
	}
	return values;
}

/** The last second of the year 9999. */
const LAST = 253_402_300_799;

function timestamp(source: Source, end: number): string | undefined {
	let seconds = 0;
	let nanos = 0;
	while (source.at < end) {
		const tag = source.varint(end);
		if (tag === 8 + VARINT) seconds = source.varint(end);
		else if (tag === 16 + VARINT) nanos = source.varint(end);
		else return undefined;
	}
	if (!(seconds <= LAST && nanos <= 999_999_999)) return undefined;
	const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
	if (nanos === 0) return `${whole}Z`;
	const digits = String(nanos).padStart(9, "0");
	return `${whole}.${digits.replace(/(000){1,2}$/, "")}Z`;
}
