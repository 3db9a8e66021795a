/** `check FILE`: validates a configuration file, every mistake with its line. */
import { ConfigError, checkFile, readArgs } from "../config/index.ts";
import type { Command } from "./command.ts";
import { out } from "./output.ts";

export const check: Command = {
	help: () =>
		[
			"Usage: a2a-gateway check FILE",
			"",
			"Validates a configuration file. Prints ok, or every mistake as FILE:LINE:COLUMN: FIELD: TEXT (exit code 2).",
			"References are followed: variables must be set and files readable.",
		].join("\n"),
	async run(argv) {
		const { positionals } = readArgs(argv, []);
		const [file, extra] = positionals;
		if (file === undefined || extra !== undefined) {
			throw new ConfigError([{ where: "check", field: "", message: "needs one FILE" }]);
		}
		checkFile(file, process.env);
		out("ok");
		return 0;
	},
};
