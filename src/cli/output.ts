/** What people see: results on standard output, everything else on standard error, errors in one line. */
import { A2AError } from "../call/error.ts";
import { KeyError } from "../card/sign-jwk.ts";
import { ConfigError } from "../config/index.ts";
import type { Exit } from "./command.ts";

export function out(text: string): void {
	process.stdout.write(`${text}\n`);
}

/** For commands that only print: a reader that has gone (`| head`) ends them quietly. */
export function endWithReader(): void {
	if (process.stdout.listenerCount("error") === 0) process.stdout.on("error", () => process.exit(0));
}

export function warn(text: string): void {
	process.stderr.write(`${text}\n`);
}

/** Says what went wrong, and with which exit code to end. */
export function fail(error: unknown): Exit {
	if (error instanceof ConfigError || error instanceof KeyError) {
		warn(error.message);
		return 2;
	}
	warn(`error: ${explain(error)}`);
	return 1;
}

const SYSTEM: Readonly<Record<string, string>> = {
	EADDRINUSE: "the address is already in use",
	EADDRNOTAVAIL: "this machine does not have that address",
	EACCES: "permission denied",
	ENOTFOUND: "the host name cannot be resolved",
	ECONNREFUSED: "connection refused",
};

/** One error, for a person: no stack, no control characters. */
export function explain(error: unknown): string {
	if (error instanceof A2AError) return clean(`${error.reason}: ${error.message}`);
	if (!(error instanceof Error)) return clean(String(error));
	const known = "code" in error && typeof error.code === "string" ? SYSTEM[error.code] : undefined;
	const text = error.message || error.name;
	return clean(known === undefined ? text : `${known} (${text})`);
}

/** Text from elsewhere must not drive the terminal. Line breaks and tabs stay. */
export function clean(text: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
	return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "\ufffd");
}
