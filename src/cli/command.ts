/** What a command of the program is. */

/** 0 = done, 2 = wrong usage or configuration, 1 = anything else (design/contract.md). */
export type Exit = 0 | 1 | 2;

export interface Command {
	/** The text of COMMAND --help. */
	help(): string;
	/** Runs it. ConfigError thrown = exit code 2, anything else 1. */
	run(argv: readonly string[]): Promise<Exit>;
}
