/** Streams as the whole house passes them on: first message first, one reader, cancellation, bursts without waiting. */
import { describe, expect, it } from "vitest";
import { chain, type Handler, type Middleware, type Reply } from "../../src/call/call.ts";
import type { Payload } from "../../src/call/payload.ts";
import { forEach, iterate, mapEach, open, type Ready, readyOf, reply, single } from "../../src/call/stream.ts";

/** Messages are told apart by identity; none of these functions looks inside. */
const message = (text: string): Payload => ({ text: () => text }) as unknown as Payload;
const [a, b, c] = [message("a"), message("b"), message("c")] as const;

/** A source that remembers whether it was ended early. */
function source(...items: (Payload | Error)[]) {
	const state = { taken: 0, returned: 0 };
	const messages: AsyncIterableIterator<Payload> = {
		async next() {
			const item = items[state.taken++];
			if (item instanceof Error) throw item;
			return item ? { done: false, value: item } : { done: true, value: undefined };
		},
		async return() {
			state.returned++;
			return { done: true, value: undefined };
		},
		[Symbol.asyncIterator]() {
			return this;
		},
	};
	return { state, messages, reply: { header: {}, messages } satisfies Reply };
}

/** The same with everything at hand, and a count of the turns taken. */
function burst(...items: (Payload | Error)[]) {
	const inner = source(...items);
	let turns = 0;
	const messages: Ready<Payload> = {
		ready() {
			const item = items[inner.state.taken];
			if (item === undefined) return undefined;
			inner.state.taken++;
			if (item instanceof Error) throw item;
			return item;
		},
		next: () => {
			turns++;
			return inner.messages.next();
		},
		return: () => inner.messages.return?.() as Promise<IteratorResult<Payload>>,
		[Symbol.asyncIterator]() {
			return this;
		},
	};
	return { state: inner.state, messages, turns: () => turns };
}

async function all<T>(messages: AsyncIterable<T>): Promise<T[]> {
	const found: T[] = [];
	for await (const each of messages) found.push(each);
	return found;
}

describe("open", () => {
	it("waits for the first message and gives all of them, in order", async () => {
		const { reply: r, state } = source(a, b, c);
		const opened = await open(r);
		expect([opened.started, state.taken]).toEqual([true, 1]);
		expect(await all(opened.messages)).toEqual([a, b, c]);
	});

	it("tells an empty stream", async () => {
		const opened = await open(source().reply);
		expect([opened.started, await all(opened.messages)]).toEqual([false, []]);
	});

	it("throws what comes instead of a first message", async () => {
		await expect(open(source(new Error("early")).reply)).rejects.toThrow("early");
	});

	it("throws a later error after the messages before it", async () => {
		const { messages } = await open(source(a, b, new Error("late")).reply);
		const got: Payload[] = [];
		await expect(forEach(messages, (m) => void got.push(m))).rejects.toThrow("late");
		expect(got).toEqual([a, b]);
	});

	it.each([0, 1, 2])("cancels the source when left after %d messages", async (n) => {
		const { reply: r, state } = source(a, b, c);
		const iterator = (await open(r)).messages[Symbol.asyncIterator]();
		for (let i = 0; i < n; i++) await iterator.next();
		await iterator.return?.();
		expect(state.returned).toBe(1);
		expect(await iterator.next()).toEqual({ done: true, value: undefined });
	});

	it("does not cancel a source that has ended", async () => {
		const { reply: r, state } = source(a);
		const { messages } = await open(r);
		await all(messages);
		await messages[Symbol.asyncIterator]().return?.();
		expect(state.returned).toBe(0);
	});

	it("takes a unary reply for a stream of one", async () => {
		expect(await all((await open(reply(a))).messages)).toEqual([a]);
		expect(await all(iterate(reply(a)))).toEqual([a]);
	});

	it("passes bursts on without a turn each", async () => {
		const { messages, turns } = burst(a, b, c);
		const opened = await open({ header: {}, messages });
		const got: Payload[] = [];
		await forEach(opened.messages, (m) => void got.push(m));
		expect(got).toEqual([a, b, c]);
		// The first, and the end.
		expect(turns()).toBe(2);
	});
});

describe("mapEach", () => {
	it("converts, and leaves out what becomes nothing", async () => {
		const { messages } = source(a, b, c);
		expect(await all(mapEach(messages, (m) => (m === b ? undefined : m.text())))).toEqual(["a", "c"]);
	});

	it("converts what is at hand", () => {
		const { messages } = burst(a, b, c);
		const mapped = mapEach(messages, (m) => (m === a ? undefined : m.text()));
		expect([mapped.ready(), mapped.ready(), mapped.ready()]).toEqual(["b", "c", undefined]);
		expect(readyOf(source(a).messages)).toBeUndefined();
	});

	it.each(["next", "ready"] as const)("ends the source when the conversion throws in %s", async (how) => {
		const { messages, state } = burst(a, b);
		const mapped = mapEach(
			messages,
			() => {
				throw new Error("conversion");
			},
			(error) => new Error(`told: ${(error as Error).message}`),
		);
		if (how === "next") await expect(mapped.next()).rejects.toThrow("told: conversion");
		else expect(() => mapped.ready()).toThrow("told: conversion");
		expect(state.returned).toBe(1);
		expect(mapped.ready()).toBeUndefined();
		expect(await mapped.next()).toEqual({ done: true, value: undefined });
	});

	it("says what the source's errors become", async () => {
		const { messages } = source(a, new Error("source"));
		const mapped = mapEach(
			messages,
			(m) => m,
			() => new TypeError("other"),
		);
		await mapped.next();
		await expect(mapped.next()).rejects.toThrow(TypeError);
	});

	it("reaches the source when left while it waits", async () => {
		let returned = 0;
		const waiting: AsyncIterableIterator<Payload> = {
			next: () => new Promise(() => {}),
			return: async () => {
				returned++;
				return { done: true, value: undefined };
			},
			[Symbol.asyncIterator]() {
				return this;
			},
		};
		const mapped = mapEach(waiting, (m) => m);
		void mapped.next();
		await mapped.return?.();
		await mapped.return?.();
		expect(returned).toBe(1);
	});
});

describe("forEach", () => {
	it("waits for the taker", async () => {
		const { messages, state } = source(a, b);
		let go = () => {};
		const done = forEach(
			messages,
			() =>
				new Promise<void>((resolve) => {
					go = resolve;
				}),
		);
		await new Promise((resolve) => setImmediate(resolve));
		expect(state.taken).toBe(1);
		go();
		await new Promise((resolve) => setImmediate(resolve));
		expect(state.taken).toBe(2);
		go();
		await done;
	});

	it("cancels when nobody wants more", async () => {
		const { messages, state } = source(a, b);
		await forEach(messages, () => false);
		expect(state).toEqual({ taken: 1, returned: 1 });
	});

	it.each([
		[
			"throws",
			() => {
				throw new Error("taker");
			},
		],
		["rejects", () => Promise.reject(new Error("taker"))],
	])("cancels when the taker %s", async (_, take) => {
		const { messages, state } = source(a, b);
		await expect(forEach(messages, take)).rejects.toThrow("taker");
		expect(state).toEqual({ taken: 1, returned: 1 });
	});
});

describe("single", () => {
	it("is the one message", async () => {
		expect(await single(reply(a))).toBe(a);
		expect(await single(source(b).reply)).toBe(b);
	});

	it.each([
		["none", []],
		["two", [a, b]],
	])("refuses %s", async (_, items) => {
		await expect(single(source(...items).reply)).rejects.toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
	});
});

it("chain: the first middleware sees the call first, and the reply last", async () => {
	const seen: string[] = [];
	const step =
		(name: string): Middleware =>
		(next) =>
		async (call) => {
			seen.push(`${name} in`);
			const out = await next(call);
			seen.push(`${name} out`);
			return out;
		};
	const last: Handler = async () => {
		seen.push("handler");
		return reply(a);
	};
	await chain([step("one"), step("two")], last)({} as never);
	expect(seen).toEqual(["one in", "two in", "handler", "two out", "one out"]);
});
