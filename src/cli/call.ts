/** `call URL TEXT`: one message to any A2A agent, through the gateway's own bindings as a client (§3.1.1, §3.1.2). */
import { randomUUID } from "node:crypto";
import type { Interface } from "../binding/binding.ts";
import { anonymous, type Call } from "../call/call.ts";
import { A2AError } from "../call/error.ts";
import { Losses } from "../call/loss.ts";
import { iterate } from "../call/stream.ts";
import type { Verdict } from "../card/choose.ts";
import { CardError } from "../card/error.ts";
import { type Args, ConfigError, columns, readArgs } from "../config/index.ts";
import { duration } from "../config/kind.ts";
import { ValueError } from "../config/problem.ts";
import { dialectOf } from "../registry.ts";
import { fromValue } from "../schema/payload.ts";
import type { Command } from "./command.ts";
import { sendMethod } from "./methods.ts";
import { clean, endWithReader, out, warn } from "./output.ts";
import { Printer } from "./print.ts";
import { reach } from "./reach.ts";
import { agentUrl, binding, direct, find, isGrpc, protocol } from "./target.ts";

const FLAGS = [
	{ name: "binding", value: true, many: false },
	{ name: "protocol", value: true, many: false },
	{ name: "stream", value: false, many: false },
	{ name: "json", value: false, many: false },
	{ name: "header", value: true, many: true },
	{ name: "timeout", value: true, many: false },
	{ name: "card", value: true, many: false },
	{ name: "context", value: true, many: false },
	{ name: "task", value: true, many: false },
] as const;

export const call: Command = {
	help: () =>
		[
			"Usage: a2a-gateway call URL TEXT [FLAGS]",
			"",
			"Sends one message to an A2A agent and prints the answer. URL is the agent's base or card URL, or",
			"grpc://host:port or grpcs://host:port. Exit code 1 when the agent cannot be reached, answers with an",
			"error, or the task fails.",
			"",
			columns([
				["--binding NAME", "JSONRPC, GRPC or HTTP+JSON instead of the card's first."],
				["--protocol VERSION", "1.0, 0.3, 0.2 or 0.1 instead of what the card says."],
				["--stream", "Print events as they come."],
				["--json", "Print raw JSON: the answer, or one line for each event."],
				["--header 'NAME: VALUE'", "Sent along, to the card's place too. Repeatable."],
				["--timeout DURATION", "Longest to wait, such as 30s; 0 for ever. Default: 10m."],
				["--card FILE", "The agent's card from a file."],
				["--context ID", "Continue this context."],
				["--task ID", "Continue this task."],
			]),
		].join("\n"),
	async run(argv) {
		endWithReader();
		const args = readArgs(argv, FLAGS);
		const one = (name: string) => args.flags.get(name)?.[0];
		const [written, text, extra] = args.positionals;
		const url = agentUrl("call", written);
		if (text === undefined || text === "") throw usage("call", "needs a TEXT");
		if (extra !== undefined) throw usage("call", "takes one TEXT; put it in quotes");
		const wanted = {
			url,
			card: one("card"),
			binding: binding(one("binding")),
			version: protocol(one("protocol")),
			headers: headers(args),
		};
		const timeout = milliseconds(one("timeout") ?? "10m");
		const iface = await target(wanted);
		const stream = args.flags.has("stream");
		const message = {
			messageId: randomUUID(),
			role: "ROLE_USER",
			parts: [{ text }],
			...given("contextId", one("context")),
			...given("taskId", one("task")),
		};
		return await send(
			iface,
			{ message, ...given("tenant", iface.tenant) },
			{ stream, json: args.flags.has("json"), timeout, headers: wanted.headers },
		);
	},
};

type Wanted = Parameters<typeof find>[0];

/** The interface to use. A forced binding works without a card, at the URL itself. */
async function target(wanted: Wanted): Promise<Interface> {
	if (isGrpc(wanted.url) && wanted.card === undefined) return direct(wanted.url, wanted.version);
	try {
		const { choice } = await find(wanted);
		const { chosen, considered } = choice;
		const offered = considered.map(line).join("\n");
		if (!chosen) throw new Error(`none of the card's interfaces can be used:\n${offered}`);
		if (wanted.version !== undefined && chosen.version !== wanted.version) {
			return unlisted(wanted.version, wanted.binding, considered);
		}
		if (wanted.binding !== undefined && chosen.binding !== wanted.binding) {
			throw new Error(`the card offers no usable ${wanted.binding} interface:\n${offered}`);
		}
		return chosen;
	} catch (error) {
		if (!(error instanceof CardError) || wanted.binding === undefined || wanted.card !== undefined) throw error;
		warn(`note: ${error.operator}; calling ${wanted.url} as ${wanted.binding}`);
		const url = wanted.binding === "GRPC" ? wanted.url.replace(/^http(s?):/, "grpc$1:") : wanted.url;
		return { url, binding: wanted.binding, version: wanted.version ?? "1.0", tenant: "" };
	}
}

/** A version that the card does not list, asked for all the same: older ones are not listed by many who answer them. */
function unlisted(version: string, binding: string | undefined, considered: readonly Verdict[]): Interface {
	const spoken = dialectOf(version).bindings.filter((name) => binding === undefined || name === binding);
	const fits = considered.find(({ usable, interface: i }) => usable && spoken.includes(i.binding));
	if (!fits) {
		const over = binding ?? dialectOf(version).bindings.join(", ");
		const offered = considered.map(line).join("\n");
		throw new Error(`the card offers no interface for protocol version ${version} over ${over}:\n${offered}`);
	}
	const { url, binding: found } = fits.interface;
	warn(`note: the card does not list version ${version}; calling ${url} with it all the same`);
	return { url, binding: found, version, tenant: "" };
}

function line({ interface: i, verdict }: Verdict): string {
	return `  ${i.binding} ${i.version} ${i.url}: ${verdict}`;
}

interface SendOptions {
	readonly stream: boolean;
	readonly json: boolean;
	readonly timeout: number;
	readonly headers: Readonly<Record<string, string>>;
}

async function send(iface: Interface, value: Parameters<typeof fromValue>[1], options: SendOptions): Promise<0 | 1> {
	const upstream = reach(iface);
	const method = sendMethod(options.stream);
	const controller = new AbortController();
	const stop = () => controller.abort(new A2AError("CANCELLED", { message: "stopped" }));
	const late = () => controller.abort(new A2AError("DEADLINE_EXCEEDED", { message: "no answer in time (--timeout)" }));
	const timer = options.timeout > 0 ? setTimeout(late, options.timeout) : undefined;
	process.once("SIGINT", stop);
	const losses = new Losses();
	const request: Call = {
		method,
		request: fromValue(method.input, value),
		agent: "default",
		header: options.headers,
		query: {},
		principal: anonymous,
		origin: { binding: iface.binding, version: "1.0" },
		losses,
		id: randomUUID(),
		signal: controller.signal,
		...(options.timeout > 0 && { deadline: Date.now() + options.timeout }),
	};
	try {
		const printer = new Printer(out);
		for await (const payload of iterate(await upstream.handler(request))) {
			if (options.json) out(payload.text());
			printer.take(payload.json(), options.json);
		}
		if (!options.json) printer.finish();
		for (const { pointer, why } of losses.entries)
			warn(clean(`note: version ${iface.version}: ${pointer || "/"} ${why}`));
		return printer.failed ? 1 : 0;
	} catch (error) {
		throw controller.signal.aborted ? controller.signal.reason : error;
	} finally {
		clearTimeout(timer);
		process.off("SIGINT", stop);
		await upstream.close();
	}
}

function given(name: string, value: string | undefined): Record<string, string> {
	return value === undefined || value === "" ? {} : { [name]: value };
}

function headers(args: Args): Record<string, string> {
	const fields: Record<string, string> = {};
	for (const text of args.flags.get("header") ?? []) {
		const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(text);
		if (!match) throw usage("--header", "must be 'NAME: VALUE'");
		const name = (match[1] ?? "").toLowerCase();
		const value = (match[2] ?? "").trim();
		fields[name] = fields[name] === undefined ? value : `${fields[name]}, ${value}`;
	}
	return fields;
}

function milliseconds(text: string): number {
	try {
		return duration(0).read(text, "");
	} catch (error) {
		throw error instanceof ValueError ? usage("--timeout", error.message) : error;
	}
}

function usage(where: string, message: string): ConfigError {
	return new ConfigError([{ where, field: "", message }]);
}
