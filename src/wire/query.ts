/** URL query strings as flat records (WHATWG application/x-www-form-urlencoded). */
import type { Header } from "../call/call.ts";

const NONE: Header = Object.freeze({});

/** Members of a raw query; of a repeated name the first counts. Never throws: bad escapes stay as they are. */
export function queryMembers(query: string): Header {
	if (query === "") return NONE;
	const members: Record<string, string> = Object.create(null) as Record<string, string>;
	for (const [name, value] of new URLSearchParams(query)) members[name] ??= value;
	return members;
}

/** `path` (which may have a query) with more members. */
export function appendQuery(path: string, members: Header): string {
	let result = path;
	for (const name in members) {
		result += `${result.includes("?") ? "&" : "?"}${encodeURIComponent(name)}=${encodeURIComponent(members[name] ?? "")}`;
	}
	return result;
}
