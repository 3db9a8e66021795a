import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { CardError } from "../../src/card/error.ts";
import { type Clock, type KeeperOptions, type KeeperState, type Kept, keeper } from "../../src/card/keeper.ts";
import { fileSource, httpSource, inlineSource, type Loaded, type Source, sourceOf } from "../../src/card/source.ts";
import { type Answer, cardAt, cardV1, cardV03, json, serve } from "./support.ts";

const all = { bindings: ["JSONRPC", "GRPC", "HTTP+JSON"], versions: ["1.0"] };

/** Time that moves only when told to. */
function manual() {
	let now = 1_000_000;
	const timers = new Map<object, { at: number; run: () => void }>();
	const clock: Clock = {
		now: () => now,
		after(ms, run) {
			const id = {};
			timers.set(id, { at: now + ms, run });
			return () => timers.delete(id);
		},
		random: () => 1,
	};
	return {
		clock,
		/** Milliseconds until the next timer. */
		next: () => [...timers.values()].map((t) => t.at - now),
		async advance(ms: number) {
			now += ms;
			for (const [id, { at, run }] of [...timers]) {
				if (at > now) continue;
				timers.delete(id);
				run();
			}
			await settle();
		},
	};
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const down = () => new CardError("UNAVAILABLE", "http://agent:1 is down");

/** A source that answers from a script; the last answer repeats. */
function scripted(...answers: (JsonObject | Error)[]) {
	const seen: (Loaded | undefined)[] = [];
	const source: Source = {
		name: "script",
		async load(previous) {
			const answer = answers[Math.min(seen.length, answers.length - 1)];
			seen.push(previous);
			if (!answer || answer instanceof Error) throw answer ?? down();
			return { ...(await inlineSource(answer).load()), freshFor: 60_000 };
		},
		close: async () => {},
	};
	return { source, seen };
}

function watched(source: Source, more: Partial<KeeperOptions> = {}) {
	const time = manual();
	const changes: Kept[] = [];
	const states: KeeperState[] = [];
	const reports: unknown[] = [];
	const kept = keeper({
		source,
		choose: all,
		clock: time.clock,
		onChange: (k) => changes.push(k),
		onState: (s) => states.push(s),
		report: (e) => reports.push(e),
		...more,
	});
	return { ...time, kept, changes, states, reports };
}

const v1 = cardAt("https://a.example/1");
const v2 = cardAt("https://a.example/2");

describe("keeper", () => {
	it("loads at once and refreshes when the card gets stale", async () => {
		const { source, seen } = scripted(v1, v1, v2);
		const w = watched(source);
		expect(w.kept.state).toMatchObject({ ready: false, reason: "waiting for the card of script" });
		w.kept.start();
		await settle();
		expect(w.kept.state).toMatchObject({ ready: true, error: undefined });
		expect(w.kept.current()?.choice.chosen.url).toBe("https://a.example/1");
		expect(w.next()).toEqual([60_000]);
		await w.advance(60_000);
		expect(w.changes).toHaveLength(1);
		expect(seen[1]?.json).toEqual(v1);
		await w.advance(60_000);
		expect(w.changes.map((k) => k.choice.chosen.url)).toEqual(["https://a.example/1", "https://a.example/2"]);
		expect(w.changes[1]?.changed).toBe(1_120_000);
		expect(w.states).toHaveLength(1);
	});

	it("waits longer and longer for an agent that is not up, then recovers", async () => {
		const { source } = scripted(down(), down(), down(), down(), down(), down(), down(), down(), v1, down());
		const w = watched(source);
		w.kept.start();
		await settle();
		const waits: number[] = [];
		for (let i = 0; i < 8; i++) {
			const [ms = 0] = w.next();
			waits.push(ms);
			expect(w.kept.state).toMatchObject({ ready: false, reason: "http://agent:1 is down" });
			expect(w.kept.state.error?.toA2AError().message).toBe("The agent is not available");
			await w.advance(ms);
		}
		expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
		expect(w.kept.state.ready).toBe(true);
		await w.advance(60_000);
		expect(w.next()).toEqual([500]);
	});

	it("keeps the last good card when the agent goes away", async () => {
		const { source } = scripted(v1, down(), v1);
		const w = watched(source);
		w.kept.start();
		await settle();
		const before = w.kept.current();
		await w.advance(60_000);
		expect(w.kept.current()).toBe(before);
		expect(w.kept.state).toMatchObject({
			ready: false,
			reason: "http://agent:1 is down; the last good card stays in use",
		});
		await w.advance(500);
		expect(w.kept.state.ready).toBe(true);
		expect(w.kept.current()).toBe(before);
		expect(w.changes).toHaveLength(1);
	});

	it("keeps serving a good card when its successor is bad", async () => {
		const { source, seen } = scripted(v1, { ...v1, supportedInterfaces: [] }, v2);
		const w = watched(source);
		w.kept.start();
		await settle();
		await w.advance(60_000);
		expect(w.kept.state).toMatchObject({ ready: true, reason: expect.stringContaining("empty supportedInterfaces") });
		await w.advance(500);
		expect(seen[2]?.json).toEqual(v1);
		expect(w.kept.current()?.choice.chosen.url).toBe("https://a.example/2");
	});

	it.each<[string, JsonObject, RegExp]>([
		["older dialects only", cardV03, /no interface.*\n.*version 0\.3 is not supported/],
		[
			"nothing usable",
			cardAt("https://a/", {
				supportedInterfaces: [{ url: "mqtt:1", protocolBinding: "MQTT", protocolVersion: "1.0" }],
			}),
			/no interface.*\n.*"MQTT" is not known/,
		],
	])("says so when a card has %s", async (_, card, text) => {
		const w = watched(scripted(card).source);
		w.kept.start();
		await settle();
		expect(w.kept.current()).toBeUndefined();
		expect(w.kept.state.ready).toBe(false);
		expect(w.kept.state.reason).toMatch(text);
		expect(w.reports).toHaveLength(1);
	});

	it("refreshes on demand, one at a time and not too often", async () => {
		const { source, seen } = scripted(v1);
		const w = watched(source);
		w.kept.start();
		const during = w.kept.refresh("first calls fail");
		expect(w.kept.refresh("again")).toBe(during);
		await during;
		expect(seen).toHaveLength(1);
		await w.kept.refresh("too soon");
		expect(seen).toHaveLength(1);
		expect(w.next()).toEqual([1_000]);
		await w.advance(400);
		await w.kept.refresh("still too soon");
		expect(w.next()).toEqual([600]);
		await w.advance(600);
		expect(seen).toHaveLength(2);
		await w.advance(1_000);
		await w.kept.refresh("now");
		expect(seen).toHaveLength(3);
	});

	it("survives listeners that throw and sources that throw anything", async () => {
		const boom = new Error("boom");
		const { source } = scripted(new TypeError("secret"), v1);
		const w = watched(source, {
			onChange: () => {
				throw boom;
			},
			onState: () => {
				throw boom;
			},
		});
		w.kept.start();
		await settle();
		expect(w.kept.state.error?.public).toBe("The agent is not available");
		await w.advance(500);
		expect(w.kept.state.ready).toBe(true);
		expect(w.reports).toEqual([expect.any(CardError), boom, boom, boom]);
	});

	it("stops", async () => {
		const { source, seen } = scripted(v1);
		const w = watched(source);
		w.kept.start();
		await settle();
		await w.kept.stop();
		await w.advance(100_000);
		await w.kept.refresh("late");
		expect(seen).toHaveLength(1);
		expect(w.next()).toEqual([]);
	});

	it("follows a real agent that is late, moves and goes", async () => {
		let answer: Answer = (_q, s) => s.writeHead(503).end();
		await using local = await serve({ "/.well-known/agent-card.json": (q, s) => answer(q, s) });
		const w = watched(httpSource(`${local.url}/a2a`, { connectTimeout: 1_000 }));
		w.kept.start();
		await w.kept.refresh("wait for it");
		expect(w.kept.state.reason).toContain("HTTP 503");
		answer = json(cardAt("/rpc"), { etag: '"1"', "cache-control": "max-age=5" });
		await w.advance(1_000);
		await w.kept.refresh("up now");
		expect(w.kept.current()?.choice.chosen.url).toBe(`${local.url}/rpc`);
		answer = (_q, s) => s.writeHead(304).end();
		await w.advance(1_000);
		await w.kept.refresh("the same");
		expect(w.changes).toHaveLength(1);
		expect(local.requests.at(-1)?.headers["if-none-match"]).toBe('"1"');
		await w.kept.stop();
	});

	it("closes while an agent keeps it waiting", async () => {
		await using local = await serve({ "*": () => {} });
		const w = watched(httpSource(local.url));
		w.kept.start();
		while (local.asked.length === 0) await settle();
		await w.kept.stop();
		expect(w.kept.current()).toBeUndefined();
	});
});

describe("sources", () => {
	it("reads a file again only when it has changed", async () => {
		const folder = await mkdtemp(join(tmpdir(), "card-"));
		try {
			const file = join(folder, "card.json");
			const source = fileSource(file, "https://base.example/");
			await expect(source.load()).rejects.toMatchObject({
				operator: `cannot read the card file ${file}: no such file (ENOENT)`,
			});
			await writeFile(file, JSON.stringify(v1));
			const first = await source.load();
			expect(first).toMatchObject({ json: v1, base: "https://base.example/", from: file });
			expect(await source.load(first)).toBe(first);
			await writeFile(file, JSON.stringify(v2));
			await utimes(file, 1, 1);
			const second = await source.load(first);
			expect(second.json).toEqual(v2);
			await writeFile(file, "{");
			await expect(source.load(second)).rejects.toThrow(/card file .* is not JSON/);
			await writeFile(file, Buffer.alloc(2_000_000, 0x20));
			await expect(source.load(second)).rejects.toThrow(/larger than/);
			await expect(fileSource(folder).load()).rejects.toThrow(CardError);
		} finally {
			await rm(folder, { recursive: true });
		}
	});

	it("has the card of a program", async () => {
		const source = inlineSource(cardV1);
		expect((await source.load()).json).toEqual(cardV1);
		expect(() => inlineSource("[")).toThrow(CardError);
	});

	it.each([
		["grpc://host:1", undefined, /gRPC address: give its card with --card/],
		["ftp://host", undefined, /not an http/],
		["nonsense", undefined, /not an http/],
		[undefined, undefined, /needs a URL or a card file/],
	])("refuses %s with %s", (url, card, text) => {
		expect(() => sourceOf({ url, card })).toThrow(text);
	});
	it.each([
		["http://h:1/x", undefined, "http://h:1/x"],
		["grpc://h:1", "/c.json", "/c.json"],
		["http://h:1/", "/c.json", "/c.json"],
		[undefined, "/c.json", "/c.json"],
	])("makes one of %s and %s", async (url, card, name) => {
		const source = sourceOf({ url, card });
		expect(source.name).toBe(name);
		await source.close();
	});
});
