/** What connect-node does for gRPC-Web and Connect: the protocols. Loaded with the first such request (docs/performance.md). */
import {
	type DescMessage,
	type DescMethodServerStreaming,
	type DescMethodUnary,
	fromBinary,
	type Message,
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
import type { Payload } from "../../call/payload.ts";
import { open, single } from "../../call/stream.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import { discard, hasBody } from "../../wire/body.ts";
import type { AttachOptions, HttpRequest, HttpResponse, Target } from "../binding.ts";
import { begin, errorHeader, isGone, replyHeader, type Session } from "../serve.ts";
import { cancel, lower, none, type Route } from "./server.ts";
import { emptyLike, readWeb } from "./web-request.ts";

/** A request on its way through connect, which sees an empty message in place of the one it holds. */
interface Received {
	readonly target: Target;
	readonly losses: Losses;
	request?: Payload;
}

const nowhere: Target = { agent: "", path: "", query: "", id: "" };
const receivedKey = createContextKey<Received>({ target: nowhere, losses: new Losses() });

/** Answers requests on one route. */
export type Serve = (req: HttpRequest, res: HttpResponse, target: Target) => Promise<void>;

/** What serves a route, whichever of the protocols a request speaks. */
export function serveRoute(route: Route, handler: Handler, options: AttachOptions): Serve {
	const universal = universalHandler(route, handler, options);
	return async (req, res, target) => {
		if (!universal) throw new Error(`no handler for ${target.path}`);
		const received: Received = { target, losses: new Losses() };
		const values = createContextValues().set(receivedKey, received);
		const request = universalRequestFromNodeRequest(req, res, undefined, values);
		// It is not the length of what connect is going to read.
		request.header.delete("content-length");
		let asked = false;
		const body = async function* () {
			asked = true;
			received.request = await read(route, req, received, options);
			yield emptyLike(req);
		};
		const answer = await universal({ ...request, body: body() });
		// Refused for its header alone: nobody has read the rest.
		if (!asked && hasBody(req)) discard(req, options.maxMessage);
		if (!isGone(res) && !res.headersSent) await universalResponseToNodeResponse(answer, res);
	};
}

/** Reads the message for connect, whose body this is: what is wrong with it is thrown in connect's own terms. */
async function read(route: Route, req: HttpRequest, received: Received, options: AttachOptions): Promise<Payload> {
	try {
		return await readWeb(req, route, received.losses, options);
	} catch (thrown) {
		const error = A2AError.from(thrown);
		if (error.reason === "INTERNAL_ERROR") options.report(error, { id: received.target.id, method: route.method.name });
		throw connectError(route.dialect, error);
	}
}

/** connect's handler for one route, whichever of the protocols a request speaks. */
function universalHandler(route: Route, handler: Handler, options: AttachOptions): UniversalHandler | undefined {
	const router = createConnectRouter({
		grpc: false,
		acceptCompression: [compressionGzip],
	});
	const { own } = route;
	if (isStream(own)) {
		router.rpc(own as DescMethodServerStreaming, (_, context) => stream(route, context, handler, options));
	} else if (own.methodKind === "unary") {
		router.rpc(own as DescMethodUnary, (_, context) => unary(route, context, handler, options));
	}
	return router.handlers[0];
}

async function unary(
	route: Route,
	context: HandlerContext,
	handler: Handler,
	options: AttachOptions,
): Promise<Message> {
	const session = start(route, context, options);
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
	context: HandlerContext,
	handler: Handler,
	options: AttachOptions,
): AsyncGenerator<Message> {
	const session = start(route, context, options);
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

function start({ method, dialect }: Route, context: HandlerContext, options: AttachOptions): Session {
	const timeout = context.timeoutMs();
	const { target, losses, request } = context.values.get(receivedKey);
	if (!request) throw new Error("connect has called before it has read");
	const session = begin(
		{
			method,
			request,
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

/** connect writes the dialect's own messages; the dialect writes bytes. Unknown fields survive both. */
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
	return connectError(route.dialect, session.fail(thrown), session.call.losses);
}

/** The dialect's gRPC status as connect's error: same code, same message, same details. */
function connectError(dialect: Dialect, error: A2AError, losses?: Losses): ConnectError {
	const status = dialect.errors.grpc.write(error);
	const connect = new ConnectError(status.message, status.code, { ...errorHeader(error, losses) });
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
