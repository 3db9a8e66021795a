/** Where an agent's card comes from: HTTP discovery, a file, or the program itself (§8.2; `--agent`, `--card`). */
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Document, MAX_CARD, parseDocument } from "./document.ts";
import { CardError, describe } from "./error.ts";
import { type Fetched, type FetchOptions, fetchCard } from "./fetch.ts";
import type { Freshness } from "./freshness.ts";
import { cardDispatcher, display } from "./http.ts";

/** A card as its source gave it. The same `digest` means the same card. */
export interface Loaded extends Document {
	/** For the operator: where it came from. */
	readonly from: string;
	/** Absolute URL that relative URLs in the card are relative to; undefined = there is none. */
	readonly base: string | undefined;
	/** Milliseconds until asking again makes sense. */
	readonly freshFor: number;
}

/** Yields the card. `load` throws CardError, nothing else; `previous` must come from the same source. */
export interface Source {
	/** For the operator: what is asked. */
	readonly name: string;
	load(previous?: Loaded): Promise<Loaded>;
	close(): Promise<void>;
}

export interface HttpSourceOptions extends Partial<Omit<FetchOptions, "dispatcher">> {
	/** Milliseconds. Default: 5 s. */
	readonly connectTimeout?: number;
	/** PEM of additional trusted authorities. Default: the system's only. */
	readonly ca?: string;
}

interface Remote extends Loaded {
	readonly fetched: Fetched;
}

/** Discovery over HTTP from a base URL or card URL. Throws CardError when `url` is no HTTP URL. */
export function httpSource(url: string, options: HttpSourceOptions = {}): Source {
	const given = URL.parse(url);
	if (!given || !/^https?:$/.test(given.protocol)) {
		throw new CardError(
			"UNAVAILABLE",
			/^grpcs?:/i.test(url)
				? `${url} is a gRPC address: give its card with --card FILE`
				: `${JSON.stringify(url)} is not an http:// or https:// URL`,
		);
	}
	const dispatcher = cardDispatcher(options.connectTimeout ?? 5_000, options.ca);
	return {
		name: display(given),
		async load(previous) {
			const before = previous as Remote | undefined;
			try {
				const fetched = await fetchCard(given, { ...options, dispatcher }, before?.fetched);
				const { json, digest, freshFor } = fetched;
				const from = display(fetched.url);
				return { json, digest, freshFor, from, base: from, fetched } satisfies Remote;
			} catch (error) {
				throw CardError.from(error, `cannot fetch the card of ${display(given)}`);
			}
		},
		close: () => dispatcher.destroy(),
	};
}

interface OnDisk extends Loaded {
	readonly stamp: string;
}

/** A card from a file, read again when its time or size has changed. `base`: the agent's URL, for relative interface URLs. */
export function fileSource(path: string, base?: string, poll = 10_000): Source {
	const full = resolve(path);
	return {
		name: full,
		async load(previous) {
			const before = previous as OnDisk | undefined;
			try {
				const { mtimeMs, size, ino } = await stat(full);
				const stamp = `${mtimeMs}/${size}/${ino}`;
				if (before?.stamp === stamp) return before;
				if (size > MAX_CARD)
					throw new CardError("UNAVAILABLE", `the card file ${full} is larger than ${MAX_CARD} bytes`);
				const document = parseDocument(await readFile(full), `the card file ${full}`);
				return { ...document, from: full, base, freshFor: poll, stamp } satisfies OnDisk;
			} catch (error) {
				if (error instanceof CardError) throw error;
				throw new CardError("UNAVAILABLE", `cannot read the card file ${full}: ${describe(error)}`, { cause: error });
			}
		},
		close: async () => {},
	};
}

/** A card that is already here: its text is checked once, at construction. Throws CardError. */
export function inlineSource(card: JsonObject | string, name = "the card given", base?: string): Source {
	const text = typeof card === "string" ? card : JSON.stringify(card);
	const document = parseDocument(Buffer.from(text), name);
	const loaded: Loaded = { ...document, from: name, base, freshFor: 86_400_000 };
	return { name, load: async () => loaded, close: async () => {} };
}

/** How an agent is named in the configuration. */
export interface AgentPlace {
	/** Base URL, card URL, `grpc://host:port` or `grpcs://host:port`. */
	readonly url: string | undefined;
	/** Path of a card file. */
	readonly card: string | undefined;
}

/** The source that a configured agent has. Throws CardError when there is none. */
export function sourceOf(place: AgentPlace, options: HttpSourceOptions = {}): Source {
	const http = place.url !== undefined && /^https?:/i.test(place.url) ? place.url : undefined;
	if (place.card !== undefined)
		return fileSource(place.card, http, (options.bounds satisfies Freshness | undefined)?.min);
	if (place.url === undefined) throw new CardError("UNAVAILABLE", "an agent needs a URL or a card file");
	return httpSource(place.url, options);
}
