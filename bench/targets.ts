/** The targets of design/performance.md, one entry per row: what is measured and what it must be from the first issue. */

/** A bound in the row's unit. */
export interface Bound {
	readonly op: "≤" | "≥";
	readonly value: number;
}

export interface Target {
	readonly work: string;
	readonly measure: string;
	readonly unit: string;
	/** Column "from the first issue"; undefined = "–". */
	readonly first: Bound | undefined;
	/** Column "wanted". */
	readonly wanted: Bound | undefined;
}

const atMost = (value: number): Bound => ({ op: "≤", value });
const atLeast = (value: number): Bound => ({ op: "≥", value });
const cpu = "CPU per call ÷ pass-through's";

export const targets = {
	cpuJsonGrpc: { work: "JSONRPC → GRPC", measure: cpu, unit: "×", first: atMost(5), wanted: atMost(2.5) },
	cpuGrpcJson: { work: "GRPC → JSONRPC", measure: cpu, unit: "×", first: atMost(4), wanted: atMost(2) },
	cpuJsonJson: { work: "JSONRPC → JSONRPC", measure: cpu, unit: "×", first: atMost(2.5), wanted: atMost(1.4) },
	cpuPlain: {
		work: "any pair",
		measure: "CPU per call ÷ http-proxy's",
		unit: "×",
		first: atMost(2),
		wanted: atMost(1),
	},
	throughput: {
		work: "any pair",
		measure: "calls/s ÷ SDK gateway's",
		unit: "×",
		first: atLeast(2),
		wanted: atLeast(5),
	},
	latency: {
		work: "any pair",
		measure: "added p50, one at a time",
		unit: "ms",
		first: atMost(0.8),
		wanted: atMost(0.35),
	},
	paced: {
		work: "100 events, paced",
		measure: "streams/s ÷ relay's",
		unit: "×",
		first: atLeast(0.5),
		wanted: atLeast(0.8),
	},
	unpaced: {
		work: "100 events, unpaced",
		measure: "streams/s ÷ relay's",
		unit: "×",
		first: atLeast(0.3),
		wanted: atLeast(0.6),
	},
	firstEvent: {
		work: "stream",
		measure: "added p50 to first event",
		unit: "ms",
		first: atMost(0.9),
		wanted: atMost(0.4),
	},
	idle: { work: "idle streams", measure: "resident memory each", unit: "KiB", first: atMost(70), wanted: atMost(45) },
	left: {
		work: "clients leave",
		measure: "agent's streams open after 5 s",
		unit: "",
		first: atMost(0),
		wanted: atMost(0),
	},
	large: { work: "10 MB message", measure: "peak memory ÷ size", unit: "×", first: atMost(6), wanted: atMost(3.5) },
	// A quadratic step doubles the time per byte from 5 to 10 MB, a linear one keeps it.
	linear: {
		work: "10 MB message",
		measure: "time per byte ÷ at 5 MB",
		unit: "×",
		first: atMost(1.5),
		wanted: atMost(1.5),
	},
	// One forgotten object per call is at least 16 bytes.
	growth: {
		work: "many calls",
		measure: "heap growth, second half",
		unit: "B/call",
		first: atMost(8),
		wanted: atMost(8),
	},
	growthRss: {
		work: "many calls",
		measure: "resident growth, second half",
		unit: "%",
		first: atMost(10),
		wanted: atMost(10),
	},
	start: { work: "start to ready", measure: "wall", unit: "ms", first: undefined, wanted: atMost(400) },
	rss: { work: "idle process", measure: "resident memory", unit: "MiB", first: undefined, wanted: atMost(80) },
} satisfies Record<string, Target>;

export type TargetName = keyof typeof targets;

export function met(bound: Bound, value: number): boolean {
	return bound.op === "≤" ? value <= bound.value : value >= bound.value;
}
