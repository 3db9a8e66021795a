/** Streams: the first message before the headers, cancellation and backpressure by pulling. */
import type { Reply } from "./call.ts";
import { A2AError } from "./error.ts";
import type { Payload } from "./payload.ts";

/**
 * An iterator that hands over what has arrived already without a turn of the event loop. Layers that have it pass it
 * on, so that a burst of events costs one turn and not one each; those that lack it are only slower.
 */
export interface Ready<T> extends AsyncIterableIterator<T> {
	/** The next one if it is here; undefined when it must be waited for with `next`. Throws what `next` would reject with. */
	ready(): T | undefined;
}

/** A stream whose first message has arrived. Iterate `messages` once; `return` cancels the source. */
export interface Opened {
	/** False when the stream ended without a message. */
	readonly started: boolean;
	readonly messages: AsyncIterable<Payload>;
}

/**
 * Waits for the first message (or the end, or the error, which is thrown), so that headers are sent
 * only when the outcome is known: an early error is then an error, not a broken 200.
 */
export async function open(reply: Reply): Promise<Opened> {
	const source = iterate(reply)[Symbol.asyncIterator]();
	const first = await source.next();
	let head = first.done ? undefined : first.value;
	let over = first.done === true;
	const messages: Ready<Payload> = {
		ready() {
			const message = head ?? (over ? undefined : readyOf(source));
			head = undefined;
			return message;
		},
		async next() {
			if (head !== undefined) {
				const value = head;
				head = undefined;
				return { done: false, value };
			}
			if (over) return { done: true, value: undefined };
			const next = await source.next();
			if (next.done) over = true;
			return next;
		},
		async return() {
			head = undefined;
			if (!over) await source.return?.();
			over = true;
			return { done: true, value: undefined };
		},
		[Symbol.asyncIterator]() {
			return this;
		},
	};
	return { started: !first.done, messages };
}

/** What an iterator has at hand, if it can say so. */
export function readyOf<T>(source: AsyncIterator<T>): T | undefined {
	return (source as Partial<Ready<T>>).ready?.();
}

/**
 * Every message of `source`, converted; those that become undefined are left out. What `convert` throws ends the
 * source; `fail` says what an error of either becomes.
 */
export function mapEach<T, U>(
	source: AsyncIterable<T>,
	convert: (item: T) => U | undefined,
	fail: (error: unknown) => unknown = (error) => error,
): Ready<U> {
	const items = source[Symbol.asyncIterator]();
	let over = false;
	const end = () => {
		if (over) return undefined;
		over = true;
		return items.return?.();
	};
	return {
		ready() {
			if (over) return undefined;
			try {
				for (let item = readyOf(items); item !== undefined; item = readyOf(items)) {
					const converted = convert(item);
					if (converted !== undefined) return converted;
				}
				return undefined;
			} catch (error) {
				end()?.catch(() => {});
				throw fail(error);
			}
		},
		async next() {
			try {
				while (!over) {
					const item = await items.next();
					if (item.done) over = true;
					else {
						const value = convert(item.value);
						if (value !== undefined) return { done: false, value };
					}
				}
				return { done: true, value: undefined };
			} catch (error) {
				await end()?.catch(() => {});
				throw fail(error);
			}
		},
		async return() {
			await end();
			return { done: true, value: undefined };
		},
		[Symbol.asyncIterator]() {
			return this;
		},
	};
}

/**
 * Hands each message to `take`, which may return a promise to wait for, or false when nobody wants more: then, and
 * when it throws, the source is cancelled.
 */
export async function forEach<T>(
	messages: AsyncIterable<T>,
	take: (message: T) => Promise<unknown> | false | undefined,
): Promise<void> {
	const source = messages[Symbol.asyncIterator]();
	for (;;) {
		let message = readyOf(source);
		if (message === undefined) {
			const next = await source.next();
			if (next.done) return;
			message = next.value;
		}
		let taken: Promise<unknown> | false | undefined;
		try {
			taken = take(message);
			if (taken) await taken;
		} catch (error) {
			await source.return?.();
			throw error;
		}
		if (taken === false) {
			await source.return?.();
			return;
		}
	}
}

/** A reply's messages as a stream, whether it was unary or not. */
export function iterate(reply: Reply): AsyncIterable<Payload> {
	const { messages } = reply;
	return Symbol.asyncIterator in messages ? messages : fromArray(messages);
}

async function* fromArray(messages: readonly Payload[]): AsyncIterable<Payload> {
	yield* messages;
}

/** The one message of a unary reply. Throws INVALID_AGENT_RESPONSE when there is none or more. */
export async function single(reply: Reply): Promise<Payload> {
	const { messages } = reply;
	if (!(Symbol.asyncIterator in messages)) return messages[0];
	let only: Payload | undefined;
	for await (const message of messages) {
		if (only) throw new A2AError("INVALID_AGENT_RESPONSE", { message: "The agent sent more than one reply" });
		only = message;
	}
	if (!only) throw new A2AError("INVALID_AGENT_RESPONSE", { message: "The agent sent no reply" });
	return only;
}

/** A unary reply. */
export function reply(message: Payload, header: Reply["header"] = {}): Reply {
	return { header, messages: [message] };
}
