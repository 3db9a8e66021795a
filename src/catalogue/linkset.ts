/** The api-catalog of this gateway (RFC 9727) as a linkset (RFC 9264): where each agent is and where its card is. */

import { text } from "../card/document.ts";
import type { Listed } from "./catalogue.ts";
import { baseOf } from "./mirror.ts";

export const API_CATALOG = "/.well-known/api-catalog";
const PROFILE = "https://www.rfc-editor.org/info/rfc9727";
export const LINKSET_TYPE = `application/linkset+json; profile="${PROFILE}"`;

interface Link {
	readonly href: string;
	readonly type?: string;
	readonly title?: string;
}

/** One link context: its anchor, and its links by relation. */
export type LinkContext = { readonly anchor: string } & Readonly<Record<string, string | readonly Link[]>>;

/**
 * The catalogue's own context with an `item` per agent, the gateway's with its `status`, and one per agent.
 * `site` is the gateway's public URL without a trailing slash.
 */
export function linkset(agents: readonly Listed[], site: string): { readonly linkset: readonly LinkContext[] } {
	const items = agents.map((agent): Link => ({ href: baseOf(agent.url), ...titled(agent) }));
	const status: readonly Link[] = [{ href: `${site}/readyz`, type: "application/json" }];
	const atRoot = agents.some((agent) => baseOf(agent.url) === site);
	return {
		linkset: [
			{ anchor: site + API_CATALOG, item: items, profile: [{ href: PROFILE }] },
			// An agent at the root is ready when the gateway is: its context has the link then.
			...(atRoot ? [] : [{ anchor: site, status }]),
			...agents.map((agent): LinkContext => {
				const anchor = baseOf(agent.url);
				const documentation = text(agent.card, "documentationUrl");
				return {
					anchor,
					"service-desc": [{ href: agent.url, type: "application/json", ...titled(agent) }],
					...(documentation !== undefined && isWeb(documentation) && { "service-doc": [{ href: documentation }] }),
					...(anchor === site && { status }),
				};
			}),
		],
	};
}

/** The Link field that RFC 9727 §2 wants with HEAD: where the catalogue is. */
export function catalogLink(site: string): string {
	return `<${site}${API_CATALOG}>; rel="api-catalog"; type="application/linkset+json"`;
}

function titled({ card }: Listed): { readonly title?: string } {
	const title = text(card, "name");
	return title === undefined ? {} : { title };
}

function isWeb(url: string): boolean {
	return /^https?:/i.test(url) && URL.canParse(url);
}
