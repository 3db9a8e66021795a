/** What the listener's tests have in common: a port with talkative handlers, and clients that are raw sockets. */
import { readFileSync } from "node:fs";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { type ClientHttp2Session, connect as connect2, type OutgoingHttpHeaders } from "node:http2";
import { connect, type Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { afterEach } from "vitest";
import type { HttpHandler, StreamHandler, Target } from "../../src/binding/binding.ts";
import { listen } from "../../src/listener/listen.ts";
import type { Listener, ListenerOptions } from "../../src/listener/options.ts";

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), "utf8");
export const pair = { cert: fixture("cert.pem"), key: fixture("key.pem") };
export const renewed = { cert: fixture("cert2.pem"), key: fixture("key2.pem") };

const cleanups: (() => unknown)[] = [];
/** Runs when the test is over, last first. */
export function later(cleanup: () => unknown): void {
	cleanups.push(cleanup);
}
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export interface Gate {
	readonly opened: Promise<void>;
	open(): void;
}
export function gate(): Gate {
	let open = () => {};
	const opened = new Promise<void>((resolve) => {
		open = resolve;
	});
	return { opened, open };
}

/** Answers with what it was told: method, target and body length. `/throw`, `/reject` and others misbehave. */
export const echo: HttpHandler = (req, res, target) => {
	const { path } = target;
	if (path === "/nobody") return false;
	if (path === "/throw") throw new Error("secret of /throw");
	if (path === "/throw-late") {
		const out: Writable = res;
		out.write("begun");
		throw new Error("secret of /throw-late");
	}
	if (path === "/reject") return Promise.reject(new Error("secret of /reject")) as unknown as boolean;
	let length = 0;
	const source: Readable = req;
	source.on("error", () => {});
	source.on("data", (chunk: Buffer) => {
		length += chunk.length;
	});
	source.on("end", () => {
		const body = JSON.stringify({ verb: req.method, version: req.httpVersion, length, ...target });
		res.setHeader("content-type", "application/json");
		if (req.method === "HEAD") res.end();
		else res.end(body);
	});
	return true;
};

/** Answers any gRPC stream with a header, one frame and trailers. */
export const grpcEcho: StreamHandler = (stream, _headers, target) => {
	if (!target.path.startsWith("/known.Service/")) return false;
	if (target.path.endsWith("/Throw")) throw new Error("secret of Throw");
	stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
	stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "x-agent": target.agent }));
	stream.end(Buffer.from([0, 0, 0, 0, 0]));
	return true;
};

export interface Port extends Listener {
	readonly reports: { error: unknown; context: { id: string; method: string } }[];
}

export async function start(options: Partial<ListenerOptions> = {}): Promise<Port> {
	const reports: Port["reports"] = [];
	const listener = await listen({
		host: "127.0.0.1",
		port: 0,
		resolve: (_host, path) => ({ agent: "a", path }),
		http: [echo],
		grpc: [grpcEcho],
		report: (error, context) => reports.push({ error, context }),
		...options,
	});
	later(() => listener.close(0));
	return Object.assign(listener, { reports });
}

/** A raw connection. */
export function dial(port: number): Socket {
	const socket = connect({ host: "127.0.0.1", port });
	socket.on("error", () => {});
	later(() => socket.destroy());
	return socket;
}

/** Collects what comes until the other side closes. */
export async function drained(socket: Socket): Promise<string> {
	let text = "";
	socket.setEncoding("latin1");
	socket.on("data", (chunk: string) => {
		text += chunk;
	});
	await finished(socket).catch(() => {});
	return text;
}

/** Resolves when the text that came so far satisfies `test`. */
export function until(socket: Socket, test: (text: string) => boolean): Promise<string> {
	return new Promise((resolve, reject) => {
		let text = "";
		const onData = (chunk: Buffer) => {
			text += chunk.toString("latin1");
			if (!test(text)) return;
			socket.off("data", onData);
			resolve(text);
		};
		socket.on("data", onData);
		socket.once("close", () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
	});
}

export interface Answer {
	readonly status: number;
	readonly headers: IncomingHttpHeaders;
	readonly body: string;
	readonly trailers?: IncomingHttpHeaders;
}
export const jsonOf = (
	answer: Answer,
): { error: { code: number; status: string; message: string } } & Target & {
		verb: string;
		version: string;
		length: number;
	} => JSON.parse(answer.body);

export interface Ask {
	readonly verb?: string;
	readonly path?: string;
	readonly headers?: Record<string, string>;
	readonly body?: string | Buffer;
	readonly agent?: Agent;
}

/** One request by node:http, on a connection of its own unless an agent is given. */
export function ask1(port: number, { verb = "GET", path = "/", headers = {}, body, agent }: Ask = {}): Promise<Answer> {
	return new Promise((resolve, reject) => {
		const options = { host: "127.0.0.1", port, method: verb, path, headers, agent: agent ?? new Agent() };
		const req = request(options, (res) => {
			const chunks: Buffer[] = [];
			res.on("data", (chunk: Buffer) => chunks.push(chunk));
			res.on("error", reject);
			res.on("end", () => {
				resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString() });
			});
		});
		req.on("error", reject);
		req.end(body);
	});
}

/** An HTTP/2 session with prior knowledge, or over TLS for an https URL. */
export function session(url: string): ClientHttp2Session {
	const client = connect2(url, { ca: [pair.cert, renewed.cert] });
	client.on("error", () => {});
	later(() => client.destroy());
	return client;
}

/** One request on an HTTP/2 session. */
export function ask2(client: ClientHttp2Session, { verb = "GET", path = "/", headers = {}, body }: Ask = {}) {
	return new Promise<Answer>((resolve, reject) => {
		const head: OutgoingHttpHeaders = { ":method": verb, ":path": path, ...headers };
		const stream = client.request(head, { endStream: body === undefined });
		let got: IncomingHttpHeaders & { ":status"?: number | undefined } = {};
		let trailers: IncomingHttpHeaders = {};
		const chunks: Buffer[] = [];
		stream.on("response", (h) => {
			got = h;
		});
		stream.on("trailers", (t) => {
			trailers = t;
		});
		stream.on("data", (chunk: Buffer) => chunks.push(chunk));
		stream.on("error", reject);
		stream.on("close", () => {
			resolve({ status: got[":status"] ?? 0, headers: got, body: Buffer.concat(chunks).toString(), trailers });
		});
		if (body !== undefined) stream.end(body);
	});
}

/** Both versions of HTTP as one function, for suites that hold for both. */
export const versions = {
	"HTTP/1.1": (port: number, ask: Ask = {}) => ask1(port, ask),
	"HTTP/2": async (port: number, ask: Ask = {}) => {
		const client = session(`http://127.0.0.1:${port}`);
		try {
			return await ask2(client, ask);
		} finally {
			client.close();
		}
	},
} as const;
