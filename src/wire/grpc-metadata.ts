/** gRPC's header fields in both directions: metadata, timeouts, messages and binary values (grpc.io PROTOCOL-HTTP2, "Requests", "Responses"). */
import type { IncomingHttpHeaders } from "node:http2";
import type { Header } from "../call/call.ts";

/** HTTP/2 header fields as metadata: pseudo fields left out, lists joined. */
export function readMetadata(headers: IncomingHttpHeaders): Header {
	const header: Record<string, string> = {};
	for (const name in headers) {
		if (name.charCodeAt(0) === 58 /* : */) continue;
		const value = headers[name];
		if (typeof value === "string") header[name] = value;
		else if (Array.isArray(value)) header[name] = value.join(", ");
	}
	return header;
}

const KEY = /^[a-z0-9_.-]+$/;
const VALUE = /^[\x20-\x7e]*$/;
/** The transport's own fields, and those HTTP/2 forbids (RFC 9113 §8.2.2): never metadata. */
const reserved = new Set([
	"te",
	"host",
	"content-type",
	"content-length",
	"content-encoding",
	"accept-encoding",
	"connection",
	"keep-alive",
	"proxy-connection",
	"transfer-encoding",
	"upgrade",
	"trailer",
	"http2-settings",
]);

/** May this pair travel as metadata beside the transport's own fields? */
export function isMetadata(key: string, value: string): boolean {
	return KEY.test(key) && !key.startsWith("grpc-") && !reserved.has(key) && VALUE.test(value);
}

/** Adds the pairs of `header` that may travel as metadata. */
export function writeMetadata(header: Header, into: Record<string, string | number>): void {
	for (const name in header) {
		const value = header[name];
		if (value !== undefined && isMetadata(name, value)) into[name] = value;
	}
}

const PLAIN = /^[\x20-\x24\x26-\x7e]*$/;

/** Percent-encodes `grpc-message`: UTF-8, everything but printable ASCII, and "%" itself. */
export function writeMessage(message: string): string {
	if (PLAIN.test(message)) return message;
	let text = "";
	for (const byte of Buffer.from(message)) {
		const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
		text += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
	}
	return text;
}

/** The inverse of writeMessage. Bad escapes are kept as they are: a message is never lost to its form. */
export function readMessage(text: string): string {
	if (!text.includes("%")) return text;
	const bytes: number[] = [];
	for (let i = 0; i < text.length; i++) {
		const hex = text.charAt(i) === "%" ? text.slice(i + 1, i + 3) : "";
		if (/^[0-9A-Fa-f]{2}$/.test(hex)) {
			bytes.push(Number.parseInt(hex, 16));
			i += 2;
		} else bytes.push(text.charCodeAt(i) & 0xff);
	}
	return Buffer.from(bytes).toString();
}

/** A `-bin` value: base64 without padding. */
export function writeBinary(bytes: Uint8Array): string {
	const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
	return text.replace(/=+$/, "");
}

/** The inverse of writeBinary; padding is accepted, and of several values the first is read. */
export function readBinary(text: string): Buffer {
	return Buffer.from(text.split(",", 1)[0] ?? "", "base64");
}

const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Milliseconds in a `grpc-timeout`; undefined when it is malformed. */
export function readTimeout(text: string): number | undefined {
	const match = /^(\d{1,8})([HMSmun])$/.exec(text);
	return match ? Number(match[1]) * (units[match[2] ?? ""] ?? 0) : undefined;
}

/** The `grpc-timeout` for so many milliseconds: at least one, at most eight digits. */
export function writeTimeout(ms: number): string {
	const whole = Math.max(1, Math.ceil(ms));
	if (whole < 1e8) return `${whole}m`;
	const seconds = Math.ceil(whole / 1000);
	return seconds < 1e8 ? `${seconds}S` : `${Math.min(99_999_999, Math.ceil(seconds / 3600))}H`;
}
