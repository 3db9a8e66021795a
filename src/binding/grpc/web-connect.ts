/** What connect-node does for gRPC-Web and Connect: the protocols. Loaded with the first such request (docs/performance.md). */
import {
	type DescMessage,
	type DescMethod,
	type DescMethodServerStreaming,
	type DescMethodUnary,
	fromBinary,
	type Message,
	toBinary,
} from "@bufbuild/protobuf";
import {
	ConnectError,
	createConnectRouter,
	createContextKey,
	createContextValues,
	type HandlerContext,
} from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import {
	compressionGzip,
	universalRequestFromNodeRequest,
	universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { type Handler, type Header, isStream, type Reply } from "../../call/call.ts";
import { A2AError } from "../../call/error.ts";
import { Losses } from "../../call/loss.ts";
import { open, single } from "../../call/stream.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import type { AttachOptions, HttpRequest, HttpResponse, Target } from "../binding.ts";
import { begin, replyHeader, type Session } from "../serve.ts";
import { cancel, lower, none, type Route } from "./server.ts";

const nowhere: Target = { agent: "", path: "", query: "", id: "" };
const targetKey = createContextKey<Target>(nowhere);

/** Answers requests on one route. */
export type Serve = (req: HttpRequest, res: HttpResponse, target: Target) => Promise<void>;

/** What serves a route, whichever of the protocols a request speaks. */
export function serveRoute(route: Route, handler: Handler, options: AttachOptions): Serve {
	const universal = universalHandler(route, handler, options);
	return async (req, res, target) => {
		if (!universal) throw new Error(`no handler for ${target.path}`);
		const values = createContextValues().set(targetKey, target);
		const answer = await universal(universalRequestFromNodeRequest(req, res, undefined, values));
		if (!res.destroyed && !res.headersSent) await universalResponseToNodeResponse(answer, res);
	};
}

/** connect's handler for one route, whichever of the protocols a request speaks. */
function universalHandler(route: Route, handler: Handler, options: AttachOptions): UniversalHandler | undefined {
	const router = createConnectRouter({
		grpc: false,
		readMaxBytes: options.maxMessage,
		acceptCompression: [compressionGzip],
	});
	const { own } = route;
	if (isStream(own)) {
		router.rpc(own as DescMethodServerStreaming, (request, context) =>
			stream(route, request, context, handler, options),
		);
	} else if (own.methodKind === "unary") {
		router.rpc(own as DescMethodUnary, (request, context) => unary(route, request, context, handler, options));
	}
	return router.handlers[0];
}

async function unary(
	route: Route,
	request: Message,
	context: HandlerContext,
	handler: Handler,
	options: AttachOptions,
): Promise<Message> {
	const session = start(route, request, context, options);
	try {
		const { losses } = session.call;
		const reply = await answered(handler, session);
		const bytes = lower(route, await single(reply), losses);
		tell(reply, losses, context);
		return outgoing(route.own.output, bytes);
	} catch (thrown) {
		throw failure(route, session, thrown, context);
	} finally {
		session.finish();
	}
}

async function* stream(
	route: Route,
	request: Message,
	context: HandlerContext,
	handler: Handler,
	options: AttachOptions,
): AsyncGenerator<Message> {
	const session = start(route, request, context, options);
	try {
		const { losses } = session.call;
		const reply = await answered(handler, session);
		const { messages } = await open(reply);
		for await (const message of messages) {
			const bytes = lower(route, message, losses);
			tell(reply, losses, context);
			yield outgoing(route.own.output, bytes);
		}
	} catch (thrown) {
		throw failure(route, session, thrown, context);
	} finally {
		session.finish();
		// Left early: whatever the iteration could not reach is told by the signal.
		if (context.signal.aborted) session.abandon();
	}
}

function start(route: Route, request: Message, context: HandlerContext, options: AttachOptions): Session {
	const { method, own, dialect } = route;
	const timeout = context.timeoutMs();
	const target = context.values.get(targetKey);
	const losses = new Losses();
	const session = begin(
		{
			method,
			request: incoming(dialect, method, own.input, request, losses),
			losses,
			target,
			header: readHeaders(context.requestHeader),
			query: target.query ? Object.fromEntries(new URLSearchParams(target.query)) : none,
			origin: { binding: context.protocolName === "connect" ? "CONNECT" : "GRPC-WEB", version: dialect.version },
			...(timeout !== undefined && { timeout: Math.max(1, timeout) }),
		},
		options,
	);
	if (context.signal.aborted) session.abandon();
	else context.signal.addEventListener("abort", () => session.abandon(), { once: true });
	return session;
}

/** The core's answer, or the end of the call where the core does not listen to its signal. */
async function answered(handler: Handler, session: Session): Promise<Reply> {
	const { signal } = session.call;
	const reply = handler(session.call);
	let abort: (() => void) | undefined;
	const ended = new Promise<never>((_, reject) => {
		abort = () => reject(A2AError.from(signal.reason));
		signal.addEventListener("abort", abort, { once: true });
	});
	try {
		return await Promise.race([reply, ended]);
	} catch (error) {
		if (signal.aborted) reply.then(cancel, ignore);
		throw error;
	} finally {
		if (abort) signal.removeEventListener("abort", abort);
	}
}

/** Response headers: connect sends them with the first message, so they are set before each. */
function tell(reply: Reply, losses: Losses, context: HandlerContext): void {
	const header = replyHeader(reply.header, losses);
	for (const name in header) context.responseHeader.set(name, header[name] ?? "");
}

/** connect decodes into the dialect's own type; the dialect reads bytes. Unknown fields survive both. */
function incoming(dialect: Dialect, method: DescMethod, type: DescMessage, message: Message, losses: Losses) {
	try {
		return dialect.binary.readRequest(method, toBinary(type, message), losses.add);
	} catch (thrown) {
		throw connectError(dialect, A2AError.from(thrown));
	}
}

/** The inverse of `incoming`. */
function outgoing(type: DescMessage, bytes: Uint8Array): Message {
	try {
		return fromBinary(type, bytes);
	} catch (error) {
		throw new A2AError("INVALID_AGENT_RESPONSE", { cause: error });
	}
}

function failure(route: Route, session: Session, thrown: unknown, context: HandlerContext): ConnectError {
	const { reason } = context.signal;
	// connect's own verdict (its deadline, its client's reset) stands.
	if (context.signal.aborted && reason instanceof ConnectError) return reason;
	return connectError(route.dialect, session.fail(thrown));
}

/** The dialect's gRPC status as connect's error: same code, same message, same details. */
function connectError(dialect: Dialect, error: A2AError): ConnectError {
	const status = dialect.errors.grpc.write(error);
	const connect = new ConnectError(status.message, status.code, { ...error.header });
	if (status.details) {
		connect.details = fromBinary(StatusSchema, status.details).details.map((any) => ({
			type: any.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1),
			value: any.value,
		}));
	}
	return connect;
}

function readHeaders(headers: Headers): Header {
	return Object.fromEntries(headers);
}

function ignore(): void {}
