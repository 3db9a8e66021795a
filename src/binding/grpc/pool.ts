/** The connections to one agent: as few as its limits allow, made on demand, with back-off (grpc.io "connection-backoff"). */
import { A2AError } from "../../call/error.ts";
import { type ChannelOptions, unavailable, withSignal } from "./channel.ts";
import { Connection } from "./connection.ts";

/** First wait after a failure, growth and bound, milliseconds; each ± JITTER. */
const BACKOFF = { first: 100, factor: 1.6, most: 10_000 };
const JITTER = 0.2;
/** A connection that is not needed is closed after so long, milliseconds. */
const SURPLUS = 30_000;

export class Pool {
	readonly #authority: string;
	readonly #options: ChannelOptions;
	readonly #connections = new Set<Connection>();
	#connecting: Promise<void> | undefined;
	#unready: Connection | undefined;
	#failures = 0;
	#retryAt = 0;
	#lastFailure: unknown;
	#closed = false;

	constructor(authority: string, options: ChannelOptions) {
		this.#authority = authority;
		this.#options = options;
	}

	/**
	 * A connection with room for one more call, already counted on it; `release` it. While one is being made, calls
	 * wait for it; while the agent is being left alone after a failure, they fail with UNAVAILABLE at once.
	 * `not` is a connection that has just refused the call.
	 */
	async acquire(signal: AbortSignal, not?: Connection): Promise<Connection> {
		for (let barren = 0; ; ) {
			if (this.#closed) throw unavailable(undefined, "The gateway is shutting down");
			if (signal.aborted) throw A2AError.from(signal.reason);
			const best = this.#best(not);
			if (best?.room || (best && this.#connections.size >= this.#options.connections)) {
				best.take();
				return best;
			}
			try {
				await withSignal(this.#connect(), signal);
				// An agent that greets and hangs up at once must not be called on for ever.
				if (!this.#best(not) && ++barren > 2) throw unavailable(new Error("Connections end as soon as they are made"));
			} catch (error) {
				// One more connection cannot be had: HTTP/2 queues the call on the ones there are.
				const fallback = signal.aborted ? undefined : this.#best(not);
				if (!fallback) throw error;
				fallback.take();
				return fallback;
			}
		}
	}

	#best(not: Connection | undefined): Connection | undefined {
		let best: Connection | undefined;
		for (const connection of this.#connections) {
			if (connection === not || !connection.usable) continue;
			// The fullest with room, so that the others run dry; else the emptiest.
			if (!best || better(connection, best)) best = connection;
		}
		return best;
	}

	#connect(): Promise<void> {
		if (this.#connecting) return this.#connecting;
		if (Date.now() < this.#retryAt) return Promise.reject(unavailable(this.#lastFailure));
		this.#connecting = this.#make().finally(() => {
			this.#connecting = undefined;
		});
		return this.#connecting;
	}

	async #make(): Promise<void> {
		const { connectTimeout: timeout, ca } = this.#options;
		try {
			const connection = new Connection({ authority: this.#authority, timeout, ca });
			this.#unready = connection;
			await connection.ready;
			this.#connections.add(connection);
			connection.closed.then(() => {
				this.#connections.delete(connection);
				// One that never answered anything is as good as none; once may be chance.
				if (connection.served) this.#failures = 0;
				else if (this.#failures++ > 0) this.#leaveAlone(new Error("The connection ended before anything was answered"));
			});
			this.#trim();
		} catch (error) {
			this.#failures++;
			this.#leaveAlone(error);
			throw error instanceof A2AError ? error : unavailable(error);
		} finally {
			this.#unready = undefined;
		}
	}

	/** No new connection for a while: longer with each failure in a row. */
	#leaveAlone(error: unknown): void {
		const wait = Math.min(BACKOFF.first * BACKOFF.factor ** (this.#failures - 1), BACKOFF.most);
		this.#retryAt = Date.now() + wait * (1 + JITTER * (2 * Math.random() - 1));
		this.#lastFailure = error;
	}

	/** Closes what a burst has left behind. */
	#trim(): void {
		if (this.#connections.size < 2) return;
		const timer = setTimeout(() => {
			for (const connection of this.#connections) {
				const surplus = this.#connections.size > 1 && connection.active === 0;
				if (surplus && Date.now() - connection.idleSince >= SURPLUS / 2) {
					this.#connections.delete(connection);
					connection.session.close();
				}
			}
			this.#trim();
		}, SURPLUS);
		timer.unref();
	}

	async close(): Promise<void> {
		this.#closed = true;
		this.#unready?.session.destroy();
		await this.#connecting?.catch(() => {});
		await Promise.all(
			[...this.#connections].map((connection) => {
				connection.session.close();
				return connection.closed;
			}),
		);
	}
}

function better(one: Connection, other: Connection): boolean {
	if (one.room !== other.room) return one.room;
	return one.room ? one.active > other.active : one.active < other.active;
}
