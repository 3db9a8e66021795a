/**
 * Calls without growth: memory after the second half is what it was after the first.
 * 10,000 calls in two lanes here; A2A_SOAK=full (`npm run test:soak`) makes it 100,000 in each of five.
 */
import { expect, test } from "vitest";
import { collect } from "../peer/clients/client.ts";
import { isStream } from "../peer/protocol.ts";
import { event, openBench, streamMethod, streamRequest, unaryMethod, unaryReply, unaryRequest } from "./scripts.ts";

const full = process.env["A2A_SOAK"] === "full";
const CALLS = full ? 100_000 : 5_000;
const IN_FLIGHT = 32;
/** Bytes per call that may stay behind in the second half: a leaked listener or timer weighs more. */
const PER_CALL = full ? 20 : 200;

// Every client form, every agent form; one call in ten is a stream.
const cells = [
	["JSONRPC", "GRPC"],
	["GRPC", "JSONRPC"],
	...(full
		? ([
				["HTTP+JSON", "HTTP+JSON"],
				["CONNECT", "GRPC"],
				["GRPC-WEB", "JSONRPC"],
			] as const)
		: []),
] as const;

test.each(cells)(
	"%s clients, an agent over %s",
	async (form, binding) => {
		const bench = await openBench(binding, (call) => {
			if (!isStream(call.method)) return unaryReply;
			return (async function* () {
				yield event(1);
				yield event(2);
			})();
		});
		try {
			const client = bench.client(form);
			const run = async (calls: number): Promise<void> => {
				let left = calls;
				const worker = async (): Promise<void> => {
					while (left-- > 0) {
						const stream = left % 10 === 0;
						const replies = stream ? client.call(streamMethod, streamRequest) : client.call(unaryMethod, unaryRequest);
						expect((await collect(replies)).length).toBe(stream ? 2 : 1);
					}
				};
				await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
			};
			await run(CALLS / 2);
			const half = await bench.gateway.memory();
			await run(CALLS / 2);
			const end = await bench.gateway.memory();
			expect(end.live - half.live, "growth in the second half, bytes").toBeLessThan((CALLS / 2) * PER_CALL);
			expect(end.resources - half.resources, "sockets and timers left behind").toBeLessThanOrEqual(IN_FLIGHT);
		} finally {
			await bench.close();
		}
	},
	full ? 600_000 : 60_000,
);
