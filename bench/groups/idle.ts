/** Thousands of silent streams: what each costs in resident memory, and whether the agent is freed when clients vanish. */
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { closedLoop } from "../load/client.ts";
import { label, pair, type Route, type Stage } from "../stage.ts";
import { jsonToGrpc, jsonToJson } from "./unary.ts";

const patience = 5_000;

/** As many streams as file descriptors allow: the gateway holds two per stream (node raises soft limits by itself). */
function affordable(stage: Stage): number {
	let limit: number;
	try {
		limit = Number(execFileSync("sh", ["-c", "ulimit -Hn"], { encoding: "utf8" }).replace("unlimited", "Infinity"));
	} catch {
		return stage.plan.idleStreams;
	}
	const most = Math.floor((limit - 300) / 2);
	if (!(most < stage.plan.idleStreams)) return stage.plan.idleStreams;
	stage.note(`ATTENTION: ulimit -n is ${limit}; only ${most} idle streams instead of ${stage.plan.idleStreams}`);
	return most;
}

async function openStreams(stage: Stage): Promise<number> {
	return await stage.agent.ask<number>("open");
}

/** Waits until the agent has no open stream, at most `patience`; resolves with how many are left and how long it took. */
async function drained(stage: Stage): Promise<{ left: number; ms: number }> {
	for (let ms = 0; ; ms += 50) {
		const left = await openStreams(stage);
		if (left === 0 || ms >= patience) return { left, ms };
		await sleep(50);
	}
}

async function measure(stage: Stage, route: Route, count: number): Promise<void> {
	const child = await stage.fresh(route);
	try {
		const before = await openStreams(stage);
		if (before !== 0) throw new Error(`the agent still has ${before} streams open from before`);
		const trial = stage.client(route, child);
		await closedLoop(200, 32, trial.hold);
		trial.leave();
		await drained(stage);
		await sleep(200);
		const base = await child.collect();
		const clients = stage.client(route, child);
		await closedLoop(count, 32, clients.hold);
		const open = await openStreams(stage);
		if (open < count) throw new Error(`the agent has ${open} of ${count} streams`);
		const full = await child.collect();
		clients.leave();
		const { left, ms } = await drained(stage);
		const kib = (full.rss - base.rss) / 1024 / count;
		const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
		const what = `${pair(route)}, ${count}`;
		stage.record("idle", what, kib, `resident ${mib(base.rss)} → ${mib(full.rss)} MiB`);
		stage.record("left", what, left, left === 0 ? `all gone after ${ms} ms` : `${left} of ${count} still open`);
	} finally {
		await child.stop();
		await drained(stage);
	}
}

export async function idle(stage: Stage): Promise<void> {
	const count = affordable(stage);
	await stage.mode({ hold: true });
	for (const route of [jsonToJson, jsonToGrpc]) {
		stage.note(`${count} idle streams through ${label(route)}`);
		const recorded = stage.findings.length;
		await stage.attempt(route, { doing: "idle streams", limit: 90_000, fresh: true }, () =>
			measure(stage, route, count),
		);
		if (stage.findings.length > recorded) continue;
		for (const target of ["idle", "left"] as const)
			stage.record(target, pair(route), Number.NaN, stage.why(route, "idle streams"));
	}
	await stage.mode({});
}
