/** `explain URL`: which interface of an agent the gateway would use and why, and what it would serve (§8.3.2). */
import { randomUUID } from "node:crypto";
import type { DescMethod } from "@bufbuild/protobuf";
import { anonymous } from "../call/call.ts";
import { A2AError } from "../call/error.ts";
import { Losses } from "../call/loss.ts";
import { columns, readArgs } from "../config/index.ts";
import { checkCapabilities } from "../core/capability.ts";
import { capabilitiesOf } from "../core/view.ts";
import { v1 } from "../dialect/v1/index.ts";
import { bindings } from "../registry.ts";
import { fromValue } from "../schema/payload.ts";
import type { Command } from "./command.ts";
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
			"Fetches an agent's card and prints the interface the gateway would use and why, and what each binding serves.",
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
		const operations = offered(capabilitiesOf(card));
		if (flags.has("json")) {
			const report = {
				card: from,
				version: shape,
				name: card.name,
				chosen: choice.chosen ?? null,
				considered: choice.considered,
				serves: choice.chosen ? Object.fromEntries(SERVED.map((name) => [name, operations.yes])) : {},
				refused: operations.no,
				warnings,
			};
			out(JSON.stringify(report, undefined, 2));
			return choice.chosen ? 0 : 1;
		}
		const lines = [
			`${card.name}${card.version && ` ${card.version}`}`,
			`card: ${from} (version ${shape})`,
			"",
			"interfaces, in the card's order:",
			...choice.considered.map(({ interface: i, verdict }) => {
				const mark = i === choice.chosen ? "*" : " ";
				return `${mark} ${i.binding} ${i.version} ${i.url}${i.tenant && ` (tenant ${i.tenant})`}: ${verdict}`;
			}),
			"",
		];
		if (choice.chosen) {
			lines.push(`served over ${SERVED.join(", ")}:`, ...operations.yes.map((name) => `  ${name}`));
			lines.push(...operations.no.map(({ operation, reason }) => `  ${operation}: no (${reason})`));
		} else lines.push("nothing can be served: no interface of this card can be used by this build");
		if (warnings.length > 0) lines.push("", "tolerated in the card:", ...warnings.map((text) => `  ${text}`));
		out(clean(lines.join("\n")));
		return choice.chosen ? 0 : 1;
	},
};

/** gRPC-Web and Connect ride on the gRPC routes. */
const SERVED = bindings.flatMap(({ name }) => (name === "GRPC" ? [name, "gRPC-Web", "Connect"] : [name]));

interface Offered {
	readonly yes: readonly string[];
	readonly no: readonly { readonly operation: string; readonly reason: string }[];
}

/** Asks the core itself what it would refuse, so that this text cannot drift from what the gateway does. */
function offered(capabilities: ReturnType<typeof capabilitiesOf>): Offered {
	const ask = checkCapabilities(() => capabilities)(() => new Promise(() => {}));
	const refusal = (method: DescMethod): string | undefined => {
		try {
			ask({
				method,
				request: fromValue(method.input, {}),
				agent: "",
				header: {},
				query: {},
				principal: anonymous,
				origin: { binding: "", version: v1.version },
				losses: new Losses(),
				id: randomUUID(),
				signal: new AbortController().signal,
			}).catch(() => {});
			return undefined;
		} catch (error) {
			return A2AError.from(error).message;
		}
	};
	const yes: string[] = [];
	const no: { operation: string; reason: string }[] = [];
	for (const method of v1.service.methods) {
		const reason = refusal(method);
		if (reason === undefined) yes.push(method.name);
		else no.push({ operation: method.name, reason });
	}
	return { yes, no };
}
