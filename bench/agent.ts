/** The scripted upstream agent: constant answers over JSON-RPC, HTTP+JSON and gRPC, each binding on a port of its own. */
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { answer, type BindingName, card, type Encoded, events, paths } from "./fixtures.ts";
import { onAsk, ready } from "./probe.ts";

/** What the agent does from now on. */
export interface Mode {
	/** Events per stream. */
	readonly events: number;
	/** Milliseconds between events; 0 = as fast as they go. */
	readonly gap: number;
	/** Only the first event, then silence with the stream open. */
	readonly hold: boolean;
	/** Bytes of JSON in a unary answer's task; 0 = the default. */
	readonly answer: number;
}

let mode: Mode = { events: 100, gap: 0, hold: false, answer: 0 };
let unary: Encoded = answer();
let stream: Encoded[] = events(mode.events);
let open = 0;

onAsk("mode", (value) => {
	const next = value as Mode;
	if (next.answer !== mode.answer) unary = next.answer === 0 ? answer() : answer(next.answer);
	if (next.events !== mode.events) stream = events(next.events);
	mode = next;
	pace(mode.gap);
	return true;
});
/** Streams that nobody has ended yet. */
onAsk("open", () => open);

/** One stream under way: writes event `index`, ends. */
interface Source {
	index: number;
	write(event: Encoded): void;
	end(): void;
}

// One timer for all paced streams: a timer each would measure timers.
const paced = new Set<Source>();
let ticker: NodeJS.Timeout | undefined;

function pace(gap: number): void {
	clearInterval(ticker);
	if (gap > 0) ticker = setInterval(() => paced.forEach(step), gap);
}

function step(source: Source): void {
	const event = stream[source.index++];
	if (event !== undefined) source.write(event);
	if (source.index >= stream.length) {
		paced.delete(source);
		source.end();
	}
}

function run(source: Source, out: { on(event: "close", listener: () => void): unknown }): void {
	open += 1;
	out.on("close", () => {
		open -= 1;
		paced.delete(source);
	});
	step(source);
	if (mode.hold) return;
	if (mode.gap > 0) paced.add(source);
	else while (source.index < stream.length) step(source);
}

function unaryJson(res: ServerResponse, body: string): void {
	res.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
	res.end(body);
}

function sse(res: ServerResponse, before: string, after: string): void {
	res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
	run({ index: 0, write: (event) => res.write(`data: ${before}${event.json}${after}\n\n`), end: () => res.end() }, res);
}

/** Both HTTP bindings, told apart by the path; a card for the rest. */
function http(cardJson: () => string): RequestListener {
	return (req, res) => {
		const chunks: Buffer[] = [];
		req.on("error", () => {});
		res.on("error", () => {});
		req.on("data", (chunk: Buffer) => chunks.push(chunk));
		req.on("end", () => {
			if (req.method === "GET") return unaryJson(res, cardJson());
			if (req.url === "/message:send") return unaryJson(res, unary.json);
			if (req.url === "/message:stream") return sse(res, "", "");
			const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id: unknown; method: string };
			const before = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
			if (method === paths.stream) return sse(res, before, "}");
			unaryJson(res, `${before}${unary.json}}`);
		});
	};
}

function grpc(out: ServerHttp2Stream, path: string): void {
	out.on("error", () => {});
	out.on("data", () => {});
	out.on("wantTrailers", () => out.sendTrailers({ "grpc-status": "0" }));
	out.on("end", () => {
		if (out.destroyed) return;
		out.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
		if (!path.endsWith(paths.stream)) out.end(unary.grpc);
		else run({ index: 0, write: (event) => out.write(event.grpc), end: () => out.end() }, out);
	});
}

function listen(server: Server): Promise<number> {
	return new Promise((resolve) => {
		server.listen({ port: 0, host: "127.0.0.1", backlog: 8192 }, () => resolve((server.address() as AddressInfo).port));
	});
}

/** An HTTP server that never hangs up on an idle pool, and the card of `binding` at `url()`. */
async function serve(binding: BindingName, url: (port: number) => string): Promise<number> {
	let text = "";
	const server = createServer(
		{ keepAliveTimeout: 3_600_000, requestTimeout: 0 },
		http(() => text),
	);
	const port = await listen(server);
	text = JSON.stringify(card(binding, url(port)));
	return port;
}

const h2 = createHttp2Server({ settings: { initialWindowSize: 16 << 20, maxConcurrentStreams: 100_000 } });
h2.on("session", (session) => {
	session.on("error", () => {});
	session.setLocalWindowSize(64 << 20);
});
h2.on("stream", (out, headers) => grpc(out as ServerHttp2Stream, headers[":path"] ?? ""));
const grpcPort = await listen(h2);

ready({
	JSONRPC: await serve("JSONRPC", (port) => `http://127.0.0.1:${port}/`),
	"HTTP+JSON": await serve("HTTP+JSON", (port) => `http://127.0.0.1:${port}`),
	// Discovery of the gRPC agent goes over HTTP, its calls to the other port.
	GRPC: await serve("GRPC", () => `127.0.0.1:${grpcPort}`),
	grpc: grpcPort,
});
