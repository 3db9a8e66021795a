/** CORS for the operations (Fetch standard §3.2): which origins may call, asked once at construction. */
import type { HttpRequest, HttpResponse } from "../binding/binding.ts";
import { VERBS } from "./refuse.ts";

/** Request header fields a browser client of any binding may send. */
const HEADERS = [
	"content-type",
	"accept",
	"authorization",
	"a2a-version",
	"a2a-extensions",
	"x-a2a-extensions",
	"connect-protocol-version",
	"connect-timeout-ms",
	"grpc-timeout",
	"x-grpc-web",
	"x-user-agent",
	"traceparent",
	"tracestate",
	"x-request-id",
	"last-event-id",
];

const EXPOSED = [
	"grpc-status",
	"grpc-message",
	"grpc-status-details-bin",
	"a2a-version",
	"a2a-extensions",
	"a2a-gateway-loss",
	"x-request-id",
	"www-authenticate",
	"retry-after",
].join(", ");

const MAX_AGE = "7200";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** A longer wish list than this is no browser's. */
const MAX_ASKED = 4096;

/**
 * Sets the response's CORS fields; true when the request was a preflight and is answered.
 * Off (no origin configured): sets nothing and answers nothing, so OPTIONS reaches the handlers.
 */
export type Cors = (req: HttpRequest, res: HttpResponse) => boolean;

/** Throws on an origin that is none. */
export function compileCors(origins: readonly string[]): Cors {
	if (origins.length === 0) return () => false;
	const any = origins.includes("*");
	const allowed = new Set(origins.filter((o) => o !== "*").map(normalize));
	return (req, res) => {
		// Caches must know that the answer depends on it, for requests without an Origin too.
		if (!any) res.setHeader("vary", "Origin");
		const { origin } = req.headers;
		if (typeof origin !== "string" || !(any || allowed.has(origin))) return false;
		res.setHeader("access-control-allow-origin", any ? "*" : origin);
		if (req.method !== "OPTIONS" || req.headers["access-control-request-method"] === undefined) {
			res.setHeader("access-control-expose-headers", EXPOSED);
			return false;
		}
		preflight(req, res);
		return true;
	};
}

/** Answers a preflight, `access-control-allow-origin` being set. */
function preflight(req: HttpRequest, res: HttpResponse): void {
	res.setHeader("access-control-allow-methods", VERBS);
	res.setHeader("access-control-allow-headers", allowHeaders(req.headers["access-control-request-headers"]));
	res.setHeader("access-control-max-age", MAX_AGE);
	res.statusCode = 204;
	res.end();
}

/** The known names, and whatever is asked for that is a field name. */
export function allowHeaders(asked: string | readonly string[] | undefined): string {
	if (typeof asked !== "string" || asked.length > MAX_ASKED) return HEADERS.join(", ");
	const names = new Set(HEADERS);
	for (const part of asked.split(",")) {
		const name = part.trim().toLowerCase();
		if (TOKEN.test(name)) names.add(name);
	}
	return [...names].join(", ");
}

function normalize(origin: string): string {
	if (origin === "null") return origin;
	const url = URL.canParse(origin) ? new URL(origin) : undefined;
	const bare = url?.pathname === "/" || url?.pathname === "";
	if (!url || url.host === "" || !bare || url.search || url.hash || url.username || url.password) {
		throw new Error(`not an origin: ${JSON.stringify(origin)} (expected scheme://host[:port], "null" or "*")`);
	}
	return `${url.protocol}//${url.host}`;
}
