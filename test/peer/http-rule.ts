/** google.api.http for the tests' own HTTP+JSON peers: a second implementation, independent of src. */
import {
	type DescField,
	type DescMethod,
	getOption,
	type JsonObject,
	type JsonValue,
	ScalarType,
} from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { isStream, methods } from "./protocol.ts";

type Segment = { readonly literal: string } | { readonly field: string; readonly suffix: string };

export interface Route {
	readonly method: DescMethod;
	readonly verb: string;
	readonly segments: readonly Segment[];
	readonly body: boolean;
}

function compile(method: DescMethod, rule: HttpRule): Route {
	const { case: verb, value } = rule.pattern;
	if (verb === undefined || verb === "custom") throw new Error(`${method.name}: no verb`);
	if (rule.body !== "" && rule.body !== "*") throw new Error(`${method.name}: body ${rule.body}`);
	const segments = value
		.slice(1)
		.split("/")
		.map((segment): Segment => {
			const variable = /^\{([a-z_]+)(?:=\*)?\}(:[a-z]+)?$/.exec(segment);
			return variable ? { field: variable[1] ?? "", suffix: variable[2] ?? "" } : { literal: segment };
		});
	return { method, verb: verb.toUpperCase(), segments, body: rule.body === "*" };
}

/** Routes per method: the annotated one, then the additional ones. */
const routes = new Map<DescMethod, readonly Route[]>(
	methods.map((method) => {
		const rule = getOption(method, http);
		return [method, [rule, ...rule.additionalBindings].map((each) => compile(method, each))];
	}),
);

/** Names of the fields that ride in the path of the annotated route: they cannot be empty. */
export function pathFields(method: DescMethod): ReadonlySet<string> {
	const first = routes.get(method)?.[0];
	return new Set(first?.segments.flatMap((segment) => ("field" in segment ? [segment.field] : [])));
}

const jsonName = (method: DescMethod, field: string): string =>
	method.input.fields.find((candidate) => candidate.name === field)?.jsonName ?? field;

export interface HttpForm {
	readonly verb: string;
	/** Path and query, percent-encoded. */
	readonly path: string;
	readonly body?: JsonObject;
}

/** A request as HTTP. The tenant form is taken when the request has a tenant and `tenantInPath` says so. */
export function buildHttp(method: DescMethod, request: JsonObject, tenantInPath = true): HttpForm {
	const [plain, tenanted] = routes.get(method) ?? [];
	const route = tenantInPath && request["tenant"] && tenanted ? tenanted : plain;
	if (!route) throw new Error(`${method.name} has no route`);
	const rest: JsonObject = { ...request };
	const segments = route.segments.map((segment) => {
		if ("literal" in segment) return segment.literal;
		const name = jsonName(method, segment.field);
		const value = rest[name];
		if (typeof value !== "string" || value === "") throw new Error(`${method.name}: path needs ${name}`);
		delete rest[name];
		return encodeURIComponent(value) + segment.suffix;
	});
	const path = `/${segments.join("/")}`;
	if (route.body) return { verb: route.verb, path, body: rest };
	const query = Object.entries(rest).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
	return { verb: route.verb, path: query.length > 0 ? `${path}?${query.join("&")}` : path };
}

export interface HttpMatch {
	readonly method: DescMethod;
	readonly request: JsonObject;
}

/** The inverse of `buildHttp`: the method and the request's JSON, undefined when there is no such route. */
export function matchHttp(verb: string, target: string, body: JsonValue | undefined): HttpMatch | undefined {
	const [path = "", query = ""] = target.split("?", 2);
	const given = path.slice(1).split("/");
	for (const route of ordered) {
		// The prose says POST where the annotation of a streaming read says GET: agents take both.
		if (route.verb !== verb && !(isStream(route.method) && route.verb === "GET" && verb === "POST")) continue;
		const bound = bind(route, given);
		if (!bound) continue;
		const rest: JsonObject = route.body ? { ...(body as JsonObject | undefined) } : readQuery(route.method, query);
		return { method: route.method, request: { ...rest, ...bound } };
	}
	return undefined;
}

function bind(route: Route, given: readonly string[]): JsonObject | undefined {
	if (given.length !== route.segments.length) return undefined;
	const bound: JsonObject = {};
	for (const [i, segment] of route.segments.entries()) {
		const part = given[i] ?? "";
		if ("literal" in segment) {
			if (part !== segment.literal) return undefined;
			continue;
		}
		if (!part.endsWith(segment.suffix) || part.length === segment.suffix.length) return undefined;
		bound[jsonName(route.method, segment.field)] = decodeURIComponent(
			part.slice(0, part.length - segment.suffix.length),
		);
	}
	return bound;
}

function readQuery(method: DescMethod, query: string): JsonObject {
	const json: JsonObject = {};
	for (const [name, value] of new URLSearchParams(query)) {
		const field = method.input.fields.find((candidate) => candidate.jsonName === name);
		if (field) json[name] = isBool(field) ? value === "true" : value;
	}
	return json;
}

const isBool = (field: DescField): boolean => field.fieldKind === "scalar" && field.scalar === ScalarType.BOOL;

/** Fixed segments before variable ones, suffixes before none. */
const rank = (route: Route): string =>
	route.segments.map((segment) => ("literal" in segment ? "a" : segment.suffix ? "b" : "c")).join("");
const ordered: readonly Route[] = [...routes.values()]
	.flat()
	.sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
