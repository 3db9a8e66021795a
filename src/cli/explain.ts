/** `explain URL`: which interface of an agent the gateway would use and why, and what it would serve (§8.3.2). */
import { columns, readArgs } from "../config/index.ts";
import { capabilitiesOf } from "../core/view.ts";
import { bindings, servedOn } from "../registry.ts";
import type { Command } from "./command.ts";
import { type Outlook, outlook } from "./outlook.ts";
import { clean, endWithReader, out } from "./output.ts";
import { agentUrl, binding, find, protocol } from "./target.ts";

const FLAGS = [
	{ name: "json", value: false, many: false },
	{ name: "card", value: true, many: false },
	{ name: "binding", value: true, many: false },
	{ name: "protocol", value: true, many: false },
] as const;

export const explain: Command = {
	help: () =>
		[
			"Usage: a2a-gateway explain URL [FLAGS]",
			"",
			"Fetches an agent's card and prints the interface the gateway would use and why, and for each interface what a",
			"v1.0 client gets: what is served, what the gateway supplies (emulated), what the agent's version cannot carry (lost).",
			"Exit code 1 when there is no card, or nothing in it can be used.",
			"",
			columns([
				["--json", "Print JSON."],
				["--card FILE", "The card from a file."],
				["--binding NAME", "As if configured to prefer JSONRPC, GRPC or HTTP+JSON."],
				["--protocol VERSION", "As if configured to prefer this version."],
			]),
		].join("\n"),
	async run(argv) {
		endWithReader();
		const { positionals, flags } = readArgs(argv, FLAGS);
		const { from, reading, choice } = await find({
			url: agentUrl("explain", positionals[0]),
			card: flags.get("card")?.[0],
			binding: binding(flags.get("binding")?.[0]),
			version: protocol(flags.get("protocol")?.[0]),
			headers: {},
		});
		const { card, warnings, shape } = reading;
		const capabilities = capabilitiesOf(card);
		const seen = choice.considered.map(({ interface: i, usable, verdict }) => ({
			interface: i,
			usable,
			verdict,
			chosen: i === choice.chosen,
			outlook: usable ? outlook(i, capabilities) : undefined,
		}));
		const chosen = seen.find((entry) => entry.chosen);
		if (flags.has("json")) {
			const report = {
				card: from,
				version: shape,
				name: card.name,
				chosen: choice.chosen ?? null,
				considered: seen.map(({ chosen: _, outlook, ...entry }) => ({ ...entry, ...outlook })),
				serves: chosen ? SERVED : {},
				warnings,
			};
			out(JSON.stringify(report, undefined, 2));
			return chosen ? 0 : 1;
		}
		const lines = [
			`${card.name}${card.version && ` ${card.version}`}`,
			`card: ${from} (version ${shape})`,
			"",
			"interfaces, in the card's order:",
			...seen.flatMap(({ interface: i, verdict, chosen, outlook }) => [
				`${chosen ? "*" : " "} ${i.binding} ${i.version} ${i.url}${i.tenant && ` (tenant ${i.tenant})`}: ${verdict}`,
				...(outlook ? described(outlook).map((line) => `    ${line}`) : []),
			]),
			"",
		];
		if (chosen?.outlook) {
			lines.push("the gateway would serve it over");
			for (const [name, versions] of Object.entries(SERVED)) lines.push(`  ${name} (${versions.join(", ")})`);
			lines.push("with the operations", ...chosen.outlook.served.map((name) => `  ${name}`));
		} else lines.push("nothing can be served: no interface of this card can be used by this build");
		if (warnings.length > 0) lines.push("", "tolerated in the card:", ...warnings.map((text) => `  ${text}`));
		out(clean(lines.join("\n")));
		return chosen ? 0 : 1;
	},
};

/** The versions served, by binding. gRPC-Web and Connect ride on the gRPC routes. */
const SERVED: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
	bindings.flatMap((b) => {
		const versions = servedOn(b).map(({ version }) => version);
		return (b.name === "GRPC" ? [b.name, "gRPC-Web", "Connect"] : [b.name]).map((name) => [name, versions]);
	}),
);

/** What is refused, emulated and lost, a line each; the same of several operations in one. */
function described({ served, refused, emulated, lost }: Outlook): string[] {
	const lines = <T extends { readonly operation: string }>(
		entries: readonly T[],
		text: (entry: T) => string,
	): string[] =>
		[...Map.groupBy(entries, text)].map(([what, members]) => {
			const names = members.map(({ operation }) => operation);
			return `${what} (${names.length === served.length ? "every operation" : names.join(", ")})`;
		});
	return [
		...lines(refused, ({ reason }) => `no: ${reason}`),
		...lines(emulated, ({ how }) => `emulated: ${how}`),
		...lines(lost, ({ pointer, why }) => `lost: ${pointer || "/"} ${why}`),
	];
}
