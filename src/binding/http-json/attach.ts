/** HTTP+JSON towards clients (v1.0 §11): routes from the descriptor, plain JSON or server-sent events back. */
import type { ServerResponse } from "node:http";
import { type Handler, type Header, isStream } from "../../call/call.ts";
import { A2AError } from "../../call/error.ts";
import { Losses } from "../../call/loss.ts";
import { type Payload, PayloadError } from "../../call/payload.ts";
import { single } from "../../call/stream.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import { routesOf } from "../../schema/http-rule.ts";
import { type Match, matcher } from "../../schema/http-rule-match.ts";
import { discard, hasBody } from "../../wire/body.ts";
import { accepts, toHeader } from "../../wire/header.ts";
import type { Attachment, AttachOptions, HttpRequest, HttpResponse, Target } from "../binding.ts";
import { type EventForm, sendEvents } from "../events.ts";
import { begin, errorHeader, isGone, replyHeader, type Session } from "../serve.ts";
import { type Query, queryFields, splitQuery } from "./query.ts";
import { readRequest, type Served } from "./request.ts";

const ORIGIN = "HTTP+JSON";
const JSON_TYPE = "application/json";
const SSE_TYPE = "text/event-stream";
const VERSION = "a2a-version";

/** What a request that names no version means (§3.6.2). */
const UNNAMED_VERSION = "0.3";

/** Takes every path that a route of some dialect has, whatever the verb; leaves all others. */
export function attach(handler: Handler, dialects: readonly Dialect[], options: AttachOptions): Attachment {
	const routes = dialects.flatMap((dialect) =>
		routesOf(dialect.service, dialect.errata).map(
			(route): Served => ({
				...route,
				dialect,
				core: dialect.coreMethod(route.method),
				fields: queryFields(route.method.input),
			}),
		),
	);
	const match = matcher(routes);
	const [first] = routes;
	if (!first) throw new Error("the HTTP+JSON binding needs at least one route");
	return {
		http(req, res, target) {
			let header: Header = toHeader(req.headers);
			let query: Query | undefined;
			let found: Match<Served>;
			try {
				query = splitQuery(target.query);
				if (query.version !== undefined && !header[VERSION]) header = { ...header, [VERSION]: query.version };
				const version = header[VERSION] || UNNAMED_VERSION;
				found = match(
					req.method ?? "",
					target.path,
					(alike) => alike.find((route) => route.dialect.version === version) ?? (alike[0] as Served),
				);
			} catch (thrown) {
				refuse(req, res, target, first, thrown);
				return true;
			}
			if (found.kind === "none") return false;
			if (found.kind === "verb") {
				const allow = found.allow.join(", ");
				refuse(req, res, target, found.route, new A2AError("METHOD_NOT_ALLOWED", { header: { allow } }));
			} else {
				const { route, variables } = found;
				serve(req, res, target, route, variables, header, query).catch((error: unknown) => {
					options.report(error, { id: target.id, method: route.core.name });
					res.destroy();
				});
			}
			return true;
		},
	};

	async function serve(
		req: HttpRequest,
		res: HttpResponse,
		target: Target,
		route: Served,
		variables: Readonly<Record<string, string>>,
		header: Header,
		query: Query,
	): Promise<void> {
		let session: Session | undefined;
		const losses = new Losses();
		const gone = (): void => session?.abandon();
		try {
			const stream = isStream(route.core);
			if (stream && accepts(header["accept"], [SSE_TYPE]) === undefined) {
				throw new A2AError("NOT_ACCEPTABLE", { message: `This operation answers ${SSE_TYPE}` });
			}
			const incoming = await readRequest(req, { route, variables, query, loss: losses.add }, options);
			session = begin(
				{
					method: route.core,
					request: incoming.request,
					losses,
					target,
					header,
					query: incoming.query,
					origin: { binding: ORIGIN, version: route.dialect.version },
				},
				options,
			);
			res.on("close", gone);
			if (stream) {
				await sendEvents(res, handler(session.call), session, options.keepAlive, eventForm(route, session));
			} else {
				const reply = await handler(session.call);
				const text = written(route, await single(reply), losses);
				const { mediaType } = route.dialect;
				const type = accepts(header["accept"], [mediaType, JSON_TYPE]) ?? JSON_TYPE;
				send(res, 200, type, text, replyHeader(reply.header, losses));
			}
		} catch (thrown) {
			if (session) sendError(req, res, route, session.fail(thrown), losses);
			else refuse(req, res, target, route, thrown);
		} finally {
			res.off("close", gone);
			session?.finish();
		}
	}

	/** Answers a request that does not become a call. */
	function refuse(req: HttpRequest, res: HttpResponse, target: Target, route: Served, thrown: unknown): void {
		const error = A2AError.from(thrown);
		if (error.reason !== "CANCELLED") options.report(error, { id: target.id, method: route.core.name });
		if (hasBody(req)) discard(req, options.maxMessage);
		sendError(req, res, route, error);
	}
}

/** Each event is a message; an error after the first is an event of that name (§11.7, as the SDKs have it). */
function eventForm(route: Served, session: Session): EventForm {
	return {
		write: (message) => written(route, message, session.call.losses),
		fail: (thrown) => ({
			data: JSON.stringify(route.dialect.errors.http.write(session.fail(thrown)).body),
			event: "error",
		}),
	};
}

function written(route: Served, payload: Payload, losses: Losses): string {
	try {
		return route.dialect.http.writeReply(route.core, payload, losses.add).text;
	} catch (error) {
		if (!(error instanceof PayloadError)) throw error;
		throw new A2AError("INVALID_AGENT_RESPONSE", { cause: error });
	}
}

function sendError(req: HttpRequest, res: HttpResponse, route: Served, error: A2AError, losses?: Losses): void {
	const { dialect } = route;
	const { status, body } = dialect.errors.http.write(error);
	// Some clients read an error only under the plain type: the other is for those who name it.
	const named = req.headers["accept"]?.toLowerCase().includes(dialect.mediaType) ?? false;
	send(res, status, named ? dialect.mediaType : JSON_TYPE, JSON.stringify(body), errorHeader(error, losses));
}

function send(res: HttpResponse, status: number, type: string, text: string, header: Header): void {
	if (res.headersSent || res.writableEnded || isGone(res)) return;
	// One overload for both kinds of response: the members used are the same.
	(res as ServerResponse).writeHead(status, {
		...header,
		"content-type": type,
		"content-length": Buffer.byteLength(text),
	});
	res.end(text);
}
