/** A bare gRPC agent on @grpc/grpc-js: bytes in, bytes out, no message types. */
import * as grpc from "@grpc/grpc-js";
import { grpcPath, isStream, methods } from "../protocol.ts";

export interface RawGrpcRequest {
	/** `/package.Service/Method` */
	readonly path: string;
	readonly message: Buffer;
	readonly header: Readonly<Record<string, string>>;
	/** Epoch milliseconds of the caller's deadline; undefined without one. */
	readonly deadline: number | undefined;
	readonly signal: AbortSignal;
}

/** Thrown by an answer to end the call with a status. */
export class RawGrpcStatus extends Error {
	override readonly name = "RawGrpcStatus";
	readonly code: number;
	readonly trailers: Readonly<Record<string, string | Buffer>>;
	constructor(code: number, message: string, trailers: Readonly<Record<string, string | Buffer>> = {}) {
		super(message);
		this.code = code;
		this.trailers = trailers;
	}
}

export type RawGrpcAnswer = (request: RawGrpcRequest) => Uint8Array | Promise<Uint8Array> | AsyncIterable<Uint8Array>;

export interface RawGrpc {
	/** `127.0.0.1:port` */
	readonly target: string;
	readonly requests: RawGrpcRequest[];
	close(): Promise<void>;
}

const identity = (bytes: Buffer): Buffer => bytes;

function toServiceError(thrown: unknown): Partial<grpc.ServiceError> {
	if (!(thrown instanceof RawGrpcStatus)) return { code: grpc.status.UNKNOWN, details: String(thrown) };
	const metadata = new grpc.Metadata();
	for (const [name, value] of Object.entries(thrown.trailers)) metadata.set(name, value);
	return { code: thrown.code, details: thrown.message, metadata };
}

export async function startRawGrpc(answer: RawGrpcAnswer, options: { record?: boolean } = {}): Promise<RawGrpc> {
	const requests: RawGrpcRequest[] = [];
	const server = new grpc.Server({
		"grpc.max_receive_message_length": -1,
		"grpc.max_send_message_length": -1,
	});
	type AnyCall = grpc.ServerUnaryCall<Buffer, Buffer> | grpc.ServerWritableStream<Buffer, Buffer>;
	function receive(path: string, call: AnyCall): RawGrpcRequest {
		const controller = new AbortController();
		const emitter: NodeJS.EventEmitter = call;
		emitter.on("cancelled", () => controller.abort());
		const deadline = call.getDeadline();
		const request: RawGrpcRequest = {
			path,
			message: call.request,
			header: Object.fromEntries(
				Object.keys(call.metadata.getMap()).map((name) => [name, call.metadata.get(name).map(String).join(", ")]),
			),
			deadline: deadline === Number.POSITIVE_INFINITY ? undefined : Number(deadline),
			signal: controller.signal,
		};
		if (options.record !== false) requests.push(request);
		return request;
	}
	async function stream(call: grpc.ServerWritableStream<Buffer, Buffer>, request: RawGrpcRequest): Promise<void> {
		try {
			const reply = answer(request);
			if (!(Symbol.asyncIterator in reply)) throw new RawGrpcStatus(grpc.status.INTERNAL, "not a stream");
			for await (const message of reply) {
				if (request.signal.aborted) return;
				if (!call.write(Buffer.from(message))) await drained(call, request.signal);
			}
			call.end();
		} catch (error) {
			if (!request.signal.aborted) call.emit("error", toServiceError(error));
		}
	}
	async function unary(request: RawGrpcRequest, callback: grpc.sendUnaryData<Buffer>): Promise<void> {
		try {
			const reply = answer(request);
			if (Symbol.asyncIterator in reply) throw new RawGrpcStatus(grpc.status.INTERNAL, "a stream");
			callback(null, Buffer.from(await reply));
		} catch (error) {
			callback(toServiceError(error));
		}
	}
	for (const method of methods) {
		const path = grpcPath(method);
		if (isStream(method)) {
			const handler: grpc.handleServerStreamingCall<Buffer, Buffer> = (call) => {
				call.on("error", () => {});
				void stream(call, receive(path, call));
			};
			server.register(path, handler, identity, identity, "serverStream");
		} else {
			const handler: grpc.handleUnaryCall<Buffer, Buffer> = (call, callback) =>
				void unary(receive(path, call), callback);
			server.register(path, handler, identity, identity, "unary");
		}
	}
	const port = await new Promise<number>((resolve, reject) =>
		server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
			error ? reject(error) : resolve(bound),
		),
	);
	return {
		target: `127.0.0.1:${port}`,
		requests,
		close: async () => server.forceShutdown(),
	};
}

function drained(call: grpc.ServerWritableStream<Buffer, Buffer>, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const done = (): void => {
			call.off("drain", done);
			signal.removeEventListener("abort", done);
			resolve();
		};
		if (signal.aborted) return resolve();
		call.on("drain", done);
		signal.addEventListener("abort", done);
	});
}
