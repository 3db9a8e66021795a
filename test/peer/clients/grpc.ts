/** A gRPC client on @grpc/grpc-js without generated stubs. */
import { type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { grpcPath, isStream, readDetails, VERSION } from "../protocol.ts";
import { type CallOptions, type Client, ClientError } from "./client.ts";

function asClientError(thrown: unknown): ClientError {
	const error = thrown as grpc.ServiceError;
	if (typeof error.code !== "number") return new ClientError(grpc.status.UNKNOWN, String(thrown), [], thrown);
	const [bytes] = error.metadata.get("grpc-status-details-bin");
	return new ClientError(error.code, error.details, Buffer.isBuffer(bytes) ? readDetails(bytes) : [], thrown);
}

/** `target` is `host:port`, plain text. */
export function grpcClient(target: string, channelOptions: grpc.ChannelOptions = {}): Client {
	const client = new grpc.Client(target, grpc.credentials.createInsecure(), {
		"grpc.max_receive_message_length": -1,
		"grpc.max_send_message_length": -1,
		...channelOptions,
	});
	async function* call(method: DescMethod, request: Message, options: CallOptions = {}): AsyncGenerator<Message> {
		const metadata = new grpc.Metadata();
		for (const [name, value] of Object.entries({ "a2a-version": VERSION, ...options.header }))
			metadata.set(name, value);
		const write = (message: Message): Buffer => Buffer.from(toBinary(method.input, message));
		const read = (bytes: Buffer): Message => fromBinary(method.output, bytes);
		const callOptions = options.timeout === undefined ? {} : { deadline: Date.now() + options.timeout };
		if (!isStream(method)) {
			let abort: () => void = () => {};
			try {
				yield await new Promise<Message>((resolve, reject) => {
					const unary = client.makeUnaryRequest(
						grpcPath(method),
						write,
						read,
						request,
						metadata,
						callOptions,
						(error: grpc.ServiceError | null, reply?: Message) => (reply ? resolve(reply) : reject(error)),
					);
					abort = () => unary.cancel();
					options.signal?.addEventListener("abort", abort);
				});
			} catch (error) {
				throw asClientError(error);
			} finally {
				options.signal?.removeEventListener("abort", abort);
			}
			return;
		}
		const stream = client.makeServerStreamRequest(grpcPath(method), write, read, request, metadata, callOptions);
		const abort = (): void => stream.cancel();
		options.signal?.addEventListener("abort", abort);
		stream.on("error", () => {});
		try {
			for await (const message of stream) yield message as Message;
		} catch (error) {
			throw asClientError(error);
		} finally {
			options.signal?.removeEventListener("abort", abort);
			stream.cancel();
		}
	}
	return { form: "GRPC", call, close: async () => client.close() };
}
