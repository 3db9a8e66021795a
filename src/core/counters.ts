/** Counts of what happened, by name and labels: what a metrics page shows. */

export interface Count {
	readonly name: string;
	readonly labels: Readonly<Record<string, string>>;
	readonly value: number;
}

export interface Counters {
	add(name: string, labels: Readonly<Record<string, string>>, by?: number): void;
	/** In order of first appearance. */
	read(): readonly Count[];
}

export function createCounters(): Counters {
	const counts = new Map<string, { name: string; labels: Readonly<Record<string, string>>; value: number }>();
	return {
		add(name, labels, by = 1) {
			const key = JSON.stringify([name, labels]);
			const count = counts.get(key);
			if (count) count.value += by;
			else counts.set(key, { name, labels, value: by });
		},
		read: () => [...counts.values()].map((count) => ({ ...count })),
	};
}
