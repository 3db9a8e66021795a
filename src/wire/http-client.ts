/** HTTP towards an agent, on undici's pool: nothing followed, nothing guessed, every failure an A2AError. */
import { getCACertificates } from "node:tls";
import { type Dispatcher, Pool } from "undici";
import type { Header } from "../call/call.ts";
import { A2AError } from "../call/error.ts";
import { Gather } from "./gather.ts";
import { toHeader } from "./header.ts";

export interface HttpClientOptions {
	/** Time for a connection to be made, milliseconds. */
	readonly connectTimeout: number;
	/** A stream silent for so long is given up, milliseconds; 0 = never. */
	readonly idleTimeout: number;
	/** Most connections for requests that are no streams; a stream has a connection of its own. */
	readonly connections: number;
	/** PEM of additional trusted authorities; undefined = the system's alone. */
	readonly ca: string | undefined;
}

export interface HttpCall {
	readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
	/** Path with query, percent-encoded, below the origin. */
	readonly path: string;
	readonly header: Header;
	readonly body?: string | Buffer;
	readonly signal: AbortSignal;
	/** The answer is a stream: it may stay open for ever, and only silence ends it. */
	readonly stream: boolean;
	/** Doing it twice is like doing it once: may be sent again when a pooled connection dies under it. By default so for GET and DELETE. */
	readonly idempotent?: boolean;
}

export interface HttpAnswer {
	readonly status: number;
	/** End-to-end fields, plus `content-type`. */
	readonly header: Header;
	/** Iterate or `readAll` once, or `cancel` it: an unread body holds its connection. */
	readonly body: AnswerBody;
}

export interface HttpClient {
	/**
	 * Resolves when the status and header have arrived. Aborting the signal, before or after that, closes the connection.
	 * Throws A2AError: UNAVAILABLE when there is no connection or it breaks, INVALID_AGENT_RESPONSE for what is no HTTP,
	 * a redirect or a content coding nobody asked for, and the signal's own reason. Reading the body throws the same.
	 */
	request(call: HttpCall): Promise<HttpAnswer>;
	/** Ends idle connections now, busy ones when their calls end. */
	close(): Promise<void>;
}

/** A client for one origin (scheme, host and port of the URL). Connects on first use. */
export function httpClient(origin: URL, options: HttpClientOptions): HttpClient {
	const common: Pool.Options = {
		allowH2: false,
		pipelining: 1,
		headersTimeout: 0,
		bodyTimeout: 0,
		connect: {
			timeout: options.connectTimeout,
			...(options.ca !== undefined && { ca: [...getCACertificates("default"), options.ca] }),
		},
	};
	const pool = new Pool(origin.origin, { ...common, connections: options.connections });
	const streams = new Pool(origin.origin, {
		...common,
		headersTimeout: options.idleTimeout,
		bodyTimeout: options.idleTimeout,
	});
	let closing: Promise<unknown> | undefined;
	return {
		async request(call) {
			const target = call.stream ? streams : pool;
			try {
				return await exchange(target, call);
			} catch (error) {
				const repeatable = call.idempotent ?? (call.method === "GET" || call.method === "DELETE");
				if (!(error instanceof ConnectionLost) || call.signal.aborted) throw error;
				// The agent closed a kept-alive connection just as we took it. What was never sent may go out again too.
				if (error.sent && !repeatable) throw error;
				return await exchange(target, call);
			}
		},
		async close() {
			closing ??= Promise.all([pool.close(), streams.close()]);
			await closing;
		},
	};
}

/** Reads a whole body. Throws A2AError INVALID_AGENT_RESPONSE, and closes the connection, when it is over `max` bytes. */
export function readAll(body: AnswerBody, max: number): Promise<Buffer> {
	return body.readAll(max);
}

/** One request. The handler's methods run in undici's parser: they must not throw. */
function exchange(pool: Pool, call: HttpCall): Promise<HttpAnswer> {
	const { signal } = call;
	if (signal.aborted) return Promise.reject(ended(signal));
	return new Promise((resolve, reject) => {
		let controller: Dispatcher.DispatchController | undefined;
		let body: AnswerBody | undefined;
		let sent = false;
		const abort = (): void => fail(ended(signal));
		const settle = (): void => signal.removeEventListener("abort", abort);
		const fail = (error: A2AError): void => {
			settle();
			if (body) body.fail(error);
			else reject(error);
			controller?.abort(error);
		};
		signal.addEventListener("abort", abort, { once: true });
		const handler: Dispatcher.DispatchHandler = {
			onRequestStart(started) {
				controller = started;
				if (signal.aborted) started.abort(ended(signal));
			},
			onBodySent() {
				sent = true;
			},
			onRequestSent() {
				sent = true;
			},
			onResponseStart(started, status, raw) {
				if (status < 200 || signal.aborted) return;
				const unfit = refusal(status, raw["content-encoding"]);
				if (unfit) return fail(unfit);
				body = new AnswerBody(started);
				const type = raw["content-type"];
				const header = typeof type === "string" ? { ...toHeader(raw), "content-type": type } : toHeader(raw);
				resolve({ status, header, body });
			},
			onResponseData(_, chunk) {
				body?.push(chunk);
			},
			onResponseEnd() {
				settle();
				body?.end();
			},
			onResponseError(_, error) {
				settle();
				const failure = signal.aborted ? ended(signal) : convert(error, body !== undefined, sent);
				if (body) body.fail(failure);
				else reject(failure);
			},
		};
		try {
			pool.dispatch({ method: call.method, path: call.path, headers: call.header, body: call.body ?? null }, handler);
		} catch (error) {
			fail(convert(error, false, false));
		}
	});
}

/** What makes an answer unusable whatever its body says. */
function refusal(status: number, coding: string | string[] | undefined): A2AError | undefined {
	if (status >= 300 && status < 400) return invalid("a redirect");
	if (coding !== undefined && coding !== "identity") return invalid("an unexpected content encoding");
	return undefined;
}

/** No byte of an answer came. `sent` when the agent may have seen the request. */
class ConnectionLost extends A2AError {
	readonly sent: boolean;
	constructor(sent: boolean, cause: unknown) {
		super("UNAVAILABLE", { message: "The agent closed the connection without an answer", cause });
		this.sent = sent;
	}
}

const unreachable: Readonly<Record<string, string>> = {
	ECONNREFUSED: "The agent refuses connections",
	ENOTFOUND: "The agent's host name is unknown",
	EAI_AGAIN: "The agent's host name cannot be looked up at the moment",
	ETIMEDOUT: "The agent cannot be reached in time",
	UND_ERR_CONNECT_TIMEOUT: "The agent cannot be reached in time",
	EHOSTUNREACH: "The agent cannot be reached",
	ENETUNREACH: "The agent cannot be reached",
	UND_ERR_HEADERS_TIMEOUT: "The agent did not answer in time",
	UND_ERR_BODY_TIMEOUT: "The agent's stream was silent for too long",
	UND_ERR_CLOSED: "The connection to the agent is being closed",
	UND_ERR_DESTROYED: "The connection to the agent is being closed",
};

/** undici's and Node's errors; their texts name addresses and stay in the cause. */
function convert(error: unknown, answered: boolean, sent: boolean): A2AError {
	if (error instanceof A2AError) return error;
	const code = codeOf(error);
	const message = unreachable[code];
	if (message !== undefined) return new A2AError("UNAVAILABLE", { message, cause: error });
	if ((error instanceof Error && error.name === "HTTPParserError") || code === "UND_ERR_HEADERS_OVERFLOW") {
		return invalid("no valid HTTP", error);
	}
	if (code === "UND_ERR_INVALID_ARG") {
		return new A2AError("INVALID_REQUEST", {
			message: "A header field cannot be passed on to the agent",
			cause: error,
		});
	}
	if (answered) {
		return new A2AError("UNAVAILABLE", {
			message: "The connection to the agent broke inside its answer",
			cause: error,
		});
	}
	if (code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE") return new ConnectionLost(sent, error);
	return new A2AError("UNAVAILABLE", { cause: error });
}

/** The error's code, or that of the first of several (one per address tried). */
function codeOf(error: unknown): string {
	if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
	return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

function invalid(what: string, cause?: unknown): A2AError {
	return new A2AError("INVALID_AGENT_RESPONSE", { message: `Invalid agent response: ${what}`, cause });
}

function ended(signal: AbortSignal): A2AError {
	const { reason } = signal;
	return reason instanceof A2AError ? reason : new A2AError("CANCELLED", { cause: reason });
}

/** The connection is read no further while so many bytes wait for the reader. */
const HIGH_WATER = 64 * 1024;

/** An answer's body: iterated chunk by chunk, which is the backpressure, or read whole. One reader, once. */
export class AnswerBody implements AsyncIterable<Buffer> {
	readonly #controller: Dispatcher.DispatchController;
	readonly #waiting = new Gather();
	#max = 0; // > 0: being read whole, up to so many bytes
	#ended = false;
	#error: A2AError | undefined;
	#wake: (() => void) | undefined;

	constructor(controller: Dispatcher.DispatchController) {
		this.#controller = controller;
	}

	push(chunk: Buffer): void {
		if (this.#ended) return;
		this.#waiting.push(chunk);
		if (this.#max > 0) {
			if (this.#waiting.size > this.#max) this.#overflow();
			return;
		}
		if (this.#waiting.size >= HIGH_WATER) this.#controller.pause();
		this.#proceed();
	}

	end(): void {
		this.#ended = true;
		this.#proceed();
	}

	fail(error: A2AError): void {
		if (this.#ended) return;
		this.#error = error;
		this.end();
	}

	/** Gives the body up: closes the connection unless the body is complete already. */
	cancel(): void {
		if (this.#ended) return;
		this.fail(new A2AError("CANCELLED"));
		this.#controller.abort(new A2AError("CANCELLED"));
	}

	async readAll(max: number): Promise<Buffer> {
		this.#max = max;
		if (this.#waiting.size > max) throw this.#overflow();
		if (this.#controller.paused) this.#controller.resume();
		while (!this.#ended) await this.#change();
		if (this.#error) throw this.#error;
		return this.#waiting.take();
	}

	[Symbol.asyncIterator](): AsyncIterator<Buffer> {
		return {
			next: async () => {
				while (this.#waiting.size === 0 && !this.#ended) await this.#change();
				// What came before an error is delivered first.
				if (this.#waiting.size > 0) {
					const value = this.#waiting.take();
					if (this.#controller.paused && !this.#ended) this.#controller.resume();
					return { done: false, value };
				}
				if (this.#error) throw this.#error;
				return { done: true, value: undefined };
			},
			return: async () => {
				this.cancel();
				return { done: true, value: undefined };
			},
		};
	}

	#overflow(): A2AError {
		const error = invalid(`larger than ${this.#max} bytes`);
		// It may have arrived whole before anyone asked for its size.
		if (!this.#ended) {
			this.fail(error);
			this.#controller.abort(error);
		}
		return error;
	}

	#change(): Promise<void> {
		return new Promise((resolve) => {
			this.#wake = resolve;
		});
	}

	#proceed(): void {
		const wake = this.#wake;
		this.#wake = undefined;
		wake?.();
	}
}
