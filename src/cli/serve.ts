/** `serve`: the gateway as a process: configuration, one line when ready, signals, the demo agent when there is no other. */
import {
	type Config,
	columns,
	createLog,
	flagHelp,
	type Log,
	loadConfig,
	makeAgent,
	withAgents,
} from "../config/index.ts";
import type { Demo } from "../demo/index.ts";
import type { Command, Exit } from "./command.ts";
import { explain, out, warn } from "./output.ts";
import { version } from "./version.ts";

export const serve: Command = {
	help: () =>
		[
			"Usage: a2a-gateway serve [FLAGS]",
			"",
			"Serves an A2A agent over JSON-RPC, HTTP+JSON, gRPC, gRPC-Web and Connect on one port.",
			"Every flag is also an environment variable (--public-url: A2A_GATEWAY_PUBLIC_URL) and a field of the",
			"configuration file. A flag comes before the environment, the environment before the file.",
			"",
			flagHelp(),
			"",
			columns([
				["SIGTERM, SIGINT", "Drain and stop; a second one stops at once."],
				["exit code", "0 after a clean stop, 2 for wrong usage or configuration, 1 for anything else."],
			]),
		].join("\n"),
	async run(argv) {
		const config = loadConfig(argv, {
			env: process.env,
			cwd: process.cwd(),
			terminal: process.stderr.isTTY === true,
		});
		const color = process.stderr.isTTY === true && !process.env["NO_COLOR"];
		const log = createLog({ ...config.log, color });
		guard(log);
		// From here on a signal is an orderly end, even before the gateway is up.
		const stopped = signals(log);
		// Loaded when the configuration is good: a mistake in it is told at once.
		const demo =
			config.agents.length === 0 && config.agentsDir === undefined
				? await (await import("../demo/index.ts")).startDemo()
				: undefined;
		try {
			return await run(demo ? withDemo(config, demo) : config, demo !== undefined, log, stopped);
		} finally {
			await demo?.close();
		}
	},
};

function withDemo(config: Config, demo: Demo): Config {
	return withAgents(config, [makeAgent("default", demo.url, config.timeouts)]);
}

async function run(config: Config, demo: boolean, log: Log, stopped: Promise<string>): Promise<Exit> {
	const start = async () => (await import("../gateway.ts")).startGateway(config, { log, version: version() });
	// It may wait a while for its agents; who wants it to stop need not.
	const gateway = await Promise.race([start(), stopped]);
	if (typeof gateway === "string") {
		log.info("stopped before it was up", { signal: gateway });
		return 0;
	}
	const examples = demo ? (await import("./examples.ts")).examples(gateway.url) : undefined;
	out(`a2a-gateway listening on ${gateway.url}`);
	if (examples !== undefined) warn(examples);
	const signal = await stopped;
	log.info("draining", { signal, deadlineMs: config.timeouts.drain });
	// The gateway keeps the deadline; this only stands behind it.
	const overdue = setTimeout(() => {
		log.error("the drain deadline has passed and the gateway has not stopped");
		process.exit(1);
	}, config.timeouts.drain + 5_000);
	await gateway.close();
	clearTimeout(overdue);
	log.info("stopped");
	return 0;
}

/** Resolves with the first SIGTERM or SIGINT; the second ends the process at once. */
function signals(log: Log): Promise<string> {
	return new Promise((resolve) => {
		let first = true;
		const stop = (signal: string) => {
			if (!first) process.exit(1);
			first = false;
			resolve(signal);
		};
		process.on("SIGTERM", stop);
		process.on("SIGINT", stop);
		// Reserved for reloading. On a terminal it means that the terminal has gone.
		process.on("SIGHUP", (signal) => {
			if (process.stdin.isTTY) stop(signal);
			else log.warn("SIGHUP is reserved and does nothing in this build");
		});
	});
}

/** A bug ends the process, loudly and with code 1: going on in an unknown state would be worse. */
function guard(log: Log): void {
	const die = (kind: string) => (error: unknown) => {
		const stack = error instanceof Error ? error.stack : undefined;
		log.error(`${kind}: ${explain(error)}`, { error, ...(stack !== undefined && { stack }) });
		process.exit(1);
	};
	process.prependListener("uncaughtException", die("uncaught exception"));
	process.prependListener("unhandledRejection", die("unhandled rejection"));
	// A reader of the log or of the one line that has gone is no reason to stop serving.
	process.stderr.on("error", () => {});
	process.stdout.on("error", () => {});
}
