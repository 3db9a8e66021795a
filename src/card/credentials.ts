/** Which of a client's credentials cross to the agent: those that its card declares, from wherever the client's binding put them (§4.5, §7.3). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Header } from "../call/call.ts";
import { isObject, member, text } from "./document.ts";

/** Names that the card declares. Header names are lower case; `authorization` is not listed, it always crosses. */
export interface CredentialNames {
	readonly header: readonly string[];
	readonly cookie: readonly string[];
	readonly query: readonly string[];
}

/** Header fields that belong to a hop, a message or the protocol itself: no declaration makes them credentials. */
const FORBIDDEN =
	/^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|http2-settings|content-.*|(?:x-)?a2a-.*|grpc-.*|connect-.*|accept|accept-encoding|user-agent|cookie2?|set-cookie2?|forwarded|x-forwarded-.*|via|date|x-request-id|trace(?:parent|state)|authorization)$/i;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Reads every security scheme of a card, in v1.0's style (apiKeySecurityScheme) or OpenAPI's (v0.2, v0.3). */
export function credentialNames(card: JsonObject): CredentialNames {
	const names = { header: new Set<string>(), cookie: new Set<string>(), query: new Set<string>() };
	const schemes = member(card, "securitySchemes");
	for (const scheme of isObject(schemes) ? Object.values(schemes) : []) {
		const key = apiKey(scheme);
		if (!key || key.name === "" || /^(?:x-)?a2a-|^__proto__$/i.test(key.name)) continue;
		switch (key.location.toLowerCase()) {
			case "header":
				if (TOKEN.test(key.name) && !FORBIDDEN.test(key.name)) names.header.add(key.name.toLowerCase());
				break;
			case "cookie":
				if (TOKEN.test(key.name)) names.cookie.add(key.name);
				break;
			case "query":
				names.query.add(key.name);
				break;
		}
	}
	return { header: [...names.header], cookie: [...names.cookie], query: [...names.query] };
}

function apiKey(scheme: JsonValue): { readonly location: string; readonly name: string } | undefined {
	if (!isObject(scheme)) return undefined;
	// The official JS SDK serves its own objects, whose unions read {scheme: {$case, value}}.
	const union = scheme["scheme"];
	const boxed = isObject(union) && union["$case"] === "apiKeySecurityScheme" ? union["value"] : undefined;
	const inner = member(scheme, "apiKeySecurityScheme") ?? boxed;
	if (isObject(inner)) return { location: text(inner, "location") ?? "header", name: text(inner, "name") ?? "" };
	if (scheme["type"] !== "apiKey") return undefined;
	return { location: text(scheme, "in") ?? "header", name: text(scheme, "name") ?? "" };
}

/**
 * Picks what crosses: `authorization`, the declared headers, the declared cookies out of `cookie`,
 * the declared query members. gRPC has neither cookies nor query: there, metadata of that name does.
 */
export function selectCredentials(
	header: Header,
	query: Header,
	names: CredentialNames,
): { readonly header: Header; readonly query: Header } {
	const outHeader: Record<string, string> = {};
	const outQuery: Record<string, string> = {};
	take(header, "authorization", outHeader);
	for (const name of names.header) take(header, name, outHeader);
	if (names.cookie.length > 0) {
		const cookies = pickCookies(header, names.cookie);
		if (cookies !== "") outHeader["cookie"] = cookies;
	}
	for (const name of names.query) {
		if (take(query, name, outQuery)) continue;
		const value = metadata(header, name);
		if (value !== undefined) outQuery[name] = value;
	}
	return { header: outHeader, query: outQuery };
}

function own(from: Header, name: string): string | undefined {
	return Object.hasOwn(from, name) ? from[name] : undefined;
}

/** What a client without cookies or query sent under that name. */
function metadata(header: Header, name: string): string | undefined {
	return FORBIDDEN.test(name) ? undefined : own(header, name.toLowerCase());
}

function take(from: Header, name: string, to: Record<string, string>): boolean {
	const value = own(from, name);
	if (value === undefined) return false;
	to[name] = value;
	return true;
}

/** Declared cookies, in the order they came, duplicates included; then those sent as metadata. */
function pickCookies(header: Header, names: readonly string[]): string {
	const found: string[] = [];
	const seen = new Set<string>();
	for (const pair of (own(header, "cookie") ?? "").split(";")) {
		const at = pair.indexOf("=");
		const name = at < 0 ? "" : pair.slice(0, at).trim();
		if (!names.includes(name)) continue;
		found.push(`${name}=${pair.slice(at + 1).trim()}`);
		seen.add(name);
	}
	for (const name of names) {
		const value = seen.has(name) ? undefined : metadata(header, name);
		// A value that would end the cookie or start another is none.
		if (value !== undefined && /^[\x21-\x3a\x3c-\x7e]*$/.test(value)) found.push(`${name}=${value}`);
	}
	return found.join("; ");
}
