/** GET /agents and GET /.well-known/api-catalog (design/contract.md "URLs"; RFC 9727): the catalogue over HTTP. */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { A2AError } from "../call/error.ts";
import type { Listed, Visible } from "./catalogue.ts";
import { API_CATALOG, catalogLink, LINKSET_TYPE, linkset } from "./linkset.ts";
import type { Mirror } from "./mirror.ts";
import { readQuery } from "./query.ts";

/** What a page must know of its request; Hono's context under the listener's site has it. */
export interface PageRequest {
	readonly env: {
		readonly target: { readonly query: string };
		readonly incoming: { readonly headers: IncomingHttpHeaders };
	};
}

/** A page to be read, by GET and HEAD. */
export type CataloguePage = (request: PageRequest) => Promise<Response>;

export interface CataloguePagesOptions {
	readonly catalogue: Pick<Mirror, "search" | "all">;
	/** The gateway's public URL, without a trailing slash. */
	readonly site: () => string;
	/**
	 * Which agents the caller may see, by whatever its header fields prove; undefined = the answer is the same
	 * for everybody. May throw A2AError (UNAUTHENTICATED). Default: everybody sees all.
	 */
	readonly visible?: (header: IncomingHttpHeaders) => Visible | undefined | Promise<Visible | undefined>;
}

export const AGENTS_PATH = "/agents";
const PUBLIC = "public, max-age=60";

/** The pages by their path at the port's root, for the listener's `page`. */
export function cataloguePages(options: CataloguePagesOptions): ReadonlyMap<string, CataloguePage> {
	const { catalogue, site, visible = () => undefined } = options;

	const agents: CataloguePage = async ({ env }) => {
		const query = readQuery(env.target.query);
		const seen = await visible(env.incoming.headers);
		const page = catalogue.search(query, seen);
		return answer(env.incoming.headers, page.etag, caching(seen), () =>
			JSON.stringify({
				agents: page.agents.map(({ name, url, card }: Listed) => ({ name, url, card })),
				nextPageToken: page.nextPageToken ?? "",
				totalSize: page.totalSize,
			}),
		);
	};

	const apiCatalog: CataloguePage = async ({ env }) => {
		const seen = await visible(env.incoming.headers);
		const body = JSON.stringify(linkset(catalogue.all(seen), site()));
		const etag = `"${createHash("sha256").update(body).digest("base64url")}"`;
		const header = { ...caching(seen), link: catalogLink(site()), "content-type": LINKSET_TYPE };
		return answer(env.incoming.headers, etag, header, () => body);
	};

	return new Map([
		[AGENTS_PATH, refusing(agents)],
		[API_CATALOG, refusing(apiCatalog)],
	]);
}

/** Errors on purpose become answers; others go on to whoever mounted the page. */
function refusing(page: CataloguePage): CataloguePage {
	return async (request) => {
		try {
			return await page(request);
		} catch (error) {
			if (error instanceof A2AError) return problem(error);
			throw error;
		}
	};
}

function caching(seen: Visible | undefined): Record<string, string> {
	return seen === undefined
		? { "cache-control": PUBLIC }
		: { "cache-control": "private, no-cache", vary: "Authorization, Cookie" };
}

const readable = {
	"access-control-allow-origin": "*",
	"access-control-expose-headers": "etag, link, x-request-id, retry-after",
};

function answer(
	request: IncomingHttpHeaders,
	etag: string,
	header: Readonly<Record<string, string>>,
	body: () => string,
): Response {
	const headers: Record<string, string> = { ...readable, ...header, etag };
	if (matches(request["if-none-match"], etag)) {
		delete headers["content-type"];
		return new Response(null, { status: 304, headers });
	}
	const text = body();
	headers["content-type"] ??= "application/json";
	return new Response(text, { headers: { ...headers, "content-length": String(Buffer.byteLength(text)) } });
}

/** If-None-Match (RFC 9110 §13.1.2), compared weakly. `etag` is one of ours: strong, without commas. */
function matches(condition: string | undefined, etag: string): boolean {
	if (condition === undefined) return false;
	if (condition.trim() === "*") return true;
	return condition.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

/** An error in the google.rpc.Status form (AIP-193), as HTTP+JSON clients read it. */
export function problem(error: A2AError, header: Readonly<Record<string, string>> = readable): Response {
	const { http: code, grpc: status, message, details } = error;
	const body = JSON.stringify({ error: { code, status, message, details } });
	const own = Object.entries(error.header).map(([name, value]) => [name, String(value)]);
	return new Response(body, {
		status: code,
		headers: {
			...header,
			...Object.fromEntries(own),
			"cache-control": "no-store",
			"content-type": "application/json",
			"content-length": String(Buffer.byteLength(body)),
		},
	});
}
