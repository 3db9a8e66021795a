/** Real sockets for the gRPC tests: servers over stream handlers, grpc-js and raw HTTP/2 clients, calls and payloads. */
import { createServer as createHttp } from "node:http";
import {
	type ClientHttp2Session,
	connect,
	createServer,
	type IncomingHttpHeaders,
	type OutgoingHttpHeaders,
	type ServerHttp2Session,
	type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf";
import { type CallOptions, Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { A2AService, SendMessageRequestSchema, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { AttachOptions, ConnectOptions, HttpHandler, StreamHandler } from "../../../src/binding/binding.ts";
import { grpc } from "../../../src/binding/grpc/index.ts";
import { anonymous, type Call, type Handler } from "../../../src/call/call.ts";
import { Losses } from "../../../src/call/loss.ts";
import type { Payload } from "../../../src/call/payload.ts";
import { v1 } from "../../../src/dialect/v1/index.ts";
import { fromMessage } from "../../../src/schema/payload.ts";
import { frame } from "../../../src/wire/grpc-frame.ts";

export const { sendMessage, sendStreamingMessage, getTask } = A2AService.method;
export const SEND = "/lf.a2a.v1.A2AService/SendMessage";
export const STREAM = "/lf.a2a.v1.A2AService/SendStreamingMessage";

export const reports: unknown[] = [];
export const attachOptions: AttachOptions = {
	maxMessage: 16 * 1024 * 1024,
	maxDepth: 100,
	keepAlive: 0,
	bodyTimeout: 5000,
	unaryTimeout: 0,
	lost: () => {},
	recognise: async () => undefined,
	report: (error) => reports.push(error),
};
export const connectOptions: ConnectOptions = {
	maxMessage: 16 * 1024 * 1024,
	maxDepth: 100,
	connectTimeout: 2000,
	idleTimeout: 0,
	connections: 64,
	ca: undefined,
};

const closers: (() => Promise<unknown> | unknown)[] = [];
/** Ends everything a test has opened; call in afterEach. */
export async function cleanUp(): Promise<void> {
	for (const close of closers.splice(0).reverse()) await close();
}
export function onCleanUp(close: () => Promise<unknown> | unknown): void {
	closers.push(close);
}

export interface Served {
	readonly port: number;
	readonly sessions: Set<ServerHttp2Session>;
	/** Every stream seen so far. */
	readonly streams: ServerHttp2Stream[];
	stop(): Promise<void>;
}

/** An HTTP/2 server that gives each stream to `onStream`. */
export async function serveStreams(
	onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
	options: { port?: number; settings?: object } = {},
): Promise<Served> {
	const server = createServer({ settings: options.settings ?? {} });
	const sessions = new Set<ServerHttp2Session>();
	const streams: ServerHttp2Stream[] = [];
	server.on("session", (session) => {
		sessions.add(session);
		session.on("error", () => {});
		session.on("close", () => sessions.delete(session));
	});
	server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
		stream.on("error", () => {});
		streams.push(stream);
		onStream(stream, headers);
	});
	await new Promise<void>((resolve, reject) => {
		server.on("error", reject);
		server.listen(options.port ?? 0, "127.0.0.1", resolve);
	});
	const stop = () =>
		new Promise<void>((resolve) => {
			for (const session of sessions) session.destroy();
			server.close(() => resolve());
		});
	onCleanUp(stop);
	return { port: (server.address() as AddressInfo).port, sessions, streams, stop };
}

/** A server over stream handlers: the first that takes a stream has it, UNIMPLEMENTED otherwise. */
export function serveHandlers(handlers: readonly StreamHandler[], port?: number): Promise<Served> {
	return serveStreams(
		(stream, headers) => {
			const target = { agent: "a", path: headers[":path"] ?? "", query: "", id: "id-1" };
			if (handlers.some((handler) => handler(stream, headers, target))) return;
			stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": "12" }, { endStream: true });
		},
		port === undefined ? {} : { port },
	);
}

/** The server half of the binding over a core. */
export function serveCore(core: Handler, options: Partial<AttachOptions> = {}, port?: number): Promise<Served> {
	const { grpc: handler } = grpc.attach(core, [v1], { ...attachOptions, ...options });
	if (!handler) throw new Error("no gRPC half");
	return serveHandlers([handler], port);
}

/** The web half, on HTTP/1.1. */
export async function serveWebCore(core: Handler, options: Partial<AttachOptions> = {}): Promise<string> {
	const { http } = grpc.attach(core, [v1], { ...attachOptions, ...options });
	return serveHttp(http);
}

export async function serveHttp(handler: HttpHandler | undefined): Promise<string> {
	const server = createHttp((req, res) => {
		const [path = "", query = ""] = (req.url ?? "").split("?");
		if (!handler?.(req, res, { agent: "a", path, query, id: "id-1" })) {
			res.statusCode = 404;
			res.end();
		}
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onCleanUp(() => {
		server.closeAllConnections();
		return new Promise((resolve) => server.close(resolve));
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The agent's half of the binding. */
export function upstream(url: string, options: Partial<ConnectOptions> = {}): Handler {
	const made = grpc.connect({ url, binding: "GRPC", version: "1.0", tenant: "" }, v1, {
		...connectOptions,
		...options,
	});
	onCleanUp(() => made.close());
	return made.handler;
}

export function call(method: DescMethod, request: Payload, init: Partial<Call> = {}): Call {
	return {
		method,
		request,
		agent: "a",
		header: {},
		query: {},
		principal: anonymous,
		origin: { binding: "TEST", version: "1.0" },
		losses: new Losses(),
		id: "id-1",
		signal: new AbortController().signal,
		...init,
	};
}

export function request(init: MessageInitShape<typeof SendMessageRequestSchema> = hello): Payload {
	return fromMessage(SendMessageRequestSchema, create(SendMessageRequestSchema, init));
}
const hello = { message: { messageId: "m-1", parts: [{ content: { case: "text" as const, value: "hello" } }] } };

/** A text of so many characters as a request. */
export function textRequest(text: string): Payload {
	return request({ message: { messageId: "m-1", parts: [{ content: { case: "text", value: text } }] } });
}

/** A stream event that carries a text. */
export function event(text: string): Payload {
	return fromMessage(
		StreamResponseSchema,
		create(StreamResponseSchema, { payload: { case: "message", value: { messageId: text } } }),
	);
}

export interface Outcome {
	readonly error: ServiceError | null;
	readonly bytes: Buffer | undefined;
	readonly metadata: Metadata | undefined;
	readonly trailer: Metadata | undefined;
}

export function grpcJs(port: number): Client {
	const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
		"grpc.max_receive_message_length": -1,
		"grpc.max_send_message_length": -1,
	});
	onCleanUp(() => client.close());
	return client;
}

const same = (bytes: Buffer) => bytes;

export function unary(
	client: Client,
	path: string,
	bytes: Uint8Array,
	header: Record<string, string> = {},
	options: CallOptions = {},
): Promise<Outcome> {
	return new Promise((resolve) => {
		let error: ServiceError | null = null;
		let reply: Buffer | undefined;
		let metadata: Metadata | undefined;
		const sent = client.makeUnaryRequest(
			path,
			same,
			same,
			Buffer.from(bytes),
			Metadata.fromHttp2Headers(header),
			options,
			(e, value) => {
				error = e;
				reply = value;
			},
		);
		sent.on("metadata", (m) => {
			metadata = m;
		});
		sent.on("status", (status) =>
			setImmediate(() => resolve({ error, bytes: reply, metadata, trailer: status.metadata })),
		);
	});
}

export function stream(client: Client, path: string, bytes: Uint8Array, header: Record<string, string> = {}) {
	return client.makeServerStreamRequest(path, same, same, Buffer.from(bytes), Metadata.fromHttp2Headers(header));
}

export interface Raw {
	readonly headers: IncomingHttpHeaders;
	readonly trailers: IncomingHttpHeaders;
	readonly data: Buffer;
	readonly code: number;
}

/** What a raw HTTP/2 client sees. `chunks` are written as they are; `end: false` leaves the request open. */
export function raw(
	port: number,
	headers: OutgoingHttpHeaders,
	chunks: readonly Uint8Array[],
	end = true,
): Promise<Raw> {
	const session: ClientHttp2Session = connect(`http://127.0.0.1:${port}`);
	session.on("error", () => {});
	onCleanUp(() => session.destroy());
	return new Promise((resolve) => {
		const sent = session.request({
			":method": "POST",
			":path": SEND,
			"content-type": "application/grpc",
			te: "trailers",
			...headers,
		});
		let got: IncomingHttpHeaders = {};
		let trailers: IncomingHttpHeaders = {};
		const data: Buffer[] = [];
		sent.on("response", (h) => {
			got = h;
		});
		sent.on("trailers", (h) => {
			trailers = h;
		});
		sent.on("data", (chunk: Buffer) => data.push(chunk));
		sent.on("error", () => {});
		sent.on("close", () => {
			session.destroy();
			resolve({ headers: got, trailers, data: Buffer.concat(data), code: sent.rstCode ?? 0 });
		});
		for (const chunk of chunks) sent.write(chunk);
		if (end) sent.end();
	});
}

/** A gRPC reply by hand: headers, these frames, trailers. */
export function answerWith(stream: ServerHttp2Stream, messages: readonly Uint8Array[], trailers: object): void {
	stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
	stream.on("wantTrailers", () => stream.sendTrailers({ ...trailers }));
	for (const message of messages) stream.write(frame(message));
	stream.end();
}

/** Waits until a condition holds; the test's own timeout is the limit. */
export async function until(condition: () => boolean): Promise<void> {
	while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

export async function collect<T>(messages: AsyncIterable<T> | readonly T[]): Promise<T[]> {
	const all: T[] = [];
	for await (const message of messages) all.push(message);
	return all;
}
