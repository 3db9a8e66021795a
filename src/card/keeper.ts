/** Keeps the card of one agent: loads it, refreshes it, survives an agent that is not up yet or goes away (§8.6.2, rule G12). */
import { type Choice, type ChooseOptions, choose, explainChoice, type Override, override } from "./choose.ts";
import { CardError } from "./error.ts";
import type { Pace } from "./pace.ts";
import { type Reading, read } from "./read.ts";
import type { Shape } from "./shape.ts";
import type { Loaded, Source } from "./source.ts";

/** A card in use. A new object for every change, so that facts can be resolved once per card. */
export interface Kept {
	readonly loaded: Loaded;
	readonly reading: Reading;
	/** Its `chosen` is always there. */
	readonly choice: Choice & { readonly chosen: NonNullable<Choice["chosen"]> };
	/** Epoch milliseconds at which this card was first seen. */
	readonly changed: number;
}

/** For readiness and the operator. */
export interface KeeperState {
	/** There is a card, and the agent's last answer about it did not fail for want of an agent. */
	readonly ready: boolean;
	readonly reason: string;
	/** What clients may be told while there is no card. */
	readonly error: CardError | undefined;
}

export interface Clock {
	now(): number;
	/** Starts a timer that does not keep the process alive; returns its cancellation. */
	after(ms: number, run: () => void): () => void;
	/** In [0, 1). */
	random(): number;
}

export interface KeeperOptions {
	readonly source: Source;
	readonly choose: ChooseOptions;
	readonly override?: Override;
	/** Default: every shape there is. */
	readonly shapes?: readonly Shape[];
	/** Told after every change of the card, the first included. May throw: that is reported. */
	readonly onChange?: (kept: Kept) => void;
	/** Told when `state` changes. */
	readonly onState?: (state: KeeperState) => void;
	/** For what nobody else hears of: failed loads, listeners that threw. */
	readonly report?: (error: unknown) => void;
	readonly clock?: Clock;
	/** Milliseconds between attempts while they fail: doubled from `first` to `most`, with jitter. Default: 500, 30 000. */
	readonly backoff?: { readonly first: number; readonly most: number };
	/** Least time between attempts that `refresh` asks for, milliseconds. Default: 1 s. */
	readonly refreshInterval?: number;
	/** Shared by the keepers of many agents, so that they do not all load at once. Default: no waiting. */
	readonly pace?: Pace;
}

export interface Keeper {
	/** The last good card. */
	current(): Kept | undefined;
	readonly state: KeeperState;
	/** Begins to load. Once. */
	start(): void;
	/**
	 * Asks the source again, for instance because calls fail. Resolves when the attempt under way is over,
	 * at once when the last was too recent (one is then scheduled). Never rejects.
	 */
	refresh(reason: string): Promise<void>;
	/** No more attempts; closes the source. */
	stop(): Promise<void>;
}

/** A card is refreshed early by up to this part of its lifetime. */
const SPREAD = 0.2;

const system: Clock = {
	now: Date.now,
	after(ms, run) {
		const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1)).unref();
		return () => clearTimeout(timer);
	},
	random: Math.random,
};

/** Makes a keeper. Nothing happens before `start`. */
export function keeper(options: KeeperOptions): Keeper {
	const { source, clock = system, backoff = { first: 500, most: 30_000 }, refreshInterval = 1_000, pace } = options;
	const leaving = new AbortController();
	const report = (error: unknown) => {
		try {
			options.report?.(error);
		} catch {
			// A broken log must not stop the keeper.
		}
	};
	let state: KeeperState = { ready: false, reason: `waiting for the card of ${source.name}`, error: undefined };
	let kept: Kept | undefined;
	let loaded: Loaded | undefined;
	let running: Promise<void> | undefined;
	let failures = 0;
	let attempted = Number.NEGATIVE_INFINITY;
	let due = Number.POSITIVE_INFINITY;
	let cancel = () => {};
	let stopped = false;

	const tell = (listener: () => void) => {
		try {
			listener();
		} catch (error) {
			report(error);
		}
	};

	const enter = (next: KeeperState) => {
		if (next.ready === state.ready && next.reason === state.reason) return;
		state = next;
		tell(() => options.onState?.(next));
	};

	const schedule = (ms: number) => {
		if (stopped) return;
		cancel();
		due = clock.now() + ms;
		cancel = clock.after(ms, () => void attempt());
	};

	const take = (fresh: Loaded): Kept => {
		if (kept && fresh.digest === kept.loaded.digest && fresh.base === kept.loaded.base) return kept;
		const { shapes } = options;
		const reading = read(fresh.json, { from: fresh.from, base: fresh.base, ...(shapes && { shapes }) });
		const choice = choose(override(reading.interfaces, options.override ?? {}), options.choose);
		const { chosen } = choice;
		if (!chosen) {
			const text = `the card from ${fresh.from} offers no interface that this gateway can use:\n${explainChoice(choice)}`;
			throw new CardError("INVALID_AGENT_RESPONSE", text);
		}
		return { loaded: fresh, reading, choice: { ...choice, chosen }, changed: clock.now() };
	};

	const load = async () => {
		try {
			const ask = () => source.load(loaded);
			const fresh = await (pace ? pace.run(ask, leaving.signal) : ask());
			if (stopped) return;
			const next = take(fresh);
			// Only a card that can be used may answer a later 304.
			loaded = fresh;
			failures = 0;
			const changed = next !== kept;
			kept = next;
			if (changed) tell(() => options.onChange?.(next));
			enter({ ready: true, reason: `card from ${fresh.from}`, error: undefined });
			// Cards that were loaded together are not asked for together again.
			schedule(fresh.freshFor * (1 - SPREAD + SPREAD * clock.random()));
		} catch (thrown) {
			if (stopped) return;
			const error = CardError.from(thrown, `cannot load the card of ${source.name}`);
			const again = Math.min(backoff.most, backoff.first * 2 ** Math.min(failures++, 30));
			report(error);
			// A bad document behind a good one is the operator's worry; no document means that the agent is away.
			const ready = kept !== undefined && error.reason !== "UNAVAILABLE";
			enter({ ready, reason: `${error.operator}${kept ? "; the last good card stays in use" : ""}`, error });
			schedule(again * (0.5 + clock.random() / 2));
		}
	};

	const attempt = (): Promise<void> => {
		if (stopped) return Promise.resolve();
		if (running) return running;
		cancel();
		due = Number.POSITIVE_INFINITY;
		attempted = clock.now();
		running = load().finally(() => {
			running = undefined;
		});
		return running;
	};

	return {
		current: () => kept,
		get state() {
			return state;
		},
		start: () => void attempt(),
		refresh() {
			if (running) return running;
			const wait = attempted + refreshInterval - clock.now();
			if (wait <= 0) return attempt();
			if (due > clock.now() + wait) schedule(wait);
			return Promise.resolve();
		},
		async stop() {
			stopped = true;
			cancel();
			leaving.abort();
			try {
				await source.close();
				await running;
			} catch (error) {
				report(error);
			}
		},
	};
}
