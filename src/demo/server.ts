/** The bundled demo agent's only binding: JSON-RPC with SSE over node:http, and its card (A2A v1.0 §8.2, §9). */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type DescMethod, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { createAgent, DemoError, type Operations } from "./agent.ts";

const MAX_BODY = 1 << 20;

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
	const operations = createAgent(options.pace);
	let url = "";
	const server = createServer((req, res) => {
		res.on("error", () => {});
		answer(req, res, operations, url).catch((error: unknown) => {
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

async function answer(req: IncomingMessage, res: ServerResponse, operations: Operations, url: string): Promise<void> {
	const path = (req.url ?? "/").split("?", 1)[0];
	if (path === "/.well-known/agent-card.json") {
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
		const version = req.headers["a2a-version"];
		if (version !== "1.0") {
			throw new DemoError(-32009, "VERSION_NOT_SUPPORTED", "This agent speaks A2A-Version 1.0 only");
		}
		const method = A2AService.methods.find((candidate) => candidate.name === envelope["method"]);
		if (!method) throw new DemoError(-32601, undefined, "Method not found");
		const reply = await call(operations, method, envelope["params"] ?? {});
		if (!(Symbol.asyncIterator in reply)) return rpc(res, id, { result: reply });
		await stream(res, id, reply);
	} catch (error) {
		if (res.headersSent) throw error;
		rpc(res, id, { error: describe(error) });
	}
}

function parse(body: string): JsonObject {
	let envelope: JsonValue;
	try {
		envelope = JSON.parse(body) as JsonValue;
	} catch {
		throw new DemoError(-32700, undefined, "Invalid JSON payload");
	}
	const object = typeof envelope === "object" && envelope !== null && !Array.isArray(envelope) ? envelope : {};
	if (object["jsonrpc"] !== "2.0" || typeof object["method"] !== "string") {
		throw new DemoError(-32600, undefined, "Request payload validation error");
	}
	return object;
}

function call(operations: Operations, method: DescMethod, params: JsonValue): ReturnType<Operations[keyof Operations]> {
	let request: unknown;
	try {
		request = fromJson(method.input, params, { ignoreUnknownFields: true });
	} catch (error) {
		throw new DemoError(
			-32602,
			undefined,
			`Invalid parameters: ${error instanceof Error ? error.message : "not understood"}`,
		);
	}
	// The protobuf edge: the descriptor decides the request's type and the operation together.
	const operation = operations[method.localName as keyof Operations] as (
		request: unknown,
	) => ReturnType<Operations[keyof Operations]>;
	return operation(request);
}

async function stream(res: ServerResponse, id: JsonValue, events: AsyncIterable<JsonObject>): Promise<void> {
	const iterator = events[Symbol.asyncIterator]();
	// A watcher waits for the task's next event: a client that leaves must not make it wait for that.
	const gone = new Promise<undefined>((resolve) => res.once("close", () => resolve(undefined)));
	res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
	for (;;) {
		const next = await Promise.race([iterator.next(), gone]);
		if (next === undefined || next.done) break;
		const flowing = res.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: next.value })}\n\n`);
		if (!flowing) await Promise.race([once(res, "drain"), gone]);
	}
	void iterator.return?.();
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
	if (!(error instanceof DemoError)) return { code: -32603, message: "Internal error" };
	const { code, message, reason } = error;
	if (reason === undefined) return { code, message };
	const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "a2a-protocol.org" };
	return { code, message, data: [info] };
}

function card(url: string): JsonObject {
	return {
		name: "Demo agent",
		description:
			'Reports on a text. "slow ..." takes half a minute, to be watched and canceled. Webhooks are stored, not called.',
		version: "1.0.0",
		supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
		capabilities: { streaming: true, pushNotifications: true },
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [
			{
				id: "report",
				name: "Text report",
				description: "Counts words and characters, finds the longest word, says it backwards.",
				tags: ["text", "demo"],
				examples: ["the quick brown fox", "slow and steady"],
			},
		],
	};
}
