/** Every client form by hand, on bare HTTP: arbitrary header fields and bytes out, the whole answer back. */
import { once } from "node:events";
import http2 from "node:http2";
import { type DescMethod, fromJson, type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { request as send } from "undici";
import { errors, type Reason, Status } from "../../src/call/error.ts";
import { buildHttp } from "../peer/http-rule.ts";
import { type Detail, detailToJson, grpcPath, isStream, readDetails, reasonOf } from "../peer/protocol.ts";

export const forms = ["JSONRPC", "HTTP+JSON", "GRPC", "GRPC-WEB", "CONNECT"] as const;
export type FormName = (typeof forms)[number];

/** What a client was told, error or not. */
export interface Outcome {
	readonly form: FormName;
	readonly http: number;
	/** Header and trailers, as they came. */
	readonly header: Readonly<Record<string, string>>;
	/** The error's code in the form's own terms: JSON-RPC code, HTTP status, gRPC status, Connect's name. Undefined = none. */
	readonly code: number | string | undefined;
	readonly reason: string | undefined;
	readonly message: string;
	readonly details: readonly Detail[];
	/** Messages that came before the end. */
	readonly messages: number;
	/** Everything that came, for what must not be in it. */
	readonly all: string;
}

export interface Bytes {
	readonly http: number;
	readonly header: Readonly<Record<string, string>>;
	readonly body: Buffer;
}

const flat = (header: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> =>
	Object.fromEntries(Object.entries(header).map(([name, value]) => [name, String(value)]));

export interface Init {
	readonly verb?: string;
	readonly path?: string;
	readonly header?: Readonly<Record<string, string>>;
	readonly body?: string | Uint8Array;
	readonly signal?: AbortSignal;
}

/** One request over HTTP/1.1, on a connection of its own. */
export async function http1(url: string, init: Init = {}): Promise<Bytes> {
	const response = await send(url + (init.path ?? "/"), {
		method: (init.verb ?? "POST") as "POST",
		headers: init.header ?? {},
		reset: true,
		body: init.body === undefined ? null : Buffer.from(init.body as Uint8Array),
		...(init.signal && { signal: init.signal }),
	});
	const body = Buffer.from(await response.body.arrayBuffer());
	return { http: response.statusCode, header: { ...flat(response.headers), ...flat(response.trailers) }, body };
}

/** One request over HTTP/2, on a connection of its own. Trailers join the header. */
export async function http2Once(url: string, init: Init = {}): Promise<Bytes> {
	const session = http2.connect(url);
	session.on("error", () => {});
	try {
		const stream = session.request({
			":method": init.verb ?? "POST",
			":path": init.path ?? "/",
			...init.header,
		});
		let header: Record<string, string> = {};
		stream.on("response", (h) => {
			header = { ...header, ...flat(h as Record<string, string>) };
		});
		stream.on("trailers", (h) => {
			header = { ...header, ...flat(h as Record<string, string>) };
		});
		stream.on("error", () => {});
		init.signal?.addEventListener("abort", () => stream.close(http2.constants.NGHTTP2_CANCEL));
		const chunks: Buffer[] = [];
		stream.on("data", (chunk: Buffer) => chunks.push(chunk));
		if (init.body === undefined) stream.end();
		else stream.end(Buffer.from(init.body as Uint8Array));
		if (!stream.closed) await once(stream, "close").catch(() => {});
		return { http: Number(header[":status"] ?? 0), header, body: Buffer.concat(chunks) };
	} finally {
		session.destroy();
	}
}

/** A frame as gRPC, gRPC-Web and Connect streams have it. */
export function frame(message: Uint8Array, flags = 0): Buffer {
	const head = Buffer.alloc(5);
	head[0] = flags;
	head.writeUInt32BE(message.length, 1);
	return Buffer.concat([head, message]);
}

function frames(body: Buffer): { flags: number; bytes: Buffer }[] {
	const found: { flags: number; bytes: Buffer }[] = [];
	for (let at = 0; at + 5 <= body.length; ) {
		const length = body.readUInt32BE(at + 1);
		found.push({ flags: body[at] ?? 0, bytes: body.subarray(at + 5, at + 5 + length) });
		at += 5 + length;
	}
	return found;
}

export const binaryOf = (method: DescMethod, json: JsonValue): Uint8Array =>
	toBinary(method.input, fromJson(method.input, json));

const asDetails = (value: unknown): Detail[] => (Array.isArray(value) ? (value as Detail[]) : []);

const sse = (text: string): string[] =>
	text
		.split("\n\n")
		.filter((event) => /^data:/m.test(event))
		.map((event) => event.replace(/^event:.*\n/, "").replace(/^data: ?/gm, ""));

interface Said {
	readonly code: number | string | undefined;
	readonly message?: string;
	readonly details?: readonly Detail[];
	readonly messages: number;
}

const readers: Readonly<Record<FormName, (answer: Bytes) => Said>> = {
	JSONRPC(answer) {
		const text = answer.body.toString();
		const stream = String(answer.header["content-type"]).startsWith("text/event-stream");
		const all = (stream ? sse(text) : [text]).map((part) => JSON.parse(part) as JsonObject);
		for (const each of all) if (each["jsonrpc"] !== "2.0") throw new Error(`no JSON-RPC: ${text}`);
		const error = all.at(-1)?.["error"] as JsonObject | undefined;
		if (!error) return { code: undefined, messages: all.length };
		return {
			code: Number(error["code"]),
			message: String(error["message"]),
			details: asDetails(error["data"]),
			messages: all.length - 1,
		};
	},
	"HTTP+JSON"(answer) {
		const text = answer.body.toString();
		const stream = String(answer.header["content-type"]).startsWith("text/event-stream");
		const all = (stream ? sse(text) : text === "" ? [] : [text]).map((part) => JSON.parse(part) as JsonObject);
		const error = all.at(-1)?.["error"] as JsonObject | undefined;
		if (!error) {
			if (answer.http >= 400) throw new Error(`no error body: ${answer.http} ${text}`);
			return { code: undefined, messages: all.length };
		}
		if (!stream && error["code"] !== answer.http) throw new Error(`${answer.http}, but ${text}`);
		return {
			code: Number(error["code"]),
			message: String(error["message"]),
			details: asDetails(error["details"]),
			messages: all.length - 1,
		};
	},
	GRPC: (answer) => grpcSaid(answer.header, frames(answer.body).length),
	"GRPC-WEB"(answer) {
		const all = frames(answer.body);
		const last = all.at(-1);
		const trailers =
			last && last.flags & 0x80
				? Object.fromEntries(
						last.bytes
							.toString("latin1")
							.split("\r\n")
							.filter((line) => line !== "")
							.map((line) => [
								line.slice(0, line.indexOf(":")).toLowerCase(),
								line.slice(line.indexOf(":") + 1).trim(),
							]),
					)
				: {};
		(answer.header as Record<string, string>)["x-trailer-frame"] = JSON.stringify(trailers);
		Object.assign(answer.header, trailers);
		return grpcSaid(answer.header, all.filter(({ flags }) => !(flags & 0x80)).length);
	},
	CONNECT(answer) {
		const type = String(answer.header["content-type"]);
		const text = answer.body.toString();
		let error: JsonObject | undefined;
		let messages = 0;
		if (type.startsWith("application/connect+")) {
			const all = frames(answer.body);
			messages = all.filter(({ flags }) => !(flags & 2)).length;
			const end = all.find(({ flags }) => flags & 2);
			const said = JSON.parse(end?.bytes.toString() || "{}") as JsonObject;
			error = said["error"] as JsonObject | undefined;
			for (const [name, values] of Object.entries((said["metadata"] ?? {}) as Record<string, string[]>))
				(answer.header as Record<string, string>)[name.toLowerCase()] = values.join(", ");
		} else if (answer.http !== 200) {
			error = text === "" ? { code: `HTTP ${answer.http}` } : (JSON.parse(text) as JsonObject);
		} else messages = 1;
		if (!error) return { code: undefined, messages };
		const details = ((error["details"] ?? []) as { type: string; value: string }[]).map(({ type: name, value }) =>
			detailToJson(name, Buffer.from(value, "base64")),
		);
		return { code: String(error["code"]), message: String(error["message"] ?? ""), details, messages };
	},
};

function grpcSaid(header: Readonly<Record<string, string>>, messages: number): Said {
	const status = header["grpc-status"];
	if (status === undefined) throw new Error(`no grpc-status: ${JSON.stringify(header)}`);
	if (status === "0") return { code: undefined, messages };
	const bytes = header["grpc-status-details-bin"];
	return {
		code: Number(status),
		message: decodeURIComponent(header["grpc-message"] ?? ""),
		details: bytes === undefined ? [] : readDetails(Buffer.from(bytes, "base64")),
		messages,
	};
}

/** Makes of an answer what it says in this form. */
export function outcome(form: FormName, answer: Bytes): Outcome {
	const { code, message = "", details = [], messages } = readers[form](answer);
	const all = `${JSON.stringify(answer.header)}\n${answer.body.toString("latin1")}\n${message}\n${JSON.stringify(details)}`;
	const { http, header } = answer;
	return { form, http, header, code, message, details, messages, reason: reasonOf(details), all };
}

/** The request that asks for an operation in this form: method, path, header and body. */
export function requestOf(form: FormName, method: DescMethod, request: JsonObject): Init {
	const stream = isStream(method);
	const grpc = { path: grpcPath(method), verb: "POST" };
	switch (form) {
		case "JSONRPC":
			return {
				path: "/",
				header: { "content-type": "application/json" },
				body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: method.name, params: request }),
			};
		case "HTTP+JSON": {
			const { verb, path, body } = buildHttp(method, request);
			return {
				verb,
				path,
				header: body ? { "content-type": "application/json" } : {},
				...(body && { body: JSON.stringify(body) }),
			};
		}
		case "GRPC":
			return {
				...grpc,
				header: { "content-type": "application/grpc", te: "trailers" },
				body: frame(binaryOf(method, request)),
			};
		case "GRPC-WEB":
			return {
				...grpc,
				header: { "content-type": "application/grpc-web+proto", "x-grpc-web": "1" },
				body: frame(binaryOf(method, request)),
			};
		case "CONNECT":
			return {
				...grpc,
				header: {
					"content-type": stream ? "application/connect+json" : "application/json",
					"connect-protocol-version": "1",
				},
				body: stream ? frame(Buffer.from(JSON.stringify(request))) : JSON.stringify(request),
			};
	}
}

/** Sends bytes as this form's transport does. */
export async function exchange(url: string, form: FormName, init: Init): Promise<Outcome> {
	return outcome(form, await (form === "GRPC" ? http2Once : http1)(url, init));
}

/** Asks for an operation. */
export function ask(
	url: string,
	form: FormName,
	method: DescMethod,
	request: JsonObject,
	more: {
		readonly header?: Readonly<Record<string, string>>;
		readonly query?: string;
		readonly signal?: AbortSignal;
	} = {},
): Promise<Outcome> {
	const init = requestOf(form, method, request);
	const mark = init.path?.includes("?") ? "&" : "?";
	const path = more.query ? `${init.path}${mark}${more.query}` : init.path;
	return exchange(url, form, {
		...init,
		...(path !== undefined && { path }),
		...(more.signal && { signal: more.signal }),
		header: { "a2a-version": "1.0", ...init.header, ...more.header },
	});
}

/** The code that a reason of the table has in this form. */
export function codeOf(form: FormName, reason: Reason): number | string {
	const row = errors[reason];
	switch (form) {
		case "JSONRPC":
			return row.rpc;
		case "HTTP+JSON":
			return row.http;
		case "CONNECT":
			return row.grpc === "CANCELLED" ? "canceled" : row.grpc.toLowerCase();
		default:
			return Status[row.grpc];
	}
}
