/** From a request message to a request line, the inverse of matching (google/api/http.proto). */
import type { DescField, DescMethod, JsonObject } from "@bufbuild/protobuf";
import { invalidParams } from "../call/error.ts";
import { fieldOf, type Route } from "./http-rule.ts";
import { encodeVariable } from "./http-rule-path.ts";

export interface Built {
	readonly route: Route;
	/** Percent-encoded, no query. */
	readonly path: string;
	/** The request's members that the path holds: names as they are in the request. */
	readonly bound: readonly string[];
}

/**
 * Builds the path for a request in ProtoJSON (either spelling of a member). Of the routes whose variables the request
 * has, the one with most of them is taken, so a tenant goes into the path; among equals the first. Routes in `avoid`
 * are passed over: undefined when no other is left.
 * Throws A2AError INVALID_PARAMS naming the field when no route can be built at all.
 */
export type Builder = (method: DescMethod, request: JsonObject, avoid?: ReadonlySet<Route>) => Built | undefined;

interface Plan {
	readonly route: Route;
	/** Of each variable, in the order of the template. */
	readonly fields: readonly DescField[];
}

const nothing: ReadonlySet<Route> = new Set();

/** Compiles the routes that clients may build. */
export function builder(routes: readonly Route[]): Builder {
	const plans = new Map<DescMethod, Plan[]>();
	for (const route of routes) {
		if (route.servedOnly) continue;
		const fields = route.template.variables.flatMap(({ field }) => fieldOf(route.method.input, field) ?? []);
		plans.set(route.method, [...(plans.get(route.method) ?? []), { route, fields }]);
	}
	// Stable: among equals the order of preference stays.
	for (const list of plans.values()) list.sort((a, b) => b.fields.length - a.fields.length);
	return (method, request, avoid = nothing) => {
		let missing: DescField | undefined;
		let possible = false;
		for (const plan of plans.get(method) ?? []) {
			const built = build(plan, request);
			if ("route" in built) {
				if (!avoid.has(plan.route)) return built;
				possible = true;
			} else missing = built;
		}
		if (possible) return undefined;
		throw invalidParams([{ field: missing?.jsonName ?? "", description: "does not fit into a URL path" }]);
	};
}

/** The path, or the field that it lacks. */
function build({ route, fields }: Plan, request: JsonObject): Built | DescField {
	const { segments, suffix, variables } = route.template;
	const filled = [...segments];
	const bound: string[] = [];
	for (const [index, field] of fields.entries()) {
		const variable = variables[index];
		const name = Object.hasOwn(request, field.jsonName) ? field.jsonName : field.name;
		const value = Object.hasOwn(request, name) ? request[name] : undefined;
		if (variable === undefined || typeof value !== "string" || value === "") return field;
		const raw = encodeVariable(value, variable.to - variable.from);
		if (raw === undefined) return field;
		for (const [offset, segment] of raw.entries()) {
			const literal = segments[variable.from + offset];
			if (literal !== undefined && literal !== segment) return field;
			filled[variable.from + offset] = segment;
		}
		bound.push(name);
	}
	return { route, path: `/${filled.join("/")}${suffix === "" ? "" : `:${suffix}`}`, bound };
}
