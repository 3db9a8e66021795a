/** One bounded GET of a card: size, time, redirects and encodings have limits, and no failure is a mystery (§8.2, §8.6). */
import { getCACertificates } from "node:tls";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { Agent, type Dispatcher, request } from "undici";
import { MAX_CARD } from "./document.ts";
import { CardError } from "./error.ts";
import type { Fields } from "./freshness.ts";

const MAX_REDIRECTS = 3;

/** Header fields of a request that are no secret: what is asked for, in which form, and by what. */
const PUBLIC: ReadonlySet<string> = new Set([
	"a2a-version",
	"accept",
	"accept-encoding",
	"user-agent",
	"if-none-match",
	"if-modified-since",
]);

export interface Got {
	/** Where the answer came from in the end, without credentials. */
	readonly url: URL;
	readonly status: number;
	readonly fields: Fields;
	/** Empty unless the status is 200. */
	readonly body: Uint8Array;
}

export interface GetOptions {
	readonly dispatcher: Dispatcher;
	/** Ends the attempt; its reason is thrown. */
	readonly signal: AbortSignal;
	/** Sent along, on every hop within the origin; another one gets those of `PUBLIC` alone. */
	readonly headers: Readonly<Record<string, string>>;
}

/** A dispatcher for cards. Connections are not kept: minutes pass between two requests. */
export function cardDispatcher(connectTimeout: number, ca: string | undefined): Dispatcher {
	return new Agent({
		pipelining: 0,
		maxHeaderSize: 32 * 1024,
		// `ca` replaces the trusted authorities, it does not add to them.
		connect: { timeout: connectTimeout, ...(ca !== undefined && { ca: [...getCACertificates("default"), ca] }) },
	});
}

/** A URL for people: no user, password, query or fragment. */
export function display(url: URL): string {
	return `${url.protocol}//${url.host}${url.pathname}`;
}

/** GETs `from`, following redirects. Any final status is returned; transport failures and broken bounds throw CardError. */
export async function get(from: URL, options: GetOptions): Promise<Got> {
	let url = from;
	for (let hops = 0; ; hops++) {
		const response = await send(url, from, options);
		const { statusCode: status, headers: fields, body } = response;
		if (status === 200) return { url, status, fields, body: await readBody(url, response, options.signal) };
		// Nothing in it is wanted. Without a listener its abort would be an uncaught error.
		body.on("error", () => {}).destroy();
		const location = fields["location"];
		if (status < 300 || status > 399 || status === 304 || typeof location !== "string") {
			return { url, status, fields, body: new Uint8Array() };
		}
		if (hops === MAX_REDIRECTS) {
			throw new CardError("INVALID_AGENT_RESPONSE", `${display(from)} redirects more than ${MAX_REDIRECTS} times`);
		}
		url = redirect(url, location);
	}
}

function redirect(from: URL, location: string): URL {
	const to = URL.parse(location, from);
	if (!to || !/^https?:$/.test(to.protocol)) {
		throw new CardError("INVALID_AGENT_RESPONSE", `${display(from)} redirects to something that is no HTTP URL`);
	}
	if (from.protocol === "https:" && to.protocol === "http:") {
		throw new CardError(
			"INVALID_AGENT_RESPONSE",
			`${display(from)} redirects from https to http (${display(to)}); refused`,
		);
	}
	return to;
}

async function send(url: URL, first: URL, options: GetOptions): Promise<Dispatcher.ResponseData> {
	// A password in the URL is for the host that the operator named, nobody else.
	const home = url.origin === first.origin;
	const secret = home && (first.username !== "" || first.password !== "");
	try {
		const basic = secret && `${decodeURIComponent(first.username)}:${decodeURIComponent(first.password)}`;
		return await request(`${url.origin}${url.pathname}${url.search}`, {
			dispatcher: options.dispatcher,
			signal: options.signal,
			headers: {
				...(home ? options.headers : publicOf(options.headers)),
				...(basic && { authorization: `Basic ${Buffer.from(basic).toString("base64")}` }),
			},
		});
	} catch (error) {
		throw failed(error, url, options.signal);
	}
}

/** What may be told to a host that nobody named: caller-given fields may be credentials under any name. */
function publicOf(headers: Readonly<Record<string, string>>): Record<string, string> {
	return Object.fromEntries(Object.entries(headers).filter(([name]) => PUBLIC.has(name.toLowerCase())));
}

function failed(error: unknown, url: URL, signal: AbortSignal): CardError {
	return CardError.from(signal.aborted ? signal.reason : error, `cannot fetch ${display(url)}`);
}

async function readBody(url: URL, response: Dispatcher.ResponseData, signal: AbortSignal): Promise<Uint8Array> {
	const { body, headers } = response;
	const tooLarge = () =>
		new CardError("INVALID_AGENT_RESPONSE", `the card at ${display(url)} is larger than ${MAX_CARD} bytes`);
	const chunks: Buffer[] = [];
	let size = 0;
	try {
		for await (const chunk of body as AsyncIterable<Buffer>) {
			size += chunk.length;
			if (size > MAX_CARD) throw tooLarge();
			chunks.push(chunk);
		}
		return await decode(Buffer.concat(chunks), String(headers["content-encoding"] ?? "identity"));
	} catch (error) {
		body.on("error", () => {}).destroy();
		if (error instanceof RangeError) throw tooLarge();
		throw failed(error, url, signal);
	}
}

const decoders: Readonly<Record<string, (input: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
	gzip: promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip),
	"x-gzip": promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip),
	deflate: promisify<Buffer, { maxOutputLength: number }, Buffer>(inflate),
	br: promisify<Buffer, { maxOutputLength: number }, Buffer>(brotliDecompress),
};

/** Undoes one content coding. Throws RangeError when the result would be too large. */
async function decode(body: Buffer, coding: string): Promise<Uint8Array> {
	const name = coding.trim().toLowerCase();
	if (name === "identity" || name === "") return body;
	const decoder = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
	if (!decoder) throw new Error(`its content encoding ${JSON.stringify(coding)} is not supported`);
	return decoder(body, { maxOutputLength: MAX_CARD });
}
