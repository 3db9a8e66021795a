/** What the listener is told and what it gives back (design/contract.md "One port"). */
import type { HttpHandler, HttpRequest, HttpResponse, StreamHandler, Target } from "../binding/binding.ts";

/** Bounds of one port. Times in milliseconds, sizes in bytes; 0 = no bound where that is said. */
export interface Limits {
	/** Request line and header fields of one HTTP/1.1 request; the header list of one HTTP/2 request. */
	readonly maxHeaderSize: number;
	/** Header fields of one request. */
	readonly maxHeaders: number;
	/** Request target; must fit into `maxHeaderSize`. */
	readonly maxUrl: number;
	/** From the first byte of a request to the end of its header. */
	readonly headersTimeout: number;
	/** From the first byte of a request to the end of its body, an outer bound to the bindings' own; 0 = none. */
	readonly requestTimeout: number;
	/** For a connection to show its protocol, and for a TLS handshake. */
	readonly sniffTimeout: number;
	/** An HTTP/1.1 connection without a request. */
	readonly keepAliveTimeout: number;
	/** An HTTP/2 connection without a frame in either direction gets GOAWAY; 0 = never. */
	readonly sessionIdleTimeout: number;
	/** Concurrent streams of one HTTP/2 connection. */
	readonly maxStreams: number;
	/** Open connections; 0 = none. */
	readonly maxConnections: number;
}

export const defaultLimits: Limits = Object.freeze({
	maxHeaderSize: 32 * 1024,
	maxHeaders: 200,
	maxUrl: 16 * 1024,
	headersTimeout: 15_000,
	requestTimeout: 600_000,
	sniffTimeout: 10_000,
	keepAliveTimeout: 75_000,
	sessionIdleTimeout: 600_000,
	maxStreams: 2_000,
	maxConnections: 0,
});

/** PEM texts. `clientCa`: clients must present a certificate signed by one of these. */
export interface TlsOptions {
	readonly cert: string;
	readonly key: string;
	readonly clientCa?: string;
}

/** An agent's mount point: whose it is, and the path below it (starts with "/", still percent-encoded). */
export interface Mount {
	readonly agent: string;
	readonly path: string;
}

/** Pages of the port itself, off the hot path: cards, keys, health, later the console. */
export interface Site {
	/**
	 * Is this exact path one of the site's? Asked with the path as requested (`port`) and, where the
	 * request is below an agent's mount point, with the path below it (`agent`). Every verb counts.
	 */
	has(path: string, scope: "port" | "agent"): boolean;
	/** Answers, whatever happens; never throws. */
	serve(req: HttpRequest, res: HttpResponse, target: Target): void;
}

/** The same shape as the bindings' `report`: `method` is the verb and the path, without the query. */
export type Report = (error: unknown, context: { readonly id: string; readonly method: string }) => void;

export interface ListenerOptions {
	/** Address to bind: a name, IPv4 or IPv6 address (without brackets). */
	readonly host: string;
	/** 0 picks one. */
	readonly port: number;
	/** Absent: plain text. */
	readonly tls?: TlsOptions;
	readonly limits?: Partial<Limits>;
	/**
	 * Whose request is it? `host` is the authority asked for (`name` or `name:port`), `path` the path
	 * without the query. Undefined: nobody's; answered 404, except gRPC, which gets `{ agent: "", path }`
	 * because gRPC routes by tenant.
	 */
	readonly resolve: (host: string | undefined, path: string) => Mount | undefined;
	/** Path prefix of the public URL, "/a/b": taken off where a proxy leaves it on. Default: none. */
	readonly prefix?: string;
	/** Tried in order. */
	readonly http: readonly HttpHandler[];
	/** Tried in order. */
	readonly grpc: readonly StreamHandler[];
	readonly site?: Site;
	/** Origins that may call the operations from a browser (`https://host[:port]`, `null`), or `*`. */
	readonly cors?: readonly string[];
	/** Answers what nobody took. Default: 404 in the google.rpc.Status form. */
	readonly notFound?: (req: HttpRequest, res: HttpResponse, target: Target) => void;
	/** Told what the client is not told. */
	readonly report: Report;
}

export interface Listener {
	/** `http://host:port` or `https://host:port`, IPv6 in brackets, no trailing slash. */
	readonly url: string;
	readonly host: string;
	readonly port: number;
	/**
	 * Drains: no new connections, GOAWAY, `connection: close`; idle connections end at once, calls
	 * under way have until the deadline (milliseconds from now) and are cut then. Resolves when the last
	 * connection is gone. Calling again can only shorten the deadline.
	 */
	close(deadlineMs: number): Promise<void>;
	/** New certificate for new connections. Throws on PEM that is no pair, keeping the old one; no-op without TLS. */
	reloadTls(cert: string, key: string): void;
}
