/** HTTP/1.1 (RFC 9112) on sockets that somebody else accepted: limits, broken requests, draining. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Limits } from "./options.ts";
import { rawRefusal } from "./refuse.ts";

export interface Engine {
	/** Takes over a connected socket, with whatever was unshifted into it. */
	accept(socket: Socket): void;
	/** Idle connections end now, busy ones after the calls under way. */
	drain(): void;
	/** Releases timers. Connections must be gone. */
	close(): void;
}

/** What a connection is busy with. */
interface Exchange {
	req: IncomingMessage | undefined;
	res: ServerResponse | undefined;
}

export interface Http1Options {
	readonly limits: Limits;
	readonly serve: (req: IncomingMessage, res: ServerResponse) => void;
	/** `Expect` with anything but 100-continue. */
	readonly refuseExpectation: (req: IncomingMessage, res: ServerResponse) => void;
	readonly freshId: () => string;
}

export function createHttp1({ limits, serve, refuseExpectation, freshId }: Http1Options): Engine {
	const exchanges = new Map<Duplex, Exchange>();
	let draining = false;
	const server = createServer({
		maxHeaderSize: limits.maxHeaderSize,
		headersTimeout: limits.headersTimeout,
		requestTimeout: limits.requestTimeout === 0 ? 0 : Math.max(limits.requestTimeout, limits.headersTimeout),
		keepAliveTimeout: limits.keepAliveTimeout,
		connectionsCheckingInterval: Math.max(20, Math.min(2_000, limits.headersTimeout >> 2)),
		// Answered by the request path, which has words for it.
		requireHostHeader: false,
		noDelay: true,
	});
	// One more than allowed is kept, so that the request path can see the excess: node drops it silently.
	server.maxHeadersCount = limits.maxHeaders + 1;
	server.timeout = 0;

	function onClose(this: ServerResponse): void {
		const exchange = exchanges.get(this.req.socket);
		if (exchange?.res === this) {
			exchange.req = undefined;
			exchange.res = undefined;
		}
	}
	const begin = (req: IncomingMessage, res: ServerResponse): void => {
		const exchange = exchanges.get(req.socket);
		if (exchange) {
			exchange.req = req;
			exchange.res = res;
			res.on("close", onClose);
		}
		if (draining) res.setHeader("connection", "close");
	};
	server.on("request", (req, res) => {
		begin(req, res);
		serve(req, res);
	});
	server.on("checkExpectation", (req, res) => {
		begin(req, res);
		refuseExpectation(req, res);
	});
	server.on("connect", (_req, socket) => end(socket, rawRefusal(405, freshId())));
	server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
		// The rest of a request that was refused already.
		if (socket.writableEnded) return;
		const code = refusalOf(error.code);
		if (code === undefined || !socket.writable) {
			socket.destroy();
			return;
		}
		const { req, res } = exchanges.get(socket) ?? {};
		// Nothing under way, or it is this very request's body that broke and nothing was answered yet.
		const silent = !res || (res.socket !== null && !res.headersSent && req?.complete === false);
		if (silent) end(socket, rawRefusal(code, freshId()));
		// Good requests followed by rubbish: the good ones are answered, then the connection ends.
		else if (req?.complete) finish(socket, res);
		else socket.destroy();
	});
	server.on("error", () => {});
	// A server that never listens does not look after its timeouts unless told that it does.
	server.emit("listening");

	return {
		accept(socket) {
			exchanges.set(socket, { req: undefined, res: undefined });
			socket.once("close", () => exchanges.delete(socket));
			server.emit("connection", socket);
		},
		drain() {
			draining = true;
			server.closeIdleConnections();
			for (const [socket, { res }] of exchanges) if (res) finish(socket, res);
		},
		close() {
			server.closeAllConnections();
			server.close();
		},
	};
}

/** Lets the response end and the connection with it. */
function finish(socket: Duplex, res: ServerResponse): void {
	if (!res.headersSent) res.setHeader("connection", "close");
	else if (res.writableFinished) end(socket);
	else res.once("finish", () => end(socket));
}

/** Sends what is queued, then closes, even when the other side does not. */
function end(socket: Duplex, last?: string): void {
	const timer = setTimeout(() => socket.destroy(), 2_000);
	socket.once("close", () => clearTimeout(timer));
	// What else the client sends is read and dropped: unread bytes would turn the close into a reset
	// that can destroy the answer on its way.
	socket.resume();
	if (last === undefined) socket.end();
	else socket.end(last);
}

function refusalOf(code: string | undefined): 400 | 408 | 413 | 431 | undefined {
	if (code === "HPE_HEADER_OVERFLOW") return 431;
	if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return 413;
	if (code === "ERR_HTTP_REQUEST_TIMEOUT") return 408;
	return code?.startsWith("HPE_") ? 400 : undefined;
}
