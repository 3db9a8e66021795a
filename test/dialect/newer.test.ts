/** lift∘lower: what v1.0 can say comes back from every older form, except exactly what was reported lost. */
import { type DescField, type DescMethod, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { LossEntry } from "../../src/call/loss.ts";
import { arbitraryMessage } from "../arbitrary/message.ts";
import { type Direction, each, type Hop, hops, isObject, payload, without } from "./support.ts";

const versions = fc.constantFrom("0.3", "1.0", "0.2", "0.1");
const override = (field: DescField) =>
	field.parent.name === "AgentInterface" && field.name === "protocol_version" ? versions : undefined;

/** Documented differences that are no losses (docs/dialects.md, "Normalised"). */
function normalise(value: JsonValue, hop: Hop, method: DescMethod, direction: Direction): JsonValue {
	const result = structuredClone(value);
	const v01 = hop.name === "0.1 rpc";
	each(result, (object) => {
		if (isObject(object["metadata"]) && Object.keys(object["metadata"]).length === 0) delete object["metadata"];
		// "No history" is asked for by leaving it out (0.1), or seen to by the core (0.3 HTTP and gRPC).
		if (hop.name !== "0.3 rpc" && object["historyLength"] === 0) delete object["historyLength"];
		// No presence in the 0.3 proto.
		for (const name of ["extendedAgentCard", "streaming", "pushNotifications"])
			if (object[name] === false) delete object[name];
		for (const name of ["documentationUrl", "iconUrl"]) if (object[name] === "") delete object[name];
		if (isObject(object["configuration"]) && Object.keys(object["configuration"]).length === 0)
			delete object["configuration"];
	});
	if (!isObject(result)) return result;
	const configs = result["configs"];
	const items = Array.isArray(configs) ? configs : "url" in result ? [result] : [];
	// A config without an id goes by its task's.
	if (direction === "Reply" || hop.name === "0.3 http" || hop.name === "0.3 binary")
		for (const config of items) if (isObject(config)) config["id"] ||= config["taskId"] ?? "";
	for (const config of items) if (isObject(config) && config["id"] === "") delete config["id"];
	if (v01 && direction === "Request" && "taskId" in result) named(result);
	if (v01) withoutIds(result, method);
	return result;
}

/** A single config goes by its task's name, so that name as its id says nothing. */
function named(request: JsonObject): void {
	if (request["id"] === request["taskId"] || request["id"] === "") delete request["id"];
}

/** v0.1 messages have no ids, and events name no context: the core makes them up (client-ids, agent-ids). */
function withoutIds(value: JsonObject, method: DescMethod): void {
	const message = (m: JsonValue | undefined, own: boolean) => {
		if (!isObject(m)) return;
		delete m["messageId"];
		if (own) return;
		delete m["contextId"];
		delete m["taskId"];
	};
	message(value["message"], method.input.name === "SendMessageRequest");
	for (const whole of [value, value["task"]]) {
		if (!isObject(whole)) continue;
		if (isObject(whole["status"])) message(whole["status"]["message"], false);
		for (const m of Array.isArray(whole["history"]) ? whole["history"] : []) message(m, false);
	}
	for (const name of ["statusUpdate", "artifactUpdate"]) {
		const update = value[name];
		if (!isObject(update)) continue;
		delete update["contextId"];
		if (isObject(update["status"])) message(update["status"]["message"], false);
	}
}

/** What the version has no way of saying at all is refused; the core says it otherwise first. */
function sayable(hop: Hop, value: JsonObject, method: DescMethod, direction: Direction): boolean {
	if (hop.name !== "0.1 rpc") return true;
	// Two artifacts of one id are none in any version.
	const { artifacts } = isObject(value["task"]) ? value["task"] : value;
	const ids = (Array.isArray(artifacts) ? artifacts : []).map((a) => (isObject(a) ? a["artifactId"] : undefined));
	if (new Set(ids).size < ids.length) return false;
	if (direction === "Request") {
		const message = value["message"];
		// The core gives every send to a v0.1 agent a task id.
		return method.input.name !== "SendMessageRequest" || (isObject(message) && Boolean(message["taskId"]));
	}
	if (method.output.name === "SendMessageResponse") return "task" in value;
	return method.output.name !== "StreamResponse" || "statusUpdate" in value || "artifactUpdate" in value;
}

const unsayable: Record<Hop["name"], readonly string[]> = {
	"0.3 rpc": ["listTasks"],
	"0.3 http": ["listTasks"],
	"0.3 binary": ["listTasks"],
	"0.1 rpc": [
		"listTasks",
		"getExtendedAgentCard",
		"listTaskPushNotificationConfigs",
		"deleteTaskPushNotificationConfig",
	],
};

describe.each(hops.map((hop) => [hop.name, hop] as const))("through %s", (_, hop) => {
	const methods = A2AService.methods.filter((m) => !unsayable[hop.name].includes(m.localName));
	const cases = methods.flatMap((m) => [["Request", m.name, m] as const, ["Reply", m.name, m] as const]);

	test.each(cases)("%s of %s", (direction, _name, method) => {
		const type = direction === "Request" ? method.input : method.output;
		fc.assert(
			fc.property(arbitraryMessage(type, { override }), (message) => {
				const given = JSON.parse(JSON.stringify(toJson(type, message))) as JsonObject;
				if (!sayable(hop, given, method, direction)) return;
				const source = payload(type, given);
				const losses: LossEntry[] = [];
				const wire = hop.lower(direction, method, source, losses);
				const lifted = hop.lift(direction, method, structuredClone(wire), losses.slice());
				const kept = without(given, losses);
				const back = lifted.canonical();
				expect(normalise(back, hop, method, direction)).toEqual(
					normalise(payload(type, kept).canonical(), hop, method, direction),
				);
			}),
			{ numRuns: 60 },
		);
	});
});
