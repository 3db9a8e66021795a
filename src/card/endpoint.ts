/** What cards write into an AgentInterface, in one form each: versions, binding names, URLs (§4.4.6, §5.8, §8.3). */

/** `Major.Minor` of what is written as 1.0, 1.0.0, v1.0 or 1; undefined when it is no version. */
export function normalVersion(written: string): string | undefined {
	const match = /^v?(\d{1,4})(?:\.(\d{1,4})(?:[.+-].*)?)?$/i.exec(written.trim());
	return match ? `${Number(match[1])}.${Number(match[2] ?? 0)}` : undefined;
}

/** Spellings of the core bindings, upper case and without separators. */
const spellings: Readonly<Record<string, string>> = {
	JSONRPC: "JSONRPC",
	JSONRPC20: "JSONRPC",
	GRPC: "GRPC",
	HTTPJSON: "HTTP+JSON",
	REST: "HTTP+JSON",
};

export const CORE_BINDINGS: ReadonlySet<string> = new Set(Object.values(spellings));

/** The core binding meant, or the string as it is: a custom binding's URI. `exact` = written as the specification does, but for case. */
export function normalBinding(written: string): { readonly binding: string; readonly exact: boolean } {
	const upper = written.trim().toUpperCase();
	if (CORE_BINDINGS.has(upper)) return { binding: upper, exact: true };
	const key = upper.replace(/[\s+_./-]/g, "");
	const binding = Object.hasOwn(spellings, key) ? spellings[key] : undefined;
	return binding === undefined ? { binding: written, exact: true } : { binding, exact: false };
}

export type Located = { readonly url: string; readonly remark?: string } | { readonly problem: string };

/** An absolute http(s) URL without credentials or fragment; relative ones are resolved against `base`. */
export function httpUrl(written: string, base: string | undefined): Located {
	const bare = /^(\[[\da-f:.]+\]|[\w.-]+):\d{1,5}(?=$|[/?])/i.test(written);
	const scheme = base?.startsWith("https:") ? "https:" : "http:";
	const url = bare ? URL.parse(`${scheme}//${written}`) : URL.parse(written, base);
	if (!url) return { problem: base === undefined ? "is not an absolute URL" : "is not a URL" };
	if (!/^https?:$/.test(url.protocol)) return { problem: `has the scheme ${url.protocol} instead of http or https` };
	const remarks = [
		bare ? `has no scheme; ${scheme}// is assumed` : "",
		url.username !== "" || url.password !== "" ? "holds credentials, which are not used" : "",
	].filter(Boolean);
	url.username = "";
	url.password = "";
	url.hash = "";
	return { url: url.href, ...(remarks.length > 0 && { remark: remarks.join("; ") }) };
}

/** A target with a resolver's scheme. `unix:` is not among them: a card does not name the gateway's own files. */
const RESOLVED = /^(?:dns:(?:\/\/[^/\s]*\/)?|ipv4:|ipv6:)(?=[^/\s])[^/\s]+$/i;

/**
 * A gRPC address: `host:port` and resolver targets (`dns:///host:port`) stay as they are (the binding
 * decides about TLS), http, grpc and their TLS forms become `http://host:port` or `https://host:port`, with a path
 * where a proxy wants one.
 */
export function grpcUrl(given: string): Located {
	const written = given.trim();
	if (RESOLVED.test(written) && !/^dns:\d+$/i.test(written)) return { url: written };
	const match = /^(?:(https?|grpcs?):\/\/)?([^/?#\s]+)([^?#\s]*)([?#]\S*)?$/i.exec(written);
	const [, scheme = "", authority = "", path = "", rest] = match ?? [];
	const secure = /^(https|grpcs)$/i.test(scheme);
	const url = URL.parse(`${secure ? "https" : "http"}://${authority}${path}`);
	if (!match || !url || url.hostname === "" || authority.endsWith(":")) return { problem: "is not a gRPC address" };
	const remarks = [
		rest === undefined ? "" : "has a query or fragment, which is ignored",
		url.username !== "" || url.password !== "" ? "holds credentials, which are not used" : "",
	].filter(Boolean);
	const port = /:(\d+)$/.exec(authority)?.[1] ?? (scheme === "" || secure ? "443" : "80");
	const prefix = scheme === "" ? "" : secure ? "https://" : "http://";
	return {
		url: `${prefix}${url.hostname}:${port}${url.pathname.replace(/\/+$/, "")}`,
		...(remarks.length > 0 && { remark: remarks.join("; ") }),
	};
}

/** The URL of an interface of this binding; undefined binding rules are HTTP's. */
export function locate(binding: string, written: string, base: string | undefined): Located {
	return binding === "GRPC" ? grpcUrl(written) : httpUrl(written.trim(), base);
}
