/** gRPC's length-prefixed messages, and their compression (grpc.io PROTOCOL-HTTP2, "Length-Prefixed-Message"). */
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";

/** What is wrong with a peer's framing. */
export type FrameFault = "oversized" | "truncated" | "malformed";

export class FrameError extends Error {
	override readonly name = "FrameError";
	readonly fault: FrameFault;
	constructor(fault: FrameFault, message: string, options?: ErrorOptions) {
		super(message, options);
		this.fault = fault;
	}
}

export interface Frame {
	readonly compressed: boolean;
	readonly bytes: Buffer;
}

/** Values of `grpc-encoding` that `inflate` understands, as `grpc-accept-encoding` lists them. */
export const ENCODINGS = "identity,gzip";

/** Is this value of `grpc-encoding` one that `inflate` understands? Absent means identity. */
export function isEncoding(encoding: string | undefined): boolean {
	return encoding === undefined || encoding === "identity" || encoding === "gzip";
}

/** Bytes of a frame's prefix. */
export const PREFIX = 5;
const unzip = promisify(gunzip);
const zip = promisify(gzip);
const empty = Buffer.alloc(0);

/**
 * Cuts a byte stream into frames. Push chunks, then take frames until there is none.
 * A frame larger than `max` bytes throws as soon as its prefix is there, before its content is kept.
 */
export class FrameReader {
	readonly #max: number;
	#chunks: Buffer[] = [];
	/** Bytes not taken yet, and where they start in the first chunk. */
	#size = 0;
	#at = 0;
	/** Content length of the frame under way; -1 while its prefix is awaited. */
	#length = -1;
	#compressed = false;

	constructor(max: number) {
		this.#max = max;
	}

	/** Has a frame begun that is not complete? */
	get partial(): boolean {
		return this.#length >= 0 || this.#size > 0;
	}

	push(chunk: Buffer): void {
		if (chunk.length === 0) return;
		this.#chunks.push(chunk);
		this.#size += chunk.length;
	}

	next(): Frame | undefined {
		if (this.#length < 0) {
			if (this.#size < PREFIX) return undefined;
			const chunk = this.#contiguous(PREFIX);
			const flags = chunk[this.#at] ?? 0;
			if (flags > 1) throw new FrameError("malformed", "Unknown flags in a message's prefix");
			const length = chunk.readUInt32BE(this.#at + 1);
			this.#skip(chunk, PREFIX);
			if (length > this.#max) throw new FrameError("oversized", `A message has more than ${this.#max} bytes`);
			this.#compressed = flags === 1;
			this.#length = length;
		}
		if (this.#size < this.#length) return undefined;
		const bytes = this.#take(this.#length);
		this.#length = -1;
		return { compressed: this.#compressed, bytes };
	}

	#take(count: number): Buffer {
		if (count === 0) return empty;
		const chunk = this.#contiguous(count);
		const from = this.#at;
		this.#skip(chunk, count);
		return from === 0 && chunk.length === count ? chunk : chunk.subarray(from, from + count);
	}

	/** The first chunk, made to hold `count` bytes: one copy when they came in pieces, none when they came in one. */
	#contiguous(count: number): Buffer {
		const [first] = this.#chunks;
		if (first && first.length - this.#at >= count) return first;
		if (first && this.#at > 0) this.#chunks[0] = first.subarray(this.#at);
		const whole = Buffer.concat(this.#chunks, this.#size);
		this.#chunks = [whole];
		this.#at = 0;
		return whole;
	}

	#skip(chunk: Buffer, count: number): void {
		this.#size -= count;
		this.#at += count;
		if (this.#at < chunk.length) return;
		this.#chunks.shift();
		this.#at = 0;
	}
}

/** The prefix of a frame with `length` bytes of content. */
export function prefix(length: number, compressed = false): Buffer {
	const head = Buffer.allocUnsafe(PREFIX);
	head[0] = compressed ? 1 : 0;
	head.writeUInt32BE(length, 1);
	return head;
}

/** Prefix and content in one piece: for small messages, where one write is cheaper than no copy. */
export function frame(bytes: Uint8Array, compressed = false): Buffer {
	const whole = Buffer.allocUnsafe(PREFIX + bytes.length);
	whole[0] = compressed ? 1 : 0;
	whole.writeUInt32BE(bytes.length, 1);
	whole.set(bytes, PREFIX);
	return whole;
}

/** A message on its way into a frame. */
export interface Outgoing {
	readonly bytes: Uint8Array;
	readonly compressed: boolean;
}

/** Several frames in one piece of `size` bytes, prefixes included. */
export function frames(messages: readonly Outgoing[], size: number): Buffer {
	const whole = Buffer.allocUnsafe(size);
	let at = 0;
	for (const { bytes, compressed } of messages) {
		whole[at] = compressed ? 1 : 0;
		whole.writeUInt32BE(bytes.length, at + 1);
		whole.set(bytes, at + PREFIX);
		at += PREFIX + bytes.length;
	}
	return whole;
}

/** Compresses a message's content. The inverse of `inflate` with encoding gzip. */
export function deflate(bytes: Uint8Array): Promise<Buffer> {
	return zip(bytes);
}

/** The content of a frame, decompressed to at most `max` bytes. `encoding` is the peer's `grpc-encoding`. */
export async function inflate(frame: Frame, encoding: string | undefined, max: number): Promise<Buffer> {
	if (!frame.compressed) return frame.bytes;
	if (encoding !== "gzip") throw new FrameError("malformed", "A message is compressed, but no encoding was named");
	try {
		return await unzip(frame.bytes, { maxOutputLength: max });
	} catch (error) {
		const code = error instanceof Error && "code" in error ? error.code : "";
		if (code === "ERR_BUFFER_TOO_LARGE") {
			throw new FrameError("oversized", `A message has more than ${max} bytes`, { cause: error });
		}
		throw new FrameError("malformed", "A compressed message cannot be decompressed", { cause: error });
	}
}
