/** What a binding is: one protocol, both halves, joined to the core by `Handler` on either side. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Call, Handler } from "../call/call.ts";
import type { Dialect } from "../dialect/dialect.ts";

/** One HTTP request, HTTP/1.1 or HTTP/2. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;
export type HttpResponse = ServerResponse | Http2ServerResponse;

/** Where a request was aimed, worked out once by the listener. */
export interface Target {
	/** Name of the agent meant. */
	readonly agent: string;
	/** Path below the agent's mount point: starts with "/", still percent-encoded, no query. */
	readonly path: string;
	/** Raw query without "?", "" when there is none. */
	readonly query: string;
	/** Request id, already set as the response header `x-request-id`. */
	readonly id: string;
}

/**
 * Takes a request or leaves it to the next one (`false`). Taking means: this handler answers,
 * whatever happens; it never throws and never rejects.
 */
export type HttpHandler = (req: HttpRequest, res: HttpResponse, target: Target) => boolean;

/** The same for an HTTP/2 stream whose content type is `application/grpc` (or `+proto`, `+json`). */
export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, target: Target) => boolean;

/** What every binding is told about its surroundings. All limits have values; nothing is optional. */
export interface AttachOptions {
	/** Largest request message accepted, bytes. */
	readonly maxMessage: number;
	/** Deepest JSON nesting accepted. */
	readonly maxDepth: number;
	/** SSE comment interval on a silent stream, milliseconds; 0 = never. */
	readonly keepAlive: number;
	/** Longest a request body may take to arrive, milliseconds. */
	readonly bodyTimeout: number;
	/** Upper bound for a unary call, milliseconds; 0 = none. A client's own deadline may be shorter. */
	readonly unaryTimeout: number;
	/** Told at the end of a call whose translation lost something (`call.losses`). */
	readonly lost: (call: Call) => void;
	/**
	 * Which of these versions a request is of, when its method name is in all of them: by the task it is about.
	 * Undefined = nothing is known; the first counts.
	 */
	readonly recognise: (agent: string, taskId: string, versions: readonly string[]) => Promise<string | undefined>;
	/** Where to tell what the client is not told: errors with their cause. */
	readonly report: (error: unknown, call: { readonly id: string; readonly method: string }) => void;
}

export interface Attachment {
	/** For HTTP semantics: JSON-RPC, HTTP+JSON, gRPC-Web, Connect. */
	readonly http?: HttpHandler;
	/** For gRPC proper. */
	readonly grpc?: StreamHandler;
}

/** One endpoint of an agent, as its card or the configuration names it. */
export interface Interface {
	/** Absolute URL; for gRPC `host:port`, or a URL whose scheme tells whether TLS is used. */
	readonly url: string;
	/** `protocolBinding` of the AgentInterface. */
	readonly binding: string;
	/** `Major.Minor`. */
	readonly version: string;
	/** The agent's own routing key; "" when it has none. */
	readonly tenant: string;
}

export interface ConnectOptions {
	/** Largest reply message or event accepted, bytes. */
	readonly maxMessage: number;
	/** Deepest JSON nesting accepted. */
	readonly maxDepth: number;
	/** Time for a connection to be made, milliseconds. */
	readonly connectTimeout: number;
	/** A stream silent for so long is ended with UNAVAILABLE, milliseconds; 0 = never. */
	readonly idleTimeout: number;
	/** Most connections held open to this interface (HTTP/1.1). */
	readonly connections: number;
	/** PEM of additional trusted authorities; undefined = the system's. */
	readonly ca: string | undefined;
}

/** The agent's side of a binding: pooled, kept alive, closed once. */
export interface Upstream {
	/**
	 * Sends `call.header` and `call.query` as they are (core/forward has chosen them), adds what the
	 * dialect demands (A2A-Version), and converts every failure into an A2AError.
	 */
	readonly handler: Handler;
	/** Ends idle connections now and busy ones when their calls end. */
	close(): Promise<void>;
}

export interface Binding {
	/** `protocolBinding` value in a card: JSONRPC, GRPC, HTTP+JSON. */
	readonly name: string;
	/** Towards clients. */
	attach(handler: Handler, dialects: readonly Dialect[], options: AttachOptions): Attachment;
	/** Towards the agent. Resolves and validates at construction; connects on first use. */
	connect(iface: Interface, dialect: Dialect, options: ConnectOptions): Upstream;
	/** The URL form this binding's AgentInterface carries, from the public base URL of an agent. */
	publicUrl(base: URL): string;
}
