/** What a gRPC channel towards one agent is, whoever carries it, and which target is carried by whom (grpc.io "naming"). */
import type { Header } from "../../call/call.ts";
import { A2AError, type Reason } from "../../call/error.ts";
import type { GrpcStatus } from "../../dialect/dialect.ts";

export interface GrpcRequest {
	/** `/<service>/<method>`. */
	readonly path: string;
	/** Metadata, already filtered, with `grpc-timeout` where there is a deadline. */
	readonly header: Readonly<Record<string, string>>;
	readonly message: Uint8Array;
	readonly signal: AbortSignal;
	/** Epoch milliseconds; absent = none. */
	readonly deadline?: number;
}

export interface GrpcReply {
	/** Initial metadata and trailers. */
	readonly header: Header;
	readonly message: Uint8Array;
}

export interface GrpcStream {
	/** Initial metadata. */
	readonly header: Header;
	/** Pulled one by one, iterated once; `return` resets the stream. */
	readonly messages: AsyncIterableIterator<Uint8Array>;
}

/** Both calls throw GrpcFailure for a status of the agent's, and A2AError for everything else. */
export interface GrpcChannel {
	unary(request: GrpcRequest): Promise<GrpcReply>;
	/** Waits for the initial metadata. */
	stream(request: GrpcRequest): Promise<GrpcStream>;
	/** Ends idle connections now and busy ones when their calls end. */
	close(): Promise<void>;
}

export interface ChannelOptions {
	/** Largest message accepted, bytes, before and after decompression. */
	readonly maxMessage: number;
	/** Time for a connection to be ready, milliseconds. */
	readonly connectTimeout: number;
	/** A stream silent for so long is ended with UNAVAILABLE, milliseconds; 0 = never. */
	readonly idleTimeout: number;
	/** Most connections at a time. */
	readonly connections: number;
	/** PEM of additional trusted authorities. */
	readonly ca: string | undefined;
}

/** A status other than OK that the agent sent. Never leaves this folder: client.ts has the dialect read it. */
export class GrpcFailure extends Error {
	override readonly name = "GrpcFailure";
	readonly status: GrpcStatus;
	/** Initial metadata and trailers. */
	readonly header: Header;
	constructor(status: GrpcStatus, header: Header) {
		super(status.message);
		this.status = status;
		this.header = header;
	}
}

/** The agent's fields that may cross to a client. */
const named = [
	"a2a-extensions",
	"x-a2a-extensions",
	"www-authenticate",
	"retry-after",
	"cache-control",
	"etag",
] as const;

export function pickNamed(header: Header): Header {
	let picked: Record<string, string> | undefined;
	for (const name of named) {
		const value = header[name];
		if (value === undefined) continue;
		picked ??= {};
		picked[name] = value;
	}
	return picked ?? {};
}

/** What the agent sent makes no sense. */
export function rubbish(message: string, cause?: unknown): A2AError {
	return new A2AError("INVALID_AGENT_RESPONSE", { message, cause });
}

/** No connection, or none any more. The cause names hosts, so it is for the log alone. */
export function unavailable(cause?: unknown, message?: string): A2AError {
	return new A2AError("UNAVAILABLE", { cause, ...(message !== undefined && { message }) });
}

/** HTTP status to gRPC status (grpc.io http-grpc-status-mapping), by the reasons of the table. */
const httpReasons: Readonly<Record<number, Reason>> = {
	400: "INTERNAL_ERROR",
	401: "UNAUTHENTICATED",
	403: "PERMISSION_DENIED",
	404: "UNIMPLEMENTED",
	429: "UNAVAILABLE",
	502: "UNAVAILABLE",
	503: "UNAVAILABLE",
	504: "UNAVAILABLE",
};

/** An answer that is HTTP but not gRPC: a proxy's, or a wrong server's. */
export function httpFailure(status: number, header: Header): A2AError {
	return new A2AError(httpReasons[status] ?? "UNKNOWN", {
		message: `The agent answered with HTTP status ${status} instead of gRPC`,
		header: pickNamed(header),
	});
}

/** RST_STREAM code to gRPC status (grpc.io PROTOCOL-HTTP2, "Errors"), by the reasons of the table. */
const resetReasons: Readonly<Record<number, Reason>> = {
	7: "UNAVAILABLE",
	8: "CANCELLED",
	11: "RESOURCE_EXHAUSTED",
	12: "PERMISSION_DENIED",
};

export function resetFailure(code: number, cause?: unknown): A2AError {
	return new A2AError(resetReasons[code] ?? "INVALID_AGENT_RESPONSE", {
		message: `The agent broke the call off (HTTP/2 code ${code})`,
		cause,
	});
}

/** Where a channel goes: straight to an authority, or through grpc-js's resolvers. */
export type GrpcTarget =
	| { readonly kind: "direct"; readonly authority: string; readonly prefix: string }
	| { readonly kind: "resolved"; readonly target: string; readonly tls: boolean };

const RESOLVED = /^(dns|unix|unix-abstract|ipv4|ipv6):(?!\d+$)/;
const SCHEMES: Readonly<Record<string, string>> = { grpc: "http", http: "http", grpcs: "https", https: "https" };

/**
 * Reads the URL of a gRPC AgentInterface. `grpcs://`, `https://` and port 443 mean TLS, `grpc://`, `http://` and any
 * other `host:port` plain text; a bare host is TLS on 443. Throws TypeError for anything else.
 */
export function readTarget(url: string): GrpcTarget {
	if (RESOLVED.test(url)) return { kind: "resolved", target: url, tls: /:443$/.test(url) };
	const [, scheme = "", rest = ""] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(.+)$/i.exec(url) ?? [];
	const plain = /^(\[[^\]]*\]|[^/:]+)(?::(\d+))?(\/.*)?$/.exec(rest);
	const http = scheme ? SCHEMES[scheme.toLowerCase()] : plain && (plain[2] ?? "443") === "443" ? "https" : "http";
	if (!plain || !http || !URL.canParse(`${http}://${rest}`)) throw new TypeError(`Not a gRPC target: ${url}`);
	const parsed = new URL(`${http}://${rest}`);
	return { kind: "direct", authority: parsed.origin, prefix: parsed.pathname.replace(/\/+$/, "") };
}

/** Waits for a promise, but no longer than the signal allows: then throws its reason. */
export function withSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
	if (signal.aborted) {
		promise.catch(() => {});
		return Promise.reject(A2AError.from(signal.reason));
	}
	return new Promise<T>((resolve, reject) => {
		const abort = () => reject(A2AError.from(signal.reason));
		signal.addEventListener("abort", abort, { once: true });
		promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
	});
}
