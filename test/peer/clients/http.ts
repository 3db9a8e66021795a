/** JSON-RPC and HTTP+JSON clients on undici: what a hand-written client does, and no more. */
import { type DescMethod, fromJson, type JsonObject, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { Agent, type Dispatcher } from "undici";
import { buildHttp } from "../http-rule.ts";
import { type Detail, isStream, VERSION } from "../protocol.ts";
import { type CallOptions, type Client, ClientError } from "./client.ts";

/** `data` of each server-sent event, as the bytes arrive. */
export async function* readSse(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
	const decoder = new TextDecoder("utf-8", { fatal: true });
	let rest = "";
	let data: string[] = [];
	for await (const chunk of body) {
		rest += decoder.decode(chunk, { stream: true });
		for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
			const line = rest.slice(0, end).replace(/\r$/, "");
			rest = rest.slice(end + 1);
			if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
			if (line === "" && data.length > 0) {
				yield data.join("\n");
				data = [];
			}
		}
	}
	if (data.length > 0 || rest !== "") throw new ClientError(0, "the stream ended inside an event", []);
}

interface Sent {
	readonly verb: string;
	readonly url: URL;
	/** Path and query as they go out; undici sends them unchanged. */
	readonly path: string;
	readonly body: string | undefined;
	readonly header: Readonly<Record<string, string>>;
}

interface Form {
	readonly name: string;
	send(method: DescMethod, request: JsonObject): Sent;
	/** What an answer without content is read from; undefined = the body must be JSON. */
	empty(status: number): JsonValue | undefined;
	/** A unary body or one event, to the message's JSON; throws ClientError. */
	read(status: number, json: JsonValue): JsonValue;
}

function httpClient(form: Form): Client {
	// One connection per call under way, like separate clients.
	const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connections: null, keepAliveTimeout: 30_000 });
	async function* call(method: DescMethod, request: Message, options: CallOptions = {}): AsyncGenerator<Message> {
		const sent = form.send(method, toJson(method.input, request) as JsonObject);
		const signals = [options.signal, options.timeout === undefined ? undefined : AbortSignal.timeout(options.timeout)];
		const signal = AbortSignal.any(signals.filter((each) => each !== undefined));
		let response: Dispatcher.ResponseData;
		try {
			response = await agent.request({
				origin: sent.url.origin,
				path: sent.path,
				method: sent.verb as Dispatcher.HttpMethod,
				headers: { "a2a-version": VERSION, ...sent.header, ...options.header },
				body: sent.body ?? null,
				signal,
			});
		} catch (error) {
			throw new ClientError(0, String(error), [], error);
		}
		const type = String(response.headers["content-type"] ?? "");
		const read = (text: string): Message => {
			let json: JsonValue | undefined = text === "" ? form.empty(response.statusCode) : undefined;
			try {
				json ??= JSON.parse(text) as JsonValue;
			} catch {
				throw new ClientError(response.statusCode, `not JSON (${type}): ${text.slice(0, 200)}`, []);
			}
			// No ignoreUnknownFields: a peer of the same version has nothing unknown to say.
			return fromJson(method.output, form.read(response.statusCode, json));
		};
		try {
			if (!type.startsWith("text/event-stream")) {
				const message = read(await response.body.text());
				if (isStream(method)) throw new ClientError(response.statusCode, `a stream came as ${type}`, []);
				yield message;
				return;
			}
			if (!isStream(method)) throw new ClientError(response.statusCode, "a unary answer came as a stream", []);
			for await (const data of readSse(response.body)) yield read(data);
		} catch (error) {
			throw error instanceof ClientError ? error : new ClientError(0, String(error), [], error);
		} finally {
			// Read to its end, the connection serves the next call; left early, it is cut.
			if (!response.body.readableEnded) {
				response.body.on("error", () => {});
				response.body.destroy();
			}
		}
	}
	return { form: form.name, call, close: () => agent.destroy() };
}

const asDetails = (value: JsonValue | undefined): readonly Detail[] =>
	Array.isArray(value) ? (value as Detail[]) : [];

/** JSON-RPC over POST. `url` is the interface's URL. `lenient` takes a null result for an empty message. */
export function jsonRpcClient(base: string, lenient = false): Client {
	const url = new URL(base);
	let id = 0;
	return httpClient({
		name: "JSONRPC",
		send: (method, params) => ({
			verb: "POST",
			url,
			path: url.pathname,
			header: { "content-type": "application/json", accept: "application/json, text/event-stream" },
			body: JSON.stringify({ jsonrpc: "2.0", id: ++id, method: method.name, params }),
		}),
		empty: () => undefined,
		read(status, json) {
			const { error, result } = json as JsonObject;
			if (error !== undefined) {
				const { code, message, data } = error as JsonObject;
				throw new ClientError(Number(code), String(message), asDetails(data));
			}
			if (result === undefined) throw new ClientError(status, `neither result nor error: ${JSON.stringify(json)}`, []);
			return lenient && result === null ? {} : result;
		},
	});
}

/** HTTP+JSON by the annotations. `url` is the interface's URL, a base for the paths. */
export function httpJsonClient(base: string): Client {
	const url = new URL(base);
	const prefix = url.pathname.replace(/\/$/, "");
	return httpClient({
		name: "HTTP+JSON",
		send(method, request) {
			const { verb, path, body } = buildHttp(method, request);
			const header = {
				accept: isStream(method) ? "text/event-stream" : "application/a2a+json",
				...(body && { "content-type": "application/a2a+json" }),
			};
			return { verb, url, path: prefix + path, header, body: body && JSON.stringify(body) };
		},
		empty: (status) => (status === 204 ? {} : undefined),
		read(status, json) {
			const error = (json as JsonObject)["error"];
			if (typeof error === "object" && error !== null && !Array.isArray(error)) {
				const { code, message, details } = error as JsonObject;
				if (status !== 200 && code !== status) throw new Error(`status ${status}, but the body says ${code}`);
				throw new ClientError(Number(code), String(message), asDetails(details));
			}
			if (status < 200 || status > 299) throw new ClientError(status, `no error body: ${JSON.stringify(json)}`, []);
			return json;
		},
	});
}
