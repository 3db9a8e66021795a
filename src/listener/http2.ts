/** HTTP/2 (RFC 9113) on sockets that somebody else accepted: settings, floods, idle sessions, draining. */
import {
	type IncomingHttpHeaders,
	performServerHandshake,
	type ServerHttp2Session,
	type ServerHttp2Stream,
	type ServerOptions,
} from "node:http2";
import type { Socket } from "node:net";
import type { Engine } from "./http1.ts";
import type { Limits } from "./options.ts";

/** Flow control: one stream's window, and the session's, which bounds what is in flight between two acknowledgements. */
const STREAM_WINDOW = 1024 * 1024;
const SESSION_WINDOW = 16 * 1024 * 1024;

export interface Http2Options {
	readonly limits: Limits;
	readonly serve: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]) => void;
}

export function createHttp2({ limits, serve }: Http2Options): Engine {
	const sessions = new Set<ServerHttp2Session>();
	const options: ServerOptions = {
		settings: {
			initialWindowSize: STREAM_WINDOW,
			maxConcurrentStreams: limits.maxStreams,
			// Twice what is allowed is let in, so that the request path can answer with words (nghttp2 resets).
			// It counts 32 bytes per field on top, and 64 KiB until the client has acknowledged this.
			maxHeaderListSize: 2 * (limits.maxHeaderSize + 32 * limits.maxHeaders),
		},
		maxHeaderListPairs: 2 * limits.maxHeaders,
		// Megabytes. Queued replies count: the default of 10 refuses new streams beside one large reply.
		maxSessionMemory: 256,
		// Rapid reset (CVE-2023-44487). A front proxy may honestly cancel a whole session's streams at once.
		streamResetBurst: 2 * limits.maxStreams,
		streamResetRate: 500,
		maxSessionInvalidFrames: 100,
		maxSessionRejectedStreams: 1_000,
	};
	return {
		accept(socket) {
			const session = performServerHandshake(socket, options);
			sessions.add(session);
			session.on("error", () => {});
			session.on("stream", (stream, headers, _flags, raw) => serve(stream, headers, raw ?? []));
			// First the client must show its settings; from then on the session may rest as long as is allowed.
			session.setTimeout(limits.headersTimeout);
			session.once("remoteSettings", () => session.setTimeout(limits.sessionIdleTimeout));
			session.on("timeout", () => session.close());
			session.once("close", () => {
				sessions.delete(session);
				linger(socket);
			});
			session.setLocalWindowSize(SESSION_WINDOW);
		},
		drain() {
			for (const session of sessions) session.close();
		},
		close() {
			for (const session of sessions) session.destroy();
		},
	};
}

/** A closed session has ended its side of the socket; one whose client does not is not kept. */
function linger(socket: Socket): void {
	if (socket.destroyed) return;
	const timer = setTimeout(() => socket.destroy(), 2_000);
	socket.once("close", () => clearTimeout(timer));
}
