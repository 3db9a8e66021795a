/** What a client asks of the catalogue: the query of GET /agents, read and checked (design/contract.md "URLs"; AIP-158 for paging). */
import { createHash } from "node:crypto";
import { invalidParams } from "../call/error.ts";
import type { Violation } from "../call/payload.ts";

/** Every value of every list must hold. */
export interface CatalogueFilter {
	/** A skill's id or name. */
	readonly skill: readonly string[];
	readonly tag: readonly string[];
	/** Free text: every word must begin a word of the card's name, description, provider, skills or tags. */
	readonly q: readonly string[];
	/** The provider's organization or URL. */
	readonly provider: readonly string[];
	/** A media type; `text/*` is any text. */
	readonly inputMode: readonly string[];
	/** A member of the card's capabilities that is true, or the URI of an extension. */
	readonly capability: readonly string[];
}

export interface CatalogueQuery extends CatalogueFilter {
	/** 1..100. */
	readonly pageSize: number;
	/** Only agents whose name comes after this one; "" = from the beginning. */
	readonly after: string;
}

export const DEFAULT_PAGE = 50;
export const MAX_PAGE = 100;

const MAX_VALUES = 32;
const MAX_LENGTH = 512;
const FILTERS = [
	"skill",
	"tag",
	"q",
	"provider",
	"inputMode",
	"capability",
] as const satisfies (keyof CatalogueFilter)[];
const KNOWN: readonly string[] = [...FILTERS, "pageSize", "pageToken"];

export const everything: CatalogueFilter = Object.freeze({
	skill: [],
	tag: [],
	q: [],
	provider: [],
	inputMode: [],
	capability: [],
});

/** Reads a query string (without "?"). Empty values count as absent. Throws A2AError INVALID_PARAMS naming every bad parameter. */
export function readQuery(text: string): CatalogueQuery {
	const violations: Violation[] = [];
	const bad = (field: string, description: string) => {
		violations.push({ field, description });
	};
	const given = new URLSearchParams(text);
	for (const name of new Set(given.keys())) {
		if (!KNOWN.includes(name)) bad(name.slice(0, 64), `unknown parameter; known are ${KNOWN.join(", ")}`);
	}
	const filter: Record<keyof CatalogueFilter, readonly string[]> = { ...everything };
	for (const name of FILTERS) {
		const values = given.getAll(name).filter((value) => value.trim() !== "");
		if (values.length > MAX_VALUES) bad(name, `at most ${MAX_VALUES} values`);
		else if (values.some((value) => value.length > MAX_LENGTH)) bad(name, `at most ${MAX_LENGTH} characters`);
		else filter[name] = values;
	}
	if (filter.inputMode.some((mode) => !MODE.test(mode)))
		bad("inputMode", "must be a media type, such as text/plain or text/*");
	if (filter.capability.some((name) => !CAPABILITY.test(name))) {
		bad("capability", `must be ${capabilities.join(", ")} or the URI of an extension`);
	}
	const single = (name: string): string => {
		const values = given.getAll(name);
		if (values.length > 1) bad(name, "must be given once");
		return values[0] ?? "";
	};
	const size = single("pageSize");
	const pageSize = size === "" ? DEFAULT_PAGE : /^\d{1,9}$/.test(size) ? Number(size) : 0;
	if (pageSize < 1 || pageSize > MAX_PAGE) bad("pageSize", `must be a whole number from 1 to ${MAX_PAGE}`);
	const token = single("pageToken");
	const after = token === "" ? "" : readToken(token, filter);
	if (after === undefined) bad("pageToken", "must be the nextPageToken of an answer to the same search");
	if (violations.length > 0 || after === undefined) throw invalidParams(violations);
	return { ...filter, pageSize, after };
}

const MODE = /^\s*(\*|[\w!#$&^.+-]+)\/(\*|[\w!#$&^.+-]+)\s*(;.*)?$/;
const capabilities = ["streaming", "pushNotifications", "extendedAgentCard"];
const CAPABILITY = new RegExp(`^(${capabilities.join("|")}|[A-Za-z][A-Za-z0-9+.-]*:\\S+)$`);

/** A cursor by name: it stays right whatever comes and goes, even the agent it names. */
export function writeToken(after: string, filter: CatalogueFilter): string {
	return Buffer.from(`${mark(filter)}${after}`).toString("base64url");
}

/** The inverse of `writeToken`; undefined for what is no token of this search. */
export function readToken(token: string, filter: CatalogueFilter): string | undefined {
	const text = Buffer.from(token, "base64url").toString();
	const own = mark(filter);
	return text.startsWith(own) && text.length > own.length ? text.slice(own.length) : undefined;
}

/** Tells one search from another: a cursor of one means nothing in the other. */
function mark(filter: CatalogueFilter): string {
	const text = JSON.stringify(FILTERS.map((name) => filter[name].toSorted()));
	return createHash("sha256").update(text).digest("base64url").slice(0, 8);
}
