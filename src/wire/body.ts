/** Request bodies (RFC 9110 §6.4): read whole, bounded in size and time, their content coding undone. */
import type { IncomingMessage } from "node:http";
import { constants, type Http2ServerRequest } from "node:http2";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { A2AError } from "../call/error.ts";
import { Gather } from "./gather.ts";

export interface BodyLimits {
	/** Largest body, bytes, before and after decoding. */
	readonly max: number;
	/** Longest it may take to arrive, milliseconds. */
	readonly timeout: number;
}

const empty = Buffer.alloc(0);

/** A refused body is thrown away for so long, milliseconds, so that the client can read why; then it is cut off. */
const LINGER = 5_000;

type Decoder = (input: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const inflate: Decoder = promisify(zlib.inflate);
const inflateRaw: Decoder = promisify(zlib.inflateRaw);
const gunzip: Decoder = promisify(zlib.gunzip);

/** Content codings understood. "deflate" means zlib, but raw deflate is sent under that name too. */
const decoders: Readonly<Record<string, Decoder>> = {
	gzip: gunzip,
	"x-gzip": gunzip,
	deflate: (input, options) => (((input[0] ?? 0) & 0x0f) === 8 ? inflate : inflateRaw)(input, options),
	br: promisify(zlib.brotliDecompress) as Decoder,
	zstd: promisify(zlib.zstdDecompress) as Decoder,
};

/**
 * Reads a request body. Throws A2AError: REQUEST_TOO_LARGE over the limit (at once where Content-Length says so),
 * DEADLINE_EXCEEDED (HTTP 408) when it takes too long, CANCELLED when the client goes away,
 * UNSUPPORTED_MEDIA_TYPE for an unknown content coding, PARSE_ERROR for a broken one.
 * After an error the rest of the body is disposed of here; the caller just answers.
 */
export async function readBody(req: IncomingMessage | Http2ServerRequest, limits: BodyLimits): Promise<Buffer> {
	const coding = req.headers["content-encoding"];
	if (coding === undefined) return receive(req, limits);
	const name = coding.trim().toLowerCase();
	if (name === "" || name === "identity") return receive(req, limits);
	const decode = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
	if (!decode) {
		discard(req, limits.max);
		throw new A2AError("UNSUPPORTED_MEDIA_TYPE", {
			message: "Unsupported content encoding",
			header: { "accept-encoding": "gzip, deflate, br, zstd" },
		});
	}
	const encoded = await receive(req, limits);
	if (encoded.length === 0) return encoded;
	try {
		return await decode(encoded, { maxOutputLength: limits.max });
	} catch (error) {
		if (error instanceof RangeError && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(limits);
		throw new A2AError("PARSE_ERROR", { message: `The request body is not valid ${name}`, cause: error });
	}
}

function receive(req: IncomingMessage | Http2ServerRequest, limits: BodyLimits): Promise<Buffer> {
	const declared = req.headers["content-length"];
	if (declared !== undefined && Number(declared) > limits.max) {
		discard(req, limits.max);
		return Promise.reject(tooLarge(limits));
	}
	if (req.readableEnded) return Promise.resolve(empty);
	if (req.destroyed || req.aborted) return Promise.reject(new A2AError("CANCELLED"));
	return new Promise((resolve, reject) => {
		const body = new Gather();
		const timer = setTimeout(() => {
			refuse(
				new A2AError("DEADLINE_EXCEEDED", { message: "The request body took too long to arrive", wire: { http: 408 } }),
			);
		}, limits.timeout);
		const data = (chunk: Buffer): void => {
			if (body.size + chunk.length > limits.max) refuse(tooLarge(limits));
			else body.push(chunk);
		};
		const end = (): void => {
			detach();
			// An HTTP/2 stream that was reset ends like a complete one.
			if (req.aborted) reject(new A2AError("CANCELLED"));
			else resolve(body.take());
		};
		const gone = (error?: unknown): void => {
			detach();
			reject(new A2AError("CANCELLED", { cause: error }));
		};
		const refuse = (error: A2AError): void => {
			detach();
			discard(req, limits.max);
			reject(error);
		};
		const detach = (): void => {
			clearTimeout(timer);
			req.off("data", data).off("end", end).off("aborted", gone).off("close", gone).off("error", gone);
			req.on("error", ignore);
		};
		req.on("data", data).on("end", end).on("aborted", gone).on("close", gone).on("error", gone);
	});
}

const discarded = new WeakSet<IncomingMessage | Http2ServerRequest>();

/**
 * Throws the rest of a body away while the answer goes out. On HTTP/2 the stream is reset once it is answered
 * (RFC 9113 §8.1); on HTTP/1.1 the connection lives on if the rest is small and quick, else it is closed.
 */
export function discard(req: IncomingMessage | Http2ServerRequest, max: number): void {
	if (discarded.has(req) || req.readableEnded) return;
	discarded.add(req);
	req.on("error", ignore);
	if ("stream" in req) {
		const stream = req.stream;
		stream.once("finish", () => {
			if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
		});
		return;
	}
	req.resume();
	if (req.complete || req.destroyed) return;
	const { socket } = req;
	const budget = socket.bytesRead + Math.max(max, 1 << 20);
	const started = Date.now();
	const watch = setInterval(() => {
		if (req.complete || req.destroyed) clearInterval(watch);
		else if (socket.bytesRead > budget || Date.now() - started > LINGER) {
			clearInterval(watch);
			req.destroy();
		}
	}, 100);
	watch.unref();
	req.once("close", () => clearInterval(watch));
}

/** Does a request come with a body, going by its header? */
export function hasBody(req: IncomingMessage | Http2ServerRequest): boolean {
	const { headers } = req;
	if (headers["transfer-encoding"] !== undefined) return true;
	if (headers["content-length"] !== undefined) return headers["content-length"] !== "0";
	return "stream" in req && !req.stream.endAfterHeaders;
}

function tooLarge(limits: BodyLimits): A2AError {
	return new A2AError("REQUEST_TOO_LARGE", { message: `The request is larger than ${limits.max} bytes` });
}

function ignore(): void {}
