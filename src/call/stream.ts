/** Streams: the first message before the headers, cancellation and backpressure by pulling. */
import type { Reply } from "./call.ts";
import { A2AError } from "./error.ts";
import type { Payload } from "./payload.ts";

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
	const iterator = iterate(reply)[Symbol.asyncIterator]();
	const first = await iterator.next();
	return { started: !first.done, messages: resume(first, iterator) };
}

async function* resume(first: IteratorResult<Payload>, iterator: AsyncIterator<Payload>): AsyncIterable<Payload> {
	let done = first.done === true;
	try {
		if (first.done) return;
		yield first.value;
		for (;;) {
			const next = await iterator.next();
			if (next.done) {
				done = true;
				return;
			}
			yield next.value;
		}
	} catch (error) {
		done = true;
		throw error;
	} finally {
		if (!done) await iterator.return?.();
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
