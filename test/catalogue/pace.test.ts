/** Turns at loading cards: how many at a time, in which order, and who leaves. */
import { describe, expect, test } from "vitest";
import { keeper } from "../../src/card/keeper.ts";
import { createPace } from "../../src/card/pace.ts";
import { inlineSource, type Source } from "../../src/card/source.ts";
import { cardOf } from "./support.ts";

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

function job() {
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	let begun = false;
	const run = () => {
		begun = true;
		return promise;
	};
	return { run, resolve, reject, begun: () => begun };
}

describe("a pace", () => {
	test("runs so many at a time, in order, and goes on after failures", async () => {
		const pace = createPace({ most: 2, patience: 60_000 });
		const jobs = Array.from({ length: 5 }, job);
		const results = jobs.map((j) => pace.run(j.run).then(() => "ok", String));
		const begun = () => jobs.map((j) => j.begun());
		await settle();
		expect(begun()).toEqual([true, true, false, false, false]);
		jobs[1]?.reject(new Error("bad"));
		await settle();
		expect(begun()).toEqual([true, true, true, false, false]);
		for (const j of jobs) j.resolve();
		expect(await Promise.all(results)).toEqual(["ok", "Error: bad", "ok", "ok", "ok"]);
	});

	test("a job that hangs does not keep its turn", async () => {
		const pace = createPace({ most: 1, patience: 5 });
		const [slow, quick] = [job(), job()];
		const first = pace.run(slow.run);
		quick.resolve();
		await pace.run(quick.run);
		slow.resolve();
		await first;
		// Its turn was given back once: one at a time it is still.
		const [a, b] = [job(), job()];
		const both = createPace({ most: 1, patience: 60_000 });
		const ends = [both.run(a.run), both.run(b.run)];
		await settle();
		expect([a.begun(), b.begun()]).toEqual([true, false]);
		a.resolve();
		b.resolve();
		await Promise.all(ends);
	});

	test("who leaves the queue never runs and holds nobody up", async () => {
		const pace = createPace({ most: 1, patience: 60_000 });
		const [a, b, c] = [job(), job(), job()];
		const leaving = new AbortController();
		const first = pace.run(a.run);
		const second = pace.run(b.run, leaving.signal);
		const third = pace.run(c.run);
		leaving.abort(new Error("left"));
		await expect(second).rejects.toThrow("left");
		a.resolve();
		c.resolve();
		await Promise.all([first, third]);
		expect(b.begun()).toBe(false);
		await expect(pace.run(b.run, leaving.signal)).rejects.toThrow("left");
	});
});

describe("keepers that share a pace", () => {
	test("never load more than so many at once; each refresh at a time of its own", async () => {
		const pace = createPace({ most: 16, patience: 60_000 });
		const card = await inlineSource(cardOf(1)).load();
		let now = 0;
		let most = 0;
		const source = (): Source => ({
			name: "test",
			async load() {
				most = Math.max(most, ++now);
				await settle();
				now -= 1;
				return { ...card, freshFor: 300_000 };
			},
			close: async () => {},
		});
		const refreshes: number[] = [];
		const keepers = Array.from({ length: 1_000 }, () =>
			keeper({
				source: source(),
				choose: { bindings: ["JSONRPC"], versions: ["1.0"] },
				pace,
				clock: {
					now: Date.now,
					random: Math.random,
					after(ms) {
						refreshes.push(ms);
						return () => {};
					},
				},
			}),
		);
		for (const each of keepers) each.start();
		while (refreshes.length < 1_000) await settle();
		expect(keepers.every((k) => k.state.ready)).toBe(true);
		expect(most).toBe(16);
		expect(Math.min(...refreshes)).toBeGreaterThanOrEqual(240_000);
		expect(Math.max(...refreshes)).toBeLessThanOrEqual(300_000);
		// Spread over a minute, not bunched: every tenth of it has its share.
		const tenths = Map.groupBy(refreshes, (ms) => Math.floor((ms - 240_000) / 6_000));
		expect(tenths.size).toBeGreaterThanOrEqual(10);
		await Promise.all(keepers.map((k) => k.stop()));
	});

	test("one that waits for its turn can be stopped", async () => {
		const pace = createPace({ most: 1, patience: 60_000 });
		const blocker = job();
		const blocked = pace.run(blocker.run);
		let loaded = false;
		const reports: unknown[] = [];
		const waiting = keeper({
			source: {
				name: "test",
				async load() {
					loaded = true;
					throw new Error("not to be reached");
				},
				close: async () => {},
			},
			choose: { bindings: [], versions: [] },
			pace,
			report: (error) => reports.push(error),
		});
		waiting.start();
		await settle();
		await waiting.stop();
		blocker.resolve();
		await blocked;
		await settle();
		expect([loaded, reports]).toEqual([false, []]);
	});
});
