/** v1.0 errors in the three wire forms and back (§5.4, §9.5, §10.6, §11.6; the v1.0.0 statuses are read too). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Header } from "../../call/call.ts";
import {
	A2AError,
	type Detail,
	errorInfo,
	errors,
	isReason,
	type Reason,
	Status,
	type StatusName,
} from "../../call/error.ts";
import { detailsIn, packStatus, unpackStatus } from "../../schema/details.ts";
import type { ErrorForms, GrpcStatus, RpcError } from "../dialect.ts";

const statusNames: readonly StatusName[] = Object.keys(Status) as StatusName[];

/** The status name for a number; UNKNOWN for numbers gRPC does not define. */
export function statusName(code: number): StatusName {
	return statusNames[code] ?? "UNKNOWN";
}

/** First reason of the table with this JSON-RPC code. */
const byRpc = new Map<number, Reason>();
/** Generic reason for a gRPC status. */
const byStatus = new Map<StatusName, Reason>();
/** Generic reason for an HTTP status. */
const byHttp = new Map<number, Reason>();
for (const [reason, row] of Object.entries(errors) as [Reason, (typeof errors)[Reason]][]) {
	if (!byRpc.has(row.rpc)) byRpc.set(row.rpc, reason);
	if ((reason as string) === row.grpc) byStatus.set(row.grpc, reason);
	if (!("a2a" in row) && !byHttp.has(row.http)) byHttp.set(row.http, reason);
}
byStatus.set("INVALID_ARGUMENT", "INVALID_PARAMS");
byStatus.set("INTERNAL", "INTERNAL_ERROR");
byHttp.set(400, "INVALID_PARAMS");
byHttp.set(404, "NOT_FOUND");
byHttp.set(409, "ABORTED");
byHttp.set(422, "INVALID_PARAMS");
byHttp.set(500, "INTERNAL_ERROR");
byHttp.set(502, "UNAVAILABLE");

/** The reason for an HTTP status without a readable body. */
export function reasonOfHttp(status: number): Reason {
	return (
		byHttp.get(status) ??
		(status >= 500 ? "UNAVAILABLE" : status >= 400 ? "FAILED_PRECONDITION" : "INVALID_AGENT_RESPONSE")
	);
}

/** A reason that the details name and the table has; a foreign domain's reasons are left alone. */
function reasonIn(details: readonly Detail[]): Reason | undefined {
	const info = errorInfo(details);
	return info && isReason(info.reason) ? info.reason : undefined;
}

function object(value: JsonValue | undefined): JsonObject | undefined {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

function writeRpc(error: A2AError): RpcError {
	const data = error.wire.data ?? ([...error.details] as JsonValue);
	return { code: error.rpc, message: error.message, data };
}

function readRpc(value: JsonValue): A2AError {
	const body = object(value);
	const code = body?.["code"];
	if (!body || typeof code !== "number" || !Number.isInteger(code)) {
		return new A2AError("INVALID_AGENT_RESPONSE", { message: "The agent answered with an error that is none" });
	}
	const data = body["data"];
	const details = detailsIn(data);
	const reason = reasonIn(details) ?? byRpc.get(code) ?? "UNKNOWN";
	const foreign = data !== undefined && data !== null && !(Array.isArray(data) && details.length === data.length);
	return new A2AError(reason, {
		message: text(body["message"]),
		details,
		...(reason === "UNKNOWN" && { metadata: { jsonrpcCode: String(code) } }),
		wire: { ...(errors[reason].rpc !== code && { rpc: code }), ...(foreign && { data }) },
	});
}

function writeHttp(error: A2AError): { status: number; body: JsonValue } {
	const status = error.http;
	return {
		status,
		body: { error: { code: status, status: error.grpc, message: error.message, details: [...error.details] } },
	};
}

/** Reads a Status body, a problem document (RFC 9457, left over in §6.4) or just the HTTP status. */
function readHttp(status: number, value: JsonValue | undefined, header: Header): A2AError {
	const keep = {
		...(header["www-authenticate"] !== undefined && { "www-authenticate": header["www-authenticate"] }),
		...(header["retry-after"] !== undefined && { "retry-after": header["retry-after"] }),
	};
	const outer = object(value);
	const body = object(outer?.["error"]) ?? outer;
	const details = detailsIn(body?.["details"]);
	const named = body?.["status"];
	const grpc = typeof named === "string" && Object.hasOwn(Status, named) ? (named as StatusName) : undefined;
	const reason = reasonIn(details) ?? reasonOfStatus(grpc, status);
	const row = errors[reason];
	return new A2AError(reason, {
		message: text(body?.["message"]) || text(body?.["detail"]) || text(body?.["title"]),
		details,
		header: keep,
		wire: {
			// A v1.0.0 peer's status for a known reason is brought up to date; a code no row has is kept.
			...(!reasonIn(details) && row.http !== status && status >= 400 && { http: status }),
			...(!reasonIn(details) && grpc && row.grpc !== grpc && { grpc }),
		},
	});
}

function reasonOfStatus(grpc: StatusName | undefined, http: number): Reason {
	const generic = reasonOfHttp(http);
	if (!grpc || errors[generic].grpc === grpc) return generic;
	return byStatus.get(grpc) ?? generic;
}

function writeGrpc(error: A2AError): GrpcStatus {
	const code = Status[error.grpc];
	return { code, message: error.message, details: packStatus(code, error.message, error.details) };
}

function readGrpc(status: GrpcStatus): A2AError {
	const packed = status.details && unpackStatus(status.details);
	const details = packed?.details ?? [];
	const name = statusName(status.code);
	const named = reasonIn(details);
	const reason = named ?? byStatus.get(name) ?? "UNKNOWN";
	return new A2AError(reason, {
		message: status.message || packed?.message || "",
		details,
		wire: !named && errors[reason].grpc !== name ? { grpc: name } : {},
	});
}

function text(value: JsonValue | undefined): string {
	return typeof value === "string" ? value : "";
}

export const errorForms: ErrorForms = {
	rpc: { write: writeRpc, read: readRpc },
	http: { write: writeHttp, read: readHttp },
	grpc: { write: writeGrpc, read: readGrpc },
};
