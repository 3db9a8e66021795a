/** Load generators in common: what a client can do, and the closed loop that makes many do it. */
import { performance } from "node:perf_hooks";
import type { BindingName } from "../fixtures.ts";
import { grpcClient } from "./grpc.ts";
import { httpClient } from "./http1.ts";

/** A client that keeps its connections. Every method rejects when the answer is not the expected one. */
export interface LoadClient {
	/** One unary call: the 1 KB request, or `body` (prepared by {@link LoadClient.prepare}). */
	call(body?: Buffer): Promise<void>;
	/** A unary call's body with a message of `size` bytes of JSON. */
	prepare(size: number): Buffer;
	/** One stream to its end; resolves with the number of events. `first` runs at the first one. */
	stream(first?: () => void): Promise<number>;
	/** Opens a stream and resolves at its first event; it stays open until {@link LoadClient.leave}. */
	hold(): Promise<void>;
	/** Leaves all held streams at once, as clients that die do. */
	leave(): void;
	close(): void;
}

export interface LoadOptions {
	readonly port: number;
	/** Path before the binding's own, e.g. "/agents/x"; empty for the root. */
	readonly prefix?: string;
}

export function client(binding: BindingName, options: LoadOptions): LoadClient {
	return binding === "GRPC" ? grpcClient(options) : httpClient(binding, options);
}

/** Runs `once` `count` times, `inFlight` at a time; resolves with the milliseconds all took. */
export async function closedLoop(count: number, inFlight: number, once: () => Promise<unknown>): Promise<number> {
	let left = count;
	const lane = async () => {
		while (left > 0) {
			left -= 1;
			await once();
		}
	};
	const begun = performance.now();
	await Promise.all(Array.from({ length: Math.min(inFlight, count) }, lane));
	return performance.now() - begun;
}

/** As {@link closedLoop}, for a time instead of a count; resolves with the number of calls. */
export async function loopFor(ms: number, inFlight: number, once: () => Promise<unknown>): Promise<number> {
	const until = performance.now() + ms;
	let calls = 0;
	const lane = async () => {
		while (performance.now() < until) {
			await once();
			calls += 1;
		}
	};
	await Promise.all(Array.from({ length: inFlight }, lane));
	return calls;
}

export function median(values: readonly number[]): number {
	const sorted = [...values].sort((a, b) => a - b);
	const middle = sorted.length >> 1;
	if (sorted.length === 0) return Number.NaN;
	const upper = sorted[middle] as number;
	return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}
