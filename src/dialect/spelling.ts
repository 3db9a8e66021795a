/** ProtoJSON in one spelling, values as they came: a translation reads names it knows and re-encodes nothing it need not (proto3 JSON mapping, §5.5). */
import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { pointer } from "../call/loss.ts";

const IMPLICIT = FeatureSet_FieldPresence.IMPLICIT;

const compiled = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** A type's fields by either of their two spellings. */
function fieldsOf(type: DescMessage): ReadonlyMap<string, DescField> {
	let fields = compiled.get(type);
	if (!fields) {
		fields = new Map(type.fields.flatMap((f) => [[f.name, f] as const, [f.jsonName, f] as const]));
		compiled.set(type, fields);
	}
	return fields;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Types whose JSON is not an object of their fields. */
function isOpaque(type: DescMessage): boolean {
	return type.typeName.startsWith("google.protobuf.");
}

/**
 * The same message with the descriptor's camelCase names, enum numbers as names, standard base64, and without
 * members that say nothing (null, defaults of fields without presence). Unknown members, unknown enum
 * names and values of a wrong type stay as they are: whoever reads on judges them.
 */
export function spelled(type: DescMessage, value: JsonValue): JsonValue {
	if (!isObject(value) || isOpaque(type)) return value;
	const fields = fieldsOf(type);
	const result: JsonObject = {};
	for (const key of Object.keys(value)) {
		const item = value[key];
		if (item === undefined || key === "__proto__") continue;
		const field = fields.get(key);
		if (!field) {
			if (item !== null) result[key] = item;
			continue;
		}
		const said = field.presence === IMPLICIT && isDefault(field, item) ? undefined : spelledField(field, item);
		if (said !== undefined) result[field.jsonName] = said;
	}
	return result;
}

function spelledField(field: DescField, item: JsonValue): JsonValue | undefined {
	if (item === null) return field.message?.typeName === "google.protobuf.Value" ? null : undefined;
	const { message } = field;
	switch (field.fieldKind) {
		case "message":
			return spelled(field.message, item);
		case "enum":
			return enumName(field, item);
		case "scalar":
			return scalar(field.scalar, item);
		case "list":
			if (!Array.isArray(item)) return item;
			if (item.length === 0) return undefined;
			return message ? item.map((element) => spelled(message, element)) : item;
		case "map":
			if (!isObject(item)) return item;
			if (Object.keys(item).length === 0) return undefined;
			return message
				? Object.fromEntries(Object.entries(item).map(([key, element]) => [key, spelled(message, element)]))
				: item;
	}
}

function isDefault(field: DescField, item: JsonValue): boolean {
	if (field.fieldKind === "enum") return item === 0 || item === field.enum.values[0]?.name;
	return field.fieldKind === "scalar" && (item === "" || item === 0 || item === false);
}

function enumName(field: DescField, item: JsonValue): JsonValue {
	return (typeof item === "number" && field.enum?.values.find((v) => v.number === item)?.name) || item;
}

function scalar(type: ScalarType, item: JsonValue): JsonValue {
	if (typeof item !== "string") return item;
	if (type === ScalarType.BYTES) return item.replaceAll("-", "+").replaceAll("_", "/");
	if (type === ScalarType.INT32 && /^-?\d+$/.test(item)) return Number(item);
	return item;
}

/** A pointer into what `spelled` made of `original`, as one into `original` itself. */
export function asWritten(type: DescMessage, original: JsonValue, spelledPointer: string): string {
	let desc: DescMessage | undefined = type;
	let inside: DescField | undefined;
	let here: JsonValue | undefined = original;
	let result = "";
	for (const step of spelledPointer.split("/").slice(1)) {
		let name = step.replaceAll("~1", "/").replaceAll("~0", "~");
		if (inside) {
			// An index or a map's key.
			desc = inside.message;
			inside = undefined;
		} else {
			const field: DescField | undefined = desc && fieldsOf(desc).get(name);
			if (field && isObject(here) && !Object.hasOwn(here, name) && Object.hasOwn(here, field.name)) name = field.name;
			desc = field?.message && !isOpaque(field.message) ? field.message : undefined;
			inside = field && (field.fieldKind === "list" || field.fieldKind === "map") ? field : undefined;
		}
		result = pointer(result, name);
		here = Array.isArray(here) ? here[Number(name)] : isObject(here) ? here[name] : undefined;
	}
	return result;
}
