/** A message with everything in it, made from its descriptor: what a translation loses of it is what it can lose. */
import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";

/** JSON forms that the descriptor does not tell (ProtoJSON's well-known types). */
const KNOWN: Readonly<Record<string, JsonValue>> = {
	"google.protobuf.Struct": { key: "value" },
	"google.protobuf.Value": { key: "value" },
	"google.protobuf.Timestamp": "2026-01-01T00:00:00Z",
	"google.protobuf.Empty": {},
};

/** Whatever is no number. */
const SCALARS: ReadonlyMap<ScalarType | undefined, JsonValue> = new Map<ScalarType | undefined, JsonValue>([
	[ScalarType.BOOL, true],
	[ScalarType.STRING, "text"],
	[ScalarType.BYTES, "AAAA"],
]);

/** The ProtoJSON of a message whose fields are all set. Where one list holds alternatives, it holds one of each. */
export function sample(type: DescMessage, choice = 0): JsonObject {
	const result: JsonObject = {};
	for (const member of type.members) {
		const field = member.kind === "oneof" ? member.fields[choice % member.fields.length] : member;
		if (field) result[field.jsonName] = field.fieldKind === "list" ? all(field) : value(field);
	}
	return result;
}

/** As many members as the type has alternatives. */
function all(field: DescField & { fieldKind: "list" }): JsonValue {
	if (field.listKind !== "message") return [value(field)];
	const alternatives = Math.max(1, ...field.message.oneofs.map(({ fields }) => fields.length));
	return Array.from({ length: alternatives }, (_, i) => message(field.message, i));
}

function message(type: DescMessage, choice = 0): JsonValue {
	return KNOWN[type.typeName] ?? sample(type, choice);
}

function value(field: DescField): JsonValue {
	if (field.message) return field.fieldKind === "map" ? { key: message(field.message) } : message(field.message);
	if (field.enum) return field.enum.values.at(-1)?.name ?? 0;
	if (field.fieldKind === "map") return { key: "value" };
	return SCALARS.get(field.scalar) ?? 1;
}
