/** HTTP+JSON towards an agent (v1.0 §11): requests built from the descriptor's routes, answers and events read back. */
import type { DescMethod, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Call, isStream, type Reply } from "../../call/call.ts";
import { A2AError, errors, wouldLose } from "../../call/error.ts";
import { type Payload, PayloadError } from "../../call/payload.ts";
import { mapEach } from "../../call/stream.ts";
import type { Dialect, JsonText } from "../../dialect/dialect.ts";
import { fieldOf, type Route, routesOf } from "../../schema/http-rule.ts";
import { type Built, builder } from "../../schema/http-rule-build.ts";
import { mediaType, pick } from "../../wire/header.ts";
import { type HttpAnswer, type HttpCall, httpClient, readAll } from "../../wire/http-client.ts";
import { members, parseJson, parseJsonText, setMembers } from "../../wire/json-text.ts";
import { appendQuery } from "../../wire/query.ts";
import { sseReader } from "../../wire/sse.ts";
import type { ConnectOptions, Interface, Upstream } from "../binding.ts";
import { queryFields, writeFields } from "./query.ts";

const ACCEPT_JSON = "application/a2a+json, application/json";
const ACCEPT_EVENTS = "text/event-stream";
/** Every server reads the plain type; the one that v1.0.1 recommends is younger than some of them. */
const CONTENT_TYPE = "application/json";

/** Throws Error when the URL is none, or not http(s). */
export function connect(iface: Interface, dialect: Dialect, options: ConnectOptions): Upstream {
	const base = new URL(iface.url);
	if (base.protocol !== "http:" && base.protocol !== "https:") throw new Error("HTTP+JSON needs an http or https URL");
	const prefix = base.pathname.replace(/\/+$/, "");
	const client = httpClient(base, options);
	const routes = routesOf(dialect.service, dialect.errata);
	const build = builder(routes);
	const fields = new Map(dialect.service.methods.map((method) => [method, queryFields(method.input)]));
	/** Doing these twice is like doing them once: the descriptor has a GET or DELETE for them. */
	const idempotent = new Set(routes.filter(({ verb }) => verb === "GET" || verb === "DELETE").map((r) => r.method));
	const named = ["www-authenticate", "retry-after", dialect.extensionsHeader, "cache-control", "etag"];
	/** Routes that this agent does not have while it has another of the same method. */
	const absent = new Set<Route>();

	return { handler, close: () => client.close() };

	async function handler(call: Call): Promise<Reply> {
		const own = dialect.ownMethod(call.method);
		if (!own) throw new A2AError("UNSUPPORTED_OPERATION");
		const stream = isStream(call.method);
		const answer = await send(call, own, stream);
		const header = pick(answer.header, named);
		if (!stream) return { header, messages: [await whole(call, own, answer)] };
		if (mediaType(answer.header["content-type"]) === ACCEPT_EVENTS) {
			return { header, messages: events(call, answer) };
		}
		return { header, messages: [oneEvent(await whole(call, own, answer))] };
	}

	/** Asks until a route is one that the agent has. Resolves with a 2xx, else throws. */
	async function send(call: Call, own: DescMethod, stream: boolean): Promise<HttpAnswer> {
		const { text, value } = dialect.http.writeRequest(call.method, call.request, call.losses.add);
		call.losses.check(wouldLose);
		const request = value as JsonObject;
		let built = build(own, request, absent) ?? build(own, request);
		const tried = new Set<Route>(absent);
		for (;;) {
			if (!built) throw new A2AError("UNSUPPORTED_OPERATION");
			const answer = await client.request(toHttp(call, built, text, request, stream));
			if (answer.status < 300) {
				for (const route of tried) absent.add(route);
				absent.delete(built.route);
				return answer;
			}
			const { body, error } = await failure(answer);
			if (!isMissingRoute(answer.status, body)) throw error;
			tried.add(built.route);
			built = build(own, request, tried);
			if (!built) throw error;
		}
	}

	function toHttp(call: Call, built: Built, text: string, request: JsonObject, stream: boolean): HttpCall {
		const { route, bound } = built;
		const accept = stream ? ACCEPT_EVENTS : ACCEPT_JSON;
		const common = {
			method: route.verb as HttpCall["method"],
			signal: call.signal,
			stream,
			idempotent: idempotent.has(route.method),
		};
		let path = prefix + built.path + base.search;
		if (route.body === "") {
			path = withFields(path, route, request, bound);
			return {
				...common,
				path: appendQuery(path, call.query),
				header: { ...call.header, ...dialect.requestHeader, accept },
			};
		}
		const header = { ...call.header, ...dialect.requestHeader, accept, "content-type": CONTENT_TYPE };
		if (route.body === "*") {
			// A body that is the configuration itself, as some clients write it, has no place for the path's task.
			const keeps =
				bound.length === 0 ||
				(route.whole && route.method.input.fields.some((f) => f.message && f.jsonName in request));
			const body = keeps ? text : setMembers(text, without(bound));
			return { ...common, path: appendQuery(path, call.query), header, body };
		}
		// One field is the body, the rest goes into the query.
		const names = [route.body, fieldOf(route.method.input, route.body)?.jsonName ?? route.body];
		path = withFields(path, route, request, [...bound, ...names]);
		const all = members(text);
		const body = names.map((name) => all.get(name)).find((raw) => raw !== undefined) ?? "{}";
		return { ...common, path: appendQuery(path, call.query), header, body };
	}

	function withFields(path: string, route: Route, request: JsonObject, bound: readonly string[]): string {
		const query = writeFields(request, fields.get(route.method) ?? new Map(), bound);
		return query === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`;
	}

	/** Reads an answer that is no success. */
	async function failure(answer: HttpAnswer): Promise<{ body: JsonValue | undefined; error: A2AError }> {
		const body = parsed(await readAll(answer.body, options.maxMessage), options.maxDepth)?.value;
		return { body, error: dialect.errors.http.read(answer.status, body, answer.header) };
	}

	/** A successful answer in one piece. */
	async function whole(call: Call, own: DescMethod, answer: HttpAnswer): Promise<Payload> {
		const type = mediaType(answer.header["content-type"]);
		if (type === ACCEPT_EVENTS) {
			// It may never end.
			answer.body.cancel();
			throw invalid(`it is no JSON (${type})`);
		}
		const bytes = await readAll(answer.body, options.maxMessage);
		const isEmpty = own.output.typeName === "google.protobuf.Empty";
		if (answer.status === 204 || bytes.length === 0) {
			if (isEmpty) return read(call, { text: "{}", value: {} });
			throw invalid("it is empty");
		}
		if (type !== "" && type !== "application/json" && !type.endsWith("+json")) throw invalid(`it is no JSON (${type})`);
		const json = parsed(bytes, options.maxDepth);
		if (!json) throw invalid("it is no JSON");
		throwIfError(json.value);
		return read(call, json.value === null && isEmpty ? { text: "{}", value: {} } : json);
	}

	function events(call: Call, answer: HttpAnswer): AsyncIterable<Payload> {
		return mapEach(sseReader(answer.body, { maxEvent: options.maxMessage }), ({ data, event }) => {
			if (data === "") return undefined;
			let json: JsonText | undefined;
			try {
				json = unambiguous(parseJsonText(data, options.maxDepth));
			} catch {
				json = undefined;
			}
			if (event === "error") throw dialect.errors.http.read(statusOf(json?.value), json?.value, {});
			if (!json) throw invalid("an event is no JSON");
			throwIfError(json.value);
			return read(call, json);
		});
	}

	/** Messages never have a lone member `error`: where a success says so, it is none. */
	function throwIfError(value: JsonValue): void {
		if (!isObject(value) || !isObject(value["error"]) || Object.keys(value).length !== 1) return;
		throw dialect.errors.http.read(statusOf(value), value, {});
	}

	function read(call: Call, json: JsonText): Payload {
		try {
			const payload = dialect.http.readReply(call.method, json, call.losses.add);
			payload.check();
			return payload;
		} catch (error) {
			throw error instanceof PayloadError ? invalid(error.message, error) : error;
		}
	}
}

/** JSON in answer to a request for a stream: one event, if it is one (no member known to the type means it is not). */
function oneEvent(payload: Payload): Payload {
	const message = payload.message() as unknown as Readonly<Record<string, { case?: string } | undefined>>;
	const { oneofs } = payload.type;
	if (oneofs.length > 0 && !oneofs.some((oneof) => message[oneof.localName]?.case !== undefined)) {
		throw invalid("it is no stream");
	}
	return payload;
}

/** A route the agent does not know, as opposed to an error that an A2A server tells. */
function isMissingRoute(status: number, body: JsonValue | undefined): boolean {
	if (status !== 404 && status !== 405) return false;
	if (!isObject(body)) return true;
	return !isObject(body["error"]) && typeof body["code"] !== "number" && typeof body["title"] !== "string";
}

/** The HTTP status that an error body names, for errors that come under a 200. */
function statusOf(value: JsonValue | undefined): number {
	const error = isObject(value) ? value["error"] : undefined;
	const code = isObject(error) ? error["code"] : undefined;
	return typeof code === "number" && code >= 400 && code < 600 ? code : 500;
}

function parsed(bytes: Buffer, maxDepth: number): JsonText | undefined {
	try {
		return unambiguous(parseJson(bytes, maxDepth));
	} catch {
		return undefined;
	}
}

function unambiguous(json: JsonText & { readonly unique: boolean }): JsonText | undefined {
	return json.unique ? json : undefined;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function without(names: readonly string[]): Readonly<Record<string, undefined>> {
	return Object.fromEntries(names.map((name) => [name, undefined]));
}

function invalid(what: string, cause?: unknown): A2AError {
	return new A2AError("INVALID_AGENT_RESPONSE", { message: `${errors.INVALID_AGENT_RESPONSE.text}: ${what}`, cause });
}
