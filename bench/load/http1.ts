/** HTTP/1.1 load on raw keep-alive sockets: the cheapest client that still reads its answers (JSON-RPC and HTTP+JSON). */
import { connect, type Socket } from "node:net";
import { type BindingName, marker, paths, request, restPath } from "../fixtures.ts";
import type { LoadClient, LoadOptions } from "./client.ts";

/** What one exchange wants to know. */
interface Exchange {
	/** A piece of the body, without chunk framing. */
	data(piece: Buffer): void;
	/** The answer is complete, or broken. */
	done(error?: Error): void;
}

const headEnd = Buffer.from("\r\n\r\n");
const lineEnd = Buffer.from("\r\n");

/** One keep-alive connection: one exchange at a time. */
class Connection {
	readonly socket: Socket;
	#exchange: Exchange | undefined;
	#rest: Buffer | undefined;
	/** Body bytes still to come: of the whole body, or of the chunk; -1 = waiting for a head, -2 = for a chunk size. */
	#left = -1;
	#chunked = false;

	constructor(port: number, onClose: (connection: Connection) => void) {
		this.socket = connect({ port, host: "127.0.0.1", noDelay: true });
		this.socket.on("data", (bytes: Buffer) => this.#read(bytes));
		this.socket.on("error", (error) => this.#finish(error));
		this.socket.on("close", () => {
			this.#finish(new Error("connection closed before the answer was complete"));
			onClose(this);
		});
	}

	send(bytes: Buffer, exchange: Exchange): void {
		this.#exchange = exchange;
		this.socket.write(bytes);
	}

	#complete(): boolean {
		return this.#left === 0 && !this.#chunked;
	}

	#finish(error?: Error): void {
		const exchange = this.#exchange;
		this.#exchange = undefined;
		this.#left = -1;
		exchange?.done(error);
	}

	#read(bytes: Buffer): void {
		let buffer = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes]);
		this.#rest = undefined;
		while (buffer.length > 0) {
			if (this.#left === -1) {
				const end = buffer.indexOf(headEnd);
				if (end < 0) break;
				if (!this.#head(buffer.toString("latin1", 0, end + 2))) return;
				buffer = buffer.subarray(end + 4);
				if (this.#complete()) this.#finish();
			} else if (this.#left === -2) {
				const end = buffer.indexOf(lineEnd);
				if (end < 0) break;
				const size = Number.parseInt(buffer.toString("latin1", 0, end), 16);
				if (size === 0 && buffer.length < end + 4) break;
				buffer = buffer.subarray(size === 0 ? end + 4 : end + 2);
				if (size === 0) this.#finish();
				else this.#left = size + 2;
			} else {
				const take = Math.min(this.#left, buffer.length);
				// The last two bytes of a chunk are its line end, not data.
				const data = this.#chunked ? Math.min(take, Math.max(0, this.#left - 2)) : take;
				if (data > 0) this.#exchange?.data(buffer.subarray(0, data));
				this.#left -= take;
				buffer = buffer.subarray(take);
				if (this.#left > 0) break;
				if (this.#chunked) this.#left = -2;
				else this.#finish();
			}
		}
		if (buffer.length > 0) this.#rest = buffer;
	}

	#head(head: string): boolean {
		const length = /^content-length: *(\d+)/im.exec(head)?.[1];
		this.#chunked = length === undefined;
		this.#left = length === undefined ? -2 : Number(length);
		if (head.startsWith("200", 9)) return true;
		this.#finish(new Error(`unexpected answer: ${head.slice(0, head.indexOf("\r"))}`));
		this.socket.destroy();
		return false;
	}
}

function encode(target: string, host: string, accept: string, body: Buffer): Buffer {
	const head =
		`POST ${target} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\naccept: ${accept}\r\n` +
		`a2a-version: 1.0\r\ncontent-length: ${body.length}\r\n\r\n`;
	return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

export function httpClient(binding: BindingName, { port, prefix = "" }: LoadOptions): LoadClient {
	const host = `127.0.0.1:${port}`;
	const all = new Set<Connection>();
	const idle: Connection[] = [];
	const held = new Set<Connection>();

	const bytes = (method: string, size?: number): Buffer => {
		const { json } = request(size);
		const text = binding === "JSONRPC" ? `{"jsonrpc":"2.0","id":7,"method":"${method}","params":${json}}` : json;
		const accept = method === paths.stream ? "text/event-stream" : "application/json";
		const target = prefix + (binding === "JSONRPC" ? "/" : restPath(method));
		return encode(target, host, accept, Buffer.from(text));
	};
	const unary = bytes(paths.unary);
	const stream = bytes(paths.stream);

	const gone = (connection: Connection) => {
		all.delete(connection);
		held.delete(connection);
		const at = idle.indexOf(connection);
		if (at >= 0) idle.splice(at, 1);
	};
	const take = (): Connection => {
		const connection = idle.pop() ?? new Connection(port, gone);
		all.add(connection);
		return connection;
	};
	const exchange = (message: Buffer, data: (piece: Buffer) => void): Promise<void> =>
		new Promise((resolve, reject) => {
			const connection = take();
			connection.send(message, {
				data,
				done(error) {
					if (error) return reject(error);
					idle.push(connection);
					resolve();
				},
			});
		});

	return {
		async call(body = unary) {
			let proven = false;
			await exchange(body, (piece) => {
				proven ||= piece.includes(marker);
			});
			if (!proven) throw new Error("the answer is not the agent's");
		},
		prepare: (size) => bytes(paths.unary, size),
		async stream(first) {
			let events = 0;
			let last = 0;
			await exchange(stream, (piece) => {
				if (events === 0) first?.();
				events += blankLines(piece, last);
				last = piece[piece.length - 1] ?? 0;
			});
			return events;
		},
		hold: () =>
			new Promise((resolve, reject) => {
				const connection = take();
				held.add(connection);
				connection.send(stream, {
					data: () => resolve(),
					done: (error) => reject(error ?? new Error("a stream that should stay open has ended")),
				});
			}),
		leave() {
			for (const connection of held) connection.socket.resetAndDestroy();
		},
		close() {
			for (const connection of all) connection.socket.destroy();
		},
	};
}

/** Counts the blank lines that end SSE events; `last` is the byte before this piece. */
function blankLines(piece: Buffer, last: number): number {
	let count = last === 10 && piece[0] === 10 ? 1 : 0;
	for (let at = piece.indexOf("\n\n"); at >= 0; at = piece.indexOf("\n\n", at + 2)) count += 1;
	return count;
}
