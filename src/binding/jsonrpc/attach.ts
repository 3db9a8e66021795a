/** JSON-RPC towards clients: POST on the agent's root, one request per body. */
import type { ServerResponse } from "node:http";
import { type Handler, isStream } from "../../call/call.ts";
import { A2AError } from "../../call/error.ts";
import { Losses } from "../../call/loss.ts";
import { single } from "../../call/stream.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import { readBody } from "../../wire/body.ts";
import { accepts, mediaType, toHeader } from "../../wire/header.ts";
import { queryMembers } from "../../wire/query.ts";
import { sseWriter } from "../../wire/sse.ts";
import type { Attachment, AttachOptions, HttpRequest, HttpResponse, Target } from "../binding.ts";
import { type EventForm, sendEvents } from "../events.ts";
import { begin, errorHeader, isGone, replyHeader, type Session } from "../serve.ts";
import { type Document, documentsOf, serveDocument } from "./document.ts";
import { readRequest, writeError, writeResult } from "./envelope.ts";

const ORIGIN = "JSONRPC";

export function attach(handler: Handler, dialects: readonly Dialect[], options: AttachOptions): Attachment {
	const [newest] = dialects;
	if (!newest) throw new Error("the JSON-RPC binding needs at least one dialect");
	const documents = documentsOf(dialects);
	return {
		http(req, res, target) {
			const document = target.path === "/" ? undefined : documents.get(target.path);
			if (target.path !== "/" && !document) return false;
			void (document ? serveOther(document, req, res, target) : serve(req, res, target)).catch((error: unknown) => {
				options.report(error, { id: target.id, method: "" });
				res.destroy();
			});
			return true;
		},
	};

	async function serveOther(document: Document, req: HttpRequest, res: HttpResponse, target: Target): Promise<void> {
		let gone = () => {};
		const { status, text, header } = await serveDocument(document, req, target, ORIGIN, handler, options, (session) => {
			gone = () => session.abandon();
			res.on("close", gone);
		});
		res.off("close", gone);
		send(res, status, text, header);
	}

	async function serve(req: HttpRequest, res: HttpResponse, target: Target): Promise<void> {
		let id = "null";
		let dialect: Dialect = newest as Dialect;
		let session: Session | undefined;
		/** An error before a stream's first event is an event all the same. */
		let asEvent = false;
		const losses = new Losses();
		const gone = () => session?.abandon();
		try {
			checkRequest(req);
			const body = await readBody(req, { max: options.maxMessage, timeout: options.bodyTimeout });
			const envelope = readRequest(body, options.maxDepth, dialects);
			id = envelope.id;
			const request = await envelope.read((taskId, versions) => options.recognise(target.agent, taskId, versions));
			dialect = request.dialect;
			asEvent = dialect.traits.streamErrors && isStream(request.method);
			session = begin(
				{
					method: request.method,
					request: dialect.rpc.readRequest(request.method, request.params, losses.add),
					losses,
					target,
					header: toHeader(req.headers),
					query: queryMembers(target.query),
					origin: { binding: ORIGIN, version: dialect.version },
				},
				options,
			);
			res.on("close", gone);
			const { call } = session;
			if (isStream(call.method)) {
				await sendEvents(res, handler(call), session, options.keepAlive, eventForm(id, dialect, session));
			} else {
				const reply = await handler(call);
				const result = dialect.rpc.writeReply(call.method, await single(reply), losses.add);
				send(res, 200, writeResult(id, result.text), replyHeader(reply.header, losses));
			}
		} catch (thrown) {
			const error = session ? session.fail(thrown) : A2AError.from(thrown);
			if (!session && error.reason === "INTERNAL_ERROR") options.report(error, { id: target.id, method: "" });
			const text = writeError(id, dialect.errors.rpc.write(error));
			const header = errorHeader(error, session && losses);
			if (res.headersSent) res.destroy();
			else if (asEvent && httpStatus(error) === 200 && accepts(req.headers.accept, ["text/event-stream"])) {
				const sse = sseWriter(res, { keepAlive: 0, header });
				sse.send(text);
				sse.end();
			} else send(res, httpStatus(error), text, header);
		} finally {
			res.off("close", gone);
			session?.finish();
		}
	}
}

/** Each event is a whole response with the request's id (§9.4.2). */
function eventForm(id: string, dialect: Dialect, session: Session): EventForm {
	const { method, losses } = session.call;
	return {
		write: (message) => writeResult(id, dialect.rpc.writeReply(method, message, losses.add).text),
		fail: (thrown) => ({ data: writeError(id, dialect.errors.rpc.write(session.fail(thrown))) }),
	};
}

/** JSON-RPC is POST with a JSON body; anything else is refused before the body is read. */
function checkRequest(req: HttpRequest): void {
	if (req.method !== "POST") {
		throw new A2AError("METHOD_NOT_ALLOWED", {
			message: "JSON-RPC requests are sent with POST",
			header: { allow: "POST" },
		});
	}
	const type = mediaType(req.headers["content-type"]);
	if (type !== "application/json" && type !== "application/a2a+json") {
		throw new A2AError("UNSUPPORTED_MEDIA_TYPE", {
			message: `JSON-RPC requests are application/json${type === "" ? "; this one has no Content-Type" : ""}`,
		});
	}
}

/** A JSON-RPC error is a 200, except where HTTP itself has something to say to the client's stack. */
function httpStatus(error: A2AError): number {
	switch (error.reason) {
		case "UNAUTHENTICATED":
		case "PERMISSION_DENIED":
		case "METHOD_NOT_ALLOWED":
		case "UNSUPPORTED_MEDIA_TYPE":
		case "REQUEST_TOO_LARGE":
			return error.http;
		default:
			return 200;
	}
}

function send(res: HttpResponse, status: number, body: string, header: Readonly<Record<string, string>>): void {
	if (res.writableEnded || isGone(res)) return;
	const bytes = Buffer.from(body);
	// Both kinds of response have this overload; their union does not.
	(res as ServerResponse).writeHead(status, {
		...header,
		"content-type": "application/json",
		"content-length": String(bytes.length),
	});
	res.end(bytes);
}
