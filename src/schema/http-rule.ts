/** google.api.http annotations (google/api/http.proto) read into routes: verb, path template and body of each method. */
import { type DescField, type DescMessage, type DescMethod, type DescService, getOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";

/** A path variable: the field it sets, and which segments `[from, to)` are its value. */
export interface Variable {
	/** Name of the field in the proto file. */
	readonly field: string;
	readonly from: number;
	readonly to: number;
}

/** A parsed path template. */
export interface Template {
	/** Segments: literal text, or undefined where any one segment fits. */
	readonly segments: readonly (string | undefined)[];
	/** What follows the last segment after a colon, where that segment is not literal; else "". */
	readonly suffix: string;
	readonly variables: readonly Variable[];
}

export interface Route {
	readonly method: DescMethod;
	/** HTTP method, upper case. */
	readonly verb: string;
	readonly template: Template;
	/** "*": all fields the path does not bind; a field's proto name; or "": none. */
	readonly body: string;
	/** The body repeats what the path binds: not by the HttpRule, but there are servers that read it there. */
	readonly whole: boolean;
	/** Served only: a client does not build it. */
	readonly servedOnly: boolean;
}

/** A route that annotations lack: as `RouteErratum` of a dialect. */
export interface Erratum {
	readonly method: DescMethod;
	readonly verb: string;
	readonly path: string;
	readonly body: string;
	readonly whole?: boolean;
	/** Built by clients too, before the annotated routes. */
	readonly preferred?: boolean;
}

/**
 * All routes of a service, per method in the order in which a client should try them: preferred errata, the
 * annotation, its additional bindings, other errata. Throws Error for a template outside the supported grammar
 * (`**` and nested field paths are not supported).
 */
export function routesOf(service: DescService, errata: readonly Erratum[] = []): readonly Route[] {
	return service.methods.flatMap((method) => {
		const own = errata.filter((erratum) => erratum.method === method);
		const found = [
			...own.filter((erratum) => erratum.preferred).map((erratum) => fromErratum(erratum)),
			...fromRule(method, getOption(method, http)),
			...own.filter((erratum) => !erratum.preferred).map((erratum) => fromErratum(erratum)),
		];
		return found.map((route) => checked(route));
	});
}

function fromErratum({ method, verb, path, body, preferred, whole = false }: Erratum): Route {
	return { method, verb, template: parseTemplate(path), body, whole, servedOnly: !preferred };
}

function fromRule(method: DescMethod, rule: HttpRule): readonly Route[] {
	const { pattern } = rule;
	const additional = rule.additionalBindings.flatMap((binding) => fromRule(method, binding));
	if (pattern.case === undefined) return additional;
	const [verb, path] =
		pattern.case === "custom" ? [pattern.value.kind, pattern.value.path] : [pattern.case.toUpperCase(), pattern.value];
	return [
		{ method, verb, template: parseTemplate(path), body: rule.body, whole: false, servedOnly: false },
		...additional,
	];
}

function checked(route: Route): Route {
	const { input } = route.method;
	const named = route.template.variables.map((variable) => variable.field);
	if (route.body !== "" && route.body !== "*") named.push(route.body);
	for (const field of named) {
		if (!fieldOf(input, field)) throw new Error(`${input.typeName} has no field ${field}`);
	}
	return route;
}

/** A field by its proto name. */
export function fieldOf(type: DescMessage, name: string): DescField | undefined {
	return type.fields.find((field) => field.name === name);
}

/**
 * Template = "/" Segments [ ":" LITERAL ]; Segments = Segment { "/" Segment };
 * Segment = LITERAL | "{" FIELD [ "=" Segments ] "}", where the Segments of a variable may also be "*".
 */
export function parseTemplate(path: string): Template {
	const unsupported = (): Error => new Error(`unsupported path template: ${path}`);
	const colon = path.lastIndexOf(":");
	const hasSuffix = colon > Math.max(path.lastIndexOf("/"), path.lastIndexOf("}"));
	const suffix = hasSuffix ? path.slice(colon + 1) : "";
	if (!path.startsWith("/") || (hasSuffix && !/^[\w.~-]+$/.test(suffix))) throw unsupported();
	const segments: (string | undefined)[] = [];
	const variables: Variable[] = [];
	const add = (segment: string): void => {
		if (segment !== "*" && !/^[\w.~:-]+$/.test(segment)) throw unsupported();
		segments.push(segment === "*" ? undefined : segment);
	};
	// The slashes within braces belong to the variable.
	for (const piece of path.slice(1, hasSuffix ? colon : undefined).split(/\/(?![^{}]*\})/)) {
		const variable = /^\{([a-z][a-z0-9_]*)(?:=([^{}]+))?\}$/.exec(piece);
		if (piece === "*") throw unsupported();
		const from = segments.length;
		for (const segment of variable ? (variable[2] ?? "*").split("/") : [piece]) add(segment);
		if (variable) variables.push({ field: variable[1] ?? "", from, to: segments.length });
	}
	const last = segments.at(-1);
	if (suffix === "" || last === undefined) return { segments, suffix, variables };
	// After a literal the suffix is just more of it.
	return { segments: [...segments.slice(0, -1), `${last}:${suffix}`], suffix: "", variables };
}
