/** Server-sent events (WHATWG HTML §9.2), read: the inverse of the writer in sse.ts. */
import { isUtf8 } from "node:buffer";
import { A2AError } from "../call/error.ts";
import type { Ready } from "../call/stream.ts";
import { Gather } from "./gather.ts";

export interface SseEvent {
	readonly data: string;
	/** "" when the event names none. */
	readonly event: string;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const BLANK = Buffer.from("\n\n");
const EMPTY = Buffer.alloc(0);

/**
 * Reads events as they come. Ending the iteration ends the source. Throws A2AError INVALID_AGENT_RESPONSE when an
 * event is larger than `maxEvent` bytes, is not UTF-8, or is cut off by the end of the stream.
 */
export function sseReader(source: AsyncIterable<Buffer>, { maxEvent }: { readonly maxEvent: number }): Ready<SseEvent> {
	const chunks = source[Symbol.asyncIterator]();
	const parser = new Parser(maxEvent);
	let over = false;
	return {
		ready: () => (over ? undefined : parser.next()),
		async next() {
			try {
				while (!over) {
					const value = parser.next();
					if (value) return { done: false, value };
					const chunk = await chunks.next();
					if (!chunk.done) parser.push(chunk.value);
					else if (!over) {
						over = true;
						parser.end();
					}
				}
				return { done: true, value: undefined };
			} catch (error) {
				if (!over) {
					over = true;
					await chunks.return?.();
				}
				throw error;
			}
		},
		async return() {
			if (!over) {
				over = true;
				await chunks.return?.();
			}
			return { done: true, value: undefined };
		},
		[Symbol.asyncIterator]() {
			return this;
		},
	};
}

/** Takes chunks apart: whole events at once where a chunk has them, else line by line. */
class Parser {
	readonly #max: number;
	#chunk: Buffer = EMPTY;
	#at = 0;
	/** Next line ends in the chunk, -1 for none; looked for again once passed. */
	#lf = -1;
	#cr = -1;
	/** The line so far, where it spans chunks. */
	readonly #partial = new Gather();
	/** Of the event so far. */
	#size = 0;
	#data: string | undefined;
	#event = "";
	#afterCr = false;
	#atStart = true;
	/** The chunk's complete events as text, and how far they have been read. */
	#text = "";
	#from = 0;

	constructor(max: number) {
		this.#max = max;
	}

	/** The chunk before must have been read to its end. */
	push(chunk: Buffer): void {
		if (chunk.length === 0) return;
		this.#at = this.#afterCr && chunk[0] === LF ? 1 : 0;
		this.#afterCr = false;
		this.#chunk = chunk;
		this.#lf = chunk.indexOf(LF);
		this.#cr = chunk.indexOf(CR);
		this.#readWhole();
	}

	/** The end of the source. Throws when it is inside an event. */
	end(): void {
		if (this.#data || (this.#partial.size > 0 && field(this.#partial.take(), "data"))) {
			throw broken("the stream ended inside an event");
		}
	}

	next(): SseEvent | undefined {
		while (this.#from < this.#text.length) {
			const found = this.#block();
			if (found) return found;
		}
		return this.#line();
	}

	/** The usual case: a chunk that begins with an event and has no CR is decoded once, up to its last blank line. */
	#readWhole(): void {
		const chunk = this.#chunk;
		this.#text = "";
		this.#from = 0;
		if (this.#cr >= 0 || this.#size > 0 || this.#data !== undefined || this.#atStart || this.#partial.size > 0) return;
		if (this.#event !== "") return;
		const end = chunk.lastIndexOf(BLANK) + BLANK.length;
		if (end - this.#at < 2 * BLANK.length || end - this.#at > this.#max) return;
		const whole = chunk.subarray(this.#at, end);
		if (!isUtf8(whole)) return;
		this.#text = whole.toString("utf8");
		this.#at = end;
		if (this.#lf >= 0) this.#lf = chunk.indexOf(LF, end);
	}

	/** One event of the text, if it is one. */
	#block(): SseEvent | undefined {
		const text = this.#text;
		const from = this.#from;
		const end = text.indexOf("\n\n", from);
		this.#from = end + BLANK.length;
		if (!text.startsWith("data:", from) || text.indexOf("\n", from) !== end) return block(text.slice(from, end));
		return { data: text.slice(text.charCodeAt(from + 5) === SPACE ? from + 6 : from + 5, end), event: "" };
	}

	/** Line by line through the rest of the chunk, up to the end of an event. */
	#line(): SseEvent | undefined {
		const chunk = this.#chunk;
		while (this.#at < chunk.length) {
			const at = this.#at;
			if (this.#lf >= 0 && this.#lf < at) this.#lf = chunk.indexOf(LF, at);
			if (this.#cr >= 0 && this.#cr < at) this.#cr = chunk.indexOf(CR, at);
			const end = this.#cr >= 0 && (this.#lf < 0 || this.#cr < this.#lf) ? this.#cr : this.#lf;
			this.#size += (end < 0 ? chunk.length : end) - at;
			if (this.#size > this.#max) throw broken(`an event is larger than ${this.#max} bytes`);
			if (end < 0) {
				this.#partial.push(at === 0 ? chunk : chunk.subarray(at));
				break;
			}
			let line = chunk.subarray(at, end);
			if (this.#partial.size > 0) {
				this.#partial.push(line);
				line = this.#partial.take();
			}
			this.#at = end + 1;
			if (end === this.#cr) {
				if (this.#at === chunk.length) this.#afterCr = true;
				else if (chunk[this.#at] === LF) this.#at++;
			}
			if (this.#atStart) {
				this.#atStart = false;
				if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3);
			}
			const found = this.#take(line);
			if (found) return found;
		}
		this.#chunk = EMPTY;
		this.#at = 0;
		return undefined;
	}

	/** A line's part in the event; the event when the line ends it. */
	#take(line: Buffer): SseEvent | undefined {
		if (line.length === 0) {
			const found = this.#data === undefined ? undefined : { data: this.#data, event: this.#event };
			this.#data = undefined;
			this.#event = "";
			this.#size = 0;
			return found;
		}
		const value = field(line, "data");
		if (value !== undefined) this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
		else {
			this.#event = field(line, "event") ?? this.#event;
			// Comments and unknown fields are no part of an event: they may go on forever.
			if (this.#data === undefined) this.#size = 0;
		}
		return undefined;
	}
}

/** The event that a block of lines says, if it has data. */
function block(text: string): SseEvent | undefined {
	let data: string | undefined;
	let event = "";
	for (const line of text.split("\n")) {
		const colon = line.indexOf(":");
		const name = colon < 0 ? line : line.slice(0, colon);
		if (name !== "data" && name !== "event") continue;
		const value = colon < 0 ? "" : line.slice(line.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1);
		if (name === "event") event = value;
		else data = data === undefined ? value : `${data}\n${value}`;
	}
	return data === undefined ? undefined : { data, event };
}

/** The value of a line's field when it has that name. */
function field(line: Buffer, name: "data" | "event"): string | undefined {
	const { length } = name;
	for (let i = 0; i < length; i++) if (line[i] !== name.charCodeAt(i)) return undefined;
	if (line.length === length) return "";
	if (line[length] !== 0x3a) return undefined;
	const from = line[length + 1] === 0x20 ? length + 2 : length + 1;
	const value = line.subarray(from);
	if (!isUtf8(value)) throw broken("an event is not valid UTF-8");
	return value.toString("utf8");
}

function broken(what: string): A2AError {
	return new A2AError("INVALID_AGENT_RESPONSE", { message: `Invalid agent response: ${what}` });
}
