/** Generated messages of any protobuf type, from its descriptor alone (fast-check). */
import {
	create,
	type DescEnum,
	type DescField,
	type DescMessage,
	fromJson,
	getOption,
	hasOption,
	type JsonObject,
	type JsonValue,
	type Message,
	ScalarType,
	type UnknownField,
} from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { StructSchema, TimestampSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";

export interface ArbitraryOptions {
	/** REQUIRED fields are set and not empty, and every oneof has a member. Default: true. */
	readonly required?: boolean;
	/** Fields the descriptor does not know appear among the binary ones. Default: false. */
	readonly unknown?: boolean;
	/** Fields that must be set and not empty besides the REQUIRED ones (path variables). */
	readonly also?: (field: DescField) => boolean;
	/** Replaces the values of a field; `undefined` from the arbitrary leaves it unset. */
	readonly override?: (field: DescField) => fc.Arbitrary<unknown> | undefined;
}

/** Short strings of every kind: plain, combining and astral characters, control characters, NUL. */
export const arbitraryString = (minLength = 0, maxLength = 10): fc.Arbitrary<string> =>
	fc.oneof(
		{ weight: 3, arbitrary: fc.string({ minLength, maxLength }) },
		{ weight: 2, arbitrary: fc.string({ minLength, maxLength, unit: "grapheme" }) },
		{ weight: 1, arbitrary: fc.string({ minLength, maxLength: Math.max(minLength, 4), unit: "binary" }) },
		{
			weight: 1,
			arbitrary: fc.constantFrom("a/b:c", "%2F", "..", "tasks", "null", " x ", "ünïcode ✓", "\u2028", '"\\'),
		},
	);

// "__proto__" cannot be a key of a plain object, which is what protobuf-es and JSON.parse consumers use.
const arbitraryKey = arbitraryString(0, 6).filter((key) => key !== "__proto__");

/** Doubles that JSON can carry: no NaN, no infinities, and not -0, which JSON.stringify writes as 0. */
const arbitraryNumber: fc.Arbitrary<number> = fc.oneof(
	fc.integer(),
	fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n)),
	fc.constantFrom(0, -1, 0.1, 1e21, 1e-7, 2 ** 53, -(2 ** 53), 2 ** 53 - 1, 1.7976931348623157e308, 5e-324),
);

/** What google.protobuf.Value can hold: any JSON, three levels deep at most. */
export const arbitraryJsonValue = (depth = 2): fc.Arbitrary<JsonValue> => {
	const leaf: fc.Arbitrary<JsonValue> = fc.oneof(fc.constant(null), fc.boolean(), arbitraryNumber, arbitraryString());
	if (depth === 0) return leaf;
	return fc.oneof(
		{ weight: 3, arbitrary: leaf },
		{ weight: 1, arbitrary: fc.array(arbitraryJsonValue(depth - 1), { maxLength: 3 }) },
		{ weight: 1, arbitrary: arbitraryJsonObject(depth - 1) },
	);
};

export const arbitraryJsonObject = (depth = 2): fc.Arbitrary<JsonObject> =>
	fc
		.uniqueArray(fc.tuple(arbitraryKey, arbitraryJsonValue(depth)), { maxLength: 3, selector: ([key]) => key })
		.map((entries): JsonObject => Object.fromEntries(entries));

// RFC 3339 as ProtoJSON bounds it: 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z.
const arbitraryTimestamp = fc
	.record({
		seconds: fc.oneof(
			fc.bigInt({ min: 1_500_000_000n, max: 2_000_000_000n }),
			fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n }),
		),
		nanos: fc.oneof(
			fc.constant(0),
			fc.integer({ min: 0, max: 999 }).map((ms) => ms * 1_000_000),
			fc.integer({ min: 0, max: 999_999_999 }),
		),
	})
	.map((init) => create(TimestampSchema, init));

const enumNumbers = (desc: DescEnum, set: boolean): fc.Arbitrary<number> =>
	fc.constantFrom(...desc.values.map((value) => value.number).filter((number) => !set || number !== 0));

function arbitraryScalar(field: DescField, type: ScalarType, set: boolean): fc.Arbitrary<unknown> {
	switch (type) {
		case ScalarType.STRING:
			return arbitraryString(set ? 1 : 0);
		case ScalarType.BOOL:
			return fc.boolean();
		case ScalarType.BYTES:
			return fc.uint8Array({ minLength: set ? 1 : 0, maxLength: 24 }).map((bytes) => new Uint8Array(bytes));
		case ScalarType.INT32:
			// The specification bounds them: page sizes 1 to 100, no negative counts.
			return field.name === "page_size" ? fc.integer({ min: 1, max: 100 }) : fc.nat();
		default:
			throw new Error(`${field}: no values for scalar type ${ScalarType[type]}`);
	}
}

function arbitrarySub(desc: DescMessage, options: ArbitraryOptions): fc.Arbitrary<unknown> {
	switch (desc.typeName) {
		case StructSchema.typeName:
			return arbitraryJsonObject();
		case ValueSchema.typeName:
			return arbitraryJsonValue().map((value) => fromJson(ValueSchema, value));
		case TimestampSchema.typeName:
			return arbitraryTimestamp;
		default:
			return arbitraryMessage(desc, options);
	}
}

function arbitraryField(field: DescField, set: boolean, options: ArbitraryOptions): fc.Arbitrary<unknown> {
	const override = options.override?.(field);
	if (override) return override;
	switch (field.fieldKind) {
		case "scalar":
			return arbitraryScalar(field, field.scalar, set);
		case "enum":
			return enumNumbers(field.enum, set);
		case "message":
			return arbitrarySub(field.message, options);
		case "list": {
			const item =
				field.listKind === "message"
					? arbitrarySub(field.message, options)
					: field.listKind === "enum"
						? enumNumbers(field.enum, false)
						: arbitraryScalar(field, field.scalar, false);
			return fc.array(item, { minLength: set ? 1 : 0, maxLength: 2 });
		}
		case "map": {
			const value =
				field.mapKind === "message"
					? arbitrarySub(field.message, options)
					: field.mapKind === "enum"
						? enumNumbers(field.enum, false)
						: arbitraryScalar(field, field.scalar, false);
			return fc
				.uniqueArray(fc.tuple(arbitraryKey, value), {
					minLength: set ? 1 : 0,
					maxLength: 2,
					selector: ([key]) => key,
				})
				.map((entries) => Object.fromEntries(entries));
		}
	}
}

/** Is this field marked REQUIRED by google.api.field_behavior? */
export function isRequired(field: DescField): boolean {
	return hasOption(field, field_behavior) && getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

const arbitraryUnknown: fc.Arbitrary<UnknownField[]> = fc.array(
	fc.oneof(
		fc.record({
			no: fc.integer({ min: 1000, max: 1999 }),
			wireType: fc.constant(WireType.Varint),
			data: fc.integer({ min: 0, max: 127 }).map((n) => Uint8Array.of(n)),
		}),
		fc.record({
			no: fc.integer({ min: 1000, max: 1999 }),
			wireType: fc.constant(WireType.LengthDelimited),
			data: fc.uint8Array({ maxLength: 8 }).map((bytes) => Uint8Array.of(bytes.length, ...bytes)),
		}),
	),
	{ maxLength: 2 },
);

/** Messages of the type `desc`, small in every direction. */
export function arbitraryMessage(desc: DescMessage, options: ArbitraryOptions = {}): fc.Arbitrary<Message> {
	const required = options.required ?? true;
	const members: Record<string, fc.Arbitrary<unknown>> = {};
	for (const member of desc.members) {
		if (member.kind === "oneof") {
			const cases = member.fields.map((field) =>
				// A member of a oneof may well be empty: it is set all the same.
				arbitraryField(field, false, options).map((value) =>
					value === undefined ? { case: undefined } : { case: field.localName, value },
				),
			);
			members[member.localName] = required ? fc.oneof(...cases) : fc.oneof(fc.constant({ case: undefined }), ...cases);
			continue;
		}
		const set = (required && isRequired(member)) || options.also?.(member) === true;
		const value = arbitraryField(member, set, options);
		members[member.localName] = set ? value : fc.option(value, { nil: undefined });
	}
	const message = fc.record(members).map((init) => create(desc, dropUnset(init)));
	if (!options.unknown) return message;
	return fc.tuple(message, arbitraryUnknown).map(([known, unknown]) => {
		if (unknown.length > 0) known.$unknown = unknown;
		return known;
	});
}

function dropUnset(init: Record<string, unknown>): Record<string, unknown> {
	return Object.fromEntries(Object.entries(init).filter(([, value]) => value !== undefined));
}
