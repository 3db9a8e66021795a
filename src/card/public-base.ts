/** The URL under which clients reach the gateway: configured, else the listener's; never what a request claims (Host, X-Forwarded-*). */

export interface Listening {
	readonly host: string;
	readonly port: number;
	readonly tls: boolean;
}

/**
 * The public base URL of an agent's mount point: no query, no fragment, no trailing slash but the root's.
 * `path` is the mount point below it, "" with one agent. Throws TypeError with a message for the operator.
 */
export function publicBase(configured: string | undefined, listening: Listening, path = ""): URL {
	const url = configured === undefined ? derived(listening) : parse(configured);
	const full = `${url.pathname}/${path}`.replace(/\/{2,}/g, "/").replace(/\/$/, "");
	url.pathname = full === "" ? "/" : full;
	return url;
}

function parse(configured: string): URL {
	const url = URL.parse(configured);
	if (!url || !/^https?:$/.test(url.protocol)) throw new TypeError("the public URL must be an http:// or https:// URL");
	if (url.username || url.password || url.search || url.hash) {
		throw new TypeError("the public URL must have no user, query or fragment");
	}
	return url;
}

function derived({ host, port, tls }: Listening): URL {
	// An address that means "any" reaches nobody: the machine itself is what is certain.
	const name = /^(0\.0\.0\.0|\[?::\]?|\*|)$/.test(host)
		? "localhost"
		: host.includes(":") && !host.startsWith("[")
			? `[${host}]`
			: host;
	return new URL(`${tls ? "https" : "http"}://${name}:${port}`);
}
