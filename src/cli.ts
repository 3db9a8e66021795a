/** The command line: picks a command, runs it, and turns its outcome into an exit code: 0, 2 for usage and configuration, 1 for the rest. */
import type { Exit } from "./cli/command.ts";
import { commands } from "./cli/commands.ts";
import { fail, out, warn } from "./cli/output.ts";
import { version } from "./cli/version.ts";
import { ConfigError, columns, suggestion } from "./config/index.ts";

/** Runs one command. Never throws; what goes wrong is said on standard error, without stack traces. */
export async function main(argv: readonly string[]): Promise<Exit> {
	const [name, ...rest] = argv;
	try {
		if (name === undefined || name === "--help" || name === "-h" || name === "help") {
			(name === undefined ? warn : out)(usage());
			return name === undefined ? 2 : 0;
		}
		if (name === "--version" || name === "-V" || name === "version") {
			out(version());
			return 0;
		}
		const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
		if (!command) {
			const what = name.startsWith("-") ? "flag" : "command";
			const known = Object.keys(commands);
			throw usageError(
				`unknown ${what} "${name}"${what === "command" ? suggestion(name, known) : ""}; see a2a-gateway --help`,
			);
		}
		const { help, run } = await command.load();
		if (rest.includes("--help") || rest.includes("-h")) {
			out(help());
			return 0;
		}
		return await run(rest);
	} catch (error) {
		return fail(error);
	}
}

function usageError(message: string): ConfigError {
	return new ConfigError([{ where: "", field: "", message }]);
}

function usage(): string {
	const rows = Object.entries(commands).flatMap(([name, { args, doc }]) =>
		doc === undefined ? [] : [[`${name}${args && ` ${args}`}`, doc]],
	);
	return [
		`a2a-gateway ${version()}: serves an A2A agent over JSON-RPC, gRPC, gRPC-Web, Connect and HTTP+JSON`,
		"",
		"Usage: a2a-gateway COMMAND [FLAGS]",
		"",
		columns(rows),
		columns([
			["--version", "Print the version."],
			["--help", "This text; a2a-gateway COMMAND --help tells about a command."],
		]),
	].join("\n");
}
