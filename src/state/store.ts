/** The store port: small records that must outlive a call, and the one kept in memory. */

/** Keys are opaque; values are JSON-able objects. A durable store comes behind the same three verbs. */
export interface Store {
	get<T extends object>(key: string): Promise<T | undefined>;
	set<T extends object>(key: string, value: T): Promise<void>;
	delete(key: string): Promise<void>;
}

/** In memory, bounded: the records used least recently go first. */
export function memoryStore(capacity = 100_000): Store {
	const records = new Map<string, object>();
	return {
		async get<T extends object>(key: string) {
			const value = records.get(key);
			if (value === undefined) return undefined;
			// Map order is insertion order: using a record makes it the youngest.
			records.delete(key);
			records.set(key, value);
			return value as T;
		},
		async set(key, value) {
			records.delete(key);
			records.set(key, value);
			if (records.size > capacity) {
				const [oldest] = records.keys();
				if (oldest !== undefined) records.delete(oldest);
			}
		},
		async delete(key) {
			records.delete(key);
		},
	};
}
