/** An HTTP/2 server that writes its frames by hand (RFC 9113 §4, RFC 7541 §6.2.2): for what node:http2 would never send. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { onCleanUp } from "./harness.ts";

export interface RawAgent {
	/** Which connection this is, counted from 1. */
	readonly number: number;
	readonly socket: Socket;
	send(...frames: Uint8Array[]): void;
}

export interface Behaviour {
	/** A request's header has come on this stream. */
	onRequest(agent: RawAgent, id: number): void;
	onConnect?(agent: RawAgent): void;
	/** Answer pings? Default true. */
	readonly pong?: boolean;
	/** Content of the SETTINGS frame. */
	readonly settings?: Uint8Array;
}

const PREFACE = 24;

export function http2Frame(type: number, flags: number, id: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
	const head = Buffer.alloc(9);
	head.writeUIntBE(payload.length, 0, 3);
	head[3] = type;
	head[4] = flags;
	head.writeUInt32BE(id, 5);
	return Buffer.concat([head, payload]);
}

/** A header block without indexing. */
function block(fields: Record<string, string>): Buffer {
	const parts: Buffer[] = [];
	for (const [name, value] of Object.entries(fields)) {
		parts.push(Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value));
	}
	return Buffer.concat(parts);
}

export const dataFrame = (id: number, bytes: Uint8Array) => http2Frame(0, 0, id, bytes);
export const headersFrame = (id: number) =>
	http2Frame(1, 4, id, block({ ":status": "200", "content-type": "application/grpc" }));
export const trailersFrame = (id: number, fields: Record<string, string> = { "grpc-status": "0" }) =>
	http2Frame(1, 5, id, block(fields));
export function rstFrame(id: number, code: number): Buffer {
	const payload = Buffer.alloc(4);
	payload.writeUInt32BE(code);
	return http2Frame(3, 0, id, payload);
}
export function goawayFrame(last: number, code: number): Buffer {
	const payload = Buffer.alloc(8);
	payload.writeUInt32BE(last, 0);
	payload.writeUInt32BE(code, 4);
	return http2Frame(7, 0, 0, payload);
}
/** SETTINGS_MAX_CONCURRENT_STREAMS. */
export function maxStreams(count: number): Buffer {
	const payload = Buffer.alloc(6);
	payload.writeUInt16BE(3, 0);
	payload.writeUInt32BE(count, 2);
	return payload;
}

export async function rawAgent(behaviour: Behaviour): Promise<{ port: number; agents: RawAgent[]; pings: number[] }> {
	const agents: RawAgent[] = [];
	const pings: number[] = [];
	const server = createServer((socket) => {
		socket.on("error", () => {});
		onCleanUp(() => socket.destroy());
		const agent: RawAgent = {
			number: agents.length + 1,
			socket,
			send: (...frames) => void (socket.writable && socket.write(Buffer.concat(frames))),
		};
		agents.push(agent);
		agent.send(http2Frame(4, 0, 0, behaviour.settings));
		behaviour.onConnect?.(agent);
		let rest = Buffer.alloc(0);
		let greeted = false;
		socket.on("data", (chunk: Buffer) => {
			rest = Buffer.concat([rest, chunk]);
			if (!greeted && rest.length >= PREFACE) {
				greeted = true;
				rest = rest.subarray(PREFACE);
			}
			while (greeted && rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
				const length = rest.readUIntBE(0, 3);
				const [type, flags, id] = [rest[3] ?? 0, rest[4] ?? 0, rest.readUInt32BE(5)];
				const payload = rest.subarray(9, 9 + length);
				rest = rest.subarray(9 + length);
				if (type === 4 && !(flags & 1)) agent.send(http2Frame(4, 1, 0));
				if (type === 6 && !(flags & 1)) {
					pings.push(Date.now());
					if (behaviour.pong !== false) agent.send(http2Frame(6, 1, 0, payload));
				}
				if (type === 1) behaviour.onRequest(agent, id);
			}
		});
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onCleanUp(() => new Promise((resolve) => server.close(resolve)));
	return { port: (server.address() as AddressInfo).port, agents, pings };
}
