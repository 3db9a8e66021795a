/**
 * ProtoJSON → protobuf binary in one step, compiled per message type (ProtoJSON mapping, protobuf.dev/programming-guides/json).
 * A short cut for the usual case: whatever is unusual makes it give up, and the long way through a message decides.
 */
import { type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { Sink } from "./sink.ts";

/** Writes one value; false when unsure. Without a sink it only looks. */
type Write = (value: unknown, out: Sink | undefined, depth: number) => boolean;

/** protobuf-es allows 100, and counts some steps twice; what is deeper goes the long way. */
const DEPTH = 30;
/** Does this JSON certainly fit the type? False: perhaps not. */
export function surelyFits(type: DescMessage, json: JsonValue): boolean {
	return messageOf(type)(json, undefined, 0);
}

/**
 * The bytes protobuf-es would write for this JSON; undefined when unsure. `size` is that of its text, if known: what is
 * large gets a buffer of its own, of which nothing is copied.
 */
export function encodeJson(type: DescMessage, json: JsonValue, size = 0): Uint8Array | undefined {
	const own = size > SHARED / 2;
	const out = own ? new Sink(size + SHARED) : shared;
	out.at = 0;
	if (!messageOf(type)(json, out, 0)) return undefined;
	return own ? out.written() : out.take();
}

const SHARED = 64 * 1024;
/** One for all: encoding is synchronous. */
const shared = new Sink(SHARED);

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const tagOf = (number: number, wire: number) => number * 8 + wire;

const compiled = new WeakMap<DescMessage, Write>();
const unsure: Write = () => false;

function messageOf(type: DescMessage): Write {
	let write = compiled.get(type);
	if (!write) {
		write = wellKnown(type);
		if (!write) {
			// Registered first, as types contain themselves.
			let inner: Write | undefined;
			compiled.set(type, (value, out, depth) => inner?.(value, out, depth) ?? false);
			inner = compileMessage(type);
			write = inner;
		}
		compiled.set(type, write);
	}
	return write;
}

function wellKnown(type: DescMessage): Write | undefined {
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
	/** Its other name in JSON, if it differs. */
	readonly proto: string | undefined;
	/** Which of the type's oneofs it is in, as a bit. */
	readonly oneof: number;
	readonly write: Write;
}

function compileMessage(type: DescMessage): Write {
	const sorted = [...type.fields].sort((a, b) => a.number - b.number);
	if (sorted.some((f) => f.jsonName in Object.prototype) || type.oneofs.length > 30) return unsure;
	const members = sorted.map((field): Member => {
		const { name, jsonName } = field;
		const oneof = field.oneof ? 1 << type.oneofs.indexOf(field.oneof) : 0;
		return { name: jsonName, proto: name === jsonName ? undefined : name, oneof, write: compileField(field) };
	});
	return (value, out, depth) => {
		if (typeof value !== "object" || value === null || Array.isArray(value) || depth > DEPTH) return false;
		const json = value as Readonly<Record<string, unknown>>;
		let seen = 0;
		for (const { name, proto, oneof, write } of members) {
			if (proto !== undefined && json[proto] !== undefined) return false;
			const member = json[name];
			if (member === undefined) continue;
			if ((seen & oneof) !== 0 || !write(member, out, depth + 1)) return false;
			seen |= oneof;
		}
		return true;
	};
}

/** A field with its tag. */
function compileField(field: DescField): Write {
	switch (field.fieldKind) {
		case "message": {
			if (field.delimitedEncoding) return unsure;
			return delimited(tagOf(field.number, BYTES), messageOf(field.message));
		}
		case "list": {
			if (field.listKind === "enum" || (field.listKind === "message" && field.delimitedEncoding)) return unsure;
			const tag = tagOf(field.number, BYTES);
			const item =
				field.listKind === "message" ? delimited(tag, messageOf(field.message)) : text(field.scalar, tag, false);
			return (value, out, depth) => {
				if (!Array.isArray(value)) return false;
				for (const each of value) if (!item(each, out, depth)) return false;
				return true;
			};
		}
		case "map":
			return compileMap(field);
		case "enum":
			return named(
				new Map(field.enum.values.map((v) => [v.name, v.number])),
				tagOf(field.number, VARINT),
				field.presence === IMPLICIT,
			);
		case "scalar":
			return scalar(field.scalar, field.number, field.presence === IMPLICIT);
	}
}

/** FeatureSet.FieldPresence.IMPLICIT: a zero is the same as nothing. */
const IMPLICIT = 2;

function delimited(tag: number, write: Write): Write {
	return (value, out, depth) => {
		if (!out) return write(value, undefined, depth);
		if (!out.room(16)) return false;
		out.varint(tag);
		const from = out.open();
		if (!write(value, out, depth) || !out.room(8)) return false;
		out.close(from);
		return true;
	};
}

function text(type: ScalarType, tag: number, implicit: boolean): Write {
	if (type !== ScalarType.STRING) return unsure;
	return (value, out) => {
		if (typeof value !== "string" || !value.isWellFormed()) return false;
		if (!out || (implicit && value === "")) return true;
		if (!out.room(8)) return false;
		out.varint(tag);
		return out.string(value);
	};
}

function scalar(type: ScalarType, number: number, implicit: boolean): Write {
	if (type === ScalarType.STRING) return text(type, tagOf(number, BYTES), implicit);
	if (type === ScalarType.BOOL) {
		const tag = tagOf(number, VARINT);
		return (value, out) => {
			if (typeof value !== "boolean") return false;
			if (!out || (implicit && !value)) return true;
			if (!out.room(8)) return false;
			out.varint(tag);
			out.varint(value ? 1 : 0);
			return true;
		};
	}
	if (type !== ScalarType.INT32 && type !== ScalarType.UINT32) return unsure;
	const tag = tagOf(number, VARINT);
	return (value, out) => {
		// Negative numbers have ten bytes: the long way.
		if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > 0x7fffffff) return false;
		if (!out || (implicit && value === 0)) return true;
		if (!out.room(16)) return false;
		out.varint(tag);
		out.varint(value);
		return true;
	};
}

function named(values: ReadonlyMap<string, number>, tag: number, implicit: boolean): Write {
	return (value, out) => {
		const number = typeof value === "string" ? values.get(value) : undefined;
		if (number === undefined || number < 0) return false;
		if (!out || (implicit && number === 0)) return true;
		if (!out.room(16)) return false;
		out.varint(tag);
		out.varint(number);
		return true;
	};
}

function compileMap(field: DescField & { fieldKind: "map" }): Write {
	if (field.mapKey !== ScalarType.STRING) return unsure;
	const tag = tagOf(field.number, BYTES);
	const key = text(ScalarType.STRING, tagOf(1, BYTES), false);
	let item: Write;
	if (field.mapKind === "message") item = delimited(tagOf(2, BYTES), messageOf(field.message));
	else if (field.mapKind === "scalar") item = scalar(field.scalar, 2, false);
	else return unsure;
	return entries(tag, key, item);
}

function entries(tag: number, key: Write, item: Write): Write {
	const entry = (name: string, value: unknown, out: Sink | undefined, depth: number) =>
		key(name, out, depth) && item(value, out, depth);
	return (value, out, depth) => {
		if (typeof value !== "object" || value === null || Array.isArray(value) || depth > DEPTH) return false;
		for (const [name, each] of Object.entries(value)) {
			if (!out) {
				if (!entry(name, each, undefined, depth)) return false;
				continue;
			}
			if (!out.room(16)) return false;
			out.varint(tag);
			const from = out.open();
			if (!entry(name, each, out, depth) || !out.room(8)) return false;
			out.close(from);
		}
		return true;
	};
}

/** google.protobuf.Value: any JSON. */
function anyValue(value: unknown, out: Sink | undefined, depth: number): boolean {
	if (depth > DEPTH || (out && !out.room(32))) return false;
	switch (typeof value) {
		case "string":
			if (!value.isWellFormed()) return false;
			out?.varint(tagOf(3, BYTES));
			return out?.string(value) ?? true;
		case "number":
			if (!Number.isFinite(value)) return false;
			out?.varint(tagOf(2, FIXED64));
			out?.double(value);
			return true;
		case "boolean":
			out?.varint(tagOf(4, VARINT));
			out?.varint(value ? 1 : 0);
			return true;
		case "object":
			if (value === null) {
				out?.varint(tagOf(1, VARINT));
				out?.varint(0);
				return true;
			}
			return Array.isArray(value) ? innerList(value, out, depth + 1) : innerStruct(value, out, depth + 1);
		default:
			return false;
	}
}

const struct = entries(
	tagOf(1, BYTES),
	text(ScalarType.STRING, tagOf(1, BYTES), false),
	delimited(tagOf(2, BYTES), anyValue),
);

const listItem = delimited(tagOf(1, BYTES), anyValue);
function list(value: unknown, out: Sink | undefined, depth: number): boolean {
	if (!Array.isArray(value)) return false;
	for (const each of value) if (!listItem(each, out, depth + 1)) return false;
	return true;
}

const innerStruct = delimited(tagOf(5, BYTES), struct);
const innerList = delimited(tagOf(6, BYTES), list);

/** Days that every month has, years since the epoch, UTC: the rest goes the long way. */
const TIMESTAMP =
	/^(19[7-9]\d|[2-9]\d{3})-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.(\d{3}|\d{6}|\d{9}))?Z$/;

function timestamp(value: unknown, out: Sink | undefined): boolean {
	if (typeof value !== "string") return false;
	const match = TIMESTAMP.exec(value);
	if (!match) return false;
	if (!out) return true;
	if (!out.room(32)) return false;
	const seconds = Date.parse(`${value.slice(0, 19)}Z`) / 1000;
	const nanos = Number((match[5] ?? "").padEnd(9, "0"));
	if (seconds > 0) {
		out.varint(tagOf(1, VARINT));
		out.varint(seconds);
	}
	if (nanos > 0) {
		out.varint(tagOf(2, VARINT));
		out.varint(nanos);
	}
	return true;
}
