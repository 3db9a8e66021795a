/** The bundled demo agent's only binding: JSON-RPC with SSE over node:http, and its card (A2A v0.3 §3.2.1, §3.3, §5). */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createAgent, DemoError, type Method } from "./agent.ts";

const MAX_BODY = 1 << 20;

/** Where v0.3 looks for the card, and where its predecessors did. */
const CARD_PATHS: readonly (string | undefined)[] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

export interface Demo {
	/** `http://127.0.0.1:PORT/`: base URL and JSON-RPC endpoint. */
	readonly url: string;
	close(): Promise<void>;
}

export interface DemoOptions {
	/** Default: 0, a free one. */
	readonly port?: number;
	/** Milliseconds between the events of a streamed task. Default: 100. */
	readonly pace?: number;
}

/** Starts the agent on loopback. */
export async function startDemo(options: DemoOptions = {}): Promise<Demo> {
	let url = "";
	const methods = createAgent(options.pace ?? 100, () => extendedCard(url));
	const server = createServer((req, res) => {
		res.on("error", () => {});
		answer(req, res, methods, url).catch((error: unknown) => {
			if (res.headersSent) res.destroy();
			else rpc(res, null, { error: describe(error) });
		});
	});
	server.listen(options.port ?? 0, "127.0.0.1");
	await once(server, "listening");
	url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
	return {
		url,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

type Methods = ReadonlyMap<string, Method>;

async function answer(req: IncomingMessage, res: ServerResponse, methods: Methods, url: string): Promise<void> {
	const path = (req.url ?? "/").split("?", 1)[0];
	if (CARD_PATHS.includes(path)) {
		if (req.method !== "GET" && req.method !== "HEAD") return plain(res, 405, { allow: "GET, HEAD" });
		res.writeHead(200, { "content-type": "application/json", "cache-control": "max-age=60" });
		res.end(JSON.stringify(card(url)));
		return;
	}
	if (path !== "/") return plain(res, 404);
	if (req.method !== "POST") return plain(res, 405, { allow: "POST" });
	const body = await read(req);
	if (body === undefined) return plain(res, 413, { connection: "close" });
	let id: JsonValue = null;
	try {
		const envelope = parse(body);
		id = envelope["id"] ?? null;
		const method = methods.get(String(envelope["method"]));
		if (!method) throw new DemoError(-32601, "Method not found");
		const params = envelope["params"] ?? {};
		if (typeof params !== "object" || Array.isArray(params)) {
			throw new DemoError(-32602, "Invalid parameters: params must be an object");
		}
		const result = await method(params);
		if (isStream(result)) await stream(res, id, result);
		else rpc(res, id, { result });
	} catch (error) {
		if (res.headersSent) throw error;
		rpc(res, id, { error: describe(error) });
	}
}

function isStream(result: JsonValue | AsyncGenerator<JsonObject, void>): result is AsyncGenerator<JsonObject, void> {
	return typeof result === "object" && result !== null && Symbol.asyncIterator in result;
}

function parse(body: string): JsonObject {
	let envelope: JsonValue;
	try {
		envelope = JSON.parse(body) as JsonValue;
	} catch {
		throw new DemoError(-32700, "Invalid JSON payload");
	}
	const object = typeof envelope === "object" && envelope !== null && !Array.isArray(envelope) ? envelope : {};
	if (object["jsonrpc"] !== "2.0" || typeof object["method"] !== "string") {
		throw new DemoError(-32600, "Request payload validation error");
	}
	return object;
}

async function stream(res: ServerResponse, id: JsonValue, events: AsyncGenerator<JsonObject, void>): Promise<void> {
	// A watcher waits for the task's next event: a client that leaves must not make it wait for that.
	const gone = new Promise<undefined>((resolve) => res.once("close", () => resolve(undefined)));
	res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
	for (;;) {
		const next = await Promise.race([events.next(), gone]);
		if (next === undefined || next.done) break;
		const flowing = res.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: next.value })}\n\n`);
		if (!flowing) await Promise.race([once(res, "drain"), gone]);
	}
	void events.return();
	res.end();
}

/** The body as text; undefined when it is too large. */
async function read(req: IncomingMessage): Promise<string | undefined> {
	const chunks: Buffer[] = [];
	let size = 0;
	for await (const chunk of req as AsyncIterable<Buffer>) {
		size += chunk.length;
		if (size > MAX_BODY) return undefined;
		chunks.push(chunk);
	}
	return Buffer.concat(chunks).toString("utf8");
}

function rpc(res: ServerResponse, id: JsonValue, outcome: JsonObject): void {
	res.writeHead(200, { "content-type": "application/json" });
	res.end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
}

function plain(res: ServerResponse, status: number, header: Record<string, string> = {}): void {
	res.writeHead(status, header);
	res.end();
}

function describe(error: unknown): JsonObject {
	return error instanceof DemoError
		? { code: error.code, message: error.message }
		: { code: -32603, message: "Internal error" };
}

function card(url: string): JsonObject {
	return {
		protocolVersion: "0.3.0",
		name: "Demo agent",
		description:
			'Reports on a text. "slow ..." takes half a minute, to be watched and canceled. Webhooks are stored, not called.',
		version: "1.0.0",
		url,
		preferredTransport: "JSONRPC",
		capabilities: { streaming: true, pushNotifications: true, stateTransitionHistory: false },
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [
			{
				id: "report",
				name: "Text report",
				description: "Counts words and characters, finds the longest word, says it backwards.",
				tags: ["text", "demo"],
				examples: ["the quick brown fox"],
			},
		],
		supportsAuthenticatedExtendedCard: true,
	};
}

/** One skill more. It is no secret: this agent has no users. */
function extendedCard(url: string): JsonObject {
	const { skills, ...rest } = card(url);
	const slow = {
		id: "slow",
		name: "Slow report",
		description: "The same, in half a minute, for those who want to watch or cancel it.",
		tags: ["text", "demo", "slow"],
		examples: ["slow and steady"],
	};
	return { ...rest, skills: [...(skills as JsonObject[]), slow] };
}
