/** Server-sent events (WHATWG HTML §9.2): a writer for clients and a reader for agents, inverses of each other. */
import { isUtf8 } from "node:buffer";
import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { Header } from "../call/call.ts";
import { A2AError } from "../call/error.ts";
import { Gather } from "./gather.ts";

export interface SseOptions {
	/** A comment is sent when the stream has been silent for so long, milliseconds; 0 = never. */
	readonly keepAlive: number;
	/** Further header fields of the response. */
	readonly header?: Header;
}

export interface SseWriter {
	/**
	 * Sends one event. Undefined when the client can take more at once, else resolves when it can, or has gone.
	 * Nothing is sent after the end.
	 */
	send(data: string, event?: string): Promise<void> | undefined;
	/** Ends the response; sends the header first if no event has. Harmless when repeated. */
	end(): void;
	/** The client has gone, or `end` was called. */
	readonly closed: boolean;
}

/** Writes events to a response. The status and header go out with the first event. */
export function sseWriter(res: ServerResponse | Http2ServerResponse, options: SseOptions): SseWriter {
	// One set of methods for both kinds of response: the members used are the same, their overloads are not.
	const out = res as ServerResponse;
	let started = false;
	let closed = out.writableEnded || ("stream" in res ? res.stream.destroyed : res.destroyed);
	let leave: (() => void) | undefined;
	let spoke = true;
	let wake: (() => void) | undefined;
	let drained: Promise<void> | undefined;

	const proceed = (): void => {
		const resolve = wake;
		wake = undefined;
		drained = undefined;
		resolve?.();
	};
	const close = (): void => {
		closed = true;
		leave?.();
		proceed();
	};
	const tick = (): void => {
		// A client that does not read what it has needs no comment.
		if (!spoke && !out.writableNeedDrain) write(":\n\n");
		spoke = false;
	};
	const write = (text: string): boolean => {
		spoke = true;
		return out.write(text);
	};
	const start = (): void => {
		started = true;
		out.writeHead(200, {
			...options.header,
			"content-type": "text/event-stream",
			"cache-control": "no-cache",
			"x-accel-buffering": "no",
		});
		leave = joinTimer(options.keepAlive, tick);
	};

	out.on("close", close);
	out.on("error", close);
	out.on("drain", proceed);
	return {
		get closed() {
			return closed;
		},
		send(data, event) {
			if (closed) return undefined;
			if (!started) start();
			if (write(format(data, event))) return undefined;
			drained ??= new Promise((resolve) => {
				wake = resolve;
			});
			return drained;
		},
		end() {
			if (closed) return;
			if (!started) start();
			close();
			out.end();
		},
	};
}

function format(data: string, event: string | undefined): string {
	const lines = data.includes("\n") || data.includes("\r") ? data.split(/\r\n|\n|\r/).join("\ndata: ") : data;
	return event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`;
}

/** One timer for all streams with the same interval; none while there is no stream. */
const timers = new Map<number, { readonly ticks: Set<() => void>; readonly timer: NodeJS.Timeout }>();

function joinTimer(interval: number, tick: () => void): (() => void) | undefined {
	if (interval <= 0) return undefined;
	let group = timers.get(interval);
	if (!group) {
		const ticks = new Set<() => void>();
		// Twice per interval: silence is noticed at the second tick, so never later than the interval.
		const timer = setInterval(
			() => {
				for (const each of ticks) each();
			},
			Math.max(1, interval / 2),
		);
		timer.unref();
		group = { ticks, timer };
		timers.set(interval, group);
	}
	const { ticks, timer } = group;
	ticks.add(tick);
	return () => {
		if (ticks.delete(tick) && ticks.size === 0) {
			clearInterval(timer);
			timers.delete(interval);
		}
	};
}

export interface SseEvent {
	readonly data: string;
	/** "" when the event names none. */
	readonly event: string;
}

const LF = 0x0a;
const CR = 0x0d;

/**
 * Reads events as they come. Ending the iteration ends the source. Throws A2AError INVALID_AGENT_RESPONSE when an
 * event is larger than `maxEvent` bytes, is not UTF-8, or is cut off by the end of the stream.
 */
export async function* sseReader(
	source: AsyncIterable<Buffer>,
	options: { readonly maxEvent: number },
): AsyncGenerator<SseEvent, void, undefined> {
	const { maxEvent } = options;
	const partial = new Gather(); // the line so far, where it spans chunks
	let size = 0; // of the event so far
	let data: string | undefined;
	let event = "";
	let afterCr = false;
	let atStart = true;

	for await (const chunk of source) {
		let at = 0;
		let lf = chunk.indexOf(LF);
		let cr = chunk.indexOf(CR);
		if (afterCr && chunk.length > 0) {
			if (chunk[0] === LF) at = 1;
			afterCr = false;
		}
		for (;;) {
			if (lf >= 0 && lf < at) lf = chunk.indexOf(LF, at);
			if (cr >= 0 && cr < at) cr = chunk.indexOf(CR, at);
			const end = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf;
			size += (end < 0 ? chunk.length : end) - at;
			if (size > maxEvent) throw broken(`an event is larger than ${maxEvent} bytes`);
			if (end < 0) {
				if (at < chunk.length) partial.push(at === 0 ? chunk : chunk.subarray(at));
				break;
			}
			let line = chunk.subarray(at, end);
			if (partial.size > 0) {
				partial.push(line);
				line = partial.take();
			}
			at = end + 1;
			if (end === cr) {
				if (at === chunk.length) afterCr = true;
				else if (chunk[at] === LF) at++;
			}
			if (atStart) {
				atStart = false;
				if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3);
			}
			if (line.length === 0) {
				if (data !== undefined) yield { data, event };
				data = undefined;
				event = "";
				size = 0;
				continue;
			}
			const value = field(line, "data");
			if (value !== undefined) data = data === undefined ? value : `${data}\n${value}`;
			else {
				event = field(line, "event") ?? event;
				// Comments and unknown fields are no part of an event: they may go on forever.
				if (data === undefined) size = 0;
			}
		}
	}
	if (data || (partial.size > 0 && field(partial.take(), "data"))) throw broken("the stream ended inside an event");
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
