/** What of a v1.0 card can be searched for, taken out once when the card is put into the catalogue (A2A v1.0 §4.4). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, list, member, text } from "../card/document.ts";
import type { CatalogueFilter } from "./query.ts";
import { fold, haystack, needle, words } from "./words.ts";

export interface Facts {
	/** Folded ids and names of skills. */
	readonly skills: readonly string[];
	/** Folded. */
	readonly tags: readonly string[];
	readonly haystack: string;
	/** Folded organization, URL as written. */
	readonly provider: readonly string[];
	/** Lower case, without parameters. */
	readonly inputModes: readonly string[];
	/** Members that are true, and extension URIs. */
	readonly capabilities: readonly string[];
}

/** Strings of a card are shared by many agents (media types, capabilities): kept once. */
const NONE: readonly string[] = Object.freeze([]);

/** Never throws, whatever the card is. */
export function factsOf(card: JsonObject): Facts {
	const skills = list(card, "skills").filter(isObject);
	const tags = skills.flatMap((skill) => strings(list(skill, "tags")));
	const provider = objectAt(card, "provider");
	const capabilities = objectAt(card, "capabilities");
	const organization = text(provider, "organization");
	const names = skills.flatMap((skill) => present(text(skill, "id"), text(skill, "name")));
	const modes = [card, ...skills].flatMap((object) =>
		strings(list(object, object === card ? "defaultInputModes" : "inputModes")),
	);
	return {
		skills: unique(names.map(fold)),
		tags: unique(tags.map(fold)),
		haystack: haystack([
			...present(text(card, "name"), text(card, "description"), organization),
			...names,
			...skills.flatMap((skill) => present(text(skill, "description"))),
			...tags,
		]),
		provider: unique(present(organization && fold(organization), text(provider, "url"))),
		inputModes: unique(modes.map(bare)),
		capabilities: unique([
			...Object.keys(capabilities).filter((name) => capabilities[name] === true),
			...list(capabilities, "extensions")
				.filter(isObject)
				.flatMap((extension) => present(text(extension, "uri"))),
		]),
	};
}

/** Compiles a filter: made once per search, asked once per agent. */
export function matcher(filter: CatalogueFilter): (facts: Facts) => boolean {
	const skills = filter.skill.map(fold);
	const tags = filter.tag.map(fold);
	const needles = filter.q.flatMap(words).map(needle);
	const providers = filter.provider.map((given) => [fold(given), given] as const);
	const modes = filter.inputMode.map(bare);
	const { capability } = filter;
	return (facts) =>
		skills.every((skill) => facts.skills.includes(skill)) &&
		tags.every((tag) => facts.tags.includes(tag)) &&
		capability.every((name) => facts.capabilities.includes(name)) &&
		providers.every(([name, url]) => facts.provider.includes(name) || facts.provider.includes(url)) &&
		modes.every((mode) => facts.inputModes.some((own) => overlaps(mode, own))) &&
		needles.every((word) => facts.haystack.includes(word));
}

/** Is there a media type that both mean? Either may have wildcards. */
export function overlaps(a: string, b: string): boolean {
	if (a === b) return true;
	const [typeA, subA] = halves(a);
	const [typeB, subB] = halves(b);
	const any = (x: string, y: string) => x === y || x === "*" || y === "*";
	return any(typeA, typeB) && any(subA, subB);
}

function halves(mode: string): readonly [string, string] {
	const slash = mode.indexOf("/");
	return slash < 0 ? [mode, ""] : [mode.slice(0, slash), mode.slice(slash + 1)];
}

/** A media type without its parameters. */
function bare(mode: string): string {
	const end = mode.indexOf(";");
	return (end < 0 ? mode : mode.slice(0, end)).trim().toLowerCase();
}

function objectAt(object: JsonObject, name: string): JsonObject {
	const value = member(object, name);
	return isObject(value) ? value : {};
}

function strings(values: readonly JsonValue[]): string[] {
	return values.filter((value) => typeof value === "string");
}

function present(...values: readonly (string | undefined)[]): string[] {
	return values.filter((value) => value !== undefined);
}

function unique(values: readonly string[]): readonly string[] {
	return values.length === 0 ? NONE : [...new Set(values)];
}
