/** A local server whose answers a test writes, and the cards of examples.md §5. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "@bufbuild/protobuf";

export type Answer = (req: IncomingMessage, res: ServerResponse) => void;

export interface Local extends AsyncDisposable {
	readonly url: string;
	readonly port: number;
	/** Paths asked for, in order. */
	readonly asked: string[];
	readonly requests: IncomingMessage[];
}

const fixture = (name: string) => readFileSync(new URL(`../listener/fixtures/${name}`, import.meta.url), "utf8");
/** Self-signed, for localhost and 127.0.0.1. */
export const certificate = fixture("cert.pem");

/** Serves by path; what is not named is 404. "*" takes everything. */
export async function serve(routes: Record<string, Answer>, tls = false): Promise<Local> {
	const asked: string[] = [];
	const requests: IncomingMessage[] = [];
	const listener = (req: IncomingMessage, res: ServerResponse) => {
		const path = (req.url ?? "").split("?")[0] ?? "";
		asked.push(path);
		requests.push(req);
		const answer = routes[path] ?? routes["*"];
		if (answer) answer(req, res);
		else res.writeHead(404).end("nothing here");
	};
	const server = tls
		? createTlsServer({ cert: certificate, key: fixture("key.pem") }, listener)
		: createServer(listener);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	return {
		url: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
		port,
		asked,
		requests,
		async [Symbol.asyncDispose]() {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

export function json(body: unknown, header: Record<string, string> = {}): Answer {
	return (_req, res) => {
		res.writeHead(200, { "content-type": "application/json", ...header }).end(JSON.stringify(body));
	};
}

export const cardV1: JsonObject = {
	name: "Bed Sensor Agent",
	description: "Reads moisture probes",
	version: "2.1.0",
	supportedInterfaces: [
		{ url: "https://gh.example/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
		{ url: "https://gh.example/rest", protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant: "north" },
		{ url: "gh.example:443", protocolBinding: "GRPC", protocolVersion: "1.0" },
		{ url: "https://gh.example/a2a", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
	],
	capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
	securitySchemes: {
		oidc: {
			openIdConnectSecurityScheme: { openIdConnectUrl: "https://id.example/.well-known/openid-configuration" },
		},
		key: { apiKeySecurityScheme: { location: "header", name: "X-Key" } },
	},
	securityRequirements: [{ schemes: { oidc: { list: ["read"] } } }, { schemes: { key: { list: [] } } }],
	defaultInputModes: ["text/plain"],
	defaultOutputModes: ["text/plain", "application/json"],
	skills: [{ id: "moisture", name: "Soil moisture", description: "Average per bed", tags: ["garden"] }],
};

export const cardV03: JsonObject = {
	name: "Bed Sensor Agent",
	description: "Reads moisture probes",
	version: "2.1.0",
	protocolVersion: "0.3.0",
	url: "https://gh.example/a2a",
	preferredTransport: "JSONRPC",
	additionalInterfaces: [
		{ url: "https://gh.example/a2a", transport: "JSONRPC" },
		{ url: "https://gh.example/rest03", transport: "HTTP+JSON" },
	],
	capabilities: { streaming: true, pushNotifications: true },
	supportsAuthenticatedExtendedCard: true,
	securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } },
	security: [{ key: [] }],
	defaultInputModes: ["text/plain"],
	defaultOutputModes: ["text/plain", "application/json"],
	skills: [{ id: "moisture", name: "Soil moisture", description: "Average per bed", tags: ["garden"] }],
};

export const cardV01: JsonObject = {
	name: "Bed Sensor Agent",
	description: "Reads moisture probes",
	version: "2.1.0",
	url: "https://gh.example/a2a",
	capabilities: { streaming: true, pushNotifications: true },
	authentication: { schemes: ["Bearer"] },
	defaultInputModes: ["text/plain"],
	skills: [{ id: "moisture", name: "Soil moisture", description: "Average per bed", tags: ["garden"] }],
};

/** A smallest card that works, at `url`. */
export function cardAt(url: string, more: JsonObject = {}): JsonObject {
	return { ...cardV1, supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }], ...more };
}
