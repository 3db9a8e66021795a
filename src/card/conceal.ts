/**
 * Replaces an agent's own addresses in texts with the gateway's (the agent's URLs never leak: cards, errors).
 * A URL at or below an interface of the agent becomes the same below the gateway's base; any other of
 * the agent's origin moves to the gateway's origin; a bare `host:port` becomes the gateway's.
 * Other hosts, and other ports of the same host, are somebody else's and stay.
 */
import { domainToUnicode } from "node:url";

export interface ConcealOptions {
	/** The agent's interfaces as written: URLs or `host:port`. Their paths count. */
	readonly interfaces: readonly string[];
	/** Further URLs of the agent, of which only the origin counts: its card's, the one it was configured by. */
	readonly origins: readonly string[];
	/** The gateway's base for this agent. */
	readonly base: URL;
	/** Replace host names without a port, and with other ports, too: errors of resolvers and sockets name them. Default: false. */
	readonly hosts?: boolean;
}

/** What is known of one host: its ports, and per port the paths of interfaces, longest first. */
interface Host {
	readonly ports: Map<string, string[]>;
	/** Port 80 or 443 is the agent's: URLs of this host without a port are too. */
	default: boolean;
}

const LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]"];
const DEFAULT_PORTS: readonly string[] = ["80", "443"];

/** Compiles the replacement. Linear in the text; a text without the agent's hosts costs one scan and is returned as it is. */
export function concealer(options: ConcealOptions): (text: string) => string {
	const { base, hosts: bare = false } = options;
	const hosts = collect(options);
	if (hosts.size === 0) return (text) => text;
	const names = [...hosts.keys()].sort((a, b) => b.length - a.length).map((name) => name.replace(/[^\w]/g, "\\$&"));
	// A whole host name: no letter, digit or label before it, a port or none of these behind it.
	const pattern = new RegExp(
		`(?<![\\w-]|[\\w-]\\.)(${names.join("|")})(?::(\\d{1,5})(?!\\d)|(?!:\\d|\\.?[\\w-]))`,
		"gi",
	);
	const root = base.href.replace(/\/$/, "");
	return (text) => {
		let out = "";
		let last = 0;
		for (const match of text.matchAll(pattern)) {
			const [whole, name = "", port] = match;
			const host = hosts.get(name.toLowerCase());
			if (!host) continue;
			const before = prefix(text, match.index, last);
			const own = port === undefined ? host.default : host.ports.has(port);
			let end = match.index + whole.length;
			let put: string;
			if (own && before.http) {
				const path = interfacePath(host, port, text, end);
				put = path === undefined ? base.origin : root;
				end += path?.length ?? 0;
			} else if (own && (port !== undefined || before.slashes)) {
				put = base.host;
			} else if (bare && !before.mail && isName(name) && name.toLowerCase() !== base.hostname) {
				put = port === undefined ? base.hostname : base.host;
			} else continue;
			out += text.slice(last, before.start) + put;
			last = end;
		}
		return last === 0 ? text : out + text.slice(last);
	};
}

function collect({ interfaces, origins }: ConcealOptions): Map<string, Host> {
	const hosts = new Map<string, Host>();
	for (const written of interfaces) for (const one of targets(written)) add(hosts, one, true);
	for (const written of origins) for (const one of targets(written)) add(hosts, one, false);
	for (const { ports } of hosts.values()) for (const paths of ports.values()) paths.sort((a, b) => b.length - a.length);
	return hosts;
}

/** The addresses of a gRPC resolver target (`dns:///a:1`, `ipv4:10.0.0.1:1,10.0.0.2:1`); of others, the one they are. */
function targets(written: string): readonly string[] {
	const match = /^(?:dns|ipv4|ipv6):(?:\/\/[^/]*\/)?(.+)$/i.exec(written.trim());
	return match && !/^(dns|ipv4|ipv6):\d+(\/|$)/i.test(written) ? (match[1] ?? "").split(",") : [written.trim()];
}

function add(hosts: Map<string, Host>, plain: string, withPath: boolean): void {
	const url = URL.parse(/^[\w+.-]+:\/\//.test(plain) ? plain : `none://${plain}`);
	if (!url || url.hostname === "") return;
	const port = url.port || (url.protocol === "http:" ? "80" : "443");
	const path = url.pathname.replace(/\/+$/, "");
	for (const alias of aliases(url.hostname.toLowerCase())) {
		let host = hosts.get(alias);
		if (!host) {
			host = { ports: new Map(), default: false };
			hosts.set(alias, host);
		}
		const paths = host.ports.get(port) ?? [];
		if (withPath && !paths.includes(path)) paths.push(path);
		host.ports.set(port, paths);
		if (DEFAULT_PORTS.includes(port)) host.default = true;
	}
}

/** Other spellings of a host: all of loopback, IDN in Unicode, IPv6 without brackets as sockets write it into errors. */
function aliases(name: string): readonly string[] {
	const same = LOOPBACK.includes(name) ? LOOPBACK : [...new Set([name, domainToUnicode(name) || name])];
	return same.flatMap((n) => (n.startsWith("[") ? [n, n.slice(1, -1)] : [n]));
}

interface Prefix {
	/** Where the replaced text starts: the scheme, if there is one. */
	readonly start: number;
	/** It is a URL whose scheme is http, https, ws or wss. */
	readonly http: boolean;
	/** "//" stands before the host. */
	readonly slashes: boolean;
	/** It is the domain of a mail address. */
	readonly mail: boolean;
}

/** Looks back from a host for `scheme://user:password@`, no further than `floor`. */
function prefix(text: string, at: number, floor: number): Prefix {
	const none = { start: at, http: false, slashes: false, mail: text[at - 1] === "@" };
	if (text[at - 1] !== "/" && !none.mail) return none;
	const back = text.slice(Math.max(floor, at - 300), at);
	const match = /(?:(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{0,30}):)?\/{2,3}(?:[^\s/@"'<>]{0,256}@)?$/i.exec(back);
	if (!match) return none;
	const scheme = match[1];
	return {
		start: scheme === undefined ? at : at - match[0].length,
		http: scheme !== undefined && /^(https?|wss?)$/i.test(scheme),
		slashes: true,
		mail: false,
	};
}

/** The interface path that the text goes on with, "" at the root; undefined when it leads elsewhere on that origin. */
function interfacePath(host: Host, port: string | undefined, text: string, at: number): string | undefined {
	for (const p of port === undefined ? DEFAULT_PORTS : [port]) {
		for (const path of host.ports.get(p) ?? []) {
			const whole = path === "" || !/^\.?[\w~%@-]/.test(text.slice(at + path.length, at + path.length + 2));
			if (whole && text.startsWith(path, at)) return path;
		}
	}
	return undefined;
}

/** More than one label, or an address: a single word such as "agent" is ordinary language. */
function isName(host: string): boolean {
	return /[.:]/.test(host) && !/^(0\.0\.0\.0|\[?::\]?)$/.test(host);
}
