/** What is wrong with a configuration, told where it is wrong: a file's line and column, a flag or a variable. */

/** One mistake. */
export interface Problem {
	/** `gateway.yaml:12:5`, `--listen` or `A2A_GATEWAY_LISTEN`; "" when it has no place of its own. */
	readonly where: string;
	/** The field, dotted: `timeouts.unary`; "" where `where` already names it. */
	readonly field: string;
	readonly message: string;
}

/** All mistakes found in one go. The message is made for people: one line each. Ends the process with code 2. */
export class ConfigError extends Error {
	override readonly name = "ConfigError";
	readonly problems: readonly Problem[];
	constructor(problems: readonly Problem[]) {
		super(problems.map(line).join("\n"));
		this.problems = problems;
	}
}

function line(problem: Problem): string {
	return [problem.where, problem.field, problem.message].filter((part) => part !== "").join(": ");
}

/** A value that does not fit; the text says what would. Never repeats the value: it may be a secret. */
export class ValueError extends Error {
	override readonly name = "ValueError";
}

/** Mistakes inside a value that is a mapping or a list, each with its place there. */
export class TreeError extends ValueError {
	readonly mistakes: readonly TreeMistake[];
	constructor(mistakes: readonly TreeMistake[]) {
		super(mistakes.map(({ message }) => message).join("; "));
		this.mistakes = mistakes;
	}
}

export interface TreeMistake {
	/** Member names and list positions. */
	readonly at: readonly (string | number)[];
	readonly message: string;
}

/** The candidate nearest to what was written, if it is near enough to be a slip. */
export function nearest(written: string, candidates: readonly string[]): string | undefined {
	let best: string | undefined;
	let least = Math.max(2, Math.floor(written.length / 3)) + 1;
	for (const candidate of candidates) {
		const steps = distance(written, candidate);
		if (steps < least) [best, least] = [candidate, steps];
	}
	return best;
}

/** " (did you mean X?)" or nothing. */
export function suggestion(written: string, candidates: readonly string[], prefix = ""): string {
	const found = nearest(written, candidates);
	return found === undefined ? "" : ` (did you mean ${prefix}${found}?)`;
}

/** Levenshtein's distance, a row at a time. */
function distance(a: string, b: string): number {
	let row = Array.from({ length: b.length + 1 }, (_, i) => i);
	for (let i = 1; i <= a.length; i++) {
		const next = [i];
		for (let j = 1; j <= b.length; j++) {
			const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
			next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
		}
		row = next;
	}
	return row[b.length] ?? 0;
}
