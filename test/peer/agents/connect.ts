/** A gRPC-Web and Connect agent (connect-node), the control for those two client forms: no A2A agent speaks them. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { detailToAny, isStream, methods, PeerError, type Received, type Script } from "../protocol.ts";

export interface ConnectAgent {
	readonly url: string;
	readonly calls: Received[];
	script: Script;
	close(): Promise<void>;
}

function asConnectError(thrown: unknown): ConnectError {
	if (!(thrown instanceof PeerError)) return new ConnectError(String(thrown), Code.Unknown);
	const error = new ConnectError(thrown.message, thrown.grpc as Code);
	error.details = thrown.details.map(detailToAny).map((any) => ({
		type: any.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1),
		value: any.value,
	}));
	return error;
}

export async function startConnect(script: Script): Promise<ConnectAgent> {
	const calls: Received[] = [];
	interface Context {
		readonly requestHeader: Headers;
		readonly signal: AbortSignal;
	}
	const receive = (method: DescMethod, request: Message, context: Context): ReturnType<Script> => {
		const call: Received = {
			binding: "CONNECT",
			method,
			request,
			header: Object.fromEntries(context.requestHeader.entries()),
			signal: context.signal,
		};
		calls.push(call);
		return agent.script(call);
	};
	const unary = (method: DescMethod) => async (request: Message, context: Context) => {
		try {
			return await receive(method, request, context);
		} catch (error) {
			throw asConnectError(error);
		}
	};
	const stream = (method: DescMethod) =>
		async function* (request: Message, context: Context) {
			try {
				yield* receive(method, request, context) as AsyncIterable<Message>;
			} catch (error) {
				throw asConnectError(error);
			}
		};
	const routes = (router: ConnectRouter): void => {
		for (const method of methods) {
			router.rpc(method as never, (isStream(method) ? stream(method) : unary(method)) as never);
		}
	};
	const server = createServer(connectNodeAdapter({ routes, grpc: false }));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const agent: ConnectAgent = {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		calls,
		script,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
	return agent;
}
