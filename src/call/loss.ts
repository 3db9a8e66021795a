/** What a translation could not carry: found while translating, reported to the client, the log and the counters. */

/** Takes one loss: a JSON pointer (RFC 6901) into the message as its sender wrote it, and why. */
export interface Loss {
	(pointer: string, why: string): void;
	/** Takes a loss back: the message went on as it came, after all. */
	readonly undo?: (pointer: string, why: string) => void;
}

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

/** The header that tells the client (design/contract.md). */
export const LOSS_HEADER = "a2a-gateway-loss";

/** Most losses kept of one call: a message may be made to lose a million. */
const KEPT = 256;
/** Most characters of pointers in the header: clients bound theirs. */
const LISTED = 2048;

/** What was lost in one call, on its way there and back. */
export class Losses {
	readonly entries: LossEntry[] = [];
	/** Refuse what cannot be carried instead of reporting it. */
	strict = false;

	readonly add: Loss = Object.assign(
		(pointer: string, why: string) => {
			if (this.entries.length < KEPT && !this.entries.some((e) => e.pointer === pointer && e.why === why))
				this.entries.push({ pointer, why });
		},
		{
			undo: (pointer: string, why: string) => {
				const at = this.entries.findIndex((e) => e.pointer === pointer && e.why === why);
				if (at >= 0) this.entries.splice(at, 1);
			},
		},
	);

	/** In strict mode, throws what `refuse` makes of the losses so far. */
	check(refuse: (entries: readonly LossEntry[]) => Error): void {
		if (this.strict && this.entries.length > 0) throw refuse(this.entries);
	}

	/** Value of the header: pointers, comma-separated, percent-encoded beyond visible ASCII; undefined when nothing was lost. */
	header(): string | undefined {
		if (this.entries.length === 0) return undefined;
		const pointers = [...new Set(this.entries.map((e) => e.pointer || "/"))];
		let listed = "";
		for (const pointer of pointers) {
			const text = pointer
				.toWellFormed()
				.replaceAll(/[^!-~]|[%,]/gu, encodeURIComponent)
				.replaceAll(",", "%2C");
			if (listed.length + text.length > LISTED) return listed === "" ? "..." : `${listed}, ...`;
			listed += listed === "" ? text : `, ${text}`;
		}
		return listed;
	}
}
