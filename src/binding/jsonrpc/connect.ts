/** JSON-RPC towards the agent: POST on its interface URL, answers and events read back. */
import { type Call, type Header, isStream, type Reply } from "../../call/call.ts";
import { A2AError, errors, wouldLose } from "../../call/error.ts";
import { type Payload, PayloadError } from "../../call/payload.ts";
import { mapEach } from "../../call/stream.ts";
import type { Dialect, JsonText } from "../../dialect/dialect.ts";
import { mediaType, pick } from "../../wire/header.ts";
import { type HttpAnswer, httpClient, readAll } from "../../wire/http-client.ts";
import { appendQuery } from "../../wire/query.ts";
import { sseReader } from "../../wire/sse.ts";
import type { ConnectOptions, Interface, Upstream } from "../binding.ts";
import { fetchDocument } from "./document.ts";
import { type Response, readResponse, writeRequest } from "./envelope.ts";

const REPLY_HEADER = ["www-authenticate", "retry-after", "cache-control", "etag"] as const;

export function connect(iface: Interface, dialect: Dialect, options: ConnectOptions): Upstream {
	const url = new URL(iface.url);
	const client = httpClient(url, options);
	const path = url.pathname + url.search;
	const named = [...REPLY_HEADER, dialect.extensionsHeader];
	const documents = new Map([...(dialect.documents ?? [])].map(([path, method]) => [method, path]));
	let lastId = 0;

	return { handler, close: () => client.close() };

	async function handler(call: Call): Promise<Reply> {
		const name = dialect.rpcName(call.method);
		if (name === undefined) {
			const document = documents.get(call.method);
			if (document !== undefined) return fetchDocument(call, document, url, dialect, client, options);
			throw new A2AError("UNSUPPORTED_OPERATION", { message: "The agent's protocol version has no such operation" });
		}
		const stream = isStream(call.method);
		const params = dialect.rpc.writeRequest(call.method, call.request, call.losses.add);
		call.losses.check(wouldLose);
		lastId = (lastId % Number.MAX_SAFE_INTEGER) + 1;
		const answer = await client.request({
			method: "POST",
			path: appendQuery(path, call.query),
			header: {
				...call.header,
				...dialect.requestHeader,
				"content-type": "application/json",
				accept: stream ? "text/event-stream, application/json" : "application/json",
			},
			body: writeRequest(lastId, name, params.text),
			signal: call.signal,
			stream,
		});
		const header = pick(answer.header, named);
		if (answer.status < 400 && mediaType(answer.header["content-type"]) === "text/event-stream") {
			if (stream) return { header, messages: events(call, answer) };
			// It may never end.
			answer.body.cancel();
			throw unreadable(answer.header);
		}
		const payload = await whole(call, answer);
		return { header, messages: stream ? once(payload) : [payload] };
	}

	/** An answer in one piece. Throws what it says if it says an error. */
	async function whole(call: Call, answer: HttpAnswer): Promise<Payload> {
		const body = await readAll(answer.body, options.maxMessage);
		let response: Response | undefined;
		try {
			response = readResponse(body, options.maxDepth);
		} catch {
			response = undefined;
		}
		if (response && "error" in response) throw withStatus(dialect.errors.rpc.read(response.error), answer);
		if (answer.status >= 300) throw dialect.errors.http.read(answer.status, undefined, answer.header);
		if (!response) throw unreadable(answer.header);
		return read(call, response.result);
	}

	function events(call: Call, answer: HttpAnswer): AsyncIterable<Payload> {
		return mapEach(sseReader(answer.body, { maxEvent: options.maxMessage }), (event) => {
			if (event.data === "") return undefined;
			let response: Response | undefined;
			try {
				response = readResponse(event.data, options.maxDepth);
			} catch (cause) {
				throw new A2AError("INVALID_AGENT_RESPONSE", { message: "The agent sent an event that is no JSON", cause });
			}
			if (!response)
				throw new A2AError("INVALID_AGENT_RESPONSE", {
					message: "The agent sent an event that is no JSON-RPC response",
				});
			if ("error" in response) throw dialect.errors.rpc.read(response.error);
			return read(call, response.result);
		});
	}

	function read(call: Call, result: JsonText | undefined): Payload {
		if (result === undefined && call.method.output.fields.length > 0) {
			throw new A2AError("INVALID_AGENT_RESPONSE", { message: "The agent's JSON-RPC response has no result" });
		}
		try {
			const payload = dialect.rpc.readReply(call.method, result ?? NOTHING, call.losses.add);
			payload.check();
			return payload;
		} catch (error) {
			if (!(error instanceof PayloadError)) throw error;
			throw new A2AError("INVALID_AGENT_RESPONSE", {
				message: `${errors.INVALID_AGENT_RESPONSE.text}: ${error.message}`,
				cause: error,
			});
		}
	}

	/** A generic JSON-RPC error under a telling HTTP status means what the status says. */
	function withStatus(error: A2AError, answer: HttpAnswer): A2AError {
		const says = dialect.errors.http.read(answer.status, undefined, answer.header);
		const telling = answer.status >= 400 && !("a2a" in errors[error.reason]) && TELLING.has(answer.status);
		if (!telling)
			return new A2AError(error.reason, {
				message: error.message,
				details: error.details,
				wire: error.wire,
				header: pick(answer.header, ["retry-after"]),
			});
		return new A2AError(says.reason, { message: error.message, details: error.details, header: says.header });
	}
}

const NOTHING: JsonText = { text: "{}", value: {} };

/** HTTP statuses that say more than JSON-RPC's generic codes can. */
const TELLING: ReadonlySet<number> = new Set([401, 403, 429, 503, 504]);

function unreadable(header: Header): A2AError {
	const type = mediaType(header["content-type"]) || "no content type";
	return new A2AError("INVALID_AGENT_RESPONSE", { message: `The agent's answer is no JSON-RPC response (${type})` });
}

async function* once(payload: Payload): AsyncIterable<Payload> {
	yield payload;
}
