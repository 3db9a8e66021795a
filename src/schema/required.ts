/** Required fields (google.api.field_behavior = REQUIRED), compiled per message type: checked on the way in, written on the way out (§5.7). */
import {
	type DescEnum,
	type DescField,
	type DescMessage,
	type DescOneof,
	getOption,
	type JsonObject,
	type JsonValue,
	type Message,
} from "@bufbuild/protobuf";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import type { Violation } from "../call/payload.ts";

type Fields = Readonly<Record<string, unknown>>;

/** How to look at one field of a message. */
interface Rule {
	readonly field: DescField;
	/** Name in ProtoJSON. */
	readonly json: string;
	readonly required: boolean;
	/** Type to descend into, if the field holds messages with rules of their own. */
	readonly inner: DescMessage | undefined;
	/** Written when required and missing from JSON output; undefined for messages, which have no default. */
	readonly empty: JsonValue | undefined;
}

interface Rules {
	readonly rules: readonly Rule[];
	/** Of each, exactly one member must be set (A1, B16, and the oneofs of Part, SecurityScheme, OAuthFlows). */
	readonly unions: readonly DescOneof[];
}

const compiled = new WeakMap<DescMessage, Rules>();

/** Is this field marked REQUIRED? */
export function isRequired(field: DescField): boolean {
	return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

function rulesOf(type: DescMessage): Rules {
	let rules = compiled.get(type);
	if (!rules) {
		rules = {
			rules: type.fields
				.map((field): Rule => {
					const inner = field.message && !field.message.typeName.startsWith("google.") ? field.message : undefined;
					return { field, json: field.jsonName, required: isRequired(field), inner, empty: emptyOf(field) };
				})
				.filter((rule) => rule.required || rule.inner),
			unions: type.oneofs,
		};
		compiled.set(type, rules);
	}
	return rules;
}

function emptyOf(field: DescField): JsonValue | undefined {
	switch (field.fieldKind) {
		case "list":
			return [];
		case "map":
			return {};
		case "enum":
			return zeroName(field.enum);
		case "scalar": {
			const zero = field.getDefaultValue() ?? scalarZero(field.scalar);
			return zero as JsonValue;
		}
		default:
			return undefined;
	}
}

function zeroName(desc: DescEnum): string {
	return desc.values.find((v) => v.number === 0)?.name ?? "";
}

function scalarZero(scalar: number): JsonValue {
	const BOOL = 8;
	const STRING = 9;
	const BYTES = 12;
	if (scalar === STRING || scalar === BYTES) return "";
	return scalar === BOOL ? false : 0;
}

/**
 * Names every required field that is unset, and every union without a member. Lists may be empty
 * where emptiness means something: only lists of messages that hold content (`parts`) must not be
 * (Z5), which is to say lists whose item type is a union of contents.
 * `json` is the original, if there is one: an enum name the descriptor does not know counts as set.
 */
export function missing(type: DescMessage, message: Message, json?: JsonValue): Violation[] {
	const found: Violation[] = [];
	check(type, message as unknown as Fields, asObject(json), "", found);
	return found;
}

function check(
	type: DescMessage,
	message: Fields,
	json: JsonObject | undefined,
	path: string,
	found: Violation[],
): void {
	const { rules, unions } = rulesOf(type);
	for (const union of unions) {
		if ((message[union.localName] as { case?: string }).case === undefined) {
			found.push({ field: path, description: `must have one of ${union.fields.map((f) => f.jsonName).join(", ")}` });
		}
	}
	for (const { field, json: name, required, inner } of rules) {
		const value = fieldValue(message, field);
		const raw = json && (json[name] ?? json[field.name]);
		const here = path === "" ? name : `${path}.${name}`;
		if (required && !isSet(field, value, raw)) {
			found.push({
				field: here,
				description: field.fieldKind === "list" ? "must have at least one element" : "must be set",
			});
		} else if (inner && value !== undefined) {
			descend(field, inner, value, raw, here, found);
		}
	}
}

function descend(
	field: DescField,
	inner: DescMessage,
	value: unknown,
	raw: JsonValue | undefined,
	path: string,
	found: Violation[],
): void {
	if (field.fieldKind === "list") {
		const items = value as readonly Fields[];
		for (let i = 0; i < items.length; i++) {
			const item = items[i];
			if (item) check(inner, item, asObject(Array.isArray(raw) ? raw[i] : undefined), `${path}[${i}]`, found);
		}
	} else if (field.fieldKind === "map") {
		for (const [key, item] of Object.entries(value as Record<string, Fields>)) {
			check(inner, item, asObject(asObject(raw)?.[key]), `${path}.${key}`, found);
		}
	} else {
		check(inner, value as Fields, asObject(raw), path, found);
	}
}

function fieldValue(message: Fields, field: DescField): unknown {
	if (!field.oneof) return message[field.localName];
	const union = message[field.oneof.localName] as { case?: string; value?: unknown };
	return union.case === field.localName ? union.value : undefined;
}

function isSet(field: DescField, value: unknown, raw: JsonValue | undefined): boolean {
	switch (field.fieldKind) {
		case "message":
			return value !== undefined;
		case "list":
			return (value as readonly unknown[]).length > 0 || !isContent(field.message);
		case "enum":
			return value !== 0 || (typeof raw === "string" && !field.enum.values.some((v) => v.name === raw));
		case "scalar":
			return value !== "";
		default:
			return true;
	}
}

/** An item type that carries a oneof of contents: a list of them is a message's body. */
function isContent(type: DescMessage | undefined): boolean {
	return type?.oneofs.some((o) => !o.name.startsWith("_")) ?? false;
}

function asObject(value: JsonValue | undefined): JsonObject | undefined {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

/**
 * Adds to ProtoJSON output the required members that protobuf's default rules leave out because
 * they hold a default (§5.7: REQUIRED fields are always present). Writes into `json`, which must be fresh.
 */
export function fillRequired(type: DescMessage, json: JsonObject): JsonObject {
	for (const { field, json: name, required, inner, empty } of rulesOf(type).rules) {
		const value = json[name];
		if (value === undefined) {
			if (required && empty !== undefined && !field.oneof) json[name] = structuredClone(empty);
		} else if (inner) {
			if (field.fieldKind === "list") {
				for (const item of value as JsonObject[]) fillRequired(inner, item);
			} else if (field.fieldKind === "map") {
				for (const item of Object.values(value as Record<string, JsonObject>)) fillRequired(inner, item);
			} else {
				fillRequired(inner, value as JsonObject);
			}
		}
	}
	return json;
}
