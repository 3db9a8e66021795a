/** gRPC load: the many small calls on raw frames, large and held ones on bare node:http2. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { grpcPath, marker, paths, request } from "../fixtures.ts";
import type { LoadClient, LoadOptions } from "./client.ts";
import { FastConnection } from "./h2.ts";

/** Streams per connection when they are held open: what servers commonly allow. */
const heldPerSession = 100;

/** Counts the length-prefixed messages in a stream of bytes. */
function messageCounter(): (piece: Buffer) => number {
	let rest: Buffer = Buffer.alloc(0);
	let skip = 0;
	return (piece) => {
		let buffer = rest.length > 0 ? Buffer.concat([rest, piece]) : piece;
		let count = 0;
		for (;;) {
			const take = Math.min(skip, buffer.length);
			skip -= take;
			buffer = buffer.subarray(take);
			if (skip > 0 || buffer.length < 5) break;
			skip = buffer.readUInt32BE(1);
			buffer = buffer.subarray(5);
			count += 1;
		}
		rest = Buffer.from(buffer);
		return count;
	};
}

export function grpcClient({ port }: LoadOptions): LoadClient {
	const sessions: ClientHttp2Session[] = [];
	const held = new Set<ClientHttp2Session>();
	const { grpc: body } = request();

	const session = (): ClientHttp2Session => {
		const made = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 16 << 20 } });
		made.on("error", () => {});
		made.on("connect", () => made.setLocalWindowSize(64 << 20));
		sessions.push(made);
		return made;
	};
	let main: ClientHttp2Session | undefined;

	const open = (on: ClientHttp2Session, method: string, message: Buffer): ClientHttp2Stream => {
		const stream = on.request({
			":method": "POST",
			":path": grpcPath(method),
			"content-type": "application/grpc",
			te: "trailers",
			"a2a-version": "1.0",
		});
		stream.end(message);
		return stream;
	};

	const exchange = (method: string, message: Buffer, data: (piece: Buffer) => void): Promise<void> =>
		new Promise((resolve, reject) => {
			main ??= session();
			const stream = open(main, method, message);
			let status: unknown;
			let text: unknown;
			const note = (headers: Record<string, unknown>) => {
				status = headers["grpc-status"] ?? status;
				text = headers["grpc-message"] ?? text;
			};
			stream.on("response", note);
			stream.on("trailers", note);
			stream.on("data", data);
			stream.on("error", reject);
			stream.on("close", () => {
				if (status === "0") resolve();
				else reject(new Error(`unexpected answer: grpc-status ${status} ${text ?? ""}`));
			});
		});

	let hot: FastConnection | undefined;
	const fast = (method: string, data: (piece: Buffer) => void): Promise<void> =>
		new Promise((resolve, reject) => {
			hot ??= new FastConnection(port);
			hot.send(method, body, { data, done: (error) => (error ? reject(error) : resolve()) });
		});

	/** A call that reads all of its answer, and says what is wrong with it. */
	const call = async (message: Buffer) => {
		let proven = false;
		await exchange(paths.unary, message, (piece) => {
			proven ||= piece.includes(marker);
		});
		if (!proven) throw new Error("the answer is not the agent's");
	};

	return {
		async call(message) {
			if (message !== undefined) return await call(message);
			let proven = false;
			await fast(paths.unary, (piece) => {
				proven ||= piece.includes(marker);
			});
			// The fast path does not read the status: a call that does tells what it is.
			if (proven) return;
			await call(body);
			throw new Error("the answer is not the agent's");
		},
		prepare: (size) => request(size).grpc,
		async stream(first) {
			const count = messageCounter();
			let events = 0;
			await fast(paths.stream, (piece) => {
				if (events === 0) first?.();
				events += count(piece);
			});
			return events;
		},
		hold: () =>
			new Promise((resolve, reject) => {
				let on = [...held].at(-1);
				if (on === undefined || Number(tallies.get(on)) >= heldPerSession) on = session();
				held.add(on);
				tallies.set(on, (tallies.get(on) ?? 0) + 1);
				const stream = open(on, paths.stream, body);
				stream.on("data", () => resolve());
				stream.on("error", reject);
				stream.on("close", () => reject(new Error("a stream that should stay open has ended")));
			}),
		leave() {
			for (const one of held) one.destroy(undefined, constants.NGHTTP2_CANCEL);
		},
		close() {
			hot?.destroy();
			for (const one of sessions) one.destroy();
		},
	};
}

const tallies = new WeakMap<ClientHttp2Session, number>();
