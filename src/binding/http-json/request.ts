/** HTTP+JSON requests (v1.0 §11.3-11.5): path, query and body become one request message in the core's vocabulary. */
import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import type { Header } from "../../call/call.ts";
import { A2AError } from "../../call/error.ts";
import type { Loss } from "../../call/loss.ts";
import type { Payload } from "../../call/payload.ts";
import type { Dialect, JsonText } from "../../dialect/dialect.ts";
import { fieldOf, type Route } from "../../schema/http-rule.ts";
import { discard, hasBody, readBody } from "../../wire/body.ts";
import { mediaType } from "../../wire/header.ts";
import { parseJson, setMembers } from "../../wire/json-text.ts";
import type { AttachOptions, HttpRequest } from "../binding.ts";
import { type Fields, otherMembers, type Query, readFields } from "./query.ts";

/** A route with all that is known about it beforehand. */
export interface Served extends Route {
	readonly dialect: Dialect;
	/** The core's method. */
	readonly core: DescMethod;
	readonly fields: Fields;
}

/** What is known of a request before its body is read. */
export interface Head {
	readonly route: Served;
	/** Decoded path variables by the fields' proto names. */
	readonly variables: Readonly<Record<string, string>>;
	readonly query: Query;
	/** Told what the dialect cannot carry into the core. */
	readonly loss: Loss;
}

export interface Read {
	readonly request: Payload;
	/** Query members that are no fields. */
	readonly query: Header;
}

const EMPTY: JsonText = Object.freeze({ text: "{}", value: Object.freeze({}) });

/** Reads a request. Throws A2AError for whatever is wrong with it; the dialect may throw PayloadError. */
export async function readRequest(req: HttpRequest, head: Head, options: AttachOptions): Promise<Read> {
	const { route, variables, query } = head;
	const body = route.body === "" ? undefined : await readJson(req, options);
	// A body was not asked for, but may be there.
	if (route.body === "" && hasBody(req)) discard(req, options.maxMessage);
	const wire = bindPath(
		route,
		variables,
		route.body === "*" ? (body ?? EMPTY) : readParts(route, variables, query, body),
	);
	return {
		request: route.dialect.http.readRequest(route.core, wire, head.loss),
		query: otherMembers(query.members, route.body === "*" ? undefined : route.fields),
	};
}

/** Fields from the query, and from the body the one field that it is. */
function readParts(
	route: Served,
	variables: Readonly<Record<string, string>>,
	query: Query,
	body: JsonText | undefined,
): JsonText {
	const value: JsonObject = readFields(query.members, route.fields, variables);
	const field = body && fieldOf(route.method.input, route.body);
	if (!body || !field) return { text: JSON.stringify(value), value };
	const text = setMembers(JSON.stringify(value), { [field.name]: undefined, [field.jsonName]: body.text });
	return { text, value: { ...value, [field.jsonName]: body.value } };
}

/** What the path says wins. All other text stays byte for byte. */
function bindPath(route: Served, variables: Readonly<Record<string, string>>, wire: JsonText): JsonText {
	if (route.template.variables.length === 0) return wire;
	const value: JsonObject = { ...(wire.value as JsonObject) };
	const changes: Record<string, string | undefined> = {};
	for (const { field: name } of route.template.variables) {
		const field = fieldOf(route.method.input, name);
		if (!field) continue;
		delete value[field.name];
		changes[field.name] = undefined;
		value[field.jsonName] = variables[name] ?? "";
		changes[field.jsonName] = JSON.stringify(variables[name] ?? "");
	}
	return { text: setMembers(wire.text, changes), value };
}

/** The body as a JSON object; none and `null` mean the empty one. */
async function readJson(req: HttpRequest, options: AttachOptions): Promise<JsonText> {
	if (!hasBody(req)) return EMPTY;
	const type = mediaType(req.headers["content-type"]);
	if (type !== "" && type !== "application/json" && type !== "application/a2a+json") {
		throw new A2AError("UNSUPPORTED_MEDIA_TYPE", { message: "The request body must be application/json" });
	}
	const bytes = await readBody(req, { max: options.maxMessage, timeout: options.bodyTimeout });
	if (bytes.length === 0) return EMPTY;
	const { text, value, unique } = parseJson(bytes, options.maxDepth);
	if (value === null) return EMPTY;
	if (typeof value !== "object" || Array.isArray(value)) {
		throw new A2AError("INVALID_REQUEST", { message: "The request body must be a JSON object" });
	}
	if (!unique) throw new A2AError("INVALID_REQUEST", { message: "The request body has a member twice" });
	return { text, value };
}
