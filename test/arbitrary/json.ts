/** ProtoJSON with members and enum names that no descriptor knows, at random places (forward compatibility, §5.7). */
import {
	type DescField,
	type DescMessage,
	type JsonObject,
	type JsonValue,
	type Message,
	toJson,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { type ArbitraryOptions, arbitraryJsonValue, arbitraryMessage } from "./message.ts";

/** A place where something unknown can be put. */
interface Site {
	readonly put: (value: JsonValue, name: string) => void;
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** Types whose JSON is not an object of their fields. */
const opaque = new Set(["Struct", "Value", "ListValue", "Timestamp"].map((name) => `google.protobuf.${name}`));

/** Visits every object that is a message and every enum value, as the descriptor tells them. */
function collect(json: JsonObject, desc: DescMessage, sites: Site[]): void {
	if (opaque.has(desc.typeName)) return;
	const put = (name: string, value: JsonValue): void => {
		json[name] = value;
	};
	sites.push({ put: (value, name) => put(`x${name}`, value) });
	for (const field of desc.fields) {
		const value = json[field.jsonName];
		if (value === undefined) continue;
		if (field.fieldKind === "enum") {
			sites.push({ put: (_, name) => put(field.jsonName, `${sharedPrefix(field)}FUTURE_${name}`) });
		} else if (field.fieldKind === "message") {
			if (isObject(value)) collect(value, field.message, sites);
		} else if (field.fieldKind === "list" && field.listKind === "message" && Array.isArray(value)) {
			for (const item of value) if (isObject(item)) collect(item, field.message, sites);
		} else if (field.fieldKind === "map" && field.mapKind === "message" && isObject(value)) {
			for (const item of Object.values(value)) if (isObject(item)) collect(item, field.message, sites);
		}
	}
}

function sharedPrefix(field: DescField): string {
	return field.enum?.sharedPrefix?.toUpperCase() ?? "";
}

/** A message's JSON with at least one unknown member or unknown enum name in it. */
export function arbitraryUnknownJson(desc: DescMessage, options: ArbitraryOptions = {}): fc.Arbitrary<JsonObject> {
	return arbitraryMessage(desc, options).chain((message) => {
		const count = sitesOf(desc, message).sites.length;
		return fc
			.uniqueArray(
				fc.tuple(fc.nat({ max: count - 1 }), arbitraryJsonValue(1), fc.constantFrom("A", "B_C", "ny", "9")),
				{ minLength: 1, maxLength: 4, selector: ([index]) => index },
			)
			.map((changes) => {
				const { json, sites } = sitesOf(desc, message);
				for (const [index, value, name] of changes) sites[index]?.put(value, name);
				return json;
			});
	});
}

function sitesOf(desc: DescMessage, message: Message): { json: JsonObject; sites: Site[] } {
	const json = structuredClone(toJson(desc, message) as JsonObject);
	const sites: Site[] = [];
	collect(json, desc, sites);
	return { json, sites };
}
