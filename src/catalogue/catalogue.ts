/** The agents of this gateway to be found by what their cards say: the curated registry of A2A v1.0 §8.2. */
import { createHash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Facts, factsOf, matcher } from "./facts.ts";
import { type CatalogueQuery, writeToken } from "./query.ts";

/** One agent as the catalogue shows it. */
export interface Listed {
	readonly name: string;
	/** The v1.0 card as the gateway serves it. Shared: never write to it. */
	readonly card: JsonObject;
	/** Where the gateway serves that card. */
	readonly url: string;
	/** Epoch milliseconds of the card's last change. */
	readonly changed: number;
}

export interface Page {
	/** By name. Fewer than asked for where their cards are very large. */
	readonly agents: readonly Listed[];
	/** Undefined on the last page. */
	readonly nextPageToken: string | undefined;
	/** Of all pages. */
	readonly totalSize: number;
	/** Strong, with its quotes: the same for the same page of the same cards. */
	readonly etag: string;
}

/** May this caller know of this agent? */
export type Visible = (name: string) => boolean;

export interface Catalogue {
	/** Puts an agent in, or its new card. */
	put(name: string, card: JsonObject, url: string, changed: number): void;
	/** No-op when it is not there. */
	remove(name: string): void;
	/** The agents that match and are visible, a page of them. `totalSize` counts no invisible ones. */
	search(query: CatalogueQuery, visible?: Visible): Page;
	/** All that are visible, by name. */
	all(visible?: Visible): readonly Listed[];
}

interface Entry extends Listed {
	readonly facts: Facts;
	/** Of card and URL. */
	readonly digest: string;
	/** Characters of the card's JSON. */
	readonly size: number;
}

/** A page ends before it is longer than this, characters: a hundred cards may be a mebibyte each. */
const MOST = 4 * 2 ** 20;

/**
 * A plain scan over facts that were taken out beforehand: for 1,000 agents it takes a fraction of a
 * millisecond (docs/discovery.md), which no index would repay.
 */
export function createCatalogue(): Catalogue {
	const entries = new Map<string, Entry>();
	/** By name; made anew after a change of the names. */
	let sorted: readonly Entry[] | undefined;

	const inOrder = (): readonly Entry[] => {
		sorted ??= [...entries.values()].sort((a, b) => compare(a.name, b.name));
		return sorted;
	};

	return {
		put(name, card, url, changed) {
			const text = JSON.stringify(card);
			const digest = createHash("sha256").update(`${url}\n${text}`).digest("base64url");
			const old = entries.get(name);
			if (old?.digest === digest) return;
			entries.set(name, { name, card, url, changed, digest, size: text.length, facts: factsOf(card) });
			sorted = undefined;
		},
		remove(name) {
			if (entries.delete(name)) sorted = undefined;
		},
		search(query, visible = () => true) {
			const matches = matcher(query);
			const page: Entry[] = [];
			let totalSize = 0;
			let size = 0;
			let more = false;
			for (const entry of inOrder()) {
				if (!matches(entry.facts) || !visible(entry.name)) continue;
				totalSize += 1;
				if (compare(entry.name, query.after) <= 0) continue;
				size += entry.size;
				more ||= page.length === query.pageSize || (size > MOST && page.length > 0);
				if (!more) page.push(entry);
			}
			const last = page.at(-1);
			const nextPageToken = more && last ? writeToken(last.name, query) : undefined;
			return { agents: page, nextPageToken, totalSize, etag: etagOf(page, `${totalSize}/${nextPageToken ?? ""}`) };
		},
		all: (visible = () => true) => inOrder().filter((entry) => visible(entry.name)),
	};
}

/** By code unit: the order of the cursor must not depend on a locale. */
function compare(a: string, b: string): number {
	return a < b ? -1 : a > b ? 1 : 0;
}

function etagOf(entries: readonly Entry[], more: string): string {
	const hash = createHash("sha256").update(more);
	for (const { name, digest } of entries) hash.update(`\n${name} ${digest}`);
	return `"${hash.digest("base64url")}"`;
}
