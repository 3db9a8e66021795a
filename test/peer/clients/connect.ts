/** gRPC-Web and Connect clients: connect-web, as browsers use it (on this Node's fetch). */
import {
	createRegistry,
	type DescMethod,
	type DescMethodStreaming,
	type DescMethodUnary,
	type Message,
	toBinary,
} from "@bufbuild/protobuf";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { type Detail, detailToJson, isStream, VERSION } from "../protocol.ts";
import { type CallOptions, type Client, ClientError } from "./client.ts";

function detailsOf(error: ConnectError): Detail[] {
	return error.details.map((detail) => {
		if ("type" in detail) return detailToJson(detail.type, detail.value);
		const { desc, value } = detail;
		return detailToJson(desc.typeName, toBinary(desc, value as Message));
	});
}

function asClientError(thrown: unknown): ClientError {
	const error = ConnectError.from(thrown);
	return new ClientError(error.code, error.rawMessage, detailsOf(error), thrown);
}

function connectClient(form: string, transport: Transport): Client {
	async function* call(method: DescMethod, request: Message, options: CallOptions = {}): AsyncGenerator<Message> {
		const header = { "a2a-version": VERSION, ...options.header };
		const controller = new AbortController();
		const signal = options.signal ? AbortSignal.any([options.signal, controller.signal]) : controller.signal;
		try {
			if (!isStream(method)) {
				const reply = await transport.unary(method as DescMethodUnary, signal, options.timeout, header, request);
				yield reply.message;
				return;
			}
			const input = (async function* () {
				yield request;
			})();
			const reply = await transport.stream(method as DescMethodStreaming, signal, options.timeout, header, input);
			for await (const message of reply.message) yield message;
		} catch (error) {
			throw asClientError(error);
		} finally {
			controller.abort();
		}
	}
	return { form, call, close: async () => {} };
}

/** `url` is the base under which `/package.Service/Method` lives. */
export function grpcWebClient(url: string): Client {
	return connectClient("GRPC-WEB", createGrpcWebTransport({ baseUrl: url }));
}

/** JSON by default, as Connect clients are. */
export function connectJsonClient(url: string, binary = false): Client {
	const jsonOptions = { registry: createRegistry() };
	return connectClient("CONNECT", createConnectTransport({ baseUrl: url, useBinaryFormat: binary, jsonOptions }));
}
