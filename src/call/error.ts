/** The one table of errors (reference/errors.md) and the one error class of the product. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Header } from "./call.ts";
import type { LossEntry } from "./loss.ts";
import { PayloadError, type Violation } from "./payload.ts";

/** gRPC status codes by name (grpc.io/grpc/core/md_doc_statuscodes). */
export const Status = {
	OK: 0,
	CANCELLED: 1,
	UNKNOWN: 2,
	INVALID_ARGUMENT: 3,
	DEADLINE_EXCEEDED: 4,
	NOT_FOUND: 5,
	ALREADY_EXISTS: 6,
	PERMISSION_DENIED: 7,
	RESOURCE_EXHAUSTED: 8,
	FAILED_PRECONDITION: 9,
	ABORTED: 10,
	OUT_OF_RANGE: 11,
	UNIMPLEMENTED: 12,
	INTERNAL: 13,
	UNAVAILABLE: 14,
	DATA_LOSS: 15,
	UNAUTHENTICATED: 16,
} as const;
export type StatusName = keyof typeof Status;

interface Row {
	/** JSON-RPC error code. */
	readonly rpc: number;
	/** gRPC status name. */
	readonly grpc: StatusName;
	/** HTTP status. */
	readonly http: number;
	/** Message when the thrower gives none. */
	readonly text: string;
	/** Part of the A2A specification: its ErrorInfo is a MUST. */
	readonly a2a?: true;
}

/**
 * Every error the gateway knows, keyed by ErrorInfo.reason. The first nine are A2A's own
 * (v1.0.1 §5.4); the rest are JSON-RPC's and gRPC's generic categories.
 */
export const errors = {
	TASK_NOT_FOUND: { rpc: -32001, grpc: "NOT_FOUND", http: 404, text: "Task not found", a2a: true },
	TASK_NOT_CANCELABLE: {
		rpc: -32002,
		grpc: "FAILED_PRECONDITION",
		http: 400,
		text: "Task cannot be canceled",
		a2a: true,
	},
	PUSH_NOTIFICATION_NOT_SUPPORTED: {
		rpc: -32003,
		grpc: "FAILED_PRECONDITION",
		http: 400,
		text: "Push notifications are not supported",
		a2a: true,
	},
	UNSUPPORTED_OPERATION: {
		rpc: -32004,
		grpc: "FAILED_PRECONDITION",
		http: 400,
		text: "This operation is not supported",
		a2a: true,
	},
	CONTENT_TYPE_NOT_SUPPORTED: {
		rpc: -32005,
		grpc: "INVALID_ARGUMENT",
		http: 400,
		text: "Incompatible content types",
		a2a: true,
	},
	INVALID_AGENT_RESPONSE: { rpc: -32006, grpc: "INTERNAL", http: 500, text: "Invalid agent response", a2a: true },
	EXTENDED_AGENT_CARD_NOT_CONFIGURED: {
		rpc: -32007,
		grpc: "FAILED_PRECONDITION",
		http: 400,
		text: "Extended agent card is not configured",
		a2a: true,
	},
	EXTENSION_SUPPORT_REQUIRED: {
		rpc: -32008,
		grpc: "FAILED_PRECONDITION",
		http: 400,
		text: "A required extension was not requested",
		a2a: true,
	},
	VERSION_NOT_SUPPORTED: {
		rpc: -32009,
		grpc: "FAILED_PRECONDITION",
		http: 400,
		text: "This protocol version is not supported",
		a2a: true,
	},

	PARSE_ERROR: { rpc: -32700, grpc: "INVALID_ARGUMENT", http: 400, text: "Invalid JSON payload" },
	INVALID_REQUEST: { rpc: -32600, grpc: "INVALID_ARGUMENT", http: 400, text: "Request payload validation error" },
	METHOD_NOT_FOUND: { rpc: -32601, grpc: "UNIMPLEMENTED", http: 404, text: "Method not found" },
	INVALID_PARAMS: { rpc: -32602, grpc: "INVALID_ARGUMENT", http: 400, text: "Invalid parameters" },
	INTERNAL_ERROR: { rpc: -32603, grpc: "INTERNAL", http: 500, text: "Internal error" },

	METHOD_NOT_ALLOWED: { rpc: -32600, grpc: "UNIMPLEMENTED", http: 405, text: "Method not allowed" },
	NOT_ACCEPTABLE: { rpc: -32600, grpc: "INVALID_ARGUMENT", http: 406, text: "Not acceptable" },
	UNSUPPORTED_MEDIA_TYPE: { rpc: -32600, grpc: "INVALID_ARGUMENT", http: 415, text: "Unsupported media type" },
	REQUEST_TOO_LARGE: { rpc: -32600, grpc: "RESOURCE_EXHAUSTED", http: 413, text: "Message too large" },

	UNAUTHENTICATED: { rpc: -31401, grpc: "UNAUTHENTICATED", http: 401, text: "Authentication required" },
	PERMISSION_DENIED: { rpc: -31403, grpc: "PERMISSION_DENIED", http: 403, text: "Permission denied" },
	UNAVAILABLE: { rpc: -32603, grpc: "UNAVAILABLE", http: 503, text: "The agent is not available" },
	RESOURCE_EXHAUSTED: { rpc: -32603, grpc: "RESOURCE_EXHAUSTED", http: 429, text: "Too many requests" },
	DEADLINE_EXCEEDED: { rpc: -32603, grpc: "DEADLINE_EXCEEDED", http: 504, text: "Deadline exceeded" },
	CANCELLED: { rpc: -32603, grpc: "CANCELLED", http: 499, text: "The caller went away" },
	UNKNOWN: { rpc: -32603, grpc: "UNKNOWN", http: 500, text: "Unknown error" },
	NOT_FOUND: { rpc: -32001, grpc: "NOT_FOUND", http: 404, text: "Not found" },
	ALREADY_EXISTS: { rpc: -32603, grpc: "ALREADY_EXISTS", http: 409, text: "Already exists" },
	FAILED_PRECONDITION: { rpc: -32603, grpc: "FAILED_PRECONDITION", http: 400, text: "Failed precondition" },
	ABORTED: { rpc: -32603, grpc: "ABORTED", http: 409, text: "Aborted" },
	OUT_OF_RANGE: { rpc: -32603, grpc: "OUT_OF_RANGE", http: 400, text: "Out of range" },
	UNIMPLEMENTED: { rpc: -32601, grpc: "UNIMPLEMENTED", http: 501, text: "Not implemented" },
	DATA_LOSS: { rpc: -32603, grpc: "DATA_LOSS", http: 500, text: "Data loss" },
} as const satisfies Record<string, Row>;

export type Reason = keyof typeof errors;

/** `error.domain` of every ErrorInfo that A2A defines. */
export const DOMAIN = "a2a-protocol.org";

/** A detail in JSON form: `@type` plus the ProtoJSON of the message. */
export type Detail = JsonObject & { "@type": string };

const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest";

export interface A2AErrorInit {
	/** Replaces the table's text. Shown to the client. */
	readonly message?: string;
	/** ErrorInfo.metadata: string to string. */
	readonly metadata?: Readonly<Record<string, string>>;
	/** Further details, or all of them where a peer sent an ErrorInfo of its own. */
	readonly details?: readonly Detail[];
	/** Header fields for the client: `www-authenticate`, `retry-after`, `allow`. */
	readonly header?: Header;
	/** What the peer really said, where the table's row would lose it. */
	readonly wire?: ForeignError;
	/** For the log; never sent. */
	readonly cause?: unknown;
}

/** The original codes of an error that came from a peer and fits no row exactly. */
export interface ForeignError {
	/** JSON-RPC code. */
	readonly rpc?: number;
	/** gRPC status. */
	readonly grpc?: StatusName;
	/** HTTP status. */
	readonly http?: number;
	/** JSON-RPC `data` that is not an array of details. */
	readonly data?: JsonValue;
}

/** The only error a handler throws on purpose. `reason` names a row of the table. */
export class A2AError extends Error {
	override readonly name = "A2AError";
	readonly reason: Reason;
	/** As they go over the wire; the ErrorInfo is always among them where the row is A2A's. */
	readonly details: readonly Detail[];
	readonly header: Header;
	readonly wire: ForeignError;

	constructor(reason: Reason, init: A2AErrorInit = {}) {
		super(init.message || errors[reason].text, init.cause === undefined ? undefined : { cause: init.cause });
		this.reason = reason;
		this.header = init.header ?? {};
		this.wire = init.wire ?? {};
		const given = init.details ?? [];
		const info = given.some((d) => d["@type"] === ERROR_INFO)
			? []
			: [{ "@type": ERROR_INFO, reason, domain: DOMAIN, ...(init.metadata && { metadata: { ...init.metadata } }) }];
		this.details = [...info, ...given];
	}

	/** JSON-RPC code: the peer's own where it said one. */
	get rpc(): number {
		return this.wire.rpc ?? errors[this.reason].rpc;
	}
	/** gRPC status name: the peer's own where it said one. */
	get grpc(): StatusName {
		return this.wire.grpc ?? errors[this.reason].grpc;
	}
	/** HTTP status: the peer's own where it said one. */
	get http(): number {
		return this.wire.http ?? errors[this.reason].http;
	}

	/**
	 * Converts whatever was thrown. An A2AError passes through, an AbortError becomes CANCELLED
	 * (or the signal's own A2AError reason), anything else INTERNAL_ERROR with the cause kept for
	 * the log and none of its text shown.
	 */
	static from(thrown: unknown): A2AError {
		if (thrown instanceof A2AError) return thrown;
		if (thrown instanceof PayloadError) return invalidParams(thrown.violations, thrown);
		if (thrown instanceof Error && thrown.name === "AbortError") {
			return thrown.cause instanceof A2AError ? thrown.cause : new A2AError("CANCELLED", { cause: thrown });
		}
		return new A2AError("INTERNAL_ERROR", { cause: thrown });
	}
}

/** INVALID_PARAMS with a BadRequest detail that names the fields (rule M4). */
export function invalidParams(violations: readonly Violation[], cause?: unknown): A2AError {
	const text = new PayloadError(violations).message;
	return new A2AError("INVALID_PARAMS", {
		message: `${errors.INVALID_PARAMS.text}: ${text}`,
		details: [
			{
				"@type": BAD_REQUEST,
				fieldViolations: violations.map((v) => ({ field: v.field, description: v.description })),
			},
		],
		cause,
	});
}

/** What strict mode answers instead of losing something. */
export function wouldLose(entries: readonly LossEntry[]): A2AError {
	return new A2AError("UNSUPPORTED_OPERATION", {
		message: `Strict mode: the translation cannot carry ${entries.map((e) => `${e.pointer || "/"} (${e.why})`).join(", ")}`,
		metadata: { lost: entries.map((e) => e.pointer || "/").join(",") },
	});
}

/** The ErrorInfo among JSON details, if there is one. */
export function errorInfo(details: readonly JsonValue[]): { reason: string; domain: string } | undefined {
	for (const d of details) {
		if (typeof d !== "object" || d === null || Array.isArray(d)) continue;
		if (d["@type"] === ERROR_INFO && typeof d["reason"] === "string") {
			return { reason: d["reason"], domain: typeof d["domain"] === "string" ? d["domain"] : "" };
		}
	}
	return undefined;
}

/** Is this string a reason of the table? */
export function isReason(reason: string): reason is Reason {
	return Object.hasOwn(errors, reason);
}
