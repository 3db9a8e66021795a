/** A scripted agent on the bare servers: any binding, any message, any error, nothing normalised. */
import {
	fromBinary,
	fromJson,
	type JsonObject,
	type JsonValue,
	type Message,
	toBinary,
	toJson,
} from "@bufbuild/protobuf";
import { matchHttp } from "../http-rule.ts";
import {
	type Agent,
	type AgentInterfaceOf,
	grpcPath,
	isStream,
	methods,
	PeerError,
	type Received,
	type Script,
	writeDetails,
} from "../protocol.ts";
import { cardJson } from "./card.ts";
import { type RawGrpc, RawGrpcStatus, startRawGrpc } from "./raw-grpc.ts";
import { type RawReply, type RawRequest, startRawHttp } from "./raw-http.ts";

export interface ScriptedOptions {
	readonly bindings: readonly string[];
	readonly script: Script;
	/** Members added to the card, or replacing them. */
	readonly card?: JsonObject;
	/** Its routing key, on every interface of the card. */
	readonly tenant?: string;
	/** False keeps `calls` empty, for tests that count memory. */
	readonly record?: boolean;
}

const asPeerError = (thrown: unknown): PeerError =>
	thrown instanceof PeerError
		? thrown
		: new PeerError({
				message: `script failed: ${String(thrown)}`,
				rpc: -32603,
				grpc: 2,
				http: 500,
				status: "UNKNOWN",
			});

export const rpcErrorJson = (error: PeerError): JsonObject => ({
	code: error.rpc,
	message: error.message,
	...(error.details.length > 0 && { data: [...error.details] }),
});

export const httpErrorJson = (error: PeerError): JsonObject => ({
	error: { code: error.http, status: error.status, message: error.message, details: [...error.details] },
});

export async function startScripted(options: ScriptedOptions): Promise<Agent> {
	const calls: Received[] = [];
	const record = (call: Received): Received => {
		if (options.record !== false) calls.push(call);
		return call;
	};

	async function jsonReply(
		call: Received,
		wrap: (result: JsonValue) => JsonValue,
		fail: (error: PeerError) => { status: number; body: JsonValue },
		mediaType: string,
	): Promise<RawReply> {
		const json = (message: Message): string => JSON.stringify(wrap(toJson(call.method.output, message)));
		try {
			const answer = agent.script(call);
			if (!isStream(call.method)) {
				if (Symbol.asyncIterator in answer) throw new Error(`${call.method.name} is unary`);
				return { header: { "content-type": mediaType }, body: json(await answer) };
			}
			if (!(Symbol.asyncIterator in answer)) throw new Error(`${call.method.name} is a stream`);
			// The first event decides between a stream and an error, as in every real agent.
			const iterator = answer[Symbol.asyncIterator]();
			const first = await iterator.next();
			const body = async function* (): AsyncIterable<string> {
				try {
					for (let next = first; !next.done; next = await iterator.next()) yield `data: ${json(next.value)}\n\n`;
				} catch (error) {
					yield `data: ${JSON.stringify(fail(asPeerError(error)).body)}\n\n`;
				} finally {
					await iterator.return?.();
				}
			};
			return { header: { "content-type": "text/event-stream", "cache-control": "no-cache" }, body: body() };
		} catch (error) {
			const { status, body } = fail(asPeerError(error));
			return { status, header: { "content-type": mediaType }, body: JSON.stringify(body) };
		}
	}

	function jsonRpc(raw: RawRequest): Promise<RawReply> | RawReply {
		const envelope = JSON.parse(raw.body.toString()) as JsonObject;
		const id = envelope["id"] ?? null;
		const method = methods.find((candidate) => candidate.name === envelope["method"]);
		if (!method) throw new Error(`no method ${envelope["method"]}`);
		const request = fromJson(method.input, envelope["params"] ?? {}, { ignoreUnknownFields: true });
		const call = record({ binding: "JSONRPC", method, request, header: raw.header, signal: raw.signal });
		return jsonReply(
			call,
			(result) => ({ jsonrpc: "2.0", id, result }),
			(error) => ({ status: 200, body: { jsonrpc: "2.0", id, error: rpcErrorJson(error) } }),
			"application/json",
		);
	}

	function httpJson(raw: RawRequest): Promise<RawReply> | RawReply {
		const body: JsonValue | undefined = raw.body.length > 0 ? JSON.parse(raw.body.toString()) : undefined;
		const match = matchHttp(raw.verb, raw.target.slice("/rest".length), body);
		if (!match) return { status: 404, header: { "content-type": "text/html" }, body: "<h1>no such page</h1>" };
		const request = fromJson(match.method.input, match.request, { ignoreUnknownFields: true });
		const call = record({
			binding: "HTTP+JSON",
			method: match.method,
			request,
			header: raw.header,
			signal: raw.signal,
		});
		return jsonReply(
			call,
			(result) => result,
			(error) => ({ status: error.http, body: httpErrorJson(error) }),
			"application/a2a+json",
		);
	}

	const http = await startRawHttp(
		(raw) => {
			if (raw.target === "/.well-known/agent-card.json") {
				const header = { "content-type": "application/json", "cache-control": "max-age=3600" };
				return { header, body: JSON.stringify(cardJson(interfaces, options.card)) };
			}
			if (raw.target === "/rpc") return jsonRpc(raw);
			if (raw.target.startsWith("/rest/")) return httpJson(raw);
			return { status: 404 };
		},
		{ record: false },
	);

	const grpcMethods = new Map(methods.map((method) => [grpcPath(method), method]));
	const grpcStatus = (thrown: unknown): RawGrpcStatus => {
		const error = asPeerError(thrown);
		const details = Buffer.from(writeDetails(error.grpc, error.message, error.details));
		return new RawGrpcStatus(error.grpc, error.message, { "grpc-status-details-bin": details });
	};
	const grpc: RawGrpc | undefined = !options.bindings.includes("GRPC")
		? undefined
		: await startRawGrpc(
				(raw) => {
					const method = grpcMethods.get(raw.path);
					if (!method) throw new RawGrpcStatus(12, "no such method");
					const request = fromBinary(method.input, raw.message);
					const call = record({ binding: "GRPC", method, request, header: raw.header, signal: raw.signal });
					return grpcReply(call);
				},
				{ record: false },
			);
	function grpcReply(call: Received): Promise<Uint8Array> | AsyncIterable<Uint8Array> {
		const encode = (message: Message): Uint8Array => toBinary(call.method.output, message);
		if (isStream(call.method)) {
			return (async function* () {
				try {
					const answer = agent.script(call);
					if (!(Symbol.asyncIterator in answer)) throw new Error(`${call.method.name} is a stream`);
					for await (const message of answer) yield encode(message);
				} catch (error) {
					throw grpcStatus(error);
				}
			})();
		}
		return (async () => {
			try {
				const answer = await agent.script(call);
				if (Symbol.asyncIterator in answer) throw new Error(`${call.method.name} is unary`);
				return encode(answer);
			} catch (error) {
				throw grpcStatus(error);
			}
		})();
	}

	const urls: Readonly<Record<string, string>> = {
		JSONRPC: `${http.url}/rpc`,
		"HTTP+JSON": `${http.url}/rest`,
		GRPC: grpc?.target ?? "",
	};
	const tenant = options.tenant === undefined ? {} : { tenant: options.tenant };
	const interfaces = options.bindings.map(
		(binding): AgentInterfaceOf => ({ binding, url: urls[binding] ?? "", ...tenant }),
	);
	const agent: Agent = {
		cardUrl: `${http.url}/.well-known/agent-card.json`,
		url: http.url,
		interfaces,
		calls,
		script: options.script,
		close: async () => {
			await Promise.all([http.close(), grpc?.close()]);
		},
	};
	return agent;
}
