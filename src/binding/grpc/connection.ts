/** One HTTP/2 connection to an agent: made, watched over, ended (RFC 9113; grpc.io "keepalive", gRFC A8). */
import { type ClientHttp2Session, connect, type SecureClientSessionOptions } from "node:http2";
import type { Socket } from "node:net";
import { rootCertificates, type TLSSocket } from "node:tls";

/** Bytes an agent may send ahead on one stream; what bounds the memory of a stream whose client is slow. */
const STREAM_WINDOW = 256 * 1024;
/** The same for all streams of a connection. It refills at once, so a stalled stream holds up no other. */
const CONNECTION_WINDOW = 8 * 1024 * 1024;
/** Look at the connection so often, milliseconds. */
export const PING_INTERVAL = 30_000;
const PING_TIMEOUT = 10_000;
/**
 * Servers in their default settings end a connection that pings more often than every five minutes while
 * they have nothing to send; two pings too many are forgiven (gRFC A8). So: two soon, then one each five minutes.
 */
const QUICK_PINGS = 2;
const SLOW_PINGS = 10;

export interface ConnectionInit {
	/** `http://host:port` or `https://host:port`. */
	readonly authority: string;
	/** Milliseconds until the agent's SETTINGS must have come. */
	readonly timeout: number;
	readonly ca: string | undefined;
	/** For tests: the keep-alive's interval. */
	readonly pingInterval?: number;
	/** For tests: how long a ping may stay unanswered. */
	readonly pingTimeout?: number;
}

export class Connection {
	readonly session: ClientHttp2Session;
	/** Settles when the agent's SETTINGS have come, or will not. */
	readonly ready: Promise<void>;
	/** Settles when the socket is closed. */
	readonly closed: Promise<void>;
	/** Calls under way. */
	active = 0;
	/** Since when there are none, epoch milliseconds. */
	idleSince = Date.now();
	/** The agent will take no more calls here. */
	draining = false;
	/** Streams above this id were not processed. */
	lastStream = Number.MAX_SAFE_INTEGER;
	/** Has any call ever been answered here? */
	served = false;
	/** Something came since the keep-alive last looked. */
	#heard = false;
	#silent = 0;

	constructor(init: ConnectionInit) {
		const options: SecureClientSessionOptions = {
			settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
			// Its default of 10 MB refuses streams when a hundred of them are busy.
			maxSessionMemory: 1000,
			...(init.ca !== undefined && { ca: [...rootCertificates, init.ca] }),
		};
		// Resolves the name anew each time and tries all its addresses (autoSelectFamily).
		const session = connect(init.authority, options);
		this.session = session;
		this.ready = this.#settled(init.timeout);
		this.ready.catch(() => {});
		this.closed = new Promise((resolve) => session.once("close", resolve));
		const interval = setInterval(() => this.keepAlive(init.pingTimeout), init.pingInterval ?? PING_INTERVAL);
		interval.unref();
		session.once("close", () => {
			this.draining = true;
			clearInterval(interval);
		});
		session.on("goaway", (_code, lastStreamID: number) => {
			this.draining = true;
			this.lastStream = Math.min(this.lastStream, lastStreamID);
		});
	}

	#settled(timeout: number): Promise<void> {
		const { session } = this;
		return new Promise((resolve, reject) => {
			let failure: unknown = new Error("The connection was closed before it was ready");
			const timer = setTimeout(() => session.destroy(new Error(`Not connected after ${timeout} ms`)), timeout);
			session.once("connect", (_session, socket: Socket | TLSSocket) => {
				socket.setNoDelay(true);
				socket.setKeepAlive(true, PING_INTERVAL);
				if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW);
			});
			session.once("remoteSettings", () => {
				clearTimeout(timer);
				resolve();
			});
			session.on("error", (error) => {
				failure = error;
			});
			session.once("close", () => {
				clearTimeout(timer);
				reject(failure);
			});
		});
	}

	/** May another call start here? */
	get usable(): boolean {
		return !this.draining && !this.session.closed && !this.session.destroyed;
	}

	/** Is there room below the agent's limit of concurrent streams? */
	get room(): boolean {
		return this.active < Math.max(1, this.session.remoteSettings?.maxConcurrentStreams ?? 100);
	}

	take(): void {
		this.active++;
	}

	release(): void {
		this.active--;
		if (this.active === 0) this.idleSince = Date.now();
	}

	/** A sign of life. */
	hear(): void {
		this.#heard = true;
		this.served = true;
	}

	/** The timer's turn: pings when calls wait and nothing has come since the last turn. */
	keepAlive(timeout = PING_TIMEOUT): void {
		if (this.#heard || this.active === 0) {
			this.#heard = false;
			this.#silent = 0;
			return;
		}
		this.#silent++;
		if (this.#silent > QUICK_PINGS && this.#silent % SLOW_PINGS !== 0) return;
		const { session } = this;
		if (session.destroyed) return;
		const timer = setTimeout(() => session.destroy(new Error("Keep-alive ping was not answered")), timeout);
		try {
			session.ping(() => clearTimeout(timer));
		} catch {
			clearTimeout(timer);
		}
	}
}
