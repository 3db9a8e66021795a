/**
 * gRPC's hot path on a raw socket: HTTP/2 frames written and read by hand (RFC 9113, RFC 7541), because node:http2 as a
 * client costs about as much as the gateway it would measure. Small requests only; header blocks of answers are not read.
 */
import { connect, type Socket } from "node:net";
import { grpcPath } from "../fixtures.ts";

const type = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 } as const;
const flag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8 } as const;
const largestWindow = 2 ** 31 - 1;

interface Exchange {
	data(piece: Buffer): void;
	done(error?: Error): void;
}

function frame(kind: number, flags: number, stream: number, payload: Buffer): Buffer {
	const bytes = Buffer.allocUnsafe(9 + payload.length);
	bytes.writeUIntBE(payload.length, 0, 3);
	bytes[3] = kind;
	bytes[4] = flags;
	bytes.writeUInt32BE(stream, 5);
	payload.copy(bytes, 9);
	return bytes;
}

const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, "latin1")]);

/** The header block of a call: what never changes goes into the server's table with the first one. */
function headerBlock(method: string, port: number, first: boolean): Buffer {
	const indexed: readonly Buffer[] = [
		Buffer.concat([Buffer.from([0x41]), text(`127.0.0.1:${port}`)]), // :authority
		Buffer.concat([Buffer.from([0x5f]), text("application/grpc")]), // content-type
		Buffer.concat([Buffer.from([0x40]), text("te"), text("trailers")]),
		Buffer.concat([Buffer.from([0x40]), text("a2a-version"), text("1.0")]),
	];
	// The newest entry of the dynamic table is number 62.
	const known = indexed.map((_, i) => Buffer.from([0x80 | (62 + indexed.length - 1 - i)]));
	const [authority, ...rest] = first ? indexed : known;
	const path = Buffer.concat([Buffer.from([0x04]), text(grpcPath(method))]);
	return Buffer.concat([Buffer.from([0x83, 0x86]), authority as Buffer, path, ...rest]);
}

/** One connection that carries many small calls. */
export class FastConnection {
	readonly #socket: Socket;
	readonly #port: number;
	readonly #exchanges = new Map<number, Exchange>();
	readonly #blocks = new Map<string, Buffer>();
	/** Calls waiting for the server's window. */
	readonly #waiting: (() => void)[] = [];
	#next = 1;
	#window = 65_535;
	#received = 0;
	#rest: Buffer | undefined;
	#failure: Error | undefined;

	constructor(port: number) {
		this.#port = port;
		this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
		const settings = Buffer.alloc(6);
		settings.writeUInt16BE(4); // INITIAL_WINDOW_SIZE
		settings.writeUInt32BE(largestWindow, 2);
		this.#socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
		this.#socket.write(frame(type.settings, 0, 0, settings));
		this.#grant(largestWindow - 65_535);
		this.#socket.on("data", (bytes: Buffer) => this.#read(bytes));
		this.#socket.on("error", (error) => this.#fail(error));
		this.#socket.on("close", () => this.#fail(new Error("connection closed before the answer was complete")));
	}

	send(method: string, message: Buffer, exchange: Exchange): void {
		if (this.#failure) {
			exchange.done(this.#failure);
			return;
		}
		if (this.#window < message.length) {
			this.#waiting.push(() => this.send(method, message, exchange));
			return;
		}
		this.#window -= message.length;
		const id = this.#next;
		this.#next += 2;
		this.#exchanges.set(id, exchange);
		let block = this.#blocks.get(method);
		if (block === undefined || id === 1) {
			block = headerBlock(method, this.#port, id === 1);
			if (id !== 1) this.#blocks.set(method, block);
		}
		const headers = frame(type.headers, flag.endHeaders, id, block);
		this.#socket.write(Buffer.concat([headers, frame(type.data, flag.endStream, id, message)]));
	}

	destroy(): void {
		this.#socket.destroy();
	}

	#grant(increment: number): void {
		const payload = Buffer.alloc(4);
		payload.writeUInt32BE(increment);
		this.#socket.write(frame(type.windowUpdate, 0, 0, payload));
	}

	#fail(error: Error): void {
		this.#failure ??= error;
		const pending = [...this.#exchanges.values()];
		this.#exchanges.clear();
		for (const exchange of pending) exchange.done(this.#failure);
		for (const retry of this.#waiting.splice(0)) retry();
	}

	#end(id: number, error?: Error): void {
		const exchange = this.#exchanges.get(id);
		this.#exchanges.delete(id);
		exchange?.done(error);
	}

	#read(bytes: Buffer): void {
		const buffer = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes]);
		let at = 0;
		while (buffer.length - at >= 9) {
			const end = at + 9 + buffer.readUIntBE(at, 3);
			if (end > buffer.length) break;
			this.#frame(
				buffer[at + 3] as number,
				buffer[at + 4] as number,
				buffer.readUInt32BE(at + 5) & largestWindow,
				buffer.subarray(at + 9, end),
			);
			at = end;
		}
		this.#rest = at < buffer.length ? buffer.subarray(at) : undefined;
	}

	#frame(kind: number, flags: number, stream: number, payload: Buffer): void {
		switch (kind) {
			case type.data:
				this.#received += payload.length;
				if (this.#received > 2 ** 29) {
					this.#grant(this.#received);
					this.#received = 0;
				}
				if (flags & flag.padded) this.#fail(new Error("padded data, which this client does not read"));
				if (payload.length > 0) this.#exchanges.get(stream)?.data(payload);
				if (flags & flag.endStream) this.#end(stream);
				break;
			case type.headers:
				if (flags & flag.endStream) this.#end(stream);
				break;
			case type.reset:
				this.#end(stream, new Error(`stream reset with code ${payload.readUInt32BE(0)}`));
				break;
			case type.settings:
				if (!(flags & flag.ack)) this.#socket.write(frame(type.settings, flag.ack, 0, Buffer.alloc(0)));
				break;
			case type.ping:
				if (!(flags & flag.ack)) this.#socket.write(frame(type.ping, flag.ack, 0, payload));
				break;
			case type.goaway:
				this.#fail(new Error(`connection ended with code ${payload.readUInt32BE(4)}`));
				break;
			case type.windowUpdate:
				if (stream !== 0) break;
				this.#window += payload.readUInt32BE(0);
				for (const retry of this.#waiting.splice(0)) retry();
		}
	}
}
