/** Which of its interfaces the gateway uses towards an agent, and why (§8.3.2; rules G3, G5, G7). */
import type { Interface } from "../binding/binding.ts";
import { CORE_BINDINGS, grpcUrl } from "./endpoint.ts";

/** What is configured. Matching interfaces come before the card's own order; the others stay as fallbacks. */
export interface Prefer {
	readonly binding?: string | undefined;
	readonly version?: string | undefined;
	readonly url?: string | undefined;
}

export interface ChooseOptions {
	/** Names of the bindings that can be spoken towards agents. */
	readonly bindings: readonly string[];
	/** Dialect versions that can be spoken, `Major.Minor`. */
	readonly versions: readonly string[];
	readonly prefer?: Prefer;
}

export interface Verdict {
	readonly interface: Interface;
	readonly usable: boolean;
	/** For the operator: "chosen: …", "fallback: …", "skipped: …". */
	readonly verdict: string;
}

export interface Choice {
	/** Undefined when nothing fits. */
	readonly chosen: Interface | undefined;
	/** What to try next, best first (G7). */
	readonly fallbacks: readonly Interface[];
	/** Every interface in card order. */
	readonly considered: readonly Verdict[];
}

/** Chooses by card order among what is supported: earlier wins, what is configured goes before. */
export function choose(interfaces: readonly Interface[], options: ChooseOptions): Choice {
	const prefer = options.prefer ?? {};
	const configured = Object.values(prefer).some((value) => value !== undefined);
	const usable = interfaces.filter((i) => unsupported(i, options) === undefined);
	const wanted = usable.filter((i) => matches(i, prefer));
	const [chosen, ...fallbacks] = [...wanted, ...usable.filter((i) => !matches(i, prefer))];
	const why = !configured
		? "first in the card that this gateway can use"
		: wanted.length > 0
			? "first in the card that is as configured"
			: "first usable one; nothing in the card is as configured";
	const considered = interfaces.map((i): Verdict => {
		const problem = unsupported(i, options);
		if (problem !== undefined) return { interface: i, usable: false, verdict: `skipped: ${problem}` };
		if (i === chosen) return { interface: i, usable: true, verdict: `chosen: ${why}` };
		return { interface: i, usable: true, verdict: `fallback ${fallbacks.indexOf(i) + 1}` };
	});
	return { chosen, fallbacks, considered };
}

function unsupported({ binding, version }: Interface, { bindings, versions }: ChooseOptions): string | undefined {
	if (!bindings.includes(binding)) {
		return CORE_BINDINGS.has(binding)
			? `binding ${binding} is not supported`
			: `binding ${JSON.stringify(binding)} is not known`;
	}
	if (!versions.includes(version))
		return `version ${version} is not supported (this build speaks ${versions.join(", ")})`;
	return undefined;
}

function matches(i: Interface, { binding, version, url }: Prefer): boolean {
	return (
		(binding === undefined || i.binding === binding.toUpperCase()) &&
		(version === undefined || i.version === version) &&
		(url === undefined || i.url === url || i.url === URL.parse(url)?.href)
	);
}

/** One line per interface, for the log and `explain`. */
export function explainChoice({ considered }: Choice): string {
	return considered
		.map(
			({ interface: i, verdict }) =>
				`${i.binding} ${i.version} ${i.url}${i.tenant && ` tenant ${i.tenant}`}: ${verdict}`,
		)
		.join("\n");
}

export interface Override {
	/** `grpc://host:port` or `grpcs://…` as the agent was given: what counts for gRPC, whatever the card says. */
	readonly grpc?: string | undefined;
	/** The agent's base URL, when its host is to replace the one that the card advertises (unreachable from here). */
	readonly origin?: string | undefined;
}

/** The interfaces as the configuration has them. A gRPC address without a GRPC entry in the card makes one, first. */
export function override(interfaces: readonly Interface[], { grpc, origin }: Override): readonly Interface[] {
	const located = grpc === undefined ? undefined : grpcUrl(grpc);
	const address = located && "url" in located ? located.url : undefined;
	const base = origin === undefined ? null : URL.parse(origin);
	const replaced = interfaces.map((i): Interface => {
		if (i.binding === "GRPC" && address !== undefined) return { ...i, url: address };
		return base ? { ...i, url: moved(i, base) } : i;
	});
	if (address === undefined || replaced.some((i) => i.binding === "GRPC")) return replaced;
	return [{ url: address, binding: "GRPC", version: interfaces[0]?.version ?? "1.0", tenant: "" }, ...replaced];
}

/** The interface's URL on another host. gRPC keeps its port: the base names that of HTTP. */
function moved({ binding, url: written }: Interface, base: URL): string {
	if (binding === "GRPC") {
		const resolved = /^(?:dns|ipv[46]):\D/.test(written);
		const parts = (resolved ? /()(:\d+)$/ : /^(https?:\/\/)?[^/]*?(:\d+)?(\/.*)?$/).exec(written) ?? [];
		const [, scheme = "", port = "", path = ""] = parts;
		return `${scheme}${base.hostname}${port}${path}`;
	}
	const url = URL.parse(written);
	return url ? `${base.origin}${url.pathname}${url.search}` : written;
}
