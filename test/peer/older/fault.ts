/** Errors of every version, straight from reference/errors.md: what an agent throws and what a client was told. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Form } from "./model.ts";

interface Row {
	readonly rpc: number;
	readonly http: number;
	readonly grpc: number;
	readonly status: string;
	/** Name of the error in v0.3, as the Python SDK writes it into grpc-message. */
	readonly name: string;
}
const row = (rpc: number, http: number, grpc: number, status: string, name: string): Row => ({
	rpc,
	http,
	grpc,
	status,
	name,
});

export const faults = {
	TASK_NOT_FOUND: row(-32001, 404, 5, "NOT_FOUND", "TaskNotFoundError"),
	TASK_NOT_CANCELABLE: row(-32002, 400, 9, "FAILED_PRECONDITION", "TaskNotCancelableError"),
	PUSH_NOTIFICATION_NOT_SUPPORTED: row(-32003, 400, 9, "FAILED_PRECONDITION", "PushNotificationNotSupportedError"),
	UNSUPPORTED_OPERATION: row(-32004, 400, 9, "FAILED_PRECONDITION", "UnsupportedOperationError"),
	CONTENT_TYPE_NOT_SUPPORTED: row(-32005, 400, 3, "INVALID_ARGUMENT", "ContentTypeNotSupportedError"),
	INVALID_AGENT_RESPONSE: row(-32006, 500, 13, "INTERNAL", "InvalidAgentResponseError"),
	INVALID_PARAMS: row(-32602, 400, 3, "INVALID_ARGUMENT", "InvalidParamsError"),
	METHOD_NOT_FOUND: row(-32601, 404, 12, "UNIMPLEMENTED", "MethodNotFoundError"),
	INTERNAL_ERROR: row(-32603, 500, 13, "INTERNAL", "InternalError"),
} as const satisfies Record<string, Row>;
export type Reason = keyof typeof faults;

/** What an agent throws. */
export class Fault extends Error {
	override readonly name = "Fault";
	readonly reason: Reason;
	constructor(reason: Reason, message: string = faults[reason].name) {
		super(message);
		this.reason = reason;
	}
}

/** What a client was told, in its own binding's terms. */
export class Refused extends Error {
	override readonly name = "Refused";
	/** JSON-RPC code, HTTP status, gRPC status number. */
	readonly code: number;
	readonly data: JsonValue | undefined;
	constructor(code: number, message: string, data?: JsonValue) {
		super(message);
		this.code = code;
		this.data = data;
	}
}

/** The code a client of this form must be told for a reason. v0.3 HTTP and gRPC take v1.0's (no table of their own). */
export function codeFor(form: Form, reason: Reason): number {
	const { rpc, http, grpc } = faults[reason];
	if (form.binding === "JSONRPC") {
		// -32006 means something else in v0.1 prose: errors.md §4.
		return form.version === "0.1" && reason === "INVALID_AGENT_RESPONSE" ? -32603 : rpc;
	}
	return form.binding === "GRPC" ? grpc : http;
}
