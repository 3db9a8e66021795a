/** Header sets (RFC 9110 §5): which fields end here, which media types are meant and wanted. */
import type { IncomingHttpHeaders } from "node:http";
import type { Header } from "../call/call.ts";

/** Fields that concern one connection only (RFC 9110 §7.6.1), in HTTP/1.1 and in the upgrade to HTTP/2. */
const hopByHop: ReadonlySet<string> = new Set([
	"connection",
	"keep-alive",
	"proxy-authenticate",
	"proxy-authorization",
	"proxy-connection",
	"te",
	"trailer",
	"transfer-encoding",
	"upgrade",
	"http2-settings",
]);

/**
 * The end-to-end fields of a request or response: lower-case names, repeated fields joined. Pseudo fields, hop-by-hop
 * fields, those that `Connection` lists, and `content-*` (they describe bytes that end here) are left out.
 */
export function toHeader(raw: IncomingHttpHeaders): Header {
	const header: Record<string, string> = {};
	const connection = raw.connection;
	const listed = connection && connection !== "keep-alive" ? connectionListed(connection) : undefined;
	for (const name in raw) {
		const value = raw[name];
		if (value === undefined || name.charCodeAt(0) === 0x3a) continue;
		if (name.startsWith("content-") || hopByHop.has(name) || listed?.has(name)) continue;
		header[name] = typeof value === "string" ? value : value.join(name === "cookie" ? "; " : ", ");
	}
	return header;
}

function connectionListed(connection: string): ReadonlySet<string> {
	return new Set(connection.split(",").map((name) => name.trim().toLowerCase()));
}

/** The named fields of a header, where present. */
export function pick(header: Header, names: readonly string[]): Header {
	const picked: Record<string, string> = {};
	for (const name of names) {
		const value = header[name];
		if (value !== undefined) picked[name] = value;
	}
	return picked;
}

/** `type/subtype` of a Content-Type: lower case, parameters cut; "" when there is none. */
export function mediaType(value: string | undefined): string {
	if (value === undefined) return "";
	const end = value.indexOf(";");
	return (end < 0 ? value : value.slice(0, end)).trim().toLowerCase();
}

interface Range {
	readonly type: string;
	readonly subtype: string;
	readonly q: number;
}

/**
 * Of the candidates (`type/subtype`, lower case, the preferred one first) the one that an Accept field wants most
 * (RFC 9110 §12.5.1); undefined when it wants none. A candidate named beats one that only a wildcard covers.
 */
export function accepts(accept: string | undefined, candidates: readonly string[]): string | undefined {
	if (!accept || accept === "*/*") return candidates[0];
	const ranges = accept.split(",").map(parseRange);
	let best: string | undefined;
	let bestQ = 0;
	let bestRank = -1;
	for (const candidate of candidates) {
		const { q, rank } = quality(candidate, ranges);
		if (q > bestQ || (q > 0 && q === bestQ && rank > bestRank)) {
			best = candidate;
			bestQ = q;
			bestRank = rank;
		}
	}
	return best;
}

/** What the most specific matching range says: its q, and how specific it is. */
function quality(candidate: string, ranges: readonly Range[]): { readonly q: number; readonly rank: number } {
	const slash = candidate.indexOf("/");
	const type = candidate.slice(0, slash);
	const subtype = candidate.slice(slash + 1);
	let q = 0;
	let rank = -1;
	for (const range of ranges) {
		const named = range.type === type && range.subtype === subtype;
		const half = range.type === type && range.subtype === "*";
		const any = range.type === "*" && range.subtype === "*";
		const r = named ? 2 : half ? 1 : any ? 0 : -1;
		if (r > rank || (r === rank && r >= 0 && range.q > q)) {
			rank = r;
			q = range.q;
		}
	}
	return { q, rank };
}

function parseRange(text: string): Range {
	const [media = "", ...parameters] = text.split(";");
	const [type = "", subtype = ""] = media.trim().toLowerCase().split("/");
	let q = 1;
	for (const parameter of parameters) {
		const [name = "", value = ""] = parameter.split("=");
		if (name.trim().toLowerCase() !== "q") continue;
		const number = Number(value.trim());
		q = Number.isFinite(number) ? Math.min(Math.max(number, 0), 1) : 0;
	}
	return { type, subtype, q };
}
