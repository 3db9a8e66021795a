/** The request side of a gRPC stream: what its header says, and its messages (grpc.io PROTOCOL-HTTP2, "Requests"). */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { A2AError } from "../../call/error.ts";
import { FrameError, FrameReader, inflate, isEncoding } from "../../wire/grpc-frame.ts";
import { readTimeout } from "../../wire/grpc-metadata.ts";
import type { Answer } from "./answer.ts";

/** `application/grpc`, alone or with the one codec spoken here. */
const CONTENT_TYPE = /^application\/grpc(\+proto)?\s*(;|$)/i;

/** Refuses what is no gRPC request (405, 415) and says so with `true`: then nothing is left to do. */
export function refused(headers: IncomingHttpHeaders, answer: Answer): boolean {
	if (headers[":method"] !== "POST") {
		answer.refuse(405, { allow: "POST" });
		return true;
	}
	if (!CONTENT_TYPE.test(headers["content-type"] ?? "")) {
		answer.refuse(415, { "accept-post": "application/grpc, application/grpc+proto" });
		return true;
	}
	return false;
}

/** Does the client compress, and may the answer be compressed in turn? Throws UNIMPLEMENTED for unknown encodings. */
export function wantsGzip(headers: IncomingHttpHeaders): boolean {
	const encoding = single(headers["grpc-encoding"]);
	if (!isEncoding(encoding)) {
		throw new A2AError("UNIMPLEMENTED", { message: "The message encoding is not supported" });
	}
	return encoding === "gzip" && /\bgzip\b/.test(single(headers["grpc-accept-encoding"]) ?? "");
}

/** The client's timeout in milliseconds, if it sent one. Throws INVALID_REQUEST when it is malformed. */
export function timeoutOf(headers: IncomingHttpHeaders): number | undefined {
	const text = single(headers["grpc-timeout"]);
	if (text === undefined) return undefined;
	const ms = readTimeout(text);
	if (ms === undefined) throw new A2AError("INVALID_REQUEST", { message: "Malformed grpc-timeout" });
	// Zero is a timeout too, not its absence.
	return Math.max(ms, 1e-6);
}

/**
 * The one message of a unary or server-streaming request, complete when the client has ended its half.
 * Throws A2AErrors: REQUEST_TOO_LARGE, INVALID_REQUEST (truncated, malformed), UNIMPLEMENTED (not exactly one:
 * the status gRPC gives to a cardinality violation), DEADLINE_EXCEEDED after `timeout` ms (0 = never).
 * Never settles when the client goes away first.
 */
export function readOne(
	stream: ServerHttp2Stream,
	headers: IncomingHttpHeaders,
	max: number,
	timeout: number,
): Promise<Uint8Array> {
	return new Promise((resolve, reject) => {
		const reader = new FrameReader(max);
		let bytes: ReturnType<FrameReader["next"]>;
		const timer = timeout > 0 ? setTimeout(() => settle(lateRequest()), Math.min(timeout, 2 ** 31 - 1)) : undefined;
		const onData = (chunk: Buffer) => {
			try {
				reader.push(chunk);
				for (let frame = reader.next(); frame; frame = reader.next()) {
					if (bytes) return settle(cardinality("more than one message"));
					bytes = frame;
				}
			} catch (error) {
				settle(badFrame(error));
			}
		};
		const onEnd = () => {
			if (reader.partial) return settle(badFrame(new FrameError("truncated", "The message is truncated")));
			if (!bytes) return settle(cardinality("no message"));
			settle();
			if (!bytes.compressed) return resolve(bytes.bytes);
			inflate(bytes, single(headers["grpc-encoding"]), max).then(resolve, (error) => reject(badFrame(error)));
		};
		const onClose = () => settle();
		function settle(error?: A2AError): void {
			clearTimeout(timer);
			stream.off("data", onData).off("end", onEnd).off("close", onClose);
			if (error) reject(error);
		}
		stream.on("data", onData).on("end", onEnd).on("close", onClose);
	});
}

/** The same of a body that is there already: what its one frame holds. `encoding` is the peer's name for its compression. */
export async function oneOf(
	body: Buffer,
	encoding: string | readonly string[] | undefined,
	max: number,
): Promise<Buffer> {
	try {
		const reader = new FrameReader(max);
		reader.push(body);
		const frame = reader.next();
		if (!frame && !reader.partial) throw cardinality("no message");
		if (frame && reader.next()) throw cardinality("more than one message");
		if (!frame || reader.partial) throw new FrameError("truncated", "The message is truncated");
		return await inflate(frame, single(encoding), max);
	} catch (error) {
		throw badFrame(error);
	}
}

/** The messages of a bidirectional request, one by one. Throws as readOne does. */
export async function* readEach(
	stream: ServerHttp2Stream,
	headers: IncomingHttpHeaders,
	max: number,
): AsyncGenerator<Uint8Array> {
	const reader = new FrameReader(max);
	try {
		for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
			reader.push(chunk);
			for (let frame = reader.next(); frame; frame = reader.next()) {
				yield await inflate(frame, single(headers["grpc-encoding"]), max);
			}
		}
		if (reader.partial) throw new FrameError("truncated", "The message is truncated");
	} catch (error) {
		throw badFrame(error);
	}
}

/** A header field's one value. */
function single(value: string | readonly string[] | undefined): string | undefined {
	return typeof value === "string" ? value : value?.[0];
}

function badFrame(error: unknown): A2AError {
	if (!(error instanceof FrameError)) return A2AError.from(error);
	const reason = error.fault === "oversized" ? "REQUEST_TOO_LARGE" : "INVALID_REQUEST";
	return new A2AError(reason, { message: error.message, cause: error });
}

function cardinality(what: string): A2AError {
	return new A2AError("UNIMPLEMENTED", { message: `The request has ${what}, not exactly one` });
}

function lateRequest(): A2AError {
	return new A2AError("DEADLINE_EXCEEDED", { message: "The request did not arrive in time" });
}
