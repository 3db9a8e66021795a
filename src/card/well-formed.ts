/** What an operator writes of a card, by hand, against the descriptors of its messages: every mistake with its place (§4.4, §5.7). */
import { type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { isRequired } from "../schema/required.ts";
import { isObject } from "./document.ts";

/** Where in a value: member names and list positions. */
export type Path = readonly (string | number)[];

export interface Mistake {
	readonly at: Path;
	readonly message: string;
	/** What the name could have been, where it is unknown. */
	readonly known?: readonly string[];
}

const opaque = (type: DescMessage): boolean => type.typeName.startsWith("google.");

/** Mistakes of a message in ProtoJSON, lowerCamelCase names only. `demanded`: is a REQUIRED field of the outermost one? Default: yes. */
export function mistakes(
	type: DescMessage,
	value: JsonValue,
	at: Path = [],
	demanded: (field: DescField) => boolean = isRequired,
): readonly Mistake[] {
	if (!isObject(value)) return [{ at, message: "must be a mapping" }];
	if (opaque(type)) return [];
	const fields = new Map(type.fields.map((field) => [field.jsonName, field]));
	const found = Object.entries(value).flatMap(([name, item]): readonly Mistake[] => {
		const field = fields.get(name);
		return field
			? ofField(field, item, [...at, name])
			: [{ at: [...at, name], message: "unknown field", known: [...fields.keys()] }];
	});
	const missing = type.fields.filter((field) => demanded(field) && !Object.hasOwn(value, field.jsonName));
	const unions = type.oneofs.filter(({ fields: members }) => set(members, value) !== 1);
	return [
		...found,
		...missing.map((field) => ({ at, message: `lacks ${field.jsonName}` })),
		...unions.map(({ fields }) => ({ at, message: `must have one of ${fields.map((f) => f.jsonName).join(", ")}` })),
	];
}

function set(fields: readonly DescField[], value: object): number {
	return fields.filter((field) => Object.hasOwn(value, field.jsonName)).length;
}

function ofField(field: DescField, item: JsonValue, at: Path): readonly Mistake[] {
	switch (field.fieldKind) {
		case "list":
			return Array.isArray(item)
				? item.flatMap((one, i) => ofOne(field, one, [...at, i]))
				: [{ at, message: "must be a list" }];
		case "map":
			return isObject(item)
				? Object.entries(item).flatMap(([key, one]) => ofOne(field, one, [...at, key]))
				: [{ at, message: "must be a mapping" }];
		default:
			return ofOne(field, item, at);
	}
}

function ofOne(field: DescField, item: JsonValue, at: Path): readonly Mistake[] {
	if (field.message) return mistakes(field.message, item, at);
	if (field.scalar === ScalarType.BOOL)
		return typeof item === "boolean" ? [] : [{ at, message: "must be true or false" }];
	if (field.scalar !== ScalarType.STRING && field.scalar !== undefined)
		return typeof item === "number" ? [] : [{ at, message: "must be a number" }];
	return typeof item === "string" ? [] : [{ at, message: "must be text (in quotes, if it looks like something else)" }];
}

type Schema = { readonly [member: string]: unknown };

/** The same for editors: JSON Schema. */
export function schemaOf(type: DescMessage, demanded: (field: DescField) => boolean = isRequired): Schema {
	if (opaque(type)) return { type: "object" };
	const required = type.fields.filter(demanded).map((field) => field.jsonName);
	return {
		type: "object",
		additionalProperties: false,
		properties: Object.fromEntries(type.fields.map((field) => [field.jsonName, fieldSchema(field)])),
		...(required.length > 0 && { required }),
	};
}

function fieldSchema(field: DescField): Schema {
	const scalar =
		field.scalar === ScalarType.BOOL ? "boolean" : field.scalar === ScalarType.STRING ? "string" : "number";
	const one = field.message ? schemaOf(field.message) : { type: field.scalar === undefined ? "string" : scalar };
	if (field.fieldKind === "list") return { type: "array", items: one };
	return field.fieldKind === "map" ? { type: "object", additionalProperties: one } : one;
}
