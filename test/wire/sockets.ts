/** Raw servers and clients that misbehave on purpose. Everything opened is closed by `closeAll`. */
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";

const closers: (() => unknown)[] = [];

export async function closeAll(): Promise<void> {
	for (const close of closers.splice(0).reverse()) await close();
}

export function onClose(close: () => unknown): void {
	closers.push(close);
}

/** Listens on a free port of 127.0.0.1. */
async function listen(server: net.Server): Promise<number> {
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	closers.push(() => server.close());
	return (server.address() as net.AddressInfo).port;
}

/** A server that is handed each connection; the number of connections so far comes along. */
export function rawServer(onConnection: (socket: net.Socket, count: number) => void): Promise<number> {
	let count = 0;
	const server = net.createServer((socket) => {
		socket.on("error", () => {});
		closers.push(() => socket.destroy());
		onConnection(socket, ++count);
	});
	return listen(server);
}

/** A raw server that calls back with each whole request head (and whatever of the body came with it). */
export function headServer(onRequest: (socket: net.Socket, head: string, count: number) => void): Promise<number> {
	let count = 0;
	return rawServer((socket) => {
		let seen = "";
		socket.on("data", (chunk) => {
			seen += chunk.toString("latin1");
			if (!seen.includes("\r\n\r\n")) return;
			const head = seen;
			seen = "";
			onRequest(socket, head, ++count);
		});
	});
}

export function httpServer(handler: http.RequestListener): Promise<number> {
	const server = http.createServer(handler);
	closers.push(() => server.closeAllConnections());
	return listen(server);
}

export function http2Server(
	handler: (req: http2.Http2ServerRequest, res: http2.Http2ServerResponse) => void,
): Promise<number> {
	const server = http2.createServer(handler);
	server.on("session", (session) => closers.push(() => session.destroy()));
	server.on("sessionError", () => {});
	return listen(server);
}

/** A client connection that is closed in the end. */
export async function connect(port: number): Promise<net.Socket> {
	const socket = net.connect(port, "127.0.0.1");
	socket.on("error", () => {});
	closers.push(() => socket.destroy());
	await once(socket, "connect");
	return socket;
}

/** All bytes until the other side ends, as text. */
export async function readToEnd(socket: net.Socket): Promise<string> {
	let text = "";
	socket.on("data", (chunk) => {
		text += chunk.toString("latin1");
	});
	await once(socket, "close");
	return text;
}

/** A full HTTP/1.1 answer. */
export function answer(status: string, type: string, body: string, extra = ""): string {
	return `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${extra}\r\n${body}`;
}

/** The head of an answer whose body is chunked. */
export function chunkedHead(type: string): string {
	return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`;
}

export function chunk(data: string | Buffer): Buffer {
	return Buffer.concat([
		Buffer.from(`${Buffer.byteLength(data).toString(16)}\r\n`),
		Buffer.from(data),
		Buffer.from("\r\n"),
	]);
}

/** A promise to be resolved from outside. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
	let resolve: (value: T) => void = () => {};
	const promise = new Promise<T>((r) => {
		resolve = r;
	});
	return { promise, resolve };
}
