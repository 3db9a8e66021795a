/** Agent cards: v0.2/v0.3 (one main URL, OpenAPI-style security) ↔ v1.0 (a list of interfaces), and both in one document (dialects.md §14). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError } from "../../call/error.ts";
import { type Loss, unreported } from "../../call/loss.ts";
import { type At, isObject, type Lens, list, lost, record, step } from "../lens.ts";
import { asWritten, spelled } from "../spelling.ts";
import { requirement, type Style, securitySchemes } from "./security.ts";

/** The full version that a card of each older line declares. */
const FULL: Readonly<Record<string, string>> = { "0.3": "0.3.0", "0.2": "0.2.6" };

/** `0.3.0` → `0.3`. */
function short(version: JsonValue | undefined): string {
	return typeof version === "string" ? (/^v?(\d+\.\d+)/.exec(version)?.[1] ?? version) : "";
}

const said = (json: JsonObject, name: string): boolean => json[name] !== undefined && json[name] !== null;

/** Members that only cards since 0.2.4 have, and SDKs of 0.3 sometimes without a protocolVersion. */
const THIRD = ["preferredTransport", "additionalInterfaces", "signatures"] as const;
/** Members that came with 0.2. */
const SECOND = ["securitySchemes", "security", "supportsAuthenticatedExtendedCard", "iconUrl"] as const;

/** `Major.Minor` of the older version whose top-level members a card has; undefined when it names no endpoint that way. */
export function olderVersion(json: JsonObject): string | undefined {
	const others = json["additionalInterfaces"];
	if (!(typeof json["url"] === "string" && json["url"] !== "") && !(Array.isArray(others) && others.length > 0))
		return undefined;
	if (typeof json["protocolVersion"] === "string" && json["protocolVersion"] !== "")
		return short(json["protocolVersion"]);
	if (said(json, "authentication")) return "0.1";
	if (THIRD.some((name) => said(json, name))) return "0.3";
	const { capabilities } = json;
	const extensions = isObject(capabilities) && said(capabilities, "extensions");
	return extensions || SECOND.some((name) => said(json, name)) || strictSkills(json) ? "0.2" : "0.1";
}

/** 0.2 demands of each skill what 0.1 leaves open; default modes became mandatory too. */
function strictSkills(json: JsonObject): boolean {
	const { skills } = json;
	return (
		said(json, "defaultInputModes") &&
		said(json, "defaultOutputModes") &&
		Array.isArray(skills) &&
		skills.length > 0 &&
		skills.every((skill) => isObject(skill) && said(skill, "description") && said(skill, "tags"))
	);
}

/** The interfaces of an older card: the main one first, exact repetitions of it left out. */
function liftInterfaces(older: JsonObject): JsonObject[] {
	const protocolVersion = olderVersion(older) ?? "0.3";
	const found: JsonObject[] = [];
	const add = (url: JsonValue | undefined, binding: JsonValue | undefined) => {
		if (typeof url !== "string" || url === "") return;
		const protocolBinding = typeof binding === "string" && binding !== "" ? binding : "JSONRPC";
		if (!found.some((i) => i["url"] === url && i["protocolBinding"] === protocolBinding))
			found.push({ url, protocolBinding, protocolVersion });
	};
	add(older["url"], older["preferredTransport"]);
	const others = older["additionalInterfaces"];
	for (const other of Array.isArray(others) ? others : []) if (isObject(other)) add(other["url"], other["transport"]);
	return found;
}

/** The interfaces that a client of 0.3, or else of 0.2, can use. */
function usable(core: JsonObject): readonly JsonObject[] {
	const all = Array.isArray(core["supportedInterfaces"]) ? core["supportedInterfaces"].filter(isObject) : [];
	const third = all.filter((i) => short(i["protocolVersion"]) === "0.3");
	return third.length > 0 ? third : all.filter((i) => short(i["protocolVersion"]) === "0.2");
}

/** The older members for the interfaces that an older client can use; the others are reported. */
function lowerInterfaces(core: JsonObject, at: At): JsonObject {
	const found = usable(core);
	const all = Array.isArray(core["supportedInterfaces"]) ? core["supportedInterfaces"] : [];
	const path = step(at, "supportedInterfaces");
	all.forEach((entry, i) => {
		if (!isObject(entry) || !found.includes(entry)) at.loss(step(path, i).path, "is of another version");
		else lost(entry, step(path, i), "has no counterpart", "tenant");
	});
	const [main] = found;
	if (!main) return { url: "", preferredTransport: "JSONRPC", protocolVersion: "0.3.0" };
	return {
		url: main["url"] ?? "",
		preferredTransport: main["protocolBinding"] ?? "JSONRPC",
		...(found.length > 1 && {
			additionalInterfaces: found.map((i) => ({ url: i["url"] ?? "", transport: i["protocolBinding"] ?? "JSONRPC" })),
		}),
		protocolVersion: FULL[short(main["protocolVersion"])] ?? "0.3.0",
	};
}

/** Members of an older card that stand for something else of the core's. */
const OLDER = [
	"url",
	"preferredTransport",
	"additionalInterfaces",
	"protocolVersion",
	"supportsAuthenticatedExtendedCard",
] as const;

/** The lens of cards in one of v0.3's two JSON forms. */
export function cardLens(style: Style): Lens {
	const skill = record({
		id: ["id"],
		name: ["name"],
		description: ["description"],
		tags: ["tags"],
		examples: ["examples"],
		inputModes: ["inputModes"],
		outputModes: ["outputModes"],
		securityRequirements: ["security", list(requirement(style))],
	});
	const extension = record({ uri: ["uri"], description: ["description"], required: ["required"], params: ["params"] });
	const capabilities = record(
		{
			streaming: ["streaming"],
			pushNotifications: ["pushNotifications"],
			extensions: ["extensions", list(extension)],
			// No member of v1.0, but kept there as an unknown one; the v0.3 proto has none.
			...(style === "openapi" && { stateTransitionHistory: ["stateTransitionHistory"] as const }),
		},
		{ handled: ["extendedAgentCard"] },
	);
	return record(
		{
			name: ["name"],
			description: ["description"],
			version: ["version"],
			provider: ["provider", record({ organization: ["organization"], url: ["url"] })],
			documentationUrl: ["documentationUrl"],
			iconUrl: ["iconUrl"],
			capabilities: ["capabilities", capabilities],
			securitySchemes: ["securitySchemes", securitySchemes(style)],
			securityRequirements: ["security", list(requirement(style))],
			defaultInputModes: ["defaultInputModes"],
			defaultOutputModes: ["defaultOutputModes"],
			skills: ["skills", list(skill)],
		},
		{
			// A hybrid card's older members say nothing that the newer ones do not.
			handled: ["supportedInterfaces", "signatures", "security", "authentication", ...OLDER],
			consumed: [...OLDER, "signatures", "supportedInterfaces"],
			lifted(core, older, at) {
				core["supportedInterfaces"] = liftInterfaces(older);
				const extended = older["supportsAuthenticatedExtendedCard"];
				if (typeof extended === "boolean") {
					const facts = core["capabilities"];
					core["capabilities"] = { ...(isObject(facts) ? facts : {}), extendedAgentCard: extended };
				}
				lost(older, at, "does not verify after a translation", "signatures");
			},
			lowered(older, core, at) {
				Object.assign(older, lowerInterfaces(core, at));
				const facts = core["capabilities"];
				older["capabilities"] ??= {};
				const extended = isObject(facts) ? facts["extendedAgentCard"] : undefined;
				if (extended !== undefined) older["supportsAuthenticatedExtendedCard"] = extended;
				for (const name of ["description", "version", "name"]) older[name] ??= "";
				for (const name of ["defaultInputModes", "defaultOutputModes", "skills"]) older[name] ??= [];
				lost(core, at, "does not verify after a translation", "signatures");
			},
		},
	);
}

export const card: Lens = cardLens("openapi");

/** A v1.0 card's JSON, in either spelling and with what v1.0 does not know, through a lens; losses point into `json`. */
export function lowerWith(lens: Lens, json: JsonObject, loss: Loss): JsonObject {
	const report: Loss = (at, why) => loss(asWritten(AgentCardSchema, json, at), why);
	return lens.lower(spelled(AgentCardSchema, json), { path: "", loss: report }) as JsonObject;
}

/**
 * The v0.3 card (0.2 when the card offers that and no 0.3) that says what a v1.0 card says; its endpoints are the v1.0 card's
 * interfaces of that version. Throws VERSION_NOT_SUPPORTED when there are none. `liftCard` is the inverse.
 */
export function lowerCard(json: JsonObject, loss: Loss = unreported): JsonObject {
	if (usable(spelled(AgentCardSchema, json) as JsonObject).length === 0)
		throw new A2AError("VERSION_NOT_SUPPORTED", { message: "The agent offers no interface of protocol version 0.3" });
	return lowerWith(card, json, loss);
}

/** The v1.0 card that says what a v0.2 or v0.3 card says; what v1.0 does not know stays in it. */
export function liftCard(json: JsonObject, loss: Loss = unreported): JsonObject {
	return card.lift(json, { path: "", loss }) as JsonObject;
}

/**
 * One document for readers of v1.0 and of v0.3/v0.2: the v1.0 card, and beside its members the older ones. Members that
 * both versions call by one name hold both forms. Without an interface of an older version it is the v1.0 card.
 */
export function hybridCard(json: JsonObject): JsonObject {
	const core = spelled(AgentCardSchema, json) as JsonObject;
	if (usable(core).length === 0) return json;
	return union(json, lowerWith(card, json, unreported));
}

/** `newer` with what only `older` has, member by member where both have objects or lists of objects. */
function union(newer: JsonObject, older: JsonObject): JsonObject {
	const result: JsonObject = { ...older };
	for (const [name, value] of Object.entries(newer)) {
		const other = older[name];
		if (isObject(value) && isObject(other)) result[name] = union(value, other);
		else if (Array.isArray(value) && Array.isArray(other) && value.length === other.length)
			result[name] = value.map((item, i) => {
				const beside = other[i];
				return isObject(item) && isObject(beside) ? union(item, beside) : item;
			});
		else result[name] = value;
	}
	return result;
}
