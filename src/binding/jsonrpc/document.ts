/** Operations that an old version serves as a plain GET beside its JSON-RPC endpoint (v0.2's extended card, dialects.md §2). */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Call, Handler, Reply } from "../../call/call.ts";
import { A2AError, errors } from "../../call/error.ts";
import { Losses } from "../../call/loss.ts";
import { PayloadError } from "../../call/payload.ts";
import { single } from "../../call/stream.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import { pick, toHeader } from "../../wire/header.ts";
import { type HttpClient, readAll } from "../../wire/http-client.ts";
import { parseJson } from "../../wire/json-text.ts";
import { appendQuery, queryMembers } from "../../wire/query.ts";
import type { AttachOptions, ConnectOptions, HttpRequest, Target } from "../binding.ts";
import { begin, errorHeader, replyHeader, type Session } from "../serve.ts";

export interface Document {
	readonly dialect: Dialect;
	readonly method: DescMethod;
}

/** Paths below the agent's root to what they serve. */
export function documentsOf(dialects: readonly Dialect[]): ReadonlyMap<string, Document> {
	const found = new Map<string, Document>();
	for (const dialect of dialects) {
		for (const [path, method] of dialect.documents ?? [])
			if (!found.has(`/${path}`)) found.set(`/${path}`, { dialect, method });
	}
	return found;
}

/** What goes out: the status, the JSON text and the header. */
export interface Served {
	readonly status: number;
	readonly text: string;
	readonly header: Readonly<Record<string, string>>;
}

/** Towards clients. Never throws. `opened` is told the session, for a client that leaves. */
export async function serveDocument(
	{ dialect, method }: Document,
	req: HttpRequest,
	target: Target,
	binding: string,
	handler: Handler,
	options: AttachOptions,
	opened: (session: Session) => void,
): Promise<Served> {
	const losses = new Losses();
	let session: Session | undefined;
	try {
		if (req.method !== "GET") throw new A2AError("METHOD_NOT_ALLOWED", { header: { allow: "GET" } });
		const incoming = {
			method,
			request: dialect.rpc.readRequest(method, { text: "{}", value: {} }, losses.add),
			target,
			header: toHeader(req.headers),
			query: queryMembers(target.query),
			origin: { binding, version: dialect.version },
			losses,
		};
		session = begin(incoming, options);
		opened(session);
		const reply = await handler(session.call);
		const { text } = dialect.rpc.writeReply(method, await single(reply), losses.add);
		return { status: 200, text, header: replyHeader(reply.header, losses) };
	} catch (thrown) {
		const error = session ? session.fail(thrown) : A2AError.from(thrown);
		const { status, body } = dialect.errors.http.write(error);
		// This version says with 404 that there is no such card.
		const missing = error.reason === "EXTENDED_AGENT_CARD_NOT_CONFIGURED" || error.reason === "UNSUPPORTED_OPERATION";
		return {
			status: missing ? 404 : status,
			text: JSON.stringify(body),
			header: errorHeader(error, session && losses),
		};
	} finally {
		session?.finish();
	}
}

/** Towards the agent: a GET on `path` below the endpoint's parent. */
export async function fetchDocument(
	call: Call,
	path: string,
	endpoint: URL,
	dialect: Dialect,
	client: HttpClient,
	options: ConnectOptions,
): Promise<Reply> {
	const url = new URL(path, endpoint);
	const answer = await client.request({
		method: "GET",
		path: appendQuery(url.pathname, call.query),
		header: { ...call.header, ...dialect.requestHeader, accept: "application/json" },
		signal: call.signal,
		stream: false,
	});
	const body = await readAll(answer.body, options.maxMessage);
	if (answer.status === 404) throw new A2AError("EXTENDED_AGENT_CARD_NOT_CONFIGURED");
	if (answer.status >= 300) throw dialect.errors.http.read(answer.status, undefined, answer.header);
	try {
		const payload = dialect.rpc.readReply(call.method, parseJson(body, options.maxDepth), call.losses.add);
		payload.message();
		return { header: pick(answer.header, ["cache-control", "etag"]), messages: [payload] };
	} catch (cause) {
		const text = cause instanceof PayloadError ? cause.message : "it is no JSON";
		throw new A2AError("INVALID_AGENT_RESPONSE", { message: `${errors.INVALID_AGENT_RESPONSE.text}: ${text}`, cause });
	}
}
