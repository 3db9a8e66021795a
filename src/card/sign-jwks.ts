/** Key sets from URLs, cached as they say, asked again when a signature names a key they lack (RFC 7517, RFC 9111; rules G40, G41). */
import { type Freshness, freshFor } from "./freshness.ts";
import type { KeyFetcher } from "./sign-fetch.ts";
import { type PublicKey, readPublic } from "./sign-jwk.ts";

/** Most URLs remembered: a `jku` may name any path of an allowed host. */
const MAX_SETS = 64;

export interface JwksOptions {
	readonly fetcher: KeyFetcher;
	/** Least time between two requests to one URL, milliseconds. Default: 30 s; 5 s after one that failed. */
	readonly interval?: number;
	/** How long keys past their time are used while nobody answers, milliseconds. Default: 1 h. */
	readonly stale?: number;
	readonly bounds?: Freshness;
	readonly now?: () => number;
}

export interface JwksCache {
	/** The keys at `url`; asks again, though not too often, when `kid` is not among them. Throws Error with a message for the operator. */
	keys(url: URL, trusted: boolean, kid: string): Promise<readonly PublicKey[]>;
}

interface KeySet {
	keys: readonly PublicKey[] | undefined;
	/** Epoch milliseconds. */
	fresh: number;
	asked: number;
	failure: Error | undefined;
	running: Promise<void> | undefined;
}

const BOUNDS: Freshness = { fallback: 300_000, min: 30_000, max: 86_400_000 };

export function jwksCache(options: JwksOptions): JwksCache {
	const { fetcher, interval = 30_000, stale = 3_600_000, bounds = BOUNDS, now = Date.now } = options;
	const sets = new Map<string, KeySet>();

	const setAt = (url: string): KeySet => {
		let set = sets.get(url);
		if (set) {
			sets.delete(url);
		} else {
			set = { keys: undefined, fresh: 0, asked: Number.NEGATIVE_INFINITY, failure: undefined, running: undefined };
		}
		// The one used last is the last to go.
		sets.set(url, set);
		const [oldest] = sets.keys();
		if (sets.size > MAX_SETS && oldest !== undefined) sets.delete(oldest);
		return set;
	};

	const ask = async (set: KeySet, url: URL, trusted: boolean) => {
		set.asked = now();
		try {
			const { text, fields } = await fetcher.get(url, trusted);
			set.keys = readPublic(text, `the key set at ${url.origin}${url.pathname}`);
			set.fresh = now() + freshFor(fields, now(), bounds);
			set.failure = undefined;
		} catch (error) {
			set.failure = error instanceof Error ? error : new Error("cannot fetch the keys");
		}
	};

	return {
		async keys(url, trusted, kid) {
			const set = setAt(`${trusted ? "+" : "-"}${url.href}`);
			const lacking = () =>
				set.keys === undefined || set.fresh <= now() || !set.keys.some((key) => key.kid === kid || key.unnamed);
			if (lacking()) {
				const wait = set.failure ? Math.min(interval, 5_000) : interval;
				if (!set.running && set.asked + wait <= now()) {
					set.running = ask(set, url, trusted).finally(() => {
						set.running = undefined;
					});
				}
				await set.running;
			}
			if (set.keys === undefined) throw set.failure ?? new Error("cannot fetch the keys: asked too recently");
			if (set.fresh + stale <= now()) {
				throw set.failure ?? new Error(`the keys at ${url.origin}${url.pathname} are out of date`);
			}
			return set.keys;
		},
	};
}
