/**
 * What the operator says of an agent's card before it is signed (§4.4): members of theirs in the place of the agent's, and
 * what becomes of the agent's own signatures. Public and extended cards alike.
 */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
	AgentProviderSchema,
	AgentSkillSchema,
	SecurityRequirementSchema,
	SecuritySchemeSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { jcs } from "./canonical.ts";
import { isObject, list, member, snakeCase, text } from "./document.ts";
import { isPublic } from "./sign-fetch.ts";
import { type Mistake, mistakes, schemaOf } from "./well-formed.ts";

/** Values in the ProtoJSON of v1.0. What is undefined stays as the agent has it. */
export interface Policy {
	readonly name?: string | undefined;
	readonly description?: string | undefined;
	readonly provider?: JsonObject | undefined;
	readonly iconUrl?: string | undefined;
	readonly documentationUrl?: string | undefined;
	/** By id: members over those of the agent's skill, or a skill that the agent does not name. */
	readonly skills?: readonly JsonObject[] | undefined;
	/** Ids of skills that are not shown. */
	readonly removeSkills?: readonly string[] | undefined;
	/** In the place of all the agent has. */
	readonly securitySchemes?: JsonObject | undefined;
	readonly securityRequirements?: readonly JsonObject[] | undefined;
	readonly defaultInputModes?: readonly string[] | undefined;
	readonly defaultOutputModes?: readonly string[] | undefined;
	/** The agent's own, which do not fit the gateway's card: dropped, or shown in an extension. Default: drop. */
	readonly signatures?: "drop" | "evidence" | undefined;
}

/** The AgentExtension that holds the agent's own signatures. */
export const EVIDENCE = "urn:a2a-gateway:agent-signatures:v1";
/** Most signatures that are kept: the agent decides how many there are. */
const MOST = 16;
/** Largest `protected` or `signature` that is kept, characters. */
const LONGEST = 8192;

/** A projected card as the operator wants it. Pure; shares what it does not change. */
export function applyPolicy(card: JsonObject, policy: Policy): JsonObject {
	const { skills, removeSkills, signatures: _, ...members } = policy;
	let result = card;
	for (const [name, value] of Object.entries(members)) {
		if (value !== undefined) result = put(result, name, value as JsonValue);
	}
	const { securitySchemes } = members;
	const changed = skillsBy(list(result, "skills"), skills ?? [], removeSkills ?? []);
	const fitting = securitySchemes ? changed.map((skill) => withoutUnknown(skill, securitySchemes)) : changed;
	return skills || removeSkills || securitySchemes ? put(result, "skills", fitting) : result;
}

/** Replaces a member where it stands, whichever way it is spelled. */
function put(card: JsonObject, name: string, value: JsonValue): JsonObject {
	const snake = snakeCase(name);
	if (!Object.hasOwn(card, snake) || snake === name) return { ...card, [name]: value };
	return Object.fromEntries(
		Object.entries(card).flatMap(([key, old]) => (key === snake ? [[name, value]] : key === name ? [] : [[key, old]])),
	);
}

function skillsBy(
	agents: readonly JsonValue[],
	ours: readonly JsonObject[],
	removed: readonly string[],
): readonly JsonValue[] & JsonValue[] {
	const left = new Map(ours.map((skill) => [skill["id"], skill]));
	const kept = agents.flatMap((skill): JsonValue[] => {
		const id = isObject(skill) ? text(skill, "id") : undefined;
		if (!isObject(skill) || id === undefined) return [skill];
		const own = left.get(id);
		left.delete(id);
		if (removed.includes(id)) return [];
		return [own ? Object.entries(own).reduce((all, [name, value]) => put(all, name, value), skill) : skill];
	});
	const added = [...left.values()].filter((skill) => !removed.includes(text(skill, "id") ?? ""));
	// A skill of the operator's that says little is REQUIRED to say this much.
	return [...kept, ...added.map((skill) => ({ name: skill["id"] ?? "", description: "", tags: [], ...skill }))];
}

/** A skill's own security requirements name the card's schemes: those that name one that is gone would be demands nobody can meet. */
function withoutUnknown(skill: JsonValue, schemes: JsonObject): JsonValue {
	if (!isObject(skill) || member(skill, "securityRequirements") === undefined) return skill;
	const requirements = list(skill, "securityRequirements").filter((requirement) =>
		Object.keys(namedIn(requirement)).every((name) => Object.hasOwn(schemes, name)),
	);
	return put(skill, "securityRequirements", requirements);
}

function namedIn(requirement: JsonValue): JsonObject {
	const schemes = isObject(requirement) ? member(requirement, "schemes") : undefined;
	return isObject(schemes) ? schemes : {};
}

/** A card with the evidence in the place of any that its agent shows: nobody but the gateway says what the gateway saw. */
export function withEvidence(card: JsonObject, evidence: JsonObject | undefined): JsonObject {
	const capabilities = member(card, "capabilities");
	const facts = isObject(capabilities) ? capabilities : {};
	const before = list(facts, "extensions");
	const others = before.filter((extension) => !isObject(extension) || member(extension, "uri") !== EVIDENCE);
	if (!evidence && others.length === before.length) return card;
	const after = evidence ? [...others, evidence] : others;
	return put(card, "capabilities", { ...facts, extensions: after });
}

/**
 * The agent's signatures as an AgentExtension; undefined when it has none. `digest` is of the agent's card without its
 * signatures, by RFC 8785: whoever has that card can tell that it is the one. `conceals` tells whether a text names an address of
 * the agent: a protected header that does cannot be rewritten, so `kid` and `alg` stand for it.
 */
export function evidenceOf(original: JsonObject, conceals: (text: string) => boolean): JsonObject | undefined {
	const signatures = list(original, "signatures")
		.slice(0, MOST)
		.flatMap((one) => kept(one, conceals));
	const digest = digestOf(original);
	if (signatures.length === 0 || digest === undefined) return undefined;
	return {
		uri: EVIDENCE,
		description: "Signatures of the agent's own card, which this card was made from. They do not sign this one.",
		params: { digest, signatures },
	};
}

function digestOf({ signatures: _, ...card }: JsonObject): string | undefined {
	try {
		return `sha-256:${createHash("sha256").update(jcs(card)).digest("base64url")}`;
	} catch {
		// Text that is no Unicode: such a card cannot be signed either.
		return undefined;
	}
}

const BASE64URL = /^[A-Za-z0-9_-]+$/;
const compact = (value: JsonValue | undefined): value is string =>
	typeof value === "string" && value.length <= LONGEST && BASE64URL.test(value);

function kept(entry: JsonValue, conceals: (text: string) => boolean): JsonObject[] {
	if (!isObject(entry)) return [];
	const { protected: head, signature } = entry;
	if (!compact(head) || !compact(signature)) return [];
	const written = Buffer.from(head, "base64url").toString();
	let header: JsonValue;
	try {
		header = JSON.parse(written) as JsonValue;
	} catch {
		return [];
	}
	if (!isObject(header)) return [];
	if (!internal(written, header, conceals)) return [{ protected: head, signature }];
	const said = ["kid", "alg"].flatMap((name) => {
		const value = text(header, name);
		return value === undefined || internal(value, {}, conceals) ? [] : [[name, value] as const];
	});
	return [{ ...Object.fromEntries(said), signature }];
}

/** Does it name an address of the agent, or a URL that is nobody's business outside? Escapes hide nothing: values are read too. */
function internal(written: string, header: JsonObject, conceals: (text: string) => boolean): boolean {
	const texts = [written, ...strings(header)];
	return texts.some(
		(one) => conceals(one) || [...one.matchAll(/[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi)].some(([url]) => isPrivate(url)),
	);
}

function strings(value: JsonValue): readonly string[] {
	if (typeof value === "string") return [value];
	if (typeof value !== "object" || value === null) return [];
	return Object.entries(value).flatMap(([name, item]) => [name, ...strings(item)]);
}

const PRIVATE_NAME = /^[^.]*$|\.(?:local|localhost|localdomain|internal|intranet|lan|home\.arpa|corp|private)$/i;

function isPrivate(written: string): boolean {
	const host = URL.parse(written)?.hostname.replace(/^\[|\]$/g, "");
	if (host === undefined) return true;
	return /^[\d.]+$|:/.test(host) ? !isPublic(host) : PRIVATE_NAME.test(host.replace(/\.$/, ""));
}

/** What the configuration checks of members that are no plain text; `schema` is for editors. */
export interface Shaped {
	readonly schema: { readonly [member: string]: unknown };
	check(value: JsonValue): readonly Mistake[];
}

const idOnly = ({ jsonName }: { readonly jsonName: string }) => jsonName === "id";

const each =
	(one: (item: JsonValue, at: readonly (string | number)[]) => readonly Mistake[]) =>
	(value: JsonValue): readonly Mistake[] =>
		Array.isArray(value) ? value.flatMap((item, i) => one(item, [i])) : [{ at: [], message: "must be a list" }];

export const shaped = {
	provider: {
		schema: schemaOf(AgentProviderSchema),
		check: (value) => mistakes(AgentProviderSchema, value),
	},
	skills: {
		schema: { type: "array", items: schemaOf(AgentSkillSchema, idOnly) },
		check(value) {
			const seen = new Set<JsonValue | undefined>();
			return each((skill, at) => {
				const id = isObject(skill) ? skill["id"] : undefined;
				const twice = seen.has(id) && id !== undefined ? [{ at, message: "has the id of another" }] : [];
				const nameless = id === "" ? [{ at: [...at, "id"], message: "must not be empty" }] : [];
				seen.add(id);
				return [...mistakes(AgentSkillSchema, skill, at, idOnly), ...nameless, ...twice];
			})(value);
		},
	},
	securitySchemes: {
		schema: { type: "object", additionalProperties: schemaOf(SecuritySchemeSchema) },
		check: (value) =>
			isObject(value)
				? Object.entries(value).flatMap(([name, scheme]) => mistakes(SecuritySchemeSchema, scheme, [name]))
				: [{ at: [], message: "must be a mapping" }],
	},
	securityRequirements: {
		schema: { type: "array", items: schemaOf(SecurityRequirementSchema) },
		check: each((requirement, at) => mistakes(SecurityRequirementSchema, requirement, at)),
	},
} as const satisfies Readonly<Record<string, Shaped>>;

/** Mistakes that only the whole policy shows, each with the member to blame. */
export function contradictions(
	policy: Policy,
): readonly (Mistake & { readonly member: "securitySchemes" | "securityRequirements" })[] {
	const { securitySchemes: schemes, securityRequirements: requirements } = policy;
	if (!schemes) return [];
	if (!requirements) {
		const message = "replaces the agent's: say securityRequirements too, [] for none";
		return [{ member: "securitySchemes", at: [], message }];
	}
	return requirements.flatMap((requirement, i) =>
		Object.keys(namedIn(requirement))
			.filter((name) => !Object.hasOwn(schemes, name))
			.map((name) => ({
				member: "securityRequirements" as const,
				at: [i, "schemes", name],
				message: "is none of securitySchemes",
				known: Object.keys(schemes),
			})),
	);
}
