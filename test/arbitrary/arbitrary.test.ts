/** The generators keep their word: valid, varied, small, and lossless in both encodings. */
import {
	createRegistry,
	type DescMessage,
	equals,
	fromBinary,
	fromJson,
	type Message,
	toBinary,
	toJson,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { file_lf_a2a_v1_a2a } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { arbitraryUnknownJson } from "./json.ts";
import { arbitraryMessage, isRequired } from "./message.ts";

const types = file_lf_a2a_v1_a2a.messages;
const registry = createRegistry(file_lf_a2a_v1_a2a);

/** Dotted names of REQUIRED fields that are unset, and of oneofs without a member. */
function missing(desc: DescMessage, message: Message): string[] {
	const r = reflect(desc, message);
	const own = [
		...desc.fields.filter((f) => isRequired(f) && f.fieldKind !== "list" && !r.isSet(f)).map((f) => f.toString()),
		...desc.oneofs.filter((o) => r.oneofCase(o) === undefined).map((o) => o.toString()),
	];
	for (const field of desc.fields) {
		if (field.fieldKind === "message" && !field.message.typeName.startsWith("google.") && r.isSet(field)) {
			own.push(...missing(field.message, r.get(field).message));
		}
	}
	return own;
}

// ListTasksResponse's counters and booleans are REQUIRED yet may be zero: there is no set or unset for them.
const countersOnly = (names: string[]): string[] => names.filter((name) => !/(page_size|total_size)$/.test(name));

describe.each(types.map((desc) => [desc.name, desc] as const))("%s", (_, desc) => {
	test("survives binary and JSON, and has what it must have", () => {
		fc.assert(
			fc.property(arbitraryMessage(desc), (message) => {
				expect(equals(desc, fromBinary(desc, toBinary(desc, message)), message)).toBe(true);
				const json = JSON.parse(JSON.stringify(toJson(desc, message)));
				expect(equals(desc, fromJson(desc, json), message)).toBe(true);
				expect(countersOnly(missing(desc, message))).toEqual([]);
				expect(toBinary(desc, message).length).toBeLessThan(60_000);
			}),
			{ numRuns: 60 },
		);
	});

	test("unknown binary fields survive binary", () => {
		fc.assert(
			fc.property(arbitraryMessage(desc, { unknown: true }), (message) => {
				const again = fromBinary(desc, toBinary(desc, message));
				expect(equals(desc, again, message, { registry, unknown: true })).toBe(true);
			}),
			{ numRuns: 30 },
		);
	});

	test("JSON with unknown content differs from anything the descriptor can write", () => {
		fc.assert(
			fc.property(arbitraryUnknownJson(desc), (json) => {
				const text = JSON.stringify(json);
				let known: string;
				try {
					known = JSON.stringify(toJson(desc, fromJson(desc, json, { ignoreUnknownFields: true })));
				} catch {
					return; // An unknown enum name in a place where it cannot be ignored.
				}
				expect(known).not.toBe(text);
			}),
			{ numRuns: 30 },
		);
	});
});

test("without `required` some messages lack what they must have", () => {
	const desc = types.find((type) => type.fields.some(isRequired) && type.oneofs.length === 0);
	if (!desc) throw new Error("no type with REQUIRED fields");
	const samples = fc.sample(arbitraryMessage(desc, { required: false }), 100);
	expect(samples.some((message) => missing(desc, message).length > 0)).toBe(true);
});
