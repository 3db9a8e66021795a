/** One gRPC answer on an HTTP/2 stream: initial metadata, messages, trailers (grpc.io PROTOCOL-HTTP2, "Responses"). */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyIs, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import type { Header } from "../../call/call.ts";
import { Status } from "../../call/error.ts";
import type { GrpcStatus } from "../../dialect/dialect.ts";
import { deflate, ENCODINGS, frames, type Outgoing, PREFIX, prefix } from "../../wire/grpc-frame.ts";
import { writeBinary, writeMessage, writeMetadata } from "../../wire/grpc-metadata.ts";

export const ok: GrpcStatus = { code: Status.OK, message: "" };

/** From here on a message is written beside its prefix instead of being copied behind it. */
const LARGE = 64 * 1024;
/** So many bytes are written at once, without waiting for more of the same turn. */
const FLUSH = 16 * 1024;
/** Below this, gzip costs more than it saves. */
const WORTH_GZIP = 1024;
/** Clients allow 8 to 64 KiB of trailers: text beyond these is cut, of details beyond only the ErrorInfo is kept. */
const MAX_MESSAGE = 2048;
const MAX_DETAILS = 12 * 1024;

/** Everything in it is harmless once the answer is over or the client has gone. */
export class Answer {
	/** Nothing more will be sent: finished, or the client has gone. */
	over = false;
	/** Compress what is worth it; set before the first message. */
	gzip = false;
	readonly #stream: ServerHttp2Stream;
	readonly #id: string;
	#started = false;
	#waiting: Outgoing[] = [];
	/** Bytes waiting, prefixes included. */
	#size = 0;
	#trailers: OutgoingHttpHeaders = {};

	constructor(stream: ServerHttp2Stream, id: string) {
		this.#stream = stream;
		this.#id = id;
		// A reset is an error event too; "close" says all there is to know.
		stream.on("error", ignore);
	}

	/** Sends the initial metadata. */
	start(header: Header): void {
		if (this.over || this.#gone()) return;
		const headers = this.#initial();
		if (this.gzip) headers["grpc-encoding"] = "gzip";
		writeMetadata(header, headers);
		this.#started = true;
		this.#stream.once("wantTrailers", () => {
			if (this.#stream.destroyed) return;
			this.#stream.sendTrailers(this.#trailers);
			this.#release();
		});
		this.#stream.respond(headers, { waitForTrailers: true });
	}

	/** Sends one message. The promise, where there is one, ends when the client is ready for the next. */
	send(bytes: Uint8Array): Promise<void> | undefined {
		if (this.over || this.#gone()) return undefined;
		if (this.gzip && bytes.length >= WORTH_GZIP) return this.#compressed(bytes);
		return this.#write(bytes, false);
	}

	async #compressed(bytes: Uint8Array): Promise<void> {
		const small = await deflate(bytes);
		if (!this.over && !this.#gone()) await this.#write(small, true);
	}

	#write(bytes: Uint8Array, compressed: boolean): Promise<void> | undefined {
		const stream = this.#stream;
		if (bytes.length >= LARGE) {
			this.#flush();
			stream.cork();
			stream.write(prefix(bytes.length, compressed));
			stream.write(bytes);
			stream.uncork();
		} else {
			// Whatever is ready in this turn of the loop leaves in one write.
			if (this.#waiting.length === 0) process.nextTick(flush, this);
			this.#waiting.push({ bytes, compressed });
			this.#size += bytes.length + PREFIX;
			if (this.#size >= FLUSH) this.#flush();
		}
		return stream.writableNeedDrain ? this.#drained() : undefined;
	}

	/** Sends what waits for the end of the turn. */
	#flush(): void {
		if (this.#waiting.length === 0) return;
		const whole = frames(this.#waiting, this.#size);
		this.#waiting = [];
		this.#size = 0;
		if (!this.#gone()) this.#stream.write(whole);
	}

	static flush(answer: Answer): void {
		answer.#flush();
	}

	#drained(): Promise<void> {
		const stream = this.#stream;
		return new Promise((resolve) => {
			const done = () => {
				stream.off("drain", done);
				stream.off("close", done);
				resolve();
			};
			stream.on("drain", done);
			stream.on("close", done);
		});
	}

	/** Ends the answer: trailers after messages, or trailers only. Only the first end counts. */
	finish(status: GrpcStatus, header: Header = {}): void {
		if (this.over || this.#gone()) return;
		this.over = true;
		const fields: Record<string, string> = {};
		writeMetadata(header, fields);
		writeStatus(status, fields);
		if (this.#started) {
			this.#trailers = fields;
			this.#flush();
			this.#stream.end();
		} else {
			this.#stream.respond(Object.assign(this.#initial(), fields), { endStream: true });
			this.#release();
		}
	}

	/** An answer below gRPC: the request is not a gRPC request at all. */
	refuse(httpStatus: number, header: Header = {}): void {
		if (this.over || this.#gone()) return;
		this.over = true;
		this.#stream.respond({ ...header, ":status": httpStatus, "x-request-id": this.#id }, { endStream: true });
		this.#release();
	}

	/**
	 * A client that is still sending is told to stop, else the stream would stay half open. Not in this turn:
	 * nghttp2 would send the reset before the answer, or instead of it.
	 */
	#release(): void {
		const stream = this.#stream;
		if (stream.readableEnded) return;
		stream.resume();
		setImmediate(() => {
			if (!stream.destroyed) stream.close(constants.NGHTTP2_NO_ERROR);
		});
	}

	#initial(): Record<string, string | number> {
		return { ":status": 200, "content-type": "application/grpc", "x-request-id": this.#id };
	}

	#gone(): boolean {
		if (!this.#stream.destroyed && !this.#stream.closed) return false;
		this.over = true;
		return true;
	}
}

/** Adds `grpc-status`, `grpc-message` and `grpc-status-details-bin`. */
function writeStatus(status: GrpcStatus, into: Record<string, string>): void {
	into["grpc-status"] = String(status.code);
	if (status.message) into["grpc-message"] = writeMessage(status.message.slice(0, MAX_MESSAGE));
	const details = status.details && fitting(status.details);
	if (details) into["grpc-status-details-bin"] = writeBinary(details);
	if (status.code === Status.UNIMPLEMENTED) into["grpc-accept-encoding"] = ENCODINGS;
}

/** Details that fit into trailers: all of them, or what says which error it is, as much of that as there is room for. */
function fitting(details: Uint8Array): Uint8Array | undefined {
	if (details.length <= MAX_DETAILS) return details;
	const status = fromBinary(StatusSchema, details);
	const info = status.details.find((any) => anyIs(any, ErrorInfoSchema));
	const { code } = status;
	const message = status.message.slice(0, MAX_MESSAGE);
	const whole = toBinary(StatusSchema, create(StatusSchema, { code, message, details: info ? [info] : [] }));
	if (!info || whole.length <= MAX_DETAILS) return whole;
	const unpacked = anyUnpack(info, ErrorInfoSchema);
	if (!unpacked) return undefined;
	const { reason, domain } = unpacked;
	const least = anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason, domain }));
	const bytes = toBinary(StatusSchema, create(StatusSchema, { code, message, details: [least] }));
	return bytes.length <= MAX_DETAILS ? bytes : undefined;
}

const flush = Answer.flush;

function ignore(): void {}
