/** Unary calls: CPU per call and throughput with 64 in flight, added latency one at a time, all subjects interleaved. */
import { performance } from "node:perf_hooks";
import { closedLoop, loopFor, median } from "../load/client.ts";
import { label, pair, type Route, type Stage } from "../stage.ts";
import type { TargetName } from "../targets.ts";

const inFlight = 64;

export const passthrough: Route = { kind: "plain", name: "passthrough", from: "JSONRPC", to: "JSONRPC" };
const plainProxy: Route = { kind: "plain", name: "http-proxy", from: "JSONRPC", to: "JSONRPC" };
export const jsonToGrpc: Route = { kind: "ours", name: "ours", from: "JSONRPC", to: "GRPC" };
export const grpcToJson: Route = { kind: "ours", name: "ours", from: "GRPC", to: "JSONRPC" };
export const jsonToJson: Route = { kind: "ours", name: "ours", from: "JSONRPC", to: "JSONRPC" };
const ours: readonly Route[] = [
	jsonToGrpc,
	grpcToJson,
	jsonToJson,
	{ kind: "ours", name: "ours", from: "HTTP+JSON", to: "GRPC" },
	{ kind: "ours", name: "ours", from: "GRPC", to: "GRPC" },
];
const sdk: readonly Route[] = [jsonToGrpc, grpcToJson, jsonToJson].map((route) => ({
	...route,
	kind: "sdk",
	name: "sdk-gateway",
}));

/** The medians of one route: µs of CPU per call, calls per second, ms added at concurrency 1. */
interface Numbers {
	readonly cpu: number;
	readonly rate: number;
	readonly added: number;
}

interface Samples {
	readonly cpu: number[];
	readonly rate: number[];
	readonly added: number[];
}

async function oneAtATime(stage: Stage, route: Route): Promise<number> {
	const through = stage.client(route, await stage.subject(route));
	const direct = stage.direct(route.from);
	const times = { through: [] as number[], direct: [] as number[] };
	for (let i = 0; i < stage.plan.single + 20; i++) {
		for (const [name, one] of [["direct", direct] as const, ["through", through] as const]) {
			const begun = performance.now();
			await one.call();
			if (i >= 20) times[name].push(performance.now() - begun);
		}
	}
	through.close();
	direct.close();
	return median(times.through) - median(times.direct);
}

async function measure(stage: Stage, route: Route, samples: Samples): Promise<void> {
	const child = await stage.subject(route);
	const load = stage.client(route, child);
	await closedLoop(inFlight * 4, inFlight, () => load.call());
	const calls = stage.plan.calls[route.kind];
	const before = await child.usage();
	const ms = await closedLoop(calls, inFlight, () => load.call());
	const after = await child.usage();
	load.close();
	samples.cpu.push((after.cpu - before.cpu) / calls);
	samples.rate.push((calls / ms) * 1000);
	samples.added.push(await oneAtATime(stage, route));
}

async function warm(stage: Stage, route: Route): Promise<void> {
	const child = await stage.subject(route);
	const load = stage.client(route, child);
	await load.call();
	await loopFor(route.kind === "plain" ? stage.plan.warmPlain : stage.plan.warm, inFlight, () => load.call());
	load.close();
}

export async function unary(stage: Stage): Promise<void> {
	const routes = [passthrough, plainProxy, ...ours, ...sdk];
	const samples = new Map(routes.map((route) => [route, { cpu: [], rate: [], added: [] } as Samples]));
	await stage.mode({});
	for (const route of routes) {
		stage.note(`warming ${label(route)}`);
		await stage.attempt(route, { doing: "warm-up", limit: 60_000 }, () => warm(stage, route));
	}
	for (let round = 1; round <= stage.plan.rounds; round++) {
		stage.note(`unary calls, round ${round} of ${stage.plan.rounds}`);
		// There and back: no subject always runs right after the same neighbour.
		for (const route of round % 2 === 1 ? routes : routes.toReversed()) {
			await stage.attempt(route, { doing: "unary calls", limit: 60_000 }, () =>
				measure(stage, route, samples.get(route) as Samples),
			);
		}
	}
	const numbers = (route: Route): Numbers => {
		const { cpu = [], rate = [], added = [] } = samples.get(route) ?? {};
		return { cpu: median(cpu), rate: median(rate), added: median(added) };
	};
	report(stage, numbers);
}

const us = (value: number) => `${value.toFixed(0)} µs`;
/** Calls per second, and how busy that kept the subject's core: well below 100 % the load side was the limit. */
const throughput = ({ rate, cpu }: Numbers) => `${rate.toFixed(0)}/s (${((rate * cpu) / 1e4).toFixed(0)} % busy)`;

function report(stage: Stage, numbers: (route: Route) => Numbers): void {
	const reference = numbers(passthrough);
	const plain = numbers(plainProxy);
	const row = (target: TargetName, route: Route, value: number, raw: string) =>
		stage.record(target, pair(route), value, Number.isNaN(value) ? stage.why(route) : raw);

	const byPair: readonly (readonly [TargetName, Route])[] = [
		["cpuJsonGrpc", jsonToGrpc],
		["cpuGrpcJson", grpcToJson],
		["cpuJsonJson", jsonToJson],
	];
	for (const [target, route] of byPair) {
		const { cpu } = numbers(route);
		row(target, route, cpu / reference.cpu, `${us(cpu)} ÷ ${us(reference.cpu)}`);
	}
	for (const route of ours) {
		const { cpu } = numbers(route);
		row("cpuPlain", route, cpu / plain.cpu, `${us(cpu)} ÷ ${us(plain.cpu)}`);
	}
	for (const theirs of sdk) {
		const route = ours.find(({ from, to }) => from === theirs.from && to === theirs.to) as Route;
		const [one, other] = [numbers(route), numbers(theirs)];
		row("throughput", route, one.rate / other.rate, `${throughput(one)} ÷ ${throughput(other)}`);
	}
	for (const route of ours) {
		const { added } = numbers(route);
		row("latency", route, added, `pass-through ${reference.added.toFixed(2)}, http-proxy ${plain.added.toFixed(2)} ms`);
	}
}
