/** A card's text into a JSON object within bounds, and its members in either ProtoJSON spelling (§5.5, proto3 JSON mapping). */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { CardError } from "./error.ts";

/** Largest card, bytes. */
export const MAX_CARD = 1 << 20;
/** Deepest JSON nesting of a card. */
export const MAX_DEPTH = 64;

export interface Document {
	readonly json: JsonObject;
	/** SHA-256 of the bytes: the same digest is the same card. */
	readonly digest: string;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads bytes as a JSON object. Throws CardError; `what` names the card for the operator, `html` says it was served as HTML. */
export function parseDocument(bytes: Uint8Array, what: string, html = false): Document {
	const bad = (text: string, cause?: unknown, absent = false) =>
		new CardError("INVALID_AGENT_RESPONSE", `${what} ${text}`, { cause, absent });
	let text: string;
	try {
		text = utf8.decode(bytes);
	} catch (error) {
		throw bad("is not UTF-8 text", error);
	}
	const start = text.trimStart();
	if (start === "") throw bad("is empty", undefined, true);
	if (start.startsWith("<"))
		throw bad(
			`is ${html || /^<(!doctype )?html/i.test(start) ? "an HTML page" : "markup"}, not a card`,
			undefined,
			true,
		);
	// Before the parser: what comes after it (stringify, comparisons) recurses.
	if (tooDeep(text, MAX_DEPTH)) throw bad(`is nested deeper than ${MAX_DEPTH} levels`);
	let json: JsonValue;
	try {
		json = JSON.parse(text) as JsonValue;
	} catch (error) {
		throw bad(`is not JSON: ${error instanceof Error ? error.message : "syntax error"}`, error, html);
	}
	if (!isObject(json)) throw bad("is JSON, but not a JSON object");
	return { json, digest: createHash("sha256").update(bytes).digest("base64url") };
}

function tooDeep(text: string, limit: number): boolean {
	let depth = 0;
	let quoted = false;
	for (let i = 0; i < text.length; i++) {
		const c = text.charCodeAt(i);
		if (quoted) {
			if (c === 0x5c) i++;
			else if (c === 0x22) quoted = false;
		} else if (c === 0x22) quoted = true;
		else if (c === 0x7b || c === 0x5b) {
			if (++depth > limit) return true;
		} else if (c === 0x7d || c === 0x5d) depth--;
	}
	return false;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member called `name` (lowerCamelCase), or by its proto name. null counts as absent. */
export function member(object: JsonObject, name: string): JsonValue | undefined {
	if (Object.hasOwn(object, name)) return object[name] ?? undefined;
	const snake = snakeCase(name);
	return Object.hasOwn(object, snake) ? (object[snake] ?? undefined) : undefined;
}

/** A string member; undefined when absent, empty or of another type. */
export function text(object: JsonObject, name: string): string | undefined {
	const value = member(object, name);
	return typeof value === "string" && value !== "" ? value : undefined;
}

export function list(object: JsonObject, name: string): readonly JsonValue[] {
	const value = member(object, name);
	return Array.isArray(value) ? value : [];
}

export function snakeCase(name: string): string {
	return name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
}

/** Does this object look like the card of any version, rather than some other JSON? */
export function looksLikeCard(json: JsonObject): boolean {
	return (
		list(json, "supportedInterfaces").length > 0 ||
		(text(json, "name") !== undefined && text(json, "url") !== undefined)
	);
}
