/** One gRPC call on an HTTP/2 client stream: its messages pulled, its end understood (grpc.io PROTOCOL-HTTP2, "Responses"). */
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import type { Header } from "../../call/call.ts";
import { A2AError } from "../../call/error.ts";
import type { Ready } from "../../call/stream.ts";
import { type Frame, FrameReader, frame, inflate, isEncoding, prefix } from "../../wire/grpc-frame.ts";
import { readBinary, readMessage, readMetadata } from "../../wire/grpc-metadata.ts";
import { type ChannelOptions, GrpcFailure, httpFailure, resetFailure, rubbish, unavailable } from "./channel.ts";
import type { Connection } from "./connection.ts";

/** Frames, and bytes of them, that may wait here for a slow reader; the rest waits with the agent. */
const MOST_FRAMES = 256;
const MOST_BYTES = 64 * 1024;
const LARGE = 64 * 1024;

const CONTENT_TYPE = /^application\/grpc(\+proto)?\s*(;|$)/i;

type Outcome = { readonly error: unknown } | "ok";

export class Exchange implements Ready<Uint8Array> {
	/** Initial metadata, once `started`; the trailers with it when the agent sent trailers only. */
	header: Header = {};
	trailers: Header | undefined;
	/** Was the call certainly not processed? Then it may be sent again elsewhere. */
	refused = false;
	readonly #stream: ClientHttp2Stream;
	readonly #connection: Connection;
	readonly #signal: AbortSignal;
	readonly #options: ChannelOptions;
	readonly #reader: FrameReader;
	readonly #abort = () => this.#fail(A2AError.from(this.#signal.reason));
	readonly #idle: NodeJS.Timeout | undefined;
	#encoding: string | undefined;
	#frames: Frame[] = [];
	#bytes = 0;
	#paused = false;
	#ended = false;
	#responded = false;
	#error: unknown;
	#outcome: Outcome | undefined;
	/** Wakes whoever waits for the next thing to happen. */
	#wake: (() => void) | undefined;

	/** Throws when the connection takes no more streams. */
	constructor(
		connection: Connection,
		headers: OutgoingHttpHeaders,
		message: Uint8Array,
		signal: AbortSignal,
		options: ChannelOptions,
		idleTimeout: number,
	) {
		this.#connection = connection;
		this.#signal = signal;
		this.#options = options;
		this.#reader = new FrameReader(options.maxMessage);
		const stream = connection.session.request(headers);
		this.#stream = stream;
		stream.on("response", (h) => this.#onResponse(h));
		stream.on("trailers", (h) => this.#onTrailers(h));
		stream.on("data", (chunk: Buffer) => this.#onData(chunk));
		stream.on("end", () => this.#onEnd());
		stream.on("error", (error) => {
			this.#error = error;
		});
		stream.on("close", () => this.#onClose());
		if (message.length < LARGE) stream.end(frame(message));
		else {
			stream.write(prefix(message.length));
			stream.end(message);
		}
		signal.addEventListener("abort", this.#abort, { once: true });
		this.#idle = idleTimeout > 0 ? setTimeout(() => this.#onIdle(), Math.min(idleTimeout, 2 ** 31 - 1)) : undefined;
	}

	/** Waits for the initial metadata; throws when the call failed before it had any. */
	async started(): Promise<void> {
		while (!this.#responded && !this.#outcome) await this.#happening();
		if (!this.#responded && this.#outcome && this.#outcome !== "ok") throw this.#outcome.error;
	}

	ready(): Uint8Array | undefined {
		// A compressed message has to be waited for.
		return this.#frames[0]?.compressed === false ? this.#shift()?.bytes : undefined;
	}

	#shift(): Frame | undefined {
		const next = this.#frames.shift();
		if (!next) return undefined;
		this.#bytes -= next.bytes.length;
		if (this.#paused && this.#bytes < MOST_BYTES / 2 && this.#frames.length < MOST_FRAMES / 2) this.#resume();
		return next;
	}

	async next(): Promise<IteratorResult<Uint8Array>> {
		for (;;) {
			const next = this.#shift();
			if (next) {
				return { done: false, value: next.compressed ? await this.#inflate(next) : next.bytes };
			}
			if (this.#outcome === "ok") return { done: true, value: undefined };
			if (this.#outcome) throw this.#outcome.error;
			await this.#happening();
		}
	}

	/** The reader has had enough: the agent is told. */
	return(): Promise<IteratorResult<Uint8Array>> {
		this.#frames = [];
		if (!this.#outcome) this.#settle("ok", true);
		return Promise.resolve({ done: true, value: undefined });
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	#happening(): Promise<void> {
		return new Promise((resolve) => {
			this.#wake = resolve;
		});
	}

	#notify(): void {
		const wake = this.#wake;
		this.#wake = undefined;
		wake?.();
	}

	#resume(): void {
		this.#paused = false;
		this.#idle?.refresh();
		this.#stream.resume();
	}

	async #inflate(next: Frame): Promise<Buffer> {
		try {
			return await inflate(next, this.#encoding, this.#options.maxMessage);
		} catch (error) {
			const failure = this.#rubbish(error);
			this.#fail(failure);
			throw failure;
		}
	}

	#onResponse(headers: IncomingHttpHeaders): void {
		if (this.#outcome) return;
		this.#connection.hear();
		this.#idle?.refresh();
		this.header = readMetadata(headers);
		const wrong = this.#check(Number(headers[":status"]));
		if (wrong) this.#fail(wrong);
		else {
			this.#responded = true;
			this.#notify();
		}
	}

	/** What is wrong with the initial metadata, if anything. */
	#check(status: number): A2AError | undefined {
		const { header } = this;
		if (header["grpc-status"] !== undefined) {
			this.trailers = header;
			return undefined;
		}
		if (status !== 200) return httpFailure(status, header);
		if (!CONTENT_TYPE.test(header["content-type"] ?? "")) return rubbish("The agent's answer is not gRPC");
		this.#encoding = header["grpc-encoding"];
		if (!isEncoding(this.#encoding)) return rubbish("The agent's message encoding is not supported");
		return undefined;
	}

	#onTrailers(headers: IncomingHttpHeaders): void {
		this.#connection.hear();
		this.trailers = readMetadata(headers);
		if (this.#ended) this.#conclude();
	}

	#onData(chunk: Buffer): void {
		if (this.#outcome) return;
		this.#connection.hear();
		this.#idle?.refresh();
		try {
			this.#reader.push(chunk);
			for (let next = this.#reader.next(); next; next = this.#reader.next()) {
				this.#frames.push(next);
				this.#bytes += next.bytes.length;
			}
		} catch (error) {
			this.#fail(this.#rubbish(error));
			return;
		}
		if (!this.#paused && (this.#bytes >= MOST_BYTES || this.#frames.length >= MOST_FRAMES)) {
			this.#paused = true;
			this.#stream.pause();
		}
		if (this.#frames.length > 0) this.#notify();
	}

	#onEnd(): void {
		this.#ended = true;
		if (this.trailers) this.#conclude();
	}

	#onIdle(): void {
		// While a slow client holds it up, the silence is not the agent's.
		if (this.#paused) this.#idle?.refresh();
		else this.#fail(unavailable(undefined, "The agent fell silent"));
	}

	/** The agent has said how the call ended. */
	#conclude(): void {
		if (this.#outcome) return;
		const outcome = this.#verdict(this.trailers ?? {});
		this.#settle(outcome, outcome !== "ok" && !this.#ended);
	}

	#verdict(trailers: Header): Outcome {
		const text = trailers["grpc-status"];
		if (text === undefined || !/^\d+$/.test(text)) {
			return { error: rubbish("The agent's answer has no gRPC status") };
		}
		const code = Number(text);
		if (code === 0) return this.#reader.partial ? { error: rubbish("The agent's message is truncated") } : "ok";
		const details = trailers["grpc-status-details-bin"];
		const status = {
			code,
			message: readMessage(trailers["grpc-message"] ?? ""),
			...(details !== undefined && { details: readBinary(details) }),
		};
		const header = trailers === this.header ? trailers : { ...this.header, ...trailers };
		return { error: new GrpcFailure(status, header) };
	}

	#onClose(): void {
		this.#connection.release();
		if (this.#outcome) return;
		const status = this.trailers?.["grpc-status"];
		if (this.trailers && (this.#ended || (status !== undefined && status !== "0"))) this.#conclude();
		else this.#fail(this.#brokenOff());
	}

	/** The stream is gone and the agent has not said why. */
	#brokenOff(): A2AError {
		const { id, rstCode } = this.#stream;
		const { session, lastStream } = this.#connection;
		if (!this.#responded) {
			this.refused = rstCode === constants.NGHTTP2_REFUSED_STREAM || id === undefined || id > lastStream;
			if (this.refused) return unavailable(this.#error);
		}
		// Node reports a lost connection as CANCEL on each of its streams.
		if (session.destroyed) return unavailable(this.#error, "The connection to the agent was lost");
		if (rstCode !== constants.NGHTTP2_NO_ERROR) return resetFailure(rstCode, this.#error);
		return rubbish("The agent's answer ended without a gRPC status");
	}

	#rubbish(error: unknown): A2AError {
		return rubbish(error instanceof Error ? `The agent's answer is broken: ${error.message}` : "", error);
	}

	#fail(error: unknown): void {
		if (!this.#outcome) this.#settle({ error }, true);
	}

	#settle(outcome: Outcome, cancel = false): void {
		this.#outcome = outcome;
		this.#signal.removeEventListener("abort", this.#abort);
		clearTimeout(this.#idle);
		if (cancel) this.#frames = [];
		if (!this.#stream.closed && (cancel || !this.#stream.writableFinished)) {
			this.#stream.close(constants.NGHTTP2_CANCEL);
		}
		// What is still buffered nobody reads; a paused stream would never close.
		if (cancel) this.#stream.resume();
		this.#notify();
	}
}
