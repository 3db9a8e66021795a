/** Streams of 100 events, paced and as fast as they come, against a raw relay; and the time to the first event. */
import { performance } from "node:perf_hooks";
import { closedLoop, loopFor, median } from "../load/client.ts";
import { label, pair, type Route, type Stage } from "../stage.ts";
import { grpcToJson, jsonToGrpc, jsonToJson } from "./unary.ts";

const inFlight = 64;
const events = 100;
/** Milliseconds between the events of a paced stream: with 64 in flight just more than the raw relay can carry. */
const gap = 1;

const relay: Route = { kind: "plain", name: "sse-relay", from: "JSONRPC", to: "JSONRPC" };
const ours: readonly Route[] = [jsonToJson, jsonToGrpc, grpcToJson];
const routes = [relay, ...ours];

interface Samples {
	/** Streams per second and µs of CPU per stream. */
	readonly rate: number[];
	readonly cpu: number[];
}

async function complete(stream: () => Promise<number>): Promise<void> {
	const count = await stream();
	if (count !== events) throw new Error(`a stream of ${events} events arrived with ${count}`);
}

async function measure(stage: Stage, route: Route, samples: Samples): Promise<void> {
	const child = await stage.subject(route);
	const load = stage.client(route, child);
	await closedLoop(inFlight, inFlight, () => complete(load.stream));
	const before = await child.usage();
	const ms = await closedLoop(stage.plan.streams, inFlight, () => complete(load.stream));
	const after = await child.usage();
	load.close();
	samples.rate.push((stage.plan.streams / ms) * 1000);
	samples.cpu.push((after.cpu - before.cpu) / stage.plan.streams);
}

async function warm(stage: Stage, route: Route): Promise<void> {
	const load = stage.client(route, await stage.subject(route));
	await loopFor(stage.plan.warmStream, inFlight, () => complete(load.stream));
	load.close();
}

async function toFirst(stage: Stage, route: Route): Promise<number> {
	const through = stage.client(route, await stage.subject(route));
	const direct = stage.direct(route.from);
	const times = { through: [] as number[], direct: [] as number[] };
	for (let i = 0; i < stage.plan.firstEvents + 10; i++) {
		for (const [name, one] of [["direct", direct] as const, ["through", through] as const]) {
			const begun = performance.now();
			await one.stream(() => {
				if (i >= 10) times[name].push(performance.now() - begun);
			});
		}
	}
	through.close();
	direct.close();
	return median(times.through) - median(times.direct);
}

export async function stream(stage: Stage): Promise<void> {
	await stage.mode({ events });
	for (const route of routes) {
		stage.note(`warming streams of ${label(route)}`);
		await stage.attempt(route, { doing: "streams' warm-up", limit: 60_000 }, () => warm(stage, route));
	}
	for (const [target, pacing] of [["paced", gap] as const, ["unpaced", 0] as const]) {
		await stage.mode({ events, gap: pacing });
		const samples = new Map<Route, Samples>(routes.map((route) => [route, { rate: [], cpu: [] }]));
		for (let round = 1; round <= stage.plan.rounds; round++) {
			stage.note(`${target} streams, round ${round} of ${stage.plan.rounds}`);
			for (const route of round % 2 === 1 ? routes : routes.toReversed()) {
				const into = samples.get(route) as Samples;
				await stage.attempt(route, { doing: `${target} streams`, limit: 60_000 }, () => measure(stage, route, into));
			}
		}
		const rate = (route: Route) => median(samples.get(route)?.rate ?? []);
		const text = (route: Route) =>
			`${rate(route).toFixed(0)}/s (${median(samples.get(route)?.cpu ?? []).toFixed(0)} µs)`;
		for (const route of ours) {
			const value = rate(route) / rate(relay);
			stage.record(
				target,
				pair(route),
				value,
				Number.isNaN(value) ? stage.why(route) : `${text(route)} ÷ ${text(relay)}`,
			);
		}
	}
	await firstEvents(stage);
}

async function firstEvents(stage: Stage): Promise<void> {
	await stage.mode({ events: 2, gap });
	const samples = new Map<Route, number[]>(routes.map((route) => [route, []]));
	for (let round = 1; round <= stage.plan.rounds; round++) {
		stage.note(`first events, round ${round} of ${stage.plan.rounds}`);
		for (const route of routes) {
			const added = await stage.attempt(route, { doing: "first events", limit: 60_000 }, () => toFirst(stage, route));
			if (added !== undefined) samples.get(route)?.push(added);
		}
	}
	const added = (route: Route) => median(samples.get(route) ?? []);
	for (const route of ours) {
		const value = added(route);
		const raw = Number.isNaN(value) ? stage.why(route) : `relay ${added(relay).toFixed(2)} ms`;
		stage.record("firstEvent", pair(route), value, raw);
	}
}
