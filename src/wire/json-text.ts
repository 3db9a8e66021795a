/** JSON as text (RFC 8259): bounded parsing, and surgery on an object that leaves every other byte as it was. */
import { isUtf8 } from "node:buffer";
import type { JsonValue } from "@bufbuild/protobuf";
import { A2AError } from "../call/error.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** A JSON text and what it parses to. */
export interface ParsedJson {
	readonly text: string;
	readonly value: JsonValue;
	/** False when some object has a member twice: the text then means different things to different readers. */
	readonly unique: boolean;
	/** Where the members of an outermost object are, for `memberOf`. */
	readonly outline: Outline;
}

/** Positions in a text of the outermost value's colons and commas in turn, and of its last bracket. */
export type Outline = readonly number[];

/**
 * Parses UTF-8 JSON. Throws A2AError PARSE_ERROR for invalid UTF-8, a byte order mark, nesting deeper than
 * `maxDepth` (checked before the parser runs) and anything that is no JSON.
 */
export function parseJson(bytes: Uint8Array, maxDepth: number): ParsedJson {
	if (!isUtf8(bytes)) throw parseError("not valid UTF-8");
	const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	return parseJsonText(buffer.toString("utf8"), maxDepth);
}

/** The same for text that is already decoded (an SSE event's data). */
export function parseJsonText(text: string, maxDepth: number): ParsedJson {
	if (text.charCodeAt(0) === 0xfeff) throw parseError("byte order mark");
	const outline: number[] = [];
	const written = scan(text, maxDepth, outline);
	let value: JsonValue;
	try {
		value = JSON.parse(text);
	} catch (error) {
		throw parseError(explain(error), error);
	}
	return { text, value, unique: written === countMembers(value), outline };
}

/** Enforces the depth limit and counts members. Exact for every prefix that is JSON, which is all the parser reads. */
function scan(text: string, maxDepth: number, outline: number[]): number {
	const end = text.length;
	let depth = 0;
	let members = 0;
	for (let i = 0; i < end; i++) {
		const c = text.charCodeAt(i);
		if (c === QUOTE) {
			i = stringEnd(text, i) - 1;
		} else if (c === COLON) {
			members++;
			if (depth === 1) outline.push(i);
		} else if (c === COMMA) {
			if (depth === 1) outline.push(i);
		} else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
			if (++depth > maxDepth) throw parseError(`nested deeper than ${maxDepth} levels`);
		} else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
			if (--depth === 0) outline.push(i);
		}
	}
	return members;
}

/**
 * The raw text of one member of an outermost object, a verbatim slice; undefined when it has none. Names written
 * with escapes are read as what they mean. Of a member given twice the last counts, as in JSON.parse.
 */
export function memberOf({ text, outline }: ParsedJson, name: string): string | undefined {
	let found: string | undefined;
	let from = text.indexOf("{") + 1;
	for (let i = 0; i + 1 < outline.length; i += 2) {
		const colon = outline[i] ?? 0;
		const end = outline[i + 1] ?? 0;
		const quoted = text.slice(from, colon).trim();
		const plain = quoted.length === name.length + 2 && quoted.startsWith(name, 1);
		if (plain || (quoted.includes("\\") && JSON.parse(quoted) === name)) found = text.slice(colon + 1, end).trim();
		from = end + 1;
	}
	return found;
}

/** Strings mostly end soon: so far they are looked through by hand, as a call of indexOf costs more. */
const SHORT = 32;

/** Position after the string that opens at `start`; the end of the text when it never closes. */
function stringEnd(text: string, start: number): number {
	const near = Math.min(text.length, start + SHORT);
	let from = start + 1;
	for (; from < near; from++) {
		const c = text.charCodeAt(from);
		if (c === QUOTE) return from + 1;
		// What a backslash escapes is part of the string.
		if (c === BACKSLASH) from++;
	}
	// indexOf runs at memory speed over long strings. A quote after an odd run of backslashes is part of the string.
	for (let quote = text.indexOf('"', from); quote > 0; quote = text.indexOf('"', quote + 1)) {
		if (quote === from || text.charCodeAt(quote - 1) !== BACKSLASH) return quote + 1;
		let before = quote - 2;
		while (before >= from && text.charCodeAt(before) === BACKSLASH) before--;
		if ((quote - before) % 2 === 1) return quote + 1;
	}
	return text.length;
}

/** Members of all objects in a value. Its own stack, as the value may be as deep as the limit allows. */
function countMembers(value: JsonValue): number {
	if (typeof value !== "object" || value === null) return 0;
	let count = 0;
	const todo: object[] = [value];
	for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
		if (Array.isArray(next)) {
			for (const child of next) if (typeof child === "object" && child !== null) todo.push(child);
			continue;
		}
		const object = next as Readonly<Record<string, unknown>>;
		for (const name in object) {
			count++;
			const child = object[name];
			if (typeof child === "object" && child !== null) todo.push(child);
		}
	}
	return count;
}

function parseError(what: string, cause?: unknown): A2AError {
	return new A2AError("PARSE_ERROR", { message: `Invalid JSON payload: ${what}`, cause });
}

/** V8's message without the excerpt of the content that it quotes. */
function explain(error: unknown): string {
	const message = error instanceof Error ? error.message : "";
	const position = /at position (\d+)/.exec(message)?.[1];
	const what =
		/^(Unexpected token|Unexpected end|Bad control character|Bad escaped character|Unterminated string)/.exec(
			message,
		)?.[1];
	return (what ?? "not JSON").toLowerCase() + (position === undefined ? "" : ` at position ${position}`);
}

/** One top-level member of an object text, as offsets: `[from, to)` is its stretch between the commas around it. */
interface Slot {
	readonly name: string;
	readonly from: number;
	readonly to: number;
	readonly valueFrom: number;
	readonly valueTo: number;
}

/** The top-level members of a valid object text, and where its braces are. */
function slots(text: string): { readonly open: number; readonly close: number; readonly members: readonly Slot[] } {
	const open = skipSpace(text, 0);
	if (text.charCodeAt(open) !== OPEN_BRACE) {
		throw new A2AError("INVALID_REQUEST", { message: "Expected a JSON object" });
	}
	const members: Slot[] = [];
	let from = open + 1;
	let at = skipSpace(text, from);
	while (at < text.length && text.charCodeAt(at) === QUOTE) {
		const nameEnd = stringEnd(text, at);
		const raw = text.slice(at + 1, nameEnd - 1);
		const name: string = raw.includes("\\") ? JSON.parse(text.slice(at, nameEnd)) : raw;
		const valueFrom = skipSpace(text, skipSpace(text, nameEnd) + 1);
		const valueTo = valueEnd(text, valueFrom);
		const to = skipSpace(text, valueTo);
		members.push({ name, from, to, valueFrom, valueTo });
		if (text.charCodeAt(to) !== COMMA) return { open, close: to, members };
		from = to + 1;
		at = skipSpace(text, from);
	}
	return { open, close: at, members };
}

function skipSpace(text: string, at: number): number {
	let i = at;
	for (;;) {
		const c = text.charCodeAt(i);
		if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return i;
		i++;
	}
}

/** Position after the value that starts at `start`. */
function valueEnd(text: string, start: number): number {
	const end = text.length;
	const first = text.charCodeAt(start);
	if (first === QUOTE) return stringEnd(text, start);
	let depth = 0;
	for (let i = start; i < end; i++) {
		const c = text.charCodeAt(i);
		if (c === QUOTE) {
			i = stringEnd(text, i) - 1;
		} else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
			depth++;
		} else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
			if (depth === 0) return i;
			if (--depth === 0) return i + 1;
		} else if (depth === 0 && (c === COMMA || c <= 0x20)) {
			return i;
		}
	}
	return end;
}

/**
 * The raw text of each top-level member of a valid object text, verbatim slices. Of a member given twice the last
 * counts, as in JSON.parse. Throws A2AError INVALID_REQUEST when the text is no object.
 */
export function members(text: string): Map<string, string> {
	const found = new Map<string, string>();
	for (const slot of slots(text).members) found.set(slot.name, text.slice(slot.valueFrom, slot.valueTo));
	return found;
}

/**
 * A valid object text with members replaced where they stand, removed (`undefined`) or added at the end; `changes`
 * maps names to raw JSON. Everything else stays byte for byte. Throws A2AError INVALID_REQUEST when it is no object.
 */
export function setMembers(text: string, changes: Readonly<Record<string, string | undefined>>): string {
	const { open, close, members } = slots(text);
	const kept: string[] = [];
	const seen = new Set<string>();
	for (const slot of members) {
		if (!Object.hasOwn(changes, slot.name)) {
			kept.push(text.slice(slot.from, slot.to));
			continue;
		}
		seen.add(slot.name);
		const value = changes[slot.name];
		if (value !== undefined) {
			kept.push(text.slice(slot.from, slot.valueFrom) + value + text.slice(slot.valueTo, slot.to));
		}
	}
	const added: string[] = [];
	for (const name of Object.keys(changes)) {
		const value = changes[name];
		if (value !== undefined && !seen.has(name)) added.push(`${JSON.stringify(name)}:${value}`);
	}
	if (seen.size === 0 && added.length === 0) return text;
	// Space before the closing brace stays there: additions go before it.
	const last = kept.pop();
	const inner = last ?? (members.length === 0 ? text.slice(open + 1, close) : "");
	const body = inner.trimEnd();
	const tail = inner.slice(body.length) + text.slice(close);
	const parts = [...kept, ...(last === undefined ? [] : [body]), ...added];
	return text.slice(0, open + 1) + parts.join(",") + tail;
}
