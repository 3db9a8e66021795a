/** Takes turns at loading cards, so that a thousand agents are not asked in the same moment (rule G12). */

export interface Pace {
	/** Runs the job when it is its turn. Rejects with the signal's reason when that aborts before the turn comes. */
	run<T>(job: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export interface PaceOptions {
	/** Turns at a time. Default: 16. */
	readonly most?: number;
	/**
	 * A job that takes longer than this goes on, but the next may begin, milliseconds: agents that do not answer
	 * must not keep those that would waiting. Default: 1 s.
	 */
	readonly patience?: number;
}

/** First come, first served. */
export function createPace({ most = 16, patience = 1_000 }: PaceOptions = {}): Pace {
	const waiting = new Set<() => void>();
	let taken = 0;

	function next(): void {
		for (const begin of waiting) {
			if (taken >= most) return;
			waiting.delete(begin);
			begin();
		}
	}

	/** Takes a turn; the result gives it back, once. */
	function take(): () => void {
		taken += 1;
		let held = true;
		const release = () => {
			clearTimeout(timer);
			if (!held) return;
			held = false;
			taken -= 1;
			next();
		};
		const timer = setTimeout(release, patience).unref();
		return release;
	}

	function turn(signal: AbortSignal | undefined): Promise<() => void> {
		return new Promise((resolve, reject) => {
			const begin = () => {
				signal?.removeEventListener("abort", leave);
				resolve(take());
			};
			const leave = () => {
				waiting.delete(begin);
				reject(signal?.reason);
			};
			signal?.addEventListener("abort", leave, { once: true });
			waiting.add(begin);
		});
	}

	return {
		async run(job, signal) {
			signal?.throwIfAborted();
			const release = taken < most ? take() : await turn(signal);
			try {
				return await job();
			} finally {
				release();
			}
		},
	};
}
