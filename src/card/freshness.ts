/** How long a fetched card may be used, and how to ask whether it has changed (RFC 9111 §4.2, RFC 9110 §13.1; rule G12). */

/** Bounds for the age of a card, milliseconds. */
export interface Freshness {
	/** For cards without caching headers. Default: 5 minutes. */
	readonly fallback: number;
	/** Never ask more often. Default: 10 seconds. */
	readonly min: number;
	/** Never wait longer. Default: 24 hours. */
	readonly max: number;
}

export const freshness: Freshness = { fallback: 300_000, min: 10_000, max: 86_400_000 };

/** Response header fields as undici gives them. */
export type Fields = Readonly<Record<string, string | string[] | undefined>>;

export function field(fields: Fields, name: string): string | undefined {
	const value = fields[name];
	return Array.isArray(value) ? value.join(", ") : value;
}

/** Milliseconds until the response is stale, within the bounds. A private cache: `s-maxage` is not for us. */
export function freshFor(fields: Fields, now: number, bounds: Freshness = freshness): number {
	return Math.min(bounds.max, Math.max(bounds.min, lifetime(fields, now, bounds)));
}

function lifetime(fields: Fields, now: number, bounds: Freshness): number {
	const control = directives(field(fields, "cache-control") ?? "");
	if (control.has("no-store") || control.has("no-cache")) return 0;
	const age = seconds(field(fields, "age")) ?? 0;
	const maxAge = control.get("max-age");
	// An unreadable lifetime counts as none (RFC 9111 §4.2.1).
	if (maxAge !== undefined) return ((seconds(maxAge) ?? 0) - age) * 1000;
	const expires = field(fields, "expires");
	if (expires === undefined) return bounds.fallback;
	const until = Date.parse(expires);
	if (Number.isNaN(until)) return 0;
	const date = Date.parse(field(fields, "date") ?? "");
	return until - (Number.isNaN(date) ? now : date) - age * 1000;
}

function directives(value: string): Map<string, string> {
	const found = new Map<string, string>();
	for (const item of value.split(",")) {
		const [name = "", argument = ""] = item.split("=", 2);
		const key = name.trim().toLowerCase();
		// The first of several counts, the others are ignored.
		if (key !== "" && !found.has(key)) found.set(key, argument.trim().replace(/^"(.*)"$/, "$1"));
	}
	return found;
}

function seconds(value: string | undefined): number | undefined {
	return value !== undefined && /^\d{1,15}$/.test(value.trim()) ? Number(value) : undefined;
}

/** What identifies one state of a document, in the server's words. */
export interface Validators {
	readonly etag: string | undefined;
	readonly lastModified: string | undefined;
}

export function validators(fields: Fields): Validators {
	return { etag: field(fields, "etag"), lastModified: field(fields, "last-modified") };
}

/** Header fields that ask for a document only if it has changed. */
export function conditional({ etag, lastModified }: Validators): Record<string, string> {
	return {
		...(etag !== undefined && { "if-none-match": etag }),
		...(lastModified !== undefined && { "if-modified-since": lastModified }),
	};
}
