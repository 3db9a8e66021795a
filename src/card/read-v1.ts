/** The card of v1.0 (§4.4): supportedInterfaces and what stands beside it. */
import { create, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Interface } from "../binding/binding.ts";
import { isObject, list, member, snakeCase } from "./document.ts";
import { CORE_BINDINGS, locate, normalBinding, normalVersion } from "./endpoint.ts";
import type { Shape } from "./shape.ts";

type Warn = (text: string) => void;

export const v1Shape: Shape = {
	version: "1.0",
	matches: (json) => list(json, "supportedInterfaces").length > 0,
	read(json, base, warn) {
		const interfaces = list(json, "supportedInterfaces").flatMap((entry, i) =>
			readInterface(entry, base, (text) => warn(`supportedInterfaces[${i}]${text}`)),
		);
		return { core: json, card: readMessage(json, warn), interfaces };
	},
};

/** One entry, or none when it leads nowhere. */
function readInterface(entry: JsonValue, base: string | undefined, warn: Warn): readonly Interface[] {
	if (!isObject(entry)) {
		warn(" is not an object; skipped");
		return [];
	}
	const binding = readBinding(scalar(entry, "protocolBinding"), warn);
	const written = scalar(entry, "url");
	if (written === "") {
		warn(" has no url; skipped");
		return [];
	}
	const located = locate(binding, written, base);
	if ("problem" in located) {
		warn(`.url ${JSON.stringify(written)} ${located.problem}; skipped`);
		return [];
	}
	if (located.remark) warn(`.url ${located.remark}`);
	return [{ url: located.url, binding, version: readVersion(entry, warn), tenant: scalar(entry, "tenant") }];
}

function readBinding(written: string, warn: Warn): string {
	if (written === "") {
		warn(" names no protocolBinding; JSONRPC is assumed");
		return "JSONRPC";
	}
	const { binding, exact } = normalBinding(written);
	if (!exact) warn(`.protocolBinding ${JSON.stringify(written)} is taken for ${binding}`);
	else if (CORE_BINDINGS.has(binding) && written !== binding) {
		warn(`.protocolBinding ${JSON.stringify(written)} should be written ${binding}`);
	}
	return binding;
}

function readVersion(entry: JsonObject, warn: Warn): string {
	const written = scalar(entry, "protocolVersion");
	if (written === "") {
		warn(" names no protocolVersion; 1.0 is assumed");
		return "1.0";
	}
	const version = normalVersion(written);
	if (version === undefined) warn(`.protocolVersion ${JSON.stringify(written)} is not a version`);
	else if (version !== written) warn(`.protocolVersion ${JSON.stringify(written)} is taken for ${version}`);
	return version ?? written;
}

/** A member meant to be a string, "" when there is none. A number is taken for what it looks like. */
function scalar(object: JsonObject, name: string): string {
	const value = member(object, name);
	return typeof value === "string" ? value.trim() : typeof value === "number" ? String(value) : "";
}

const lenient = { ignoreUnknownFields: true };

/** The message, without the members that do not fit. Missing REQUIRED ones read as empty. */
function readMessage(json: JsonObject, warn: Warn): AgentCard {
	const required = [
		"name",
		"description",
		"version",
		"capabilities",
		"defaultInputModes",
		"defaultOutputModes",
		"skills",
	];
	for (const name of required) if (member(json, name) === undefined) warn(`${name} is missing`);
	try {
		return fromJson(AgentCardSchema, json, lenient);
	} catch {
		// Something in it does not fit: keep what does.
	}
	const fitting: JsonObject = {};
	for (const field of AgentCardSchema.fields) {
		for (const name of [field.jsonName, snakeCase(field.jsonName)]) {
			if (!Object.hasOwn(json, name)) continue;
			const part = { [field.jsonName]: json[name] as JsonValue };
			try {
				fromJson(AgentCardSchema, part, lenient);
				Object.assign(fitting, part);
			} catch (error) {
				warn(`${name} does not fit and is read as absent: ${error instanceof Error ? error.message : "unreadable"}`);
			}
			break;
		}
	}
	try {
		return fromJson(AgentCardSchema, fitting, lenient);
	} catch {
		return create(AgentCardSchema);
	}
}
