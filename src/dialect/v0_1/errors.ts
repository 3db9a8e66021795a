/** v0.1 errors (errors.md §4): the schema's codes, and the prose's own that collide with later meanings. */
import type { JsonValue } from "@bufbuild/protobuf";
import { A2AError, type Reason } from "../../call/error.ts";
import type { ErrorForms, RpcError } from "../dialect.ts";
import { isObject } from "../lens.ts";
import { errorForms as older } from "../v0_3/errors.ts";

/** What the v0.1.0 prose's codes mean now. */
const PROSE: ReadonlyMap<JsonValue | undefined, Reason> = new Map([
	[-32006, "UNSUPPORTED_OPERATION"],
	[-32007, "UNAUTHENTICATED"],
	[-32008, "PERMISSION_DENIED"],
	[-32009, "UNSUPPORTED_OPERATION"],
	[-32010, "RESOURCE_EXHAUSTED"],
	[-32011, "UNAVAILABLE"],
]);

/** Codes this version gives another meaning, or none. */
const LOWERED: Partial<Record<Reason, number>> = {
	INVALID_AGENT_RESPONSE: -32603,
	EXTENDED_AGENT_CARD_NOT_CONFIGURED: -32004,
	EXTENSION_SUPPORT_REQUIRED: -32600,
	VERSION_NOT_SUPPORTED: -32600,
	UNAUTHENTICATED: -32007,
	PERMISSION_DENIED: -32008,
	RESOURCE_EXHAUSTED: -32010,
	UNAVAILABLE: -32011,
};

/** ErrorInfo metadata that keeps a code whose number means another thing in every later version. */
const CODE = "v01Code";

function write(error: A2AError): RpcError {
	const { message, data } = older.rpc.write(error);
	const code = proseCode(error) ?? error.wire.rpc ?? LOWERED[error.reason] ?? error.rpc;
	return { code, message, ...(data !== undefined && { data }) };
}

function read(value: JsonValue): A2AError {
	const code = isObject(value) ? value["code"] : undefined;
	const reason = PROSE.get(code);
	// An error this gateway wrote says its reason in data: that counts more than a code of two meanings.
	const data = isObject(value) ? value["data"] : undefined;
	if (!isObject(value) || !reason || (isObject(data) && typeof data["reason"] === "string"))
		return older.rpc.read(value);
	return new A2AError(reason, {
		message: typeof value["message"] === "string" ? value["message"] : "",
		// Not as `wire.rpc`: later versions would read another error out of it.
		metadata: { [CODE]: String(code) },
		...(data !== undefined && data !== null && { wire: { data } }),
	});
}

/** The code that `read` kept. */
function proseCode(error: A2AError): number | undefined {
	for (const { metadata } of error.details) {
		const code = isObject(metadata) ? Number(metadata[CODE]) : Number.NaN;
		if (PROSE.get(code) === error.reason) return code;
	}
	return undefined;
}

export const errorForms: ErrorForms = { rpc: { write, read }, http: older.http, grpc: older.grpc };
