/** The one request path: every request of either HTTP version, from its target to the handler that takes it. */
import { Http2ServerRequest, Http2ServerResponse, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { HttpRequest, HttpResponse, Target } from "../binding/binding.ts";
import type { StatusName } from "../call/error.ts";
import { compileCors } from "./cors.ts";
import type { Limits, ListenerOptions } from "./options.ts";
import { type Refusal, refuse, refuseGrpc, VERBS } from "./refuse.ts";
import { requestIds, splitTarget } from "./target.ts";

export interface Router {
	/** An HTTP request; over HTTP/2 through node's compatibility objects. */
	http(req: HttpRequest, res: HttpResponse): void;
	/** `Expect` with anything but 100-continue. */
	refuseExpectation(req: HttpRequest, res: HttpResponse): void;
	/** An HTTP/2 stream: gRPC as it is, anything else as an HTTP request. */
	stream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void;
	freshId(): string;
}

export function createRouter(options: ListenerOptions, limits: Limits): Router {
	const { resolve, site, report, prefix = "" } = options;
	const idOf = requestIds();
	const cors = compileCors(options.cors ?? []);
	const notFound = options.notFound ?? ((req, res) => refuse(req, res, 404));

	function http(req: HttpRequest, res: HttpResponse): void {
		const id = idOf(req.headers["x-request-id"]);
		try {
			res.setHeader("x-request-id", id);
			const refused = route(req, res, id);
			if (refused) refuse(req, res, refused.code, refused);
		} catch (error) {
			failed(error, req, res, id);
		}
	}

	/** The path without the public prefix: a proxy in front may have left it on or taken it off. */
	function below(path: string): string {
		if (prefix === "" || !path.startsWith(prefix)) return path;
		const rest = path.slice(prefix.length);
		return rest === "" ? "/" : rest.startsWith("/") ? rest : path;
	}

	function failed(error: unknown, req: HttpRequest, res: HttpResponse, id: string): void {
		tell(error, id, req.method ?? "", req.url ?? "");
		refuse(req, res, 500);
	}

	/** Whoever listens to errors must not become one. */
	function tell(error: unknown, id: string, verb: string, url: string): void {
		const mark = url.indexOf("?");
		try {
			report(error, { id, method: `${verb} ${mark < 0 ? url : url.slice(0, mark)}` });
		} catch {}
	}

	/** Undefined: somebody answers. */
	function route(req: HttpRequest, res: HttpResponse, id: string): Refusal | undefined {
		const { headers, method: verb, url = "" } = req;
		if (isFlood(req.rawHeaders, req.httpVersionMajor, limits)) return { code: 431 };
		if (url.length > limits.maxUrl) return { code: 414 };
		if (verb === "TRACE" || verb === "CONNECT") return { code: 405, header: { allow: VERBS } };
		if (url === "*" && verb === "OPTIONS") {
			res.statusCode = 204;
			res.setHeader("allow", VERBS);
			res.end();
			return undefined;
		}
		const raw = splitTarget(url);
		if (!raw) return { code: 400, text: "Malformed request target" };
		const authority = raw.authority ?? authorityOf(headers);
		if (headers.host === undefined && req.httpVersion === "1.1") {
			return { code: 400, text: "The Host header is missing" };
		}
		const path = below(raw.path);
		const mount = resolve(authority, path);
		const target: Target = { agent: mount?.agent ?? "", path: mount?.path ?? path, query: raw.query, id };

		if (site?.has(path, "port")) {
			site.serve(req, res, { agent: "", path, query: raw.query, id });
			return undefined;
		}
		if (mount && site?.has(mount.path, "agent")) {
			site.serve(req, res, target);
			return undefined;
		}
		if (cors(req, res)) return undefined;
		if (isGrpc(headers["content-type"])) {
			if (req.httpVersionMajor < 2) return { code: 505 };
			return { code: 405, header: { allow: "POST" }, text: "gRPC calls are POST requests" };
		}
		if (mount) {
			for (const handler of options.http) {
				const taken: unknown = handler(req, res, target);
				if (taken === false) continue;
				// A handler against its contract: its failure must not end the process.
				if (taken instanceof Promise) taken.catch((error) => failed(error, req, res, id));
				return undefined;
			}
		}
		notFound(req, res, target);
		return undefined;
	}

	function grpc(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
		stream.on("error", ignore);
		const id = idOf(headers["x-request-id"]);
		try {
			const refused = routeGrpc(stream, headers, rawHeaders, id);
			if (refused) refuseGrpc(stream, refused[0], refused[1], id);
		} catch (error) {
			grpcFailed(error, stream, id, headers[":path"] ?? "");
		}
	}

	function routeGrpc(
		stream: ServerHttp2Stream,
		headers: IncomingHttpHeaders,
		rawHeaders: readonly string[],
		id: string,
	): readonly [StatusName, string] | undefined {
		const url = headers[":path"] ?? "";
		if (isFlood(rawHeaders, 2, limits) || url.length > limits.maxUrl) {
			return ["RESOURCE_EXHAUSTED", "The request header is too large"];
		}
		const raw = splitTarget(url);
		if (!raw) return ["INVALID_ARGUMENT", "Malformed request target"];
		const path = below(raw.path);
		const mount = resolve(authorityOf(headers), path);
		const target: Target = { agent: mount?.agent ?? "", path: mount?.path ?? path, query: raw.query, id };
		for (const handler of options.grpc) {
			const taken: unknown = handler(stream, headers, target);
			if (taken === false) continue;
			if (taken instanceof Promise) taken.catch((error) => grpcFailed(error, stream, id, url));
			return undefined;
		}
		return ["UNIMPLEMENTED", "Unknown service or method"];
	}

	function grpcFailed(error: unknown, stream: ServerHttp2Stream, id: string, url: string): void {
		tell(error, id, "POST", url);
		try {
			refuseGrpc(stream, "INTERNAL", "Internal error", id);
		} catch {
			stream.destroy();
		}
	}

	function refuseExpectation(req: HttpRequest, res: HttpResponse): void {
		res.setHeader("x-request-id", idOf(req.headers["x-request-id"]));
		refuse(req, res, 417);
	}

	return {
		http,
		refuseExpectation,
		freshId: () => idOf(undefined),
		stream(stream, headers, rawHeaders) {
			// The client's reset, or the end of a broken connection, may be here before the stream's own event; its error comes after.
			if (stream.destroyed || stream.closed) {
				stream.on("error", ignore);
				return;
			}
			if (headers[":method"] === "POST" && isGrpc(headers["content-type"])) {
				grpc(stream, headers, rawHeaders);
				return;
			}
			// What node's own compatibility layer does (internal/http2/compat, onServerStream), without its second
			// 'stream' listener, which would answer gRPC streams as well.
			try {
				const req = new Http2ServerRequest(stream, headers, {}, rawHeaders);
				const res = new Http2ServerResponse(stream);
				const { expect } = headers;
				if (expect !== undefined && expect.toLowerCase() !== "100-continue") {
					refuseExpectation(req, res);
					return;
				}
				if (expect !== undefined) stream.additionalHeaders({ ":status": 100 });
				http(req, res);
			} catch (error) {
				tell(error, "", headers[":method"] ?? "", headers[":path"] ?? "");
				stream.destroy();
			}
		},
	};
}

/** Too many header fields, or (which only HTTP/1.1's parser checks by itself) too much in them? */
function isFlood(raw: readonly string[], version: number, limits: Limits): boolean {
	if (raw.length > 2 * limits.maxHeaders) return true;
	if (version < 2) return false;
	let size = 0;
	for (const text of raw) size += text.length;
	return size > limits.maxHeaderSize;
}

/** The authority asked for: HTTP/2 has it as a pseudo-header. */
function authorityOf(headers: IncomingHttpHeaders): string | undefined {
	const authority = headers[":authority"];
	return typeof authority === "string" ? authority : headers.host;
}

function ignore(): void {}

const GRPC = "application/grpc";

/** `application/grpc`, `+proto`, `+json` or with parameters; not `application/grpc-web`. */
function isGrpc(type: string | undefined): boolean {
	if (type === undefined || type.length < GRPC.length || !/^application\/grpc/i.test(type)) return false;
	const next = type.charAt(GRPC.length);
	return next === "" || next === "+" || next === ";" || next === " ";
}
