/** A catalogue that follows the gateway's agents: brought up to date when it is asked, not at every change of one of a thousand. */
import type { JsonObject } from "@bufbuild/protobuf";
import { isObject } from "../card/document.ts";
import type { Serialised } from "../card/project.ts";
import { type Catalogue, createCatalogue } from "./catalogue.ts";

/** What the catalogue must know of an agent. */
export interface Mirrored {
	readonly name: string;
	/** Public URL of its mount point; undefined before there is one. */
	readonly base: URL | undefined;
	/** The card as the gateway serves it; undefined while there is none. */
	card(form: "1.0"): Serialised | undefined;
}

export interface Mirror extends Pick<Catalogue, "search" | "all"> {
	/** Some agent has changed, come or gone. Cheap. */
	touch(): void;
}

/** `list` gives all agents there are now. Those without a card are not listed. */
export function mirror(list: () => readonly Mirrored[], catalogue: Catalogue = createCatalogue()): Mirror {
	const known = new Map<string, string>();
	let stale = true;

	function settle(): Catalogue {
		if (!stale) return catalogue;
		stale = false;
		const gone = new Set(known.keys());
		for (const agent of list()) {
			const { name, base } = agent;
			const served = agent.card("1.0");
			if (!served || !base) continue;
			gone.delete(name);
			const stamp = `${served.etag} ${base.href}`;
			if (known.get(name) === stamp) continue;
			const json = parse(served.body);
			known.set(name, stamp);
			catalogue.put(name, json, cardUrl(base), Date.parse(served.lastModified));
		}
		for (const name of gone) {
			known.delete(name);
			catalogue.remove(name);
		}
		return catalogue;
	}

	return {
		touch() {
			stale = true;
		},
		search: (query, visible) => settle().search(query, visible),
		all: (visible) => settle().all(visible),
	};
}

const WELL_KNOWN = "/.well-known/agent-card.json";

/** Where the card of the agent mounted at `base` is. */
export function cardUrl(base: URL): string {
	return base.href.replace(/\/+$/, "") + WELL_KNOWN;
}

/** The mount point of an agent, from its card's URL: the inverse of `cardUrl`. */
export function baseOf(url: string): string {
	return url.endsWith(WELL_KNOWN) ? url.slice(0, -WELL_KNOWN.length) : url;
}

/** Bytes of ours: they were an object when they were written. */
function parse(body: Uint8Array): JsonObject {
	const json: unknown = JSON.parse(Buffer.from(body).toString());
	return isObject(json as JsonObject) ? (json as JsonObject) : {};
}
