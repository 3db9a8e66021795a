/** 10,000 events through a slow reader: the agent is slowed, the gateway's memory stays flat, nothing is lost. */
import { expect, test } from "vitest";
import { bindings, event, numberOf, openBench, quiet, sleep, streamMethod, streamRequest } from "./scripts.ts";

const EVENTS = 10_000;
/** 60 MB in all: several times what sockets and windows can hold on the way. */
const TEXT = "x".repeat(6_000);
/** Bytes the gateway may hold at any time: windows and buffers of one stream, not its content. */
const FLAT = 16 * 2 ** 20;

// Every client form once, every agent form at least once.
const cells = [
	["JSONRPC", "GRPC"],
	["HTTP+JSON", "JSONRPC"],
	["GRPC", "HTTP+JSON"],
	["GRPC-WEB", "JSONRPC"],
	["CONNECT", "GRPC"],
] as const;

test("every agent form is read slowly", () => {
	expect(new Set(cells.map(([, binding]) => binding)).size).toBe(bindings.length);
});

test.each(cells)("a slow %s client slows an agent over %s", async (form, binding) => {
	let produced = 0;
	const bench = await openBench(binding, async function* () {
		for (produced = 0; produced < EVENTS; produced++) yield event(produced, TEXT);
	});
	try {
		// The first call loads what is loaded on use.
		for await (const first of bench.client(form).call(streamMethod, streamRequest)) {
			expect(numberOf(first)).toBe(0);
			break;
		}
		await sleep(200);
		const before = await bench.gateway.memory();
		// While nobody reads, what is held stays held; what was only passing (a compiler's or a collector's while) goes.
		const held = async (): Promise<number> => {
			let least = Number.POSITIVE_INFINITY;
			for (let i = 0; i < 10 && least >= FLAT; i++) {
				if (i > 0) await sleep(100);
				least = Math.min(least, (await bench.gateway.memory()).live - before.live);
			}
			return least;
		};
		let seen = 0;
		const live: number[] = [];
		let stalledAt = EVENTS;
		for await (const message of bench.client(form).call(streamMethod, streamRequest)) {
			expect(numberOf(message)).toBe(seen++);
			if (seen === 20) {
				// Not reading: the agent must come to a halt by itself, long before its end.
				stalledAt = await quiet(() => produced, 300);
				live.push(await held());
			} else if (seen % 2_500 === 0) {
				await sleep(20);
				live.push(await held());
				expect(produced - seen, "events between the agent and the client").toBeLessThan(EVENTS / 2);
			}
		}
		expect(seen).toBe(EVENTS);
		expect(produced).toBe(EVENTS);
		expect(stalledAt, "events the agent had produced when it stood still").toBeLessThan(EVENTS / 2);
		expect(Math.max(...live), "growth of the gateway's memory, bytes").toBeLessThan(FLAT);
	} finally {
		await bench.close();
	}
});
