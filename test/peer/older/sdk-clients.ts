/** @a2a-js/sdk 0.3.x and 0.2.x as clients: they read the card at a URL and talk as they are made to. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { A2AClient as Client02 } from "a2a-sdk-0.2/client";
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from "a2a-sdk-0.3/client";
import { GrpcTransportFactory } from "a2a-sdk-0.3/client/grpc";
import { Refused } from "./fault.ts";
import { type Ask, type Form, isStream, type Operation, object, text } from "./model.ts";
import { knows, type OlderClient } from "./peer.ts";
import { kindCodec } from "./shaped.ts";

const transports = {
	JSONRPC: () => new JsonRpcTransportFactory(),
	"HTTP+JSON": () => new RestTransportFactory(),
	GRPC: () => new GrpcTransportFactory(),
} as const;

/** The SDK's error classes have no codes: these are what a JSON-RPC peer would have been told. */
const codes: Readonly<Record<string, number>> = {
	TaskNotFoundError: -32001,
	TaskNotCancelableError: -32002,
	PushNotificationNotSupportedError: -32003,
	UnsupportedOperationError: -32004,
	ContentTypeNotSupportedError: -32005,
	InvalidAgentResponseError: -32006,
	AuthenticatedExtendedCardNotConfiguredError: -32007,
};

type Params = never;
type Calls = Partial<Record<Operation, (params: Params) => unknown>>;

function adapt(form: Form, calls: Calls, unwrap: (answer: unknown) => JsonValue): OlderClient {
	const params = (ask: Ask): Params => kindCodec.writeAsk(ask) as never;
	const call = (ask: Ask): unknown => {
		const found = calls[ask.op];
		if (!found) throw new Error(`the SDK has no ${ask.op}`);
		return found(params(ask));
	};
	const refused = (thrown: unknown): unknown => {
		if (!(thrown instanceof Error) || thrown instanceof Refused) return thrown;
		// An error as plain JSON, where the SDK wants a stream: it does not read it.
		if (thrown.message.includes("Content-Type for SSE stream")) return new Refused(0, thrown.message);
		const inner = (thrown.cause as { code?: number } | undefined)?.code;
		const found = /(?:code|Code)[": ]+(-?\d+)/.exec(thrown.message)?.[1];
		const code = codes[thrown.name] ?? codes[thrown.constructor.name] ?? (found ? Number(found) : inner);
		return code === undefined ? thrown : new Refused(code, thrown.message);
	};
	// What an SDK hands out may have members that are undefined.
	const clean = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value ?? null)) as JsonValue;
	return {
		form,
		header: {},
		knows: (op) => calls[op] !== undefined && knows(form, op),
		async ask(ask) {
			if (isStream(ask.op)) throw new Error(`${ask.op} is a stream`);
			try {
				return kindCodec.readSaid(ask.op, unwrap(clean(await call(ask))));
			} catch (error) {
				throw refused(error);
			}
		},
		async *listen(ask) {
			try {
				for await (const event of call(ask) as AsyncIterable<unknown>) yield kindCodec.readSaid(ask.op, clean(event));
			} catch (error) {
				throw refused(error);
			}
		},
		close: async () => {},
	};
}

/** The 0.3 client held to one transport; it reads the card at `url` itself. */
export async function sdk03Client(binding: keyof typeof transports, url: string): Promise<OlderClient> {
	const factory = new ClientFactory({ transports: [transports[binding]()] });
	const client = await factory.createFromUrl(url);
	const calls: Calls = {
		send: (params) => client.sendMessage(params),
		stream: (params) => client.sendMessageStream(params),
		get: (params) => client.getTask(params),
		cancel: (params) => client.cancelTask(params),
		subscribe: (params) => client.resubscribeTask(params),
		pushCreate: (params) => client.setTaskPushNotificationConfig(params),
		pushGet: (params) => client.getTaskPushNotificationConfig(params),
		pushList: (params) => client.listTaskPushNotificationConfig(params),
		pushDelete: (params) => client.deleteTaskPushNotificationConfig(params),
		card: () => client.getAgentCard(),
	};
	return adapt({ binding, version: "0.3" }, calls, (answer) => answer as JsonValue);
}

/** The 0.2 client: JSON-RPC, with the card at `/.well-known/agent.json`. */
export function sdk02Client(url: string): OlderClient {
	const client = new Client02(url);
	const calls: Calls = {
		send: (params) => client.sendMessage(params),
		stream: (params) => client.sendMessageStream(params),
		get: (params) => client.getTask(params),
		cancel: (params) => client.cancelTask(params),
		subscribe: (params) => client.resubscribeTask(params),
		pushCreate: (params) => client.setTaskPushNotificationConfig(params),
		pushGet: (params) => client.getTaskPushNotificationConfig(params),
	};
	return adapt({ binding: "JSONRPC", version: "0.2" }, calls, (answer) => {
		const response: JsonObject = object(answer as JsonValue);
		const error = object(response["error"]);
		if (response["error"]) throw new Refused(Number(error["code"]), text(error["message"]), error["data"]);
		return response["result"] ?? null;
	});
}
