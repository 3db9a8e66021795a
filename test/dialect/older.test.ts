/** lower∘lift: what an older dialect can say comes back from v1.0 as it was, except what was reported lost. */
import {
	type DescField,
	type DescMessage,
	fromJson,
	type JsonObject,
	type JsonValue,
	toBinary,
	toJson,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { A2AService as V03Service } from "../../gen/a2a/v1/a2a_pb.ts";
import type { LossEntry } from "../../src/call/loss.ts";
import type { Payload } from "../../src/call/payload.ts";
import { v0_1 } from "../../src/dialect/v0_1/index.ts";
import { v0_3 } from "../../src/dialect/v0_3/index.ts";
import { fromValue } from "../../src/schema/payload.ts";
import { arbitraryMessage, arbitraryString } from "../arbitrary/message.ts";
import { v01, v03 } from "./shapes.ts";
import { collect, coreMethod, type Direction, each, isObject, json, without } from "./support.ts";

/** The same content, without the memory of where it came from. */
const forget = (payload: Payload): Payload => fromValue(payload.type, structuredClone(payload.json()));

const FINAL = ["completed", "failed", "canceled", "rejected", "input-required"];

/** Documented: defaults spelled out, `final` made anew, ids of configs where the wire has none (docs/dialects.md). */
function normaliseJson(value: JsonValue): JsonValue {
	const result = structuredClone(value);
	each(result, (object) => {
		if ("final" in object && isObject(object["status"]))
			object["final"] = FINAL.includes(String(object["status"]["state"]));
		if (object["kind"] === "artifact-update") {
			object["append"] ??= false;
			object["lastChunk"] ??= false;
		}
		if (isObject(object["configuration"])) object["configuration"]["blocking"] ??= true;
		if (object["historyLength"] === 0) delete object["historyLength"];
		if (isObject(object["metadata"]) && Object.keys(object["metadata"]).length === 0) delete object["metadata"];
		const config = object["pushNotificationConfig"];
		if (isObject(config) && typeof object["taskId"] === "string") config["id"] ??= object["taskId"];
	});
	return result;
}

describe.each([
	["0.3", v0_3.rpc, v03],
	["0.1", v0_1.rpc, v01],
] as const)("%s JSON-RPC", (_, form, shapes) => {
	const cases = [
		...Object.entries(shapes.requests).map(([name, shape]) => ["Request" as Direction, name, shape] as const),
		...Object.entries(shapes.replies).map(([name, shape]) => ["Reply" as Direction, name, shape] as const),
	];
	test.each(cases)("%s of %s", (direction, name, shape) => {
		const method = coreMethod(name);
		fc.assert(
			fc.property(shape as fc.Arbitrary<JsonValue>, (older) => {
				const losses: LossEntry[] = [];
				const back: LossEntry[] = [];
				const lifted = form[`read${direction}`](method, json(older), collect(losses));
				// What was lifted is v1.0.
				lifted.message();
				const lowered = form[`write${direction}`](method, forget(lifted), collect(back));
				expect(back).toEqual([]);
				expect(normaliseJson(lowered.value)).toEqual(normaliseJson(without(older, losses)));
				// A hop to the same form changes nothing at all.
				expect(form[`write${direction}`](method, lifted).value).toBe(older);
			}),
			{ numRuns: 80 },
		);
	});
});

/** Names that mean something; the create request must agree with itself. */
const id = arbitraryString(1).filter((s) => !s.includes("/"));
const configName = fc.tuple(id, id).map(([task, config]) => `tasks/${task}/pushNotificationConfigs/${config}`);
function override(field: DescField): fc.Arbitrary<unknown> | undefined {
	if (field.name === "parent") return id.map((task) => `tasks/${task}`);
	if (field.name === "name" && /PushNotificationConfig/.test(field.parent.name)) return configName;
	if (field.name === "name" && /(GetTask|CancelTask|TaskSubscription)Request$/.test(field.parent.name))
		return id.map((task) => `tasks/${task}`);
	// An empty name is no scheme.
	if (field.name === "schemes" && field.fieldKind === "list") return fc.array(arbitraryString(1), { maxLength: 2 });
	return undefined;
}

/** Fields that peers always set, though the proto does not say so. */
function set(field: DescField): boolean {
	return (
		["name", "parent", "push_notification_config"].includes(field.name) ||
		field.toString() === "field a2a.v1.DataPart.data"
	);
}

/** Documented as for JSON-RPC; and a create request's three names agree, which the generator does not see to. */
function normaliseProto(type: DescMessage, value: JsonValue): JsonValue {
	const result = structuredClone(value) as JsonObject;
	const agree = (config: JsonValue | undefined, task: string, inner: string) => {
		if (!isObject(config)) return;
		config["name"] = `tasks/${task}/pushNotificationConfigs/${inner}`;
		config["pushNotificationConfig"] = { ...((config["pushNotificationConfig"] as JsonObject) ?? {}), id: inner };
	};
	if (type.name === "CreateTaskPushNotificationConfigRequest")
		agree(result["config"], String(result["parent"]).slice(6), String(result["configId"]));
	const configs = Array.isArray(result["configs"]) ? result["configs"] : [result];
	for (const config of configs) {
		if (!isObject(config) || !("pushNotificationConfig" in config || type.name.includes("Config"))) continue;
		if (typeof config["name"] !== "string" || type.name.startsWith("Create") || /Request$/.test(type.name)) continue;
		const [, task = "", inner = ""] = /^tasks\/(.*)\/pushNotificationConfigs\/(.*)$/s.exec(config["name"]) ?? [];
		agree(config, task, inner);
	}
	each(result, (object) => {
		if (isObject(object["metadata"]) && Object.keys(object["metadata"]).length === 0) delete object["metadata"];
		if ("statusUpdate" in object && isObject(object["statusUpdate"])) delete object["statusUpdate"]["final"];
		if (isObject(object["authentication"])) object["authentication"]["schemes"] ??= [];
	});
	// Written the way the wire writes it: defaults left out.
	return toJson(type, fromJson(type, result));
}

describe("0.3 proto", () => {
	const methods = V03Service.methods.filter((m) => m.name !== "GetAgentCard");
	const cases = methods.flatMap((own) => [["Request", own] as const, ["Reply", own] as const]);
	test.each(cases.map(([direction, own]) => [direction, own.name, own] as const))("%s of %s", (direction, _, own) => {
		const type = direction === "Request" ? own.input : own.output;
		const core = v0_3.coreMethod(own);
		fc.assert(
			fc.property(
				arbitraryMessage(type, {
					override,
					also: set,
				}),
				(message) => {
					const older = toJson(type, message);
					const losses: LossEntry[] = [];
					const lifted = v0_3.http[`read${direction}`](core, json(older), collect(losses));
					const back: LossEntry[] = [];
					const lowered = v0_3.http[`write${direction}`](core, forget(lifted), collect(back));
					expect(back).toEqual([]);
					const expected = normaliseProto(type, without(older, losses));
					// Strict: the lenses write nothing that the type lacks.
					expect(normaliseProto(type, toJson(type, fromJson(type, lowered.value)))).toEqual(expected);

					const fromBytes = v0_3.binary[`read${direction}`](core, toBinary(type, message));
					expect(fromBytes.canonical()).toEqual(lifted.canonical());
					const bytes = v0_3.binary[`write${direction}`](core, forget(fromBytes));
					expect(Buffer.from(bytes)).toEqual(Buffer.from(toBinary(type, fromJson(type, lowered.value))));
				},
			),
			{ numRuns: 60 },
		);
	});

	test.each(methods.map((own) => [own.name, own] as const))("%s: either spelling reads the same", (_, own) => {
		fc.assert(
			fc.property(arbitraryMessage(own.input, { override }), (message) => {
				const core = v0_3.coreMethod(own);
				const camel = v0_3.http.readRequest(core, json(toJson(own.input, message)));
				const snake = v0_3.http.readRequest(core, json(toJson(own.input, message, { useProtoFieldName: true })));
				expect({ ...snake.canonical(), message: null }).toEqual({ ...camel.canonical(), message: null });
				expect(snake.canonical()["message"]).toEqual(camel.canonical()["message"]);
			}),
			{ numRuns: 30 },
		);
	});
});
