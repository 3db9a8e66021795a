/** From the URL on a command line to the agent's interfaces: `call` and `explain` look the way the gateway does (§8.3.2). */
import type { Interface } from "../binding/binding.ts";
import { type Choice, choose, override } from "../card/choose.ts";
import { type Reading, read } from "../card/read.ts";
import { sourceOf } from "../card/source.ts";
import { ConfigError } from "../config/index.ts";
import { bindings, dialects } from "../registry.ts";

export interface Wanted {
	readonly url: string;
	/** Path of a card file. */
	readonly card: string | undefined;
	readonly binding: string | undefined;
	readonly version: string | undefined;
	/** For the card's request. */
	readonly headers: Readonly<Record<string, string>>;
}

export interface Found {
	/** Where the card came from. */
	readonly from: string;
	readonly reading: Reading;
	readonly choice: Choice;
}

/** Fetches the card and chooses among its interfaces. Throws CardError when there is none to read. */
export async function find(wanted: Wanted): Promise<Found> {
	const source = sourceOf(wanted, { headers: { "a2a-version": "1.0", accept: "application/json", ...wanted.headers } });
	try {
		const { json, from, base } = await source.load();
		const reading = read(json, { from, base });
		const interfaces = override(reading.interfaces, { grpc: isGrpc(wanted.url) ? wanted.url : undefined });
		const choice = choose(interfaces, {
			bindings: bindings.map(({ name }) => name),
			versions: dialects.map(({ version }) => version),
			prefer: { binding: wanted.binding, version: wanted.version },
		});
		return { from, reading, choice };
	} finally {
		await source.close();
	}
}

/** The interface that a gRPC address is, when there is no card. */
export function direct(url: string, version = "1.0"): Interface {
	return { url, binding: "GRPC", version, tenant: "" };
}

export function isGrpc(url: string): boolean {
	return /^grpcs?:\/\//i.test(url);
}

/** The value of --protocol. Throws ConfigError. */
export function protocol(written: string | undefined): string | undefined {
	if (written === undefined || dialects.some(({ version }) => version === written)) return written;
	const message = `must be one of ${dialects.map((d) => d.version).join(", ")}`;
	throw new ConfigError([{ where: "--protocol", field: "", message }]);
}

/** The value of --binding. Throws ConfigError. */
export function binding(written: string | undefined): string | undefined {
	const name = written?.toUpperCase();
	const names = bindings.map((known) => known.name);
	if (name === undefined || names.includes(name)) return name;
	throw new ConfigError([{ where: "--binding", field: "", message: `must be one of ${names.join(", ")}` }]);
}

/** An absolute URL given on the command line. Throws ConfigError. */
export function agentUrl(command: string, written: string | undefined): string {
	const url = written === undefined ? undefined : URL.parse(written);
	if (url && /^(https?|grpcs?):$/.test(url.protocol) && url.host !== "") return url.href;
	const message = written === undefined ? "needs a URL" : "URL must start with http://, https://, grpc:// or grpcs://";
	throw new ConfigError([{ where: command, field: "", message }]);
}
