/** @a2a-js/sdk 1.x as an agent over its own three bindings, scripted or with its real request handler. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as sdk from "@a2a-js/sdk";
import * as sdkErrors from "@a2a-js/sdk/errors";
import type { A2ARequestHandler, ServerCallContext } from "@a2a-js/sdk/server";
import { jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { UserBuilder as GrpcUserBuilder, grpcService, A2AService as SdkService } from "@a2a-js/sdk/server/grpc";
import { type DescMessage, fromJson, type JsonObject, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import express from "express";
import {
	type Agent,
	type AgentInterfaceOf,
	isStream,
	methods,
	PeerError,
	type Received,
	reasonOf,
	type Script,
} from "../protocol.ts";
import { cardJson } from "./card.ts";

interface Codec {
	fromJSON(json: JsonValue): unknown;
	toJSON(message: unknown): JsonValue;
}

/** The SDK's own ProtoJSON codec of a message type. */
function codec(desc: DescMessage): Codec {
	const found = (sdk as unknown as Record<string, Codec | undefined>)[desc.name];
	if (!found) throw new Error(`the SDK has no ${desc.name}`);
	return found;
}

const toSdk = (desc: DescMessage, message: Message): unknown => codec(desc).fromJSON(toJson(desc, message));
const fromSdk = (desc: DescMessage, value: unknown): Message =>
	// JSON.stringify drops the `undefined` members the SDK leaves in metadata.
	fromJson(desc, JSON.parse(JSON.stringify(codec(desc).toJSON(value))));

/** Three operations have another name in A2ARequestHandler; the rest are the descriptor's. */
const irregular: Readonly<Record<string, string>> = {
	sendStreamingMessage: "sendMessageStream",
	subscribeToTask: "resubscribe",
	getExtendedAgentCard: "getAuthenticatedExtendedAgentCard",
};

type ErrorClass = new (options: { message: string; metadata?: Record<string, string> }) => Error & { reason: string };

/** The SDK's error classes by ErrorInfo.reason: what its agents can say. */
const errorClasses = new Map<string, ErrorClass>(
	Object.entries(sdkErrors)
		.filter(([name, value]) => /^(?!Rest|JsonRpc|A2A)\w+Error$/.test(name) && typeof value === "function")
		.map(([, value]) => {
			const Class = value as unknown as ErrorClass;
			return [new Class({ message: "x" }).reason, Class];
		}),
);

/** Reasons an SDK agent can express; everything else it turns into an internal error. */
export const sdkReasons: readonly string[] = [...errorClasses.keys()];

function toSdkError(thrown: unknown): unknown {
	if (!(thrown instanceof PeerError)) return thrown;
	const Class = errorClasses.get(reasonOf(thrown.details) ?? "");
	if (!Class) return new Error(thrown.message);
	const info = thrown.details.find((detail) => detail["metadata"] !== undefined);
	const metadata = info?.["metadata"] as Record<string, string> | undefined;
	return new Class({ message: thrown.message, ...(metadata && { metadata }) });
}

function scriptedHandler(binding: () => string, agent: () => Agent, card: () => JsonObject): A2ARequestHandler {
	const handler: Record<string, unknown> = { getAgentCard: async () => sdk.AgentCard.fromJSON(card()) };
	for (const method of methods) {
		const receive = (params: unknown, context: ServerCallContext): ReturnType<Script> => {
			const call: Received = {
				binding: binding(),
				method,
				request: fromSdk(method.input, params),
				header: context.state.get("headers") as Record<string, string>,
				signal: new AbortController().signal, // the SDK tells its handler nothing of a caller that leaves
			};
			agent().calls.push(call);
			return agent().script(call);
		};
		const unary = async (params: unknown, context: ServerCallContext): Promise<unknown> => {
			try {
				const reply = (await receive(params, context)) as Message;
				if (method.output.oneofs.length === 0) {
					return method.output.fields.length === 0 ? undefined : toSdk(method.output, reply);
				}
				// The handler returns the member of the response's oneof, not the response.
				const response = toSdk(method.output, reply) as { payload: { value: unknown } };
				return response.payload.value;
			} catch (error) {
				throw toSdkError(error);
			}
		};
		const stream = async function* (params: unknown, context: ServerCallContext): AsyncGenerator<unknown> {
			try {
				for await (const message of receive(params, context) as AsyncIterable<Message>) {
					yield toSdk(method.output, message);
				}
			} catch (error) {
				throw toSdkError(error);
			}
		};
		handler[irregular[method.localName] ?? method.localName] = isStream(method) ? stream : unary;
	}
	return handler as unknown as A2ARequestHandler;
}

export interface SdkHost {
	readonly url: string;
	readonly cardUrl: string;
	readonly interfaces: readonly AgentInterfaceOf[];
	close(): Promise<void>;
}

/** Hosts a request handler over the bindings named; `makeHandler` gets the final card. */
export async function hostSdk(
	bindings: readonly string[],
	makeHandler: (card: JsonObject) => A2ARequestHandler,
	extra: JsonObject = {},
): Promise<SdkHost> {
	const app = express();
	const server = createServer(app);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	let rpc: grpc.Server | undefined;
	let target = "";
	if (bindings.includes("GRPC")) {
		rpc = new grpc.Server();
		const handler: A2ARequestHandler = new Proxy({} as A2ARequestHandler, {
			get: (_, name) => Reflect.get(requestHandler, name).bind(requestHandler),
		});
		rpc.addService(SdkService, grpcService({ requestHandler: handler, userBuilder: GrpcUserBuilder.noAuthentication }));
		const credentials = grpc.ServerCredentials.createInsecure();
		const started = rpc;
		target = await new Promise((resolve, reject) =>
			started.bindAsync("127.0.0.1:0", credentials, (error, port) =>
				error ? reject(error) : resolve(`127.0.0.1:${port}`),
			),
		);
	}
	const urls: Readonly<Record<string, string>> = { JSONRPC: `${url}/rpc`, "HTTP+JSON": `${url}/rest`, GRPC: target };
	const interfaces = bindings.map((binding): AgentInterfaceOf => ({ binding, url: urls[binding] ?? "" }));
	const card = cardJson(interfaces, extra);
	const requestHandler = makeHandler(card);
	app.get("/.well-known/agent-card.json", (_, res) => void res.json(card));
	app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
	app.use("/rest", restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
	return {
		url,
		cardUrl: `${url}/.well-known/agent-card.json`,
		interfaces,
		close: () =>
			new Promise((resolve) => {
				rpc?.forceShutdown();
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

/** An SDK agent that answers what the script says. One binding per agent, so that `calls` can say which. */
export async function startSdkScripted(binding: string, script: Script): Promise<Agent> {
	const calls: Received[] = [];
	let agent: Agent | undefined;
	const self = (): Agent => {
		if (!agent) throw new Error("called before it started");
		return agent;
	};
	const host = await hostSdk([binding], (card) =>
		scriptedHandler(
			() => binding,
			self,
			() => card,
		),
	);
	agent = { ...host, calls, script };
	return agent;
}
