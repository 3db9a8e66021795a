/** Finds and fetches an agent's card over HTTP (§8.2, §8.6.2, §14.3): well-known places, conditional requests, clear failures. */
import type { Dispatcher } from "undici";
import { type Document, looksLikeCard, parseDocument } from "./document.ts";
import { CardError } from "./error.ts";
import { conditional, type Freshness, field, freshFor, type Validators, validators } from "./freshness.ts";
import { display, type Got, get } from "./http.ts";

/** A card as HTTP gave it. */
export interface Fetched extends Document {
	/** Where it was, redirects followed: relative URLs in the card are relative to this. */
	readonly url: URL;
	/** What was asked, the next time too. */
	readonly asked: URL;
	/** Milliseconds. */
	readonly freshFor: number;
	readonly validators: Validators;
}

export interface FetchOptions {
	readonly dispatcher: Dispatcher;
	/** For the whole search, milliseconds. Default: 10 s. */
	readonly timeout?: number;
	readonly bounds?: Freshness;
	readonly now?: () => number;
	/** Sent with every request. Default: `A2A-Version: 1.0`. */
	readonly headers?: Readonly<Record<string, string>>;
}

const WELL_KNOWN = ["/.well-known/agent-card.json", "/.well-known/agent.json"] as const;

const HEADERS = {
	"a2a-version": "1.0",
	accept: "application/json, application/a2a+json",
	"accept-encoding": "gzip",
	"user-agent": "a2a-gateway",
};

/**
 * The URLs to try, in order. A URL that names a document (`….json`, `…/agent-card`) is the card's
 * own; below any other the well-known paths are tried, then at the root of its origin, and last the URL itself.
 */
export function candidates(given: URL): readonly URL[] {
	const path = given.pathname.replace(/\/+$/, "");
	if (/\.json$|\/agent-card$/i.test(path)) return [given];
	const at = (pathname: string): URL => {
		const url = new URL(given);
		url.pathname = pathname;
		url.hash = "";
		return url;
	};
	const bases = path === "" ? [""] : [path, ""];
	return [...WELL_KNOWN.flatMap((known) => bases.map((base) => at(base + known))), given];
}

/** Fetches the card of the agent at `given`. `previous` makes it a conditional request. Throws CardError. */
export async function fetchCard(given: URL, options: FetchOptions, previous?: Fetched): Promise<Fetched> {
	const timeout = options.timeout ?? 10_000;
	const controller = new AbortController();
	const timer = setTimeout(
		() => controller.abort(new CardError("UNAVAILABLE", `no card from ${display(given)} within ${timeout} ms`)),
		timeout,
	);
	try {
		if (previous) {
			try {
				return await fetchOne(previous.asked, true, options, controller.signal, previous);
			} catch (error) {
				// It was there and is not any more: look everywhere again.
				if (!(error instanceof CardError && error.absent)) throw error;
			}
		}
		return await search(given, options, controller.signal);
	} finally {
		clearTimeout(timer);
	}
}

async function search(given: URL, options: FetchOptions, signal: AbortSignal): Promise<Fetched> {
	const places = candidates(given);
	const failures: CardError[] = [];
	for (const place of places) {
		try {
			return await fetchOne(place, places.length === 1, options, signal, undefined);
		} catch (error) {
			if (!(error instanceof CardError && error.absent)) throw error;
			failures.push(error);
		}
	}
	const [only] = failures;
	if (only && failures.length === 1) throw only;
	const tried = failures.map((f) => f.operator).join("; ");
	throw new CardError("UNAVAILABLE", `no agent card found for ${display(given)}: ${tried}`);
}

/** `explicit`: the URL was named as a card, so that any JSON object there is taken for one. */
async function fetchOne(
	asked: URL,
	explicit: boolean,
	options: FetchOptions,
	signal: AbortSignal,
	previous: Fetched | undefined,
): Promise<Fetched> {
	const got = await get(asked, {
		dispatcher: options.dispatcher,
		signal,
		headers: { ...HEADERS, ...options.headers, ...(previous && conditional(previous.validators)) },
	});
	const age = freshFor(got.fields, (options.now ?? Date.now)(), options.bounds);
	if (got.status === 304 && previous) {
		const renewed = validators(got.fields);
		return {
			...previous,
			freshFor: age,
			validators: {
				etag: renewed.etag ?? previous.validators.etag,
				lastModified: renewed.lastModified ?? previous.validators.lastModified,
			},
		};
	}
	if (got.status !== 200) throw refused(got);
	const html = /html/i.test(field(got.fields, "content-type") ?? "");
	const document = parseDocument(got.body, `the document at ${display(got.url)}`, html);
	if (!explicit && !looksLikeCard(document.json)) {
		throw new CardError("INVALID_AGENT_RESPONSE", `the JSON at ${display(got.url)} is not an agent card`, {
			absent: true,
		});
	}
	return { ...document, url: got.url, asked, freshFor: age, validators: validators(got.fields) };
}

function refused({ status, url }: Got): CardError {
	const where = display(url);
	switch (status) {
		case 401:
		case 403:
			return new CardError(
				"UNAVAILABLE",
				`${where} wants authentication (HTTP ${status}); give the card with --card FILE`,
			);
		case 404:
		case 405:
		case 410:
			return new CardError("UNAVAILABLE", `${where} has no card (HTTP ${status})`, { absent: true });
		default:
			return new CardError("UNAVAILABLE", `${where} answered HTTP ${status}`);
	}
}
