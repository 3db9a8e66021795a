/** Whether an agent's card is believed: which keys may have signed it, where they are found, and what follows (§8.4.3; rules G40, G41). */
import { readFileSync, statSync } from "node:fs";
import type { JsonObject } from "@bufbuild/protobuf";
import { CardError, describe } from "./error.ts";
import { display } from "./http.ts";
import { type FetcherOptions, keyFetcher } from "./sign-fetch.ts";
import { KeyError, type PublicKey, readPublic } from "./sign-jwk.ts";
import { type JwksOptions, jwksCache } from "./sign-jwks.ts";
import { type ResolveKey, type Verdict, type VerifyOptions, verify, type Wanted } from "./signature.ts";
import type { Source } from "./source.ts";

/** require: a card that does not verify is not used. warn: used and told. ignore: not looked at. */
export type Policy = "require" | "warn" | "ignore";

export interface KeySources {
	/** Files of public keys: JWK, JWKS or PEM. Read again when they change. */
	readonly files?: readonly string[];
	/** URLs of key sets that the operator trusts, wherever they are; http:// too, for private networks. */
	readonly jwks?: readonly string[];
	/**
	 * Where a signature's own `jku` may lead. A host (`keys.example`, with a port if it is not 443): https, public
	 * addresses only. An origin (`http://10.0.0.5:9000`): that scheme and port, whatever the address. A URL with a path: that one only.
	 */
	readonly jku?: readonly string[];
}

export interface KeySourceOptions extends KeySources, FetcherOptions, Partial<Omit<JwksOptions, "fetcher">> {}

export interface KeyFinder {
	readonly resolve: ResolveKey;
	close(): Promise<void>;
}

interface Allowed {
	readonly matches: (url: URL) => boolean;
	/** The address does not matter. */
	readonly trusted: boolean;
}

/** Finds the keys of signatures. Reads the files. Throws KeyError when a source makes no sense. */
export function keyFinder(options: KeySourceOptions): KeyFinder {
	const files = (options.files ?? []).map(keyFile);
	const urls = (options.jwks ?? []).map(httpUrl);
	const allowed = (options.jku ?? []).map(allowance);
	const fetcher = keyFetcher(options);
	const cache = jwksCache({ ...options, fetcher });

	async function byUrl(wanted: Wanted): Promise<readonly PublicKey[]> {
		const { kid, jku } = wanted;
		const failures: string[] = [];
		for (const url of urls) {
			try {
				const keys = await cache.keys(url, true, kid);
				if (keys.some((key) => key.kid === kid || key.unnamed)) return keys;
			} catch (error) {
				failures.push(describe(error));
			}
		}
		if (jku !== undefined && (allowed.length > 0 || (files.length === 0 && urls.length === 0))) {
			const url = URL.parse(jku);
			const entry = url && allowed.find(({ matches }) => matches(url));
			if (!url || !entry || url.username !== "" || url.password !== "") {
				const named = url && /^https?:$/.test(url.protocol) ? display(url) : "what is no http(s) URL";
				throw new KeyError(`unknown key, and its jku leads to ${named}, which is not allowed`);
			}
			url.hash = "";
			return await cache.keys(url, entry.trusted, kid);
		}
		if (failures.length > 0) throw new KeyError(failures.join("; "));
		throw new KeyError(
			files.length + urls.length > 0 ? "unknown key" : "unknown key: no keys are configured, and it names no jku",
		);
	}

	return {
		async resolve(wanted) {
			const known = files.flatMap((file) => file());
			const own = known.filter((key) => key.kid === wanted.kid || key.unnamed);
			return own.length > 0 ? own : await byUrl(wanted);
		},
		close: () => fetcher.close(),
	};
}

/** The keys of a file, read again when it has changed; the old ones while it cannot be. */
function keyFile(path: string): () => readonly PublicKey[] {
	let stamp = "";
	let keys: readonly PublicKey[] | undefined;
	const current = () => {
		try {
			const { mtimeMs, size, ino } = statSync(path);
			const now = `${mtimeMs}/${size}/${ino}`;
			if (now !== stamp) keys = readPublic(readFileSync(path, "utf8"), path);
			stamp = now;
		} catch (error) {
			if (!keys) throw error instanceof KeyError ? error : new KeyError(`${path}: cannot read it: ${describe(error)}`);
		}
		return keys ?? [];
	};
	if (current().length === 0) throw new KeyError(`${path}: it holds no key that verifies cards`);
	return current;
}

function httpUrl(written: string): URL {
	const url = URL.parse(written);
	if (!url || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
		throw new KeyError(`${JSON.stringify(written)} is not an http:// or https:// URL without credentials`);
	}
	return url;
}

function allowance(written: string): Allowed {
	if (/^https?:\/\//i.test(written)) {
		const { origin, pathname, search } = httpUrl(written);
		const whole = pathname !== "/" || search !== "";
		return {
			matches: (url) => url.origin === origin && (!whole || (url.pathname === pathname && url.search === search)),
			trusted: true,
		};
	}
	const url = /^[^/?#@\s]+$/.test(written) ? URL.parse(`https://${written}`) : null;
	if (!url || url.host === "")
		throw new KeyError(`${JSON.stringify(written)} is no host, origin or URL to allow for jku`);
	return { matches: ({ protocol, host }) => protocol === "https:" && host === url.host, trusted: false };
}

export interface Judgement {
	/** Use this card? */
	readonly accepted: boolean;
	/** For readiness and the operator, one line. */
	readonly reason: string;
	/** Undefined when nobody looked. */
	readonly verdict: Verdict | undefined;
}

export interface TrustOptions extends KeySourceOptions, VerifyOptions {
	readonly policy: Policy;
}

export interface Trust {
	/** Never throws. */
	judge(card: JsonObject): Promise<Judgement>;
	/** Throws CardError for a card that may not be used; returns what to warn of, if anything. */
	admit(card: JsonObject, from: string): Promise<string | undefined>;
	close(): Promise<void>;
}

/** The trust of one agent. Throws KeyError when the keys make no sense, or when `require` could never be met. */
export function trust(options: TrustOptions): Trust {
	const { policy } = options;
	const sources = [options.files, options.jwks, options.jku].some((list) => (list?.length ?? 0) > 0);
	if (policy === "require" && !sources) {
		throw new KeyError(
			"signatures are required, but there are no keys to verify them with: give keys, a JWKS URL or jku hosts",
		);
	}
	const finder = policy === "ignore" ? undefined : keyFinder(options);
	const judge = async (card: JsonObject): Promise<Judgement> => {
		if (!finder) return { accepted: true, reason: "signatures are not looked at", verdict: undefined };
		const verdict = await verify(card, finder.resolve, options);
		return { accepted: verdict.valid || policy !== "require", reason: verdict.reason, verdict };
	};
	return {
		judge,
		async admit(card, from) {
			const { accepted, reason, verdict } = await judge(card);
			if (!accepted) {
				throw new CardError("INVALID_AGENT_RESPONSE", `the card from ${from} is not trusted: ${reason}`, {
					public: "The agent's card is not trusted by this gateway",
				});
			}
			if (!verdict) return undefined;
			if (!verdict.valid) return `the card from ${from} is not trusted, but used: ${reason}`;
			return verdict.uncovered.length > 0 ? `the card from ${from} is ${reason}` : undefined;
		},
		close: async () => finder?.close(),
	};
}

/**
 * A source that yields only cards that may be used: a keeper in front of it keeps the last good one, and its state says why.
 * `warn` is told once of each thing to warn of. Closing it closes both.
 */
export function trustedSource(source: Source, { admit, close }: Trust, warn: (text: string) => void): Source {
	let told: string | undefined;
	return {
		name: source.name,
		async load(previous) {
			const loaded = await source.load(previous);
			// Every time, not only when the card has changed: keys expire and are revoked.
			const remark = await admit(loaded.json, loaded.from);
			if (remark !== undefined && remark !== told) warn(remark);
			told = remark;
			return loaded;
		},
		async close() {
			await Promise.all([source.close(), close()]);
		},
	};
}
