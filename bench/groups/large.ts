/** One 10 MB message: how far memory rises in a process that has seen none, and whether time stays linear in size. */
import { performance } from "node:perf_hooks";
import { closedLoop, type LoadClient } from "../load/client.ts";
import { label, pair, type Route, type Stage } from "../stage.ts";
import { grpcToJson, jsonToGrpc, jsonToJson } from "./unary.ts";

const size = 10e6;
const repeats = 5;

interface Case {
	readonly route: Route;
	readonly direction: "request" | "answer";
}

/** Milliseconds that `count` messages of `bytes` take, one after the other; as requests with `body`, else as answers. */
async function timed(stage: Stage, load: LoadClient, bytes: number, count: number, body?: Buffer): Promise<number> {
	if (body === undefined) await stage.mode({ answer: bytes });
	const begun = performance.now();
	for (let i = 0; i < count; i++) await load.call(body);
	return performance.now() - begun;
}

async function measure(stage: Stage, one: Case): Promise<void> {
	const child = await stage.fresh(one.route);
	const load = stage.client(one.route, child);
	try {
		await stage.mode({});
		await closedLoop(200, 8, () => load.call());
		const prepare = (bytes: number) => (one.direction === "request" ? load.prepare(bytes) : undefined);
		const bodies = { whole: prepare(size), half: prepare(size / 2) };
		const base = await child.collect();
		await timed(stage, load, size, 1, bodies.whole);
		const { peak } = await child.usage();
		// The same bytes as fewer or as more messages: garbage collection weighs on both alike. The best of the repeats,
		// because whoever else uses the machine only ever adds.
		const times = { whole: [] as number[], halves: [] as number[] };
		for (let round = 0; round <= repeats; round++) {
			const halves = await timed(stage, load, size / 2, 8, bodies.half);
			const whole = await timed(stage, load, size, 4, bodies.whole);
			if (round === 0) continue; // warm-up
			times.halves.push(halves / 8);
			times.whole.push(whole / 4);
		}
		const what = `${pair(one.route)}, ${one.direction}`;
		const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
		stage.record("large", what, (peak - base.rss) / size, `resident ${mib(base.rss)} → ${mib(peak)} MiB`);
		const [half, whole] = [Math.min(...times.halves), Math.min(...times.whole)];
		stage.record("linear", what, whole / 2 / half, `${half.toFixed(0)} → ${whole.toFixed(0)} ms`);
	} finally {
		load.close();
		await child.stop();
	}
}

export async function large(stage: Stage): Promise<void> {
	const cases: Case[] = [
		{ route: jsonToGrpc, direction: "request" },
		{ route: jsonToJson, direction: "request" },
	];
	if (stage.plan.largeAnswers) {
		cases.push({ route: grpcToJson, direction: "request" });
		cases.push({ route: jsonToGrpc, direction: "answer" }, { route: jsonToJson, direction: "answer" });
	}
	for (const one of cases) {
		stage.note(`10 MB ${one.direction} through ${label(one.route)}`);
		const recorded = stage.findings.length;
		await stage.attempt(one.route, { doing: `10 MB ${one.direction}`, limit: 60_000, fresh: true }, () =>
			measure(stage, one),
		);
		if (stage.findings.length > recorded) continue;
		const what = `${pair(one.route)}, ${one.direction}`;
		for (const target of ["large", "linear"] as const)
			stage.record(target, what, Number.NaN, stage.why(one.route, `10 MB ${one.direction}`));
	}
	await stage.mode({});
}
