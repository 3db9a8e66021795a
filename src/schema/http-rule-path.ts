/** Path variables as text: percent-decoding and -encoding by the rules of google/api/http.proto, inverses of each other. */
import { A2AError } from "../call/error.ts";

/**
 * The value of a variable from its raw segments. One segment is decoded whole, so an encoded slash is part of it;
 * of several, `%2F` stays as it is, or it could not be told from a separator.
 * Throws A2AError INVALID_PARAMS for bad percent-escapes and invalid UTF-8.
 */
export function decodeVariable(raw: readonly string[]): string {
	const [first = ""] = raw;
	if (raw.length === 1) return decode(first);
	return raw.map((segment) => segment.split(/(%2f)/i).map(keepSlash(decode)).join("")).join("/");
}

/**
 * The raw segments of a value that spans `count` segments; undefined when it does not (an empty segment never fits).
 * Throws A2AError INVALID_PARAMS for text that is not Unicode.
 */
export function encodeVariable(value: string, count: number): readonly string[] | undefined {
	const parts = count === 1 ? [value] : value.split("/");
	if (parts.length !== count || parts.includes("")) return undefined;
	if (count === 1) return [encode(value)];
	return parts.map((part) => part.split(/(%2f)/i).map(keepSlash(encode)).join(""));
}

/** Of a text split at its `%2F`, every other part is one. */
function keepSlash(convert: (text: string) => string): (part: string, index: number) => string {
	return (part, index) => (index % 2 === 1 ? part : convert(part));
}

function decode(text: string): string {
	if (!text.includes("%")) return text;
	try {
		return decodeURIComponent(text);
	} catch (error) {
		throw new A2AError("INVALID_PARAMS", { message: "Invalid percent-encoding in the path", cause: error });
	}
}

function encode(text: string): string {
	// As they are, they would mean this and the parent directory.
	if (text === "." || text === "..") return text.replaceAll(".", "%2E");
	try {
		return encodeURIComponent(text);
	} catch (error) {
		throw new A2AError("INVALID_PARAMS", { message: "A value is not valid Unicode", cause: error });
	}
}
