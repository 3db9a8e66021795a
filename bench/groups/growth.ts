/** Many calls through one process: memory after garbage collection must not grow in the second half. */
import { closedLoop } from "../load/client.ts";
import { label, pair, type Route, type Stage } from "../stage.ts";
import { jsonToGrpc } from "./unary.ts";

const inFlight = 64;
const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1);

async function measure(stage: Stage, route: Route): Promise<void> {
	const child = await stage.subject(route);
	const load = stage.client(route, child);
	const half = stage.plan.growthCalls / 2;
	await closedLoop(half, inFlight, () => load.call());
	const middle = await child.collect();
	await closedLoop(half, inFlight, () => load.call());
	const end = await child.collect();
	load.close();
	const heap = end.heap + end.external - middle.heap - middle.external;
	const what = `${pair(route)}, ${stage.plan.growthCalls} calls`;
	stage.record("growth", what, heap / half, `heap ${mib(middle.heap)} → ${mib(end.heap)} MiB`);
	const rss = ((end.rss - middle.rss) / middle.rss) * 100;
	stage.record("growthRss", what, rss, `resident ${mib(middle.rss)} → ${mib(end.rss)} MiB`);
}

export async function growth(stage: Stage): Promise<void> {
	await stage.mode({});
	stage.note(`${stage.plan.growthCalls} calls through ${label(jsonToGrpc)}`);
	const recorded = stage.findings.length;
	await stage.attempt(jsonToGrpc, { doing: "many calls", limit: 240_000 }, () => measure(stage, jsonToGrpc));
	if (stage.findings.length > recorded) return;
	for (const target of ["growth", "growthRss"] as const) {
		stage.record(target, pair(jsonToGrpc), Number.NaN, stage.why(jsonToGrpc));
	}
}
