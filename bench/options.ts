/** What a run of the benchmark may be told, and how much work each mode does: bounded in count and in time. */
import { parseArgs } from "node:util";

export const groups = ["unary", "stream", "growth", "idle", "large", "start"] as const;
export type Group = (typeof groups)[number];

/** The amount of work of one run. Times in milliseconds. */
export interface Plan {
	readonly rounds: number;
	/** Warm-up of a gateway: protobuf codecs need long (design/performance.md, trap 5). */
	readonly warm: number;
	/** Warm-up of a plain proxy, which has no codec to heat. */
	readonly warmPlain: number;
	readonly warmStream: number;
	/** Calls per round: a plain proxy, our gateway, the SDK's. */
	readonly calls: { readonly plain: number; readonly ours: number; readonly sdk: number };
	/** Calls per round one at a time, for latency. */
	readonly single: number;
	/** Streams of 100 events per round, and of 2 events one at a time. */
	readonly streams: number;
	readonly firstEvents: number;
	readonly idleStreams: number;
	readonly growthCalls: number;
	readonly starts: number;
	/** 10 MB answers besides 10 MB requests. */
	readonly largeAnswers: boolean;
	/** The whole run is given up after this. */
	readonly limit: number;
}

const full: Plan = {
	rounds: 3,
	warm: 15_000,
	warmPlain: 6_000,
	warmStream: 5_000,
	calls: { plain: 8_000, ours: 6_000, sdk: 2_000 },
	single: 300,
	streams: 384,
	firstEvents: 150,
	idleStreams: 5_000,
	growthCalls: 200_000,
	starts: 5,
	largeAnswers: true,
	limit: 15 * 60_000,
};

const quick: Plan = {
	rounds: 3,
	warm: 2_000,
	warmPlain: 1_000,
	warmStream: 500,
	calls: { plain: 1_500, ours: 1_000, sdk: 400 },
	single: 100,
	streams: 128,
	firstEvents: 50,
	idleStreams: 1_000,
	growthCalls: 20_000,
	starts: 3,
	largeAnswers: false,
	limit: 5 * 60_000,
};

export interface Options {
	readonly quick: boolean;
	readonly assert: boolean;
	readonly json: string | undefined;
	/** Measures the SDK's gateway in the place of ours. */
	readonly sdk: boolean;
	readonly only: ReadonlySet<Group>;
	readonly plan: Plan;
}

export const usage = `npm run bench -- [--quick] [--only GROUP,...] [--json FILE] [--assert] [--sdk]

  --quick        about a minute; under-heated, so for a look only
  --only GROUPS  of ${groups.join(", ")}
  --json FILE    also writes every number
  --sdk          measures the gateway built from the official SDK in the place of ours
  --assert       exit code 1 when a target of the first issue is missed or not measured
`;

/** Reads the command line. Throws TypeError on a flag or group that does not exist. */
export function readOptions(argv: readonly string[]): Options | "help" {
	const { values } = parseArgs({
		args: [...argv],
		options: {
			quick: { type: "boolean", default: false },
			assert: { type: "boolean", default: false },
			json: { type: "string" },
			only: { type: "string" },
			sdk: { type: "boolean", default: false },
			help: { type: "boolean", default: false },
		},
	});
	if (values.help) return "help";
	const named = values.only?.split(",") ?? groups;
	const only = new Set(groups.filter((group) => named.includes(group)));
	const unknown = named.find((name) => !groups.some((group) => group === name));
	if (unknown !== undefined) throw new TypeError(`there is no group "${unknown}"; there are ${groups.join(", ")}`);
	const { quick: isQuick, assert, json, sdk } = values;
	return { quick: isQuick, assert, json, sdk, only, plan: isQuick ? quick : full };
}
