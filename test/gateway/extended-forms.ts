/** The extended card in every form, asked and answered by hand: an agent that wants a credential, and clients that may have one. Nothing of src. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create, fromBinary, fromJson, type JsonObject, toBinary, toJson } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { AgentCardSchema as CardV03, GetAgentCardRequestSchema } from "../../gen/a2a/v1/a2a_pb.ts";
import { AgentCardSchema as CardV1, GetExtendedAgentCardRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { errorInfo, readDetails, reasonOf, writeDetails } from "../peer/protocol.ts";

export const CREDENTIAL = "Bearer of-the-client";
export const CHALLENGE = 'Bearer realm="the agent"';
export const EXTENDED = "Only for those who ask";
const PATHS = {
	"1.0": "/lf.a2a.v1.A2AService/GetExtendedAgentCard",
	"0.3": "/a2a.v1.A2AService/GetAgentCard",
} as const;

export type FormName =
	| "JSONRPC 1.0"
	| "HTTP+JSON 1.0"
	| "GRPC 1.0"
	| "JSONRPC 0.3"
	| "HTTP+JSON 0.3"
	| "GRPC 0.3"
	| "JSONRPC 0.2";
export const formNames: readonly FormName[] = [
	"JSONRPC 1.0",
	"HTTP+JSON 1.0",
	"GRPC 1.0",
	"JSONRPC 0.3",
	"HTTP+JSON 0.3",
	"GRPC 0.3",
	"JSONRPC 0.2",
];
const split = (form: FormName) => form.split(" ") as [string, "1.0" | "0.3" | "0.2"];

/** `none`: declared, but there is none. `undeclared`: the capability is not on the card. */
export type Has = "card" | "none" | "undeclared";

export interface ExtendedAgent {
	readonly url: string;
	/** `authorization` of every request for the extended card. */
	readonly asked: (string | undefined)[];
	close(): Promise<void>;
}

function cardOf(form: FormName, url: string, has: Has, more: JsonObject): JsonObject {
	const [binding, version] = split(form);
	const common = {
		name: "Bed Sensor Agent",
		description: `See ${url}/docs`,
		version: "2.1.0",
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [{ id: "moisture", name: "Soil moisture", description: "Average per bed", tags: ["garden"] }],
	};
	const declared = has !== "undeclared";
	if (version === "1.0")
		return {
			...common,
			supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: "1.0" }],
			capabilities: { streaming: true, extendedAgentCard: declared },
			securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
			securityRequirements: [{ schemes: { bearer: { list: [] } } }],
			...more,
		};
	return {
		...common,
		protocolVersion: version === "0.3" ? "0.3.0" : "0.2.6",
		url,
		preferredTransport: binding,
		capabilities: { streaming: true },
		supportsAuthenticatedExtendedCard: declared,
		securitySchemes: { bearer: { type: "http", scheme: "Bearer" } },
		security: [{ bearer: [] }],
		...more,
	};
}

/** An agent of that form. */
export async function startExtendedAgent(form: FormName, has: Has): Promise<ExtendedAgent> {
	const [binding, version] = split(form);
	const asked: (string | undefined)[] = [];
	let endpoint = "";
	const card = () =>
		cardOf(form, endpoint, has, {
			description: EXTENDED,
			capabilities: { streaming: false, pushNotifications: true, extendedAgentCard: true },
		});
	const server = createServer((req, res) => {
		let text = "";
		req.on("data", (chunk) => {
			text += chunk;
		});
		req.on("end", () => {
			const say = (status: number, body: unknown, header: Record<string, string> = {}) =>
				void res
					.writeHead(status, {
						"content-type": "application/json",
						"cache-control": "public, max-age=600",
						etag: '"agent"',
						...header,
					})
					.end(JSON.stringify(body));
			const path = (req.url ?? "").split("?")[0] ?? "";
			const known = version === "0.2" ? "/.well-known/agent.json" : "/.well-known/agent-card.json";
			if (path === known) return say(200, cardOf(form, endpoint, has, {}));
			const rpc =
				path === "/rpc" && req.method === "POST" ? (JSON.parse(text) as { id: number; method: string }) : undefined;
			const wanted =
				(version === "1.0" && (rpc?.method === "GetExtendedAgentCard" || path === "/rest/extendedAgentCard")) ||
				(version === "0.3" && (rpc?.method === "agent/getAuthenticatedExtendedCard" || path === "/rest/v1/card")) ||
				(version === "0.2" && path === "/agent/authenticatedExtendedCard");
			if (!wanted) return say(404, {});
			asked.push(req.headers.authorization);
			if (req.headers.authorization !== CREDENTIAL) return say(401, {}, { "www-authenticate": CHALLENGE });
			if (has !== "none") return say(200, rpc ? { jsonrpc: "2.0", id: rpc.id, result: card() } : restCard(card()));
			const message = "Authenticated Extended Card is not configured";
			if (rpc) {
				const data = version === "1.0" ? { data: [errorInfo("EXTENDED_AGENT_CARD_NOT_CONFIGURED")] } : {};
				return say(200, { jsonrpc: "2.0", id: rpc.id, error: { code: -32007, message, ...data } });
			}
			if (version === "0.2") return say(404, { detail: message });
			if (version === "0.3") return say(400, { code: -32007, message: "AuthenticatedExtendedCardNotConfiguredError" });
			const details = [errorInfo("EXTENDED_AGENT_CARD_NOT_CONFIGURED")];
			say(400, { error: { code: 400, status: "FAILED_PRECONDITION", message, details } });
		});
	});
	/** HTTP+JSON of v0.3 answers with the ProtoJSON of its proto file. */
	const restCard = (json: JsonObject): JsonObject =>
		form === "HTTP+JSON 0.3" ? (toJson(CardV03, protoV03(json)) as JsonObject) : json;
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	endpoint = binding === "JSONRPC" ? `${url}/rpc` : `${url}/rest`;
	let rpcServer: grpc.Server | undefined;
	if (binding === "GRPC") {
		rpcServer = new grpc.Server();
		const bytes = (value: Buffer) => value;
		rpcServer.addService(
			{
				card: {
					path: PATHS[version === "1.0" ? "1.0" : "0.3"],
					requestStream: false,
					responseStream: false,
					requestSerialize: bytes,
					requestDeserialize: bytes,
					responseSerialize: bytes,
					responseDeserialize: bytes,
				},
			},
			{
				card(call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) {
					const [credential] = call.metadata.get("authorization");
					asked.push(credential?.toString());
					const metadata = new grpc.Metadata();
					if (credential !== CREDENTIAL) {
						metadata.set("www-authenticate", CHALLENGE);
						return done({ code: 16, details: "who are you?", metadata });
					}
					if (has === "none") {
						const details = "AuthenticatedExtendedCardNotConfiguredError: none";
						const info = [errorInfo("EXTENDED_AGENT_CARD_NOT_CONFIGURED")];
						if (version === "1.0") metadata.set("grpc-status-details-bin", Buffer.from(writeDetails(9, details, info)));
						return done({ code: version === "1.0" ? 9 : 12, details, metadata });
					}
					const binary =
						version === "1.0" ? toBinary(CardV1, fromJson(CardV1, card())) : toBinary(CardV03, protoV03(card()));
					done(null, Buffer.from(binary));
				},
			},
		);
		const port = await new Promise<number>((resolve, reject) =>
			rpcServer?.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, at) =>
				error ? reject(error) : resolve(at),
			),
		);
		endpoint = `127.0.0.1:${port}`;
	}
	return {
		url,
		asked,
		async close() {
			rpcServer?.forceShutdown();
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

/** v0.3's proto has other security members; they are left out. */
function protoV03({ securitySchemes: _s, security: _r, supportsAuthenticatedExtendedCard, ...card }: JsonObject) {
	const extended = { supportsAuthenticatedExtendedCard: supportsAuthenticatedExtendedCard ?? false };
	return fromJson(CardV03, { ...card, ...extended }, { ignoreUnknownFields: true });
}

/** What a client was told. */
export interface Told {
	readonly card: JsonObject | undefined;
	/** HTTP status, or the gRPC status. */
	readonly status: number;
	/** JSON-RPC code, ErrorInfo's reason, whatever the form has; "" without an error. */
	readonly error: string;
	/** Fields of the answer, trailers too; lower-case names. */
	readonly header: Readonly<Record<string, string>>;
	/** All of it, for looking through. */
	readonly text: string;
}

/** Asks the gateway at `url` as a client of that form does. */
export async function askExtended(form: FormName, url: string, credential?: string): Promise<Told> {
	const [binding, version] = split(form);
	const own = credential === undefined ? {} : { authorization: credential };
	if (binding === "GRPC") return overGrpc(version === "1.0" ? "1.0" : "0.3", new URL(url).host, own);
	const headers = { ...own, ...(version === "1.0" && { "a2a-version": "1.0" }) };
	const rpc = binding === "JSONRPC" && version !== "0.2";
	const path =
		version === "0.2" ? "/agent/authenticatedExtendedCard" : version === "1.0" ? "/extendedAgentCard" : "/v1/card";
	const method = version === "1.0" ? "GetExtendedAgentCard" : "agent/getAuthenticatedExtendedCard";
	const answer = rpc
		? await fetch(url, {
				method: "POST",
				headers: { ...headers, "content-type": "application/json" },
				body: JSON.stringify({ jsonrpc: "2.0", id: 1, method }),
			})
		: await fetch(url + path, { headers });
	const text = await answer.text();
	const json = JSON.parse(text) as JsonObject & { error?: JsonObject; result?: JsonObject; details?: JsonObject[] };
	const header = Object.fromEntries(answer.headers);
	const data = (json.error?.["data"] ?? json.error?.["details"] ?? json.details ?? []) as JsonObject[];
	const reason = Array.isArray(data) ? reasonOf(data) : undefined;
	const card = rpc ? json.result : answer.ok ? json : undefined;
	const error = card ? "" : `${rpc ? json.error?.["code"] : answer.status} ${reason ?? ""}`.trim();
	return { card, status: answer.status, error, header, text };
}

async function overGrpc(version: "1.0" | "0.3", target: string, own: Record<string, string>): Promise<Told> {
	const client = new grpc.Client(target, grpc.credentials.createInsecure());
	const metadata = new grpc.Metadata();
	for (const [name, value] of Object.entries({ ...own, ...(version === "1.0" && { "a2a-version": "1.0" }) }))
		metadata.set(name, value);
	const request =
		version === "1.0"
			? toBinary(GetExtendedAgentCardRequestSchema, create(GetExtendedAgentCardRequestSchema))
			: toBinary(GetAgentCardRequestSchema, create(GetAgentCardRequestSchema));
	const read = (bytes: Buffer) =>
		(version === "1.0"
			? toJson(CardV1, fromBinary(CardV1, bytes))
			: toJson(CardV03, fromBinary(CardV03, bytes))) as JsonObject;
	const header: Record<string, string> = {};
	const note = (from: grpc.Metadata) => {
		for (const [name, value] of Object.entries(from.getMap())) header[name] = String(value);
	};
	try {
		const card = await new Promise<JsonObject>((resolve, reject) => {
			const call = client.makeUnaryRequest<Uint8Array, JsonObject>(
				PATHS[version],
				(bytes) => Buffer.from(bytes),
				read,
				request,
				metadata,
				(error, reply) => (reply ? resolve(reply) : reject(error)),
			);
			call.on("metadata", note);
		});
		return { card, status: 0, error: "", header, text: JSON.stringify(card) };
	} catch (thrown) {
		const error = thrown as grpc.ServiceError;
		note(error.metadata);
		const [bytes] = error.metadata.get("grpc-status-details-bin");
		const reason = Buffer.isBuffer(bytes) ? reasonOf(readDetails(bytes)) : undefined;
		return {
			card: undefined,
			status: error.code,
			error: `${error.code} ${reason ?? ""}`.trim(),
			header,
			text: error.message,
		};
	} finally {
		client.close();
	}
}
