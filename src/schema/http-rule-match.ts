/** From a request line to a route: a trie over path segments, literal ones first (google/api/http.proto). */
import type { Route } from "./http-rule.ts";
import { decodeVariable } from "./http-rule-path.ts";

export type Match<R extends Route> =
	| {
			readonly kind: "found";
			readonly route: R;
			/** Decoded values by the fields' proto names. */
			readonly variables: Readonly<Record<string, string>>;
	  }
	/** The path exists, with these verbs; `route` is one of its routes. */
	| { readonly kind: "verb"; readonly allow: readonly string[]; readonly route: R }
	| { readonly kind: "none" };

/**
 * Finds the route of a path (still percent-encoded, no query). `choose` picks where several routes are alike.
 * Throws A2AError INVALID_PARAMS when a variable's value is badly encoded.
 */
export type Matcher<R extends Route> = (verb: string, path: string, choose?: (routes: readonly R[]) => R) => Match<R>;

/** Routes that end at a node, by verb. */
type Ends<R> = Map<string, R[]>;

interface Node<R> {
	readonly literal: Map<string, Node<R>>;
	any: Node<R> | undefined;
	/** By suffix; "" for none. */
	readonly ends: Map<string, Ends<R>>;
}

/**
 * Compiles routes, of one service or several. Where two paths fit, a literal segment beats a variable, from the left;
 * a path that fits but lacks the verb gives way to one that has it.
 */
export function matcher<R extends Route>(routes: readonly R[]): Matcher<R> {
	const root = node<R>();
	for (const route of routes) insert(root, route);
	return (verb, path, choose) => {
		if (path.charCodeAt(0) !== 0x2f) return { kind: "none" };
		const segments = path.slice(1).split("/");
		const search: Search<R> = { verb, segments, found: undefined, last: "", others: [] };
		if (!visit(root, 0, search) || search.found === undefined) {
			const route = search.others[0]?.values().next().value?.[0];
			if (route === undefined) return { kind: "none" };
			return { kind: "verb", allow: [...new Set(search.others.flatMap((ends) => [...ends.keys()]))].sort(), route };
		}
		const [only] = search.found;
		const route = search.found.length > 1 && choose ? choose(search.found) : (only as R);
		segments[segments.length - 1] = search.last;
		const variables: Record<string, string> = {};
		for (const { field, from, to } of route.template.variables) {
			variables[field] = decodeVariable(segments.slice(from, to));
		}
		return { kind: "found", route, variables };
	};
}

interface Search<R> {
	readonly verb: string;
	readonly segments: readonly string[];
	found: readonly R[] | undefined;
	/** The last segment without the route's suffix. */
	last: string;
	/** Where the path fitted but not the verb. */
	readonly others: Ends<R>[];
}

function visit<R>(at: Node<R>, depth: number, search: Search<R>): boolean {
	const segment = search.segments[depth] ?? "";
	const literal = at.literal.get(segment);
	const isLast = depth === search.segments.length - 1;
	if (!isLast) {
		if (literal && visit(literal, depth + 1, search)) return true;
		return at.any !== undefined && segment !== "" && visit(at.any, depth + 1, search);
	}
	if (literal && finish(literal.ends.get(""), segment, search)) return true;
	if (at.any === undefined || segment === "") return false;
	// Ids may hold colons: only a suffix that a route has is one, and then it is nothing else.
	const colon = segment.lastIndexOf(":");
	const suffixed = colon < 0 ? undefined : at.any.ends.get(segment.slice(colon + 1));
	if (suffixed === undefined || colon === segment.length - 1) return finish(at.any.ends.get(""), segment, search);
	return colon > 0 && finish(suffixed, segment.slice(0, colon), search);
}

function finish<R>(ends: Ends<R> | undefined, last: string, search: Search<R>): boolean {
	if (ends === undefined) return false;
	search.found = ends.get(search.verb);
	search.last = last;
	if (search.found === undefined) search.others.push(ends);
	return search.found !== undefined;
}

function insert<R extends Route>(root: Node<R>, route: R): void {
	let at = root;
	for (const segment of route.template.segments) {
		if (segment === undefined) {
			at.any ??= node<R>();
			at = at.any;
		} else {
			let next = at.literal.get(segment);
			if (next === undefined) {
				next = node<R>();
				at.literal.set(segment, next);
			}
			at = next;
		}
	}
	const ends: Ends<R> = at.ends.get(route.template.suffix) ?? new Map();
	at.ends.set(route.template.suffix, ends);
	const same = ends.get(route.verb) ?? [];
	// Of one service the first counts: an erratum may repeat what an annotation says.
	if (same.some((other) => other.method.parent === route.method.parent)) return;
	ends.set(route.verb, [...same, route]);
}

function node<R>(): Node<R> {
	return { literal: new Map(), any: undefined, ends: new Map() };
}
