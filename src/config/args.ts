/** Command lines: node:util's tokens, with errors that say what was meant. Every command of the CLI uses this. */
import { parseArgs } from "node:util";
import { ConfigError, type Problem, suggestion } from "./problem.ts";

export interface FlagSpec {
	/** Without dashes. */
	readonly name: string;
	/** Takes a value; a switch otherwise. */
	readonly value: boolean;
	readonly many: boolean;
}

export interface Args {
	readonly positionals: readonly string[];
	/** Values given, in order, by flag name; a switch has one empty string. */
	readonly flags: ReadonlyMap<string, readonly string[]>;
}

/** Throws ConfigError naming every flag that is wrong. */
export function readArgs(argv: readonly string[], specs: readonly FlagSpec[]): Args {
	const known = new Map(specs.map((spec) => [spec.name, spec]));
	const { tokens } = parseArgs({
		args: [...argv],
		options: Object.fromEntries(
			specs.map((spec) => [
				spec.name,
				{ type: spec.value ? ("string" as const) : ("boolean" as const), ...(spec.name === "help" && { short: "h" }) },
			]),
		),
		strict: false,
		allowPositionals: true,
		tokens: true,
	});
	const problems: Problem[] = [];
	const positionals: string[] = [];
	const flags = new Map<string, string[]>();
	const wrong = (where: string, message: string) => problems.push({ where, field: "", message });
	for (const token of tokens) {
		if (token.kind === "positional") positionals.push(token.value);
		if (token.kind !== "option") continue;
		const spec = known.get(token.name);
		const { rawName, value } = token;
		if (!spec) {
			wrong(rawName, `unknown flag${suggestion(token.name, [...known.keys()], "--")}`);
			continue;
		}
		if (!spec.value && value !== undefined) wrong(rawName, "takes no value");
		if (spec.value && value === undefined) wrong(rawName, "needs a value");
		if (spec.value && value !== undefined && !token.inlineValue && value.startsWith("--")) {
			wrong(rawName, `needs a value (write ${rawName}=${value} if "${value}" is meant)`);
		}
		const given = flags.get(spec.name) ?? [];
		if (given.length > 0 && !spec.many && spec.value) wrong(rawName, "may be given only once");
		flags.set(spec.name, [...given, value ?? ""]);
	}
	if (problems.length > 0) throw new ConfigError(problems);
	return { positionals, flags };
}
