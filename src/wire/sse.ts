/** Server-sent events (WHATWG HTML §9.2): a writer for clients; its inverse, the reader for agents, is beside it. */
import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { Header } from "../call/call.ts";

export { type SseEvent, sseReader } from "./sse-read.ts";

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
	/** Sends the header now: comments keep the connection until the first event comes. */
	begin(): void;
	/** Ends the response; sends the header first if no event has. Harmless when repeated. */
	end(): void;
	/** The client has gone, or `end` was called. */
	readonly closed: boolean;
}

/** So many characters are written at once, without waiting for more of the same turn. */
const FLUSH = 16 * 1024;

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
	/** Written in this turn of the loop: leaves in one piece at its end, as every write of its own costs a chunk. */
	let pending = "";

	const proceed = (): void => {
		const resolve = wake;
		wake = undefined;
		drained = undefined;
		resolve?.();
	};
	const close = (): void => {
		closed = true;
		pending = "";
		leave?.();
		proceed();
	};
	const tick = (): void => {
		// A client that does not read what it has needs no comment.
		if (!spoke && !out.writableNeedDrain) out.write(":\n\n");
		spoke = false;
	};
	const flush = (): void => {
		if (closed || pending === "") return;
		const text = pending;
		pending = "";
		out.write(text);
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
			spoke = true;
			if (pending === "") process.nextTick(flush);
			pending += format(data, event);
			if (pending.length >= FLUSH) flush();
			if (!out.writableNeedDrain) return undefined;
			drained ??= new Promise((resolve) => {
				wake = resolve;
			});
			return drained;
		},
		begin() {
			if (closed || started) return;
			start();
			out.flushHeaders();
		},
		end() {
			if (closed) return;
			if (!started) start();
			flush();
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
