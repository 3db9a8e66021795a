/** Request targets (RFC 9112 §3.2) and request ids, by string operations only. */
import { randomBytes } from "node:crypto";

export interface RequestTarget {
	/** Only of an absolute-form target: what replaces the Host field. */
	readonly authority: string | undefined;
	/** Starts with "/", still percent-encoded. */
	readonly path: string;
	/** Without "?". */
	readonly query: string;
}

const ABSOLUTE = /^https?:\/\/([^/?@]+)([/?].*)?$/i;
/** Not allowed in a target: controls, spaces, anything not ASCII, and fragments. */
const ILLEGAL = /[^\x21-\x7e]|#/;

/** Splits an origin-form or absolute-form target; undefined when it is neither. */
export function splitTarget(url: string): RequestTarget | undefined {
	if (ILLEGAL.test(url)) return undefined;
	if (url.charCodeAt(0) === 0x2f) return split(undefined, url);
	const absolute = ABSOLUTE.exec(url);
	if (!absolute) return undefined;
	const rest = absolute[2] ?? "";
	return split(absolute[1], rest.startsWith("/") ? rest : `/${rest}`);
}

function split(authority: string | undefined, url: string): RequestTarget {
	const mark = url.indexOf("?");
	if (mark < 0) return { authority, path: url, query: "" };
	return { authority, path: url.slice(0, mark), query: url.slice(mark + 1) };
}

const ID = /^[\x21-\x7e]{1,128}$/;

/** The client's own request id when it is a sane token, else a fresh one: random per listener, then counted. */
export function requestIds(): (given: string | readonly string[] | undefined) => string {
	const prefix = randomBytes(8).toString("hex");
	let count = 0;
	return (given) => {
		if (typeof given === "string" && ID.test(given)) return given;
		count += 1;
		return `${prefix}-${count.toString(36)}`;
	};
}
