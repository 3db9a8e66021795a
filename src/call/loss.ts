/** What a translation could not carry: found while translating, reported to the client, the log and the counters. */

/** Takes one loss: a JSON pointer (RFC 6901) into the message as its sender wrote it, and why. */
export type Loss = (pointer: string, why: string) => void;

export interface LossEntry {
	readonly pointer: string;
	readonly why: string;
}

/** For translations whose losses nobody asks for. */
export const unreported: Loss = () => {};

/** A JSON pointer one step deeper. */
export function pointer(base: string, step: string | number): string {
	return `${base}/${typeof step === "number" ? step : step.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
