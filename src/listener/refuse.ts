/** The listener's own errors: google.rpc.Status in JSON (AIP-193), as HTTP+JSON clients read it. */
import type { ServerHttp2Stream } from "node:http2";
import type { HttpRequest, HttpResponse } from "../binding/binding.ts";
import { DOMAIN, type Reason, Status, type StatusName } from "../call/error.ts";

interface Row {
	readonly status: StatusName;
	readonly reason: Reason;
	readonly text: string;
}

const rows = {
	400: { status: "INVALID_ARGUMENT", reason: "INVALID_REQUEST", text: "Malformed HTTP request" },
	404: { status: "NOT_FOUND", reason: "METHOD_NOT_FOUND", text: "Nothing is served at this path" },
	405: { status: "UNIMPLEMENTED", reason: "METHOD_NOT_ALLOWED", text: "Method not allowed" },
	408: { status: "DEADLINE_EXCEEDED", reason: "DEADLINE_EXCEEDED", text: "The request took too long to arrive" },
	413: { status: "RESOURCE_EXHAUSTED", reason: "REQUEST_TOO_LARGE", text: "The request is too large" },
	414: { status: "INVALID_ARGUMENT", reason: "REQUEST_TOO_LARGE", text: "The request URL is too long" },
	417: { status: "FAILED_PRECONDITION", reason: "INVALID_REQUEST", text: "The expectation cannot be met" },
	431: { status: "RESOURCE_EXHAUSTED", reason: "REQUEST_TOO_LARGE", text: "The request header is too large" },
	500: { status: "INTERNAL", reason: "INTERNAL_ERROR", text: "Internal error" },
	503: { status: "UNAVAILABLE", reason: "UNAVAILABLE", text: "Not available" },
	505: { status: "UNIMPLEMENTED", reason: "UNSUPPORTED_MEDIA_TYPE", text: "gRPC needs HTTP/2" },
} as const satisfies Record<number, Row>;

export type RefusalCode = keyof typeof rows;

/** A request that the listener itself turns down. */
export interface Refusal {
	readonly code: RefusalCode;
	/** Replaces the table's text. */
	readonly text?: string;
	readonly header?: Readonly<Record<string, string>>;
}

/** Verbs for `Allow` where no route says better. */
export const VERBS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/** The JSON text of a refusal. */
export function refusal(code: RefusalCode, text?: string): string {
	const row: Row = rows[code];
	return JSON.stringify({
		error: {
			code,
			status: row.status,
			message: text ?? row.text,
			details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: row.reason, domain: DOMAIN }],
		},
	});
}

/** Answers with a refusal; where headers are out already, cuts the response short. Never throws. */
export function refuse(req: HttpRequest, res: HttpResponse, code: RefusalCode, more: Omit<Refusal, "code"> = {}): void {
	try {
		if (res.writableEnded || res.destroyed) return;
		if (res.headersSent) {
			res.destroy();
			return;
		}
		const body = refusal(code, more.text);
		res.statusCode = code;
		// A handler that failed half-way may have set framing that does not fit this body.
		for (const name of ["content-encoding", "transfer-encoding", "etag", "last-modified", "cache-control"]) {
			res.removeHeader(name);
		}
		res.setHeader("content-type", "application/json");
		res.setHeader("content-length", Buffer.byteLength(body));
		if (more.header) for (const name in more.header) res.setHeader(name, more.header[name] ?? "");
		if (req.method === "HEAD") res.end();
		else res.end(body);
	} catch {
		res.destroy();
	}
}

const reasonPhrases: Readonly<Record<number, string>> = {
	400: "Bad Request",
	405: "Method Not Allowed",
	408: "Request Timeout",
	413: "Content Too Large",
	431: "Request Header Fields Too Large",
};

/** A whole HTTP/1.1 refusal for a socket whose request could not be parsed. */
export function rawRefusal(code: 400 | 405 | 408 | 413 | 431, id: string): string {
	const body = refusal(code);
	const allow = code === 405 ? `allow: ${VERBS}\r\n` : "";
	return (
		`HTTP/1.1 ${code} ${reasonPhrases[code]}\r\ncontent-type: application/json\r\n` +
		`content-length: ${Buffer.byteLength(body)}\r\n${allow}x-request-id: ${id}\r\nconnection: close\r\n\r\n${body}`
	);
}

/** A gRPC status in a trailers-only response (HTTP 200 whatever the status). `text` is printable ASCII without "%". */
export function refuseGrpc(stream: ServerHttp2Stream, status: StatusName, text: string, id: string): void {
	if (stream.destroyed || stream.closed) return;
	if (stream.headersSent) {
		stream.destroy();
		return;
	}
	stream.respond(
		{
			":status": 200,
			"content-type": "application/grpc",
			"grpc-status": String(Status[status]),
			"grpc-message": text,
			"x-request-id": id,
		},
		{ endStream: true },
	);
}
