/**
 * The child's half of the measuring protocol: `node --import ./bench/probe.ts ANYTHING` answers the parent's questions
 * over IPC, so that the gateway itself is measured without knowing it.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What a child reports about itself. CPU in microseconds of user and system time, memory in bytes. */
export interface Usage {
	readonly cpu: number;
	readonly rss: number;
	/** Largest resident memory since the process started. */
	readonly peak: number;
	readonly heap: number;
	readonly external: number;
}

/** A question: `usage`, `collect` (the same after full garbage collections), or one that the program itself answers. */
export interface Ask {
	readonly ask: string;
	readonly id: number;
	readonly value?: unknown;
}

type Answer = (value: unknown) => unknown;

const answers = new Map<string, Answer>();

/** Lets the program behind this probe answer a question of its own. */
export function onAsk(name: string, answer: Answer): void {
	answers.set(name, answer);
}

/** Tells the parent that the program serves; `ports` by name. */
export function ready(ports: Record<string, number>): void {
	process.stdout.write(`${JSON.stringify(ports)}\n`);
}

function usage(): Usage {
	const { user, system } = process.cpuUsage();
	const { rss, heapUsed, external } = process.memoryUsage();
	return { cpu: user + system, rss, peak: process.resourceUsage().maxRSS * 1024, heap: heapUsed, external };
}

let collector: (() => void) | undefined;

async function collect(): Promise<Usage> {
	if (collector === undefined) {
		setFlagsFromString("--expose-gc");
		collector = runInNewContext("gc") as () => void;
	}
	// Twice with a turn between: finalizers of the first round free what the second collects.
	for (let round = 0; round < 3; round++) {
		collector();
		await new Promise((resolve) => setTimeout(resolve, 30));
	}
	return usage();
}

onAsk("usage", usage);
onAsk("collect", collect);

if (process.send !== undefined) {
	process.on("message", async (message: Ask) => {
		const answer = answers.get(message.ask);
		const value = await answer?.(message.value);
		process.send?.({ id: message.id, value });
	});
	// The parent has gone: nobody measures any more.
	process.on("disconnect", () => process.exit(0));
	// A program that has nothing left to do ends, as it would without a probe.
	process.channel?.unref();
}
