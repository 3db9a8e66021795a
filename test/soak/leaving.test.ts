/** A client that leaves cancels what the agent does for it, within a second, whatever lies between. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Received } from "../peer/protocol.ts";
import {
	aborted,
	type Bench,
	bindings,
	event,
	openBench,
	sleep,
	streamMethod,
	streamRequest,
	unaryMethod,
	unaryRequest,
} from "./scripts.ts";

const forms = ["JSONRPC", "HTTP+JSON", "GRPC", "GRPC-WEB", "CONNECT"];

describe.each(bindings)("an agent over %s", (binding) => {
	let bench: Bench;
	beforeAll(async () => {
		bench = await openBench(binding, () => {
			throw new Error("no script");
		});
	});
	afterAll(() => bench?.close());

	/** Milliseconds from `leave` until the agent's call is over. */
	async function measure(arrived: Promise<Received>, leave: () => Promise<void>): Promise<number> {
		const call = await arrived;
		expect(call.signal.aborted).toBe(false);
		const start = performance.now();
		await leave();
		await aborted(call.signal);
		return performance.now() - start;
	}

	test.each(forms)("a %s client leaves a talking stream", async (form) => {
		const { promise: arrived, resolve } = Promise.withResolvers<Received>();
		bench.agent.script = async function* (call) {
			resolve(call);
			for (let n = 0; !call.signal.aborted; n++) {
				yield event(n);
				await sleep(5);
			}
		};
		const stream = bench.client(form).call(streamMethod, streamRequest)[Symbol.asyncIterator]();
		for (let n = 0; n < 3; n++) expect((await stream.next()).done).toBe(false);
		expect(await measure(arrived, async () => void (await stream.return?.()))).toBeLessThan(1_000);
	});

	test.each(forms)("a %s client leaves a silent stream", async (form) => {
		const { promise: arrived, resolve } = Promise.withResolvers<Received>();
		bench.agent.script = async function* (call) {
			resolve(call);
			yield event(0);
			await aborted(call.signal);
		};
		const stream = bench.client(form).call(streamMethod, streamRequest)[Symbol.asyncIterator]();
		expect((await stream.next()).done).toBe(false);
		expect(await measure(arrived, async () => void (await stream.return?.()))).toBeLessThan(1_000);
	});

	test.each(forms)("a %s client leaves before the first event", async (form) => {
		const { promise: arrived, resolve } = Promise.withResolvers<Received>();
		bench.agent.script = async function* (call) {
			resolve(call);
			await aborted(call.signal);
			yield event(0);
		};
		const controller = new AbortController();
		const call = bench.client(form).call(streamMethod, streamRequest, { signal: controller.signal });
		const first = call[Symbol.asyncIterator]().next();
		const gone = expect(first).rejects.toThrow();
		expect(await measure(arrived, async () => controller.abort())).toBeLessThan(1_000);
		await gone;
	});

	test.each(forms)("a %s client leaves a unary call", async (form) => {
		const { promise: arrived, resolve } = Promise.withResolvers<Received>();
		bench.agent.script = (call) => {
			resolve(call);
			return aborted(call.signal).then(() => Promise.reject(new Error("nobody listens")));
		};
		const controller = new AbortController();
		const call = bench.client(form).call(unaryMethod, unaryRequest, { signal: controller.signal });
		const gone = expect(call[Symbol.asyncIterator]().next()).rejects.toThrow();
		expect(await measure(arrived, async () => controller.abort())).toBeLessThan(1_000);
		await gone;
	});
});
