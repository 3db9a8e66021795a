/** A channel through @grpc/grpc-js, for targets that need its name resolution and balancing (grpc.io "naming"). */
import { rootCertificates } from "node:tls";
import { Client, type ClientReadableStream, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import type { Header } from "../../call/call.ts";
import { A2AError, Status } from "../../call/error.ts";
import type { GrpcStatus } from "../../dialect/dialect.ts";
import { writeBinary } from "../../wire/grpc-metadata.ts";
import {
	type ChannelOptions,
	type GrpcChannel,
	GrpcFailure,
	type GrpcReply,
	type GrpcRequest,
	type GrpcStream,
	unavailable,
} from "./channel.ts";

/** grpc-js pings at a fixed pace, so it must be one that servers in their default settings bear (gRFC A8). */
const KEEP_ALIVE = 300_000;
const KEEP_ALIVE_TIMEOUT = 10_000;

/** A channel to a target with a resolver scheme: `dns:///name:port`, `unix:path`, `ipv4:a:p,b:p`. */
export function resolvedChannel(target: string, tls: boolean, options: ChannelOptions): GrpcChannel {
	const roots = options.ca === undefined ? null : Buffer.from([...rootCertificates, options.ca].join("\n"));
	const client = new Client(target, tls ? credentials.createSsl(roots) : credentials.createInsecure(), {
		"grpc.max_receive_message_length": options.maxMessage,
		"grpc.max_send_message_length": -1,
		"grpc.keepalive_time_ms": KEEP_ALIVE,
		"grpc.keepalive_timeout_ms": KEEP_ALIVE_TIMEOUT,
		"grpc-node.max_session_memory": 1000,
		"grpc-node.flow_control_window": 256 * 1024,
	});

	return {
		unary(request) {
			return new Promise<GrpcReply>((resolve, reject) => {
				const { signal } = request;
				if (signal.aborted) return reject(A2AError.from(signal.reason));
				let header: Header = {};
				let reply: Buffer | undefined;
				let failure: ServiceError | undefined;
				const abort = () => call.cancel();
				const call = client.makeUnaryRequest(
					request.path,
					same,
					same,
					toBuffer(request.message),
					metadataOf(request),
					{},
					(error, value) => {
						failure = error ?? undefined;
						reply = value;
					},
				);
				call.on("metadata", (metadata) => {
					header = readMetadata(metadata);
				});
				// Comes after the callback, and brings the trailers.
				call.on("status", (status) => {
					signal.removeEventListener("abort", abort);
					if (signal.aborted) return reject(A2AError.from(signal.reason));
					const all = { ...header, ...readMetadata(status.metadata) };
					if (status.code !== Status.OK) return reject(failed(status.code, status.details, status.metadata, all));
					setImmediate(() => {
						if (reply) resolve({ header: all, message: reply });
						else reject(A2AError.from(failure));
					});
				});
				signal.addEventListener("abort", abort, { once: true });
			});
		},

		stream(request) {
			return new Promise<GrpcStream>((resolve, reject) => {
				if (request.signal.aborted) return reject(A2AError.from(request.signal.reason));
				const call = client.makeServerStreamRequest(
					request.path,
					same,
					same,
					toBuffer(request.message),
					metadataOf(request),
				);
				let header: Header = {};
				const messages = pull(call, request, options.idleTimeout, () => header);
				call.on("metadata", (metadata) => {
					header = readMetadata(metadata);
					resolve({ header, messages });
				});
				// Trailers only: the error is the first thing the reader meets.
				call.on("error", () => resolve({ header, messages }));
				call.on("end", () => resolve({ header, messages }));
			});
		},

		async close() {
			client.close();
		},
	};
}

/** A call's messages, pulled. */
function pull(
	call: ClientReadableStream<Buffer>,
	request: GrpcRequest,
	idleTimeout: number,
	header: () => Header,
): AsyncIterableIterator<Uint8Array> {
	const { signal } = request;
	const source = call[Symbol.asyncIterator]();
	const abort = () => call.cancel();
	signal.addEventListener("abort", abort, { once: true });
	call.on("close", () => signal.removeEventListener("abort", abort));
	let silent = false;

	return {
		async next() {
			const timer = idleTimeout > 0 ? setTimeout(() => call.cancel(), Math.min(idleTimeout, 2 ** 31 - 1)) : undefined;
			const started = Date.now();
			try {
				const next = await source.next();
				return next.done ? { done: true, value: undefined } : { done: false, value: next.value as Buffer };
			} catch (error) {
				signal.removeEventListener("abort", abort);
				if (signal.aborted) throw A2AError.from(signal.reason);
				silent = idleTimeout > 0 && Date.now() - started >= idleTimeout;
				if (silent) throw unavailable(error, "The agent fell silent");
				if (!isServiceError(error)) throw A2AError.from(error);
				const all = { ...header(), ...readMetadata(error.metadata) };
				throw failed(error.code, error.details, error.metadata, all);
			} finally {
				clearTimeout(timer);
			}
		},
		async return() {
			signal.removeEventListener("abort", abort);
			call.cancel();
			return { done: true, value: undefined };
		},
		[Symbol.asyncIterator]() {
			return this;
		},
	};
}

/**
 * A status as the agent sent it. What grpc-js says of its own (no connection, no such name) names hosts: it comes
 * without trailers and without details, and becomes the gateway's own words.
 */
function failed(code: number, message: string, metadata: Metadata, header: Header): A2AError | GrpcFailure {
	const [details] = metadata.get("grpc-status-details-bin");
	if (code === Status.UNAVAILABLE && details === undefined) return unavailable(new Error(message));
	const status: GrpcStatus = {
		code,
		message,
		...(Buffer.isBuffer(details) && { details }),
	};
	return new GrpcFailure(status, header);
}

function isServiceError(error: unknown): error is ServiceError {
	return error instanceof Error && "metadata" in error && error.metadata instanceof Metadata;
}

function metadataOf(request: GrpcRequest): Metadata {
	const metadata = new Metadata();
	for (const name in request.header) {
		const value = request.header[name] ?? "";
		// grpc-js takes binary values as bytes, and the timeout as its own.
		metadata.set(name, name.endsWith("-bin") ? Buffer.from(value, "base64") : value);
	}
	return metadata;
}

function readMetadata(metadata: Metadata): Header {
	const header: Record<string, string> = {};
	for (const name of Object.keys(metadata.getMap())) {
		header[name] = metadata
			.get(name)
			.map((value) => (typeof value === "string" ? value : writeBinary(value)))
			.join(", ");
	}
	return header;
}

function same(bytes: Buffer): Buffer {
	return bytes;
}

function toBuffer(bytes: Uint8Array): Buffer {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
