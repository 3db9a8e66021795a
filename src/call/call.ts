/** The vocabulary of the house: one call, its reply, and the handlers between them. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Losses } from "./loss.ts";
import type { Payload } from "./payload.ts";

/**
 * Header fields (HTTP) or metadata (gRPC): lower-case names, one string per name.
 * Several fields of one name are joined with ", " (cookies with "; ", RFC 9110 §5.3, RFC 6265 §5.4).
 */
export type Header = Readonly<Record<string, string>>;

/** Who calls. Anonymous until the gateway authenticates for itself. */
export interface Principal {
	/** Stable name of the caller; empty for an anonymous one. */
	readonly id: string;
}

export const anonymous: Principal = Object.freeze({ id: "" });

/** Where a call came in, for logs and for choices that depend on the client's side. */
export interface Origin {
	/** `protocolBinding` value: JSONRPC, GRPC, HTTP+JSON, or GRPC-WEB and CONNECT on the gRPC routes. */
	readonly binding: string;
	/** Version of the client's dialect, `Major.Minor`. */
	readonly version: string;
}

/** One operation asked of an agent, in the core's (v1.0) vocabulary. */
export interface Call {
	/** The operation: a method of the core service. Its `input` is the request's type. */
	readonly method: DescMethod;
	readonly request: Payload;
	/** Name of the agent meant. */
	readonly agent: string;
	/** What the client sent, complete; core/forward picks the named set that crosses. */
	readonly header: Header;
	/** Query members of the request URL that the binding itself did not use (API keys may ride there). */
	readonly query: Header;
	readonly principal: Principal;
	readonly origin: Origin;
	/** What the translations of this call could not carry. */
	readonly losses: Losses;
	/** Request id: on every response and log line. */
	readonly id: string;
	/** Aborts when the client has gone or the deadline has passed. */
	readonly signal: AbortSignal;
	/** Epoch milliseconds after which nobody waits any more; absent = no deadline. */
	readonly deadline?: number;
}

/** What an agent answers. Errors are thrown as A2AError, before or between messages. */
export interface Reply {
	/** Header fields for the client. The named set only. */
	readonly header: Header;
	/**
	 * Unary: an array of exactly one. Stream: pulled one by one, which is the backpressure;
	 * ending the iteration early (`return`) cancels the source.
	 */
	readonly messages: readonly [Payload] | AsyncIterable<Payload>;
}

export type Handler = (call: Call) => Promise<Reply>;
export type Middleware = (next: Handler) => Handler;

/** `chain([a, b], h)` is `a(b(h))`: the first middleware sees the call first. */
export function chain(middlewares: readonly Middleware[], handler: Handler): Handler {
	return middlewares.reduceRight((next, middleware) => middleware(next), handler);
}

/** Is this operation a server stream? */
export function isStream(method: DescMethod): boolean {
	return method.methodKind === "server_streaming";
}
