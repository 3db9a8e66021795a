/** gRPC towards clients (A2A v1.0 §10): own framing on HTTP/2 streams, one route per method of every dialect's service. */

import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { DescMethod } from "@bufbuild/protobuf";
import { type Handler, type Header, isStream, type Origin, type Reply } from "../../call/call.ts";
import { A2AError, errors, wouldLose } from "../../call/error.ts";
import { Losses } from "../../call/loss.ts";
import { type Payload, PayloadError } from "../../call/payload.ts";
import { forEach, iterate, open, single } from "../../call/stream.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import { readMetadata } from "../../wire/grpc-metadata.ts";
import type { AttachOptions, StreamHandler, Target } from "../binding.ts";
import { begin, errorHeader, replyHeader } from "../serve.ts";
import { Answer, ok } from "./answer.ts";
import { readOne, refused, timeoutOf, wantsGzip } from "./request.ts";

/** What a path means, worked out at attach. */
export interface Route {
	readonly own: DescMethod;
	readonly method: DescMethod;
	readonly dialect: Dialect;
}

export const none: Header = Object.freeze({});

/** `/<service>/<method>` of every dialect to its route. */
export function routesOf(dialects: readonly Dialect[]): ReadonlyMap<string, Route> {
	const routes = new Map<string, Route>();
	for (const dialect of dialects) {
		for (const own of dialect.service.methods) {
			const path = `/${dialect.service.typeName}/${own.name}`;
			if (!routes.has(path)) routes.set(path, { own, method: dialect.coreMethod(own), dialect });
		}
	}
	return routes;
}

/** A path's service, as its dialect, or undefined when none of them has it. */
function serviceOf(path: string, dialects: readonly Dialect[]): Dialect | undefined {
	return dialects.find((dialect) => path.startsWith(`/${dialect.service.typeName}/`));
}

/** The gRPC half of `attach`. */
export function serveGrpc(handler: Handler, dialects: readonly Dialect[], options: AttachOptions): StreamHandler {
	const routes = routesOf(dialects);
	const origins = new Map(dialects.map((d): [Dialect, Origin] => [d, { binding: "GRPC", version: d.version }]));
	return (stream, headers, target) => {
		const route = routes.get(target.path);
		const dialect = route?.dialect ?? serviceOf(target.path, dialects);
		if (!dialect) return false;
		const answer = new Answer(stream, target.id);
		if (refused(headers, answer)) return true;
		if (route) {
			const origin = origins.get(dialect) ?? { binding: "GRPC", version: dialect.version };
			serve(stream, headers, target, route, origin, answer, handler, options).catch((error: unknown) => {
				options.report(error, { id: target.id, method: route.method.name });
				finish(answer, dialect, A2AError.from(error));
			});
		} else finish(answer, dialect, new A2AError("UNIMPLEMENTED", { message: errors.METHOD_NOT_FOUND.text }));
		return true;
	};
}

/** Ends an answer with an error in the dialect's form. */
function finish(answer: Answer, dialect: Dialect, error: A2AError, losses?: Losses): void {
	answer.finish(dialect.errors.grpc.write(error), errorHeader(error, losses));
}

async function serve(
	stream: ServerHttp2Stream,
	headers: IncomingHttpHeaders,
	target: Target,
	route: Route,
	origin: Origin,
	answer: Answer,
	handler: Handler,
	options: AttachOptions,
): Promise<void> {
	const { dialect, method } = route;
	const arrived = performance.now();
	let timeout: number | undefined;
	let request: Payload;
	const losses = new Losses();
	try {
		answer.gzip = wantsGzip(headers);
		timeout = timeoutOf(headers);
		const patience = Math.min(options.bodyTimeout || Infinity, timeout ?? Infinity);
		const bytes = await readOne(stream, headers, options.maxMessage, patience === Infinity ? 0 : Math.max(1, patience));
		request = dialect.binary.readRequest(method, bytes, losses.add);
		// Here, so that bytes which are no message go no further; the core needs it decoded anyway.
		request.message();
	} catch (thrown) {
		const error = A2AError.from(thrown);
		if (error.reason === "INTERNAL_ERROR") options.report(error, { id: target.id, method: method.name });
		return finish(answer, dialect, error);
	}
	const left = timeout === undefined ? {} : { timeout: Math.max(1, timeout - (performance.now() - arrived)) };
	const header = readMetadata(headers);
	const session = begin({ method, request, target, header, query: none, origin, losses, ...left }, options);
	const { signal } = session.call;
	// The deadline is kept even where a handler does not listen to its signal.
	const late = () => {
		if (!answer.over) finish(answer, dialect, session.fail(signal.reason), losses);
	};
	const gone = () => {
		if (!answer.over) {
			answer.over = true;
			session.abandon();
		}
	};
	signal.addEventListener("abort", late, { once: true });
	stream.on("close", gone);
	if (stream.destroyed) gone();
	try {
		const reply = await handler(session.call);
		if (answer.over) cancel(reply);
		else if (isStream(method)) await sendStream(reply, route, answer, losses);
		else await sendOne(reply, route, answer, losses);
	} catch (thrown) {
		if (!answer.over) finish(answer, dialect, session.fail(thrown), losses);
	} finally {
		signal.removeEventListener("abort", late);
		session.finish();
	}
}

async function sendOne(reply: Reply, route: Route, answer: Answer, losses: Losses): Promise<void> {
	const bytes = lower(route, Array.isArray(reply.messages) ? reply.messages[0] : await single(reply), losses);
	answer.start(replyHeader(reply.header, losses));
	const sent = answer.send(bytes);
	// Only compression has to be awaited: the end follows the bytes by itself.
	if (sent && answer.gzip) await sent;
	answer.finish(ok);
}

async function sendStream(reply: Reply, route: Route, answer: Answer, losses: Losses): Promise<void> {
	const { messages } = await open(reply);
	let started = false;
	await forEach(messages, (message) => {
		if (answer.over) return false;
		const bytes = lower(route, message, losses);
		// After the first message, so that the header tells what it lost.
		if (!started) answer.start(replyHeader(reply.header, losses));
		started = true;
		losses.check(wouldLose);
		const sent = answer.send(bytes);
		return answer.over ? false : sent;
	});
	if (answer.over) return;
	if (!started) answer.start(reply.header);
	answer.finish(ok);
}

/** The bytes of a reply. What does not fit its type is the agent's fault, not the client's. */
export function lower(route: Route, message: Payload, losses: Losses): Uint8Array {
	try {
		return route.dialect.binary.writeReply(route.method, message, losses.add);
	} catch (error) {
		if (!(error instanceof PayloadError)) throw error;
		throw new A2AError("INVALID_AGENT_RESPONSE", { cause: error });
	}
}

/** Nobody will read this reply: its source is told. */
export function cancel(reply: Reply): void {
	Promise.resolve(iterate(reply)[Symbol.asyncIterator]().return?.()).catch(() => {});
}
