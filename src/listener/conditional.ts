/** Conditional requests for GET and HEAD (RFC 9110 §13): is what the client has still current? */
import type { IncomingHttpHeaders } from "node:http";

const TAGS = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** `etag` with its quotes, weak or strong; compared weakly. If-None-Match makes If-Modified-Since void. */
export function isCurrent(header: IncomingHttpHeaders, etag: string, lastModified: Date): boolean {
	const match = header["if-none-match"];
	if (match !== undefined) {
		if (match.trim() === "*") return true;
		const own = etag.startsWith("W/") ? etag.slice(2) : etag;
		for (const [, tag] of match.matchAll(TAGS)) if (tag === own) return true;
		return false;
	}
	const since = header["if-modified-since"];
	if (since === undefined) return false;
	const time = Date.parse(since);
	// HTTP dates have whole seconds. A date of the future is not believed.
	return time <= Date.now() && Math.floor(lastModified.getTime() / 1000) * 1000 <= time;
}
