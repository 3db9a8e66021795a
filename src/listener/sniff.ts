/** Tells HTTP/2 with prior knowledge from HTTP/1.1 by the connection preface (RFC 9113 §3.4). */
import type { Socket } from "node:net";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

export type Protocol = "http1" | "http2";

/**
 * Reads as little as decides, puts it back and calls `decided` once; a connection silent or
 * undecided after `timeout` milliseconds is destroyed. 'readable' and unshift(), because a 'data'
 * listener would leave the socket flowing and lose what arrived together with the preface.
 */
export function sniff(socket: Socket, timeout: number, decided: (protocol: Protocol) => void): void {
	let seen: Buffer | undefined;
	const timer = setTimeout(() => socket.destroy(), timeout);
	const stop = (): void => {
		clearTimeout(timer);
		socket.off("readable", onReadable);
		socket.off("close", stop);
	};
	function onReadable(): void {
		const chunk: Buffer | null = socket.read();
		if (chunk === null) return;
		seen = seen === undefined ? chunk : Buffer.concat([seen, chunk]);
		const length = Math.min(seen.length, PREFACE.length);
		const same = seen.compare(PREFACE, 0, length, 0, length) === 0;
		if (same && length < PREFACE.length) return;
		stop();
		socket.unshift(seen);
		decided(same ? "http2" : "http1");
	}
	socket.on("readable", onReadable);
	socket.on("close", stop);
}
