/** One bounded GET of a key set (RFC 7517) whose URL may come from a stranger: nowhere but where it is allowed, no redirects (RFC 8725 §3.10; rule G41). */
import { lookup as resolveName } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { getCACertificates } from "node:tls";
import { Agent, type Dispatcher, request } from "undici";
import { describe } from "./error.ts";
import type { Fields } from "./freshness.ts";
import { display } from "./http.ts";

/** Largest key set, bytes. */
export const MAX_JWKS = 256 * 1024;

/** What reaches no public host (RFC 6890 and its registry). IPv4 in IPv6 is refused in every form: nobody publishes such addresses. */
const special = new BlockList();
for (const [net, bits] of [
	["0.0.0.0", 8],
	["10.0.0.0", 8],
	["100.64.0.0", 10],
	["127.0.0.0", 8],
	["169.254.0.0", 16],
	["172.16.0.0", 12],
	["192.0.0.0", 24],
	["192.0.2.0", 24],
	["192.88.99.0", 24],
	["192.168.0.0", 16],
	["198.18.0.0", 15],
	["198.51.100.0", 24],
	["203.0.113.0", 24],
	["224.0.0.0", 3],
] as const)
	special.addSubnet(net, bits, "ipv4");
/** Of IPv6, only this is public at all; of it, tunnels, documentation and benchmarks are not. */
const global6 = new BlockList();
global6.addSubnet("2000::", 3, "ipv6");
for (const [net, bits] of [
	["2001::", 23],
	["2001:db8::", 32],
	["2002::", 16],
	["3fff::", 20],
] as const)
	special.addSubnet(net, bits, "ipv6");

/** Is this address one that any host of the Internet could have? */
export function isPublic(address: string): boolean {
	const family = isIP(address);
	if (family === 4) return !special.check(address, "ipv4");
	return family === 6 && global6.check(address, "ipv6") && !special.check(address, "ipv6");
}

/** Resolves names as ever, and knows no host whose addresses are not all public. Asked when the connection is made: no name changes in between. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
	resolveName(hostname, { ...options, all: true }, (error, addresses) => {
		if (error) return callback(error, "");
		const bad = addresses.find(({ address }) => !isPublic(address));
		const first = addresses[0];
		if (bad || !first) {
			return callback(
				new Error(bad ? `${hostname} has the address ${bad.address}, which is not public` : "no address"),
				"",
			);
		}
		if (options.all === true) callback(null, addresses);
		else callback(null, first.address, first.family);
	});
};

export interface KeyFetcher {
	/** `trusted`: the operator named it; otherwise only public addresses are connected to. Throws Error with a message for the operator. */
	get(url: URL, trusted: boolean): Promise<{ readonly text: string; readonly fields: Fields }>;
	close(): Promise<void>;
}

export interface FetcherOptions {
	/** Milliseconds for the whole request. Default: 5 s. */
	readonly timeout?: number;
	/** PEM of additional trusted authorities. Default: the system's only. */
	readonly ca?: string | undefined;
}

export function keyFetcher({ timeout = 5_000, ca }: FetcherOptions = {}): KeyFetcher {
	const agent = (lookup: LookupFunction | undefined) =>
		new Agent({
			pipelining: 0,
			maxHeaderSize: 16 * 1024,
			connect: {
				timeout,
				...(lookup && { lookup }),
				...(ca !== undefined && { ca: [...getCACertificates("default"), ca] }),
			},
		});
	const any = agent(undefined);
	const guarded = agent(publicLookup);
	return {
		async get(url, trusted) {
			const where = display(url);
			// A literal address is never looked up.
			const literal = url.hostname.replace(/^\[|\]$/g, "");
			if (!trusted && isIP(literal) !== 0 && !isPublic(literal)) {
				throw new Error(`the keys at ${where} are not fetched: ${literal} is not a public address`);
			}
			try {
				return await fetchText(url, trusted ? any : guarded, AbortSignal.timeout(timeout));
			} catch (error) {
				const late = error instanceof DOMException && error.name === "TimeoutError";
				throw new Error(
					`cannot fetch the keys at ${where}: ${late ? `no answer within ${timeout} ms` : describe(error)}`,
					{
						cause: error,
					},
				);
			}
		},
		async close() {
			await Promise.all([any.destroy(), guarded.destroy()]);
		},
	};
}

async function fetchText(url: URL, dispatcher: Dispatcher, signal: AbortSignal) {
	const { statusCode, headers, body } = await request(`${url.origin}${url.pathname}${url.search}`, {
		dispatcher,
		signal,
		headers: { accept: "application/jwk-set+json, application/json", "user-agent": "a2a-gateway" },
	});
	// Without a listener its abort would be an uncaught error.
	body.on("error", () => {});
	if (statusCode !== 200) {
		body.destroy();
		throw new Error(
			statusCode >= 300 && statusCode < 400 ? `HTTP ${statusCode}: redirects are not followed` : `HTTP ${statusCode}`,
		);
	}
	const chunks: Buffer[] = [];
	let size = 0;
	for await (const chunk of body as AsyncIterable<Buffer>) {
		size += chunk.length;
		if (size > MAX_JWKS) {
			body.destroy();
			throw new Error(`the key set is larger than ${MAX_JWKS} bytes`);
		}
		chunks.push(chunk);
	}
	return { text: Buffer.concat(chunks).toString("utf8"), fields: headers as Fields };
}
