/** v0.3 and v0.2 errors in the three wire forms and back (errors.md §4): codes without ErrorInfo, so the reason rides in `data`. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { A2AError, type Detail, errorInfo, errors, type Reason } from "../../call/error.ts";
import { unpackStatus } from "../../schema/details.ts";
import type { ErrorForms, RpcError } from "../dialect.ts";
import { isObject } from "../lens.ts";
import { errorForms as newer } from "../v1/errors.ts";

/** Codes that this version does not have, and the generic one a strict peer understands. */
const STRANGE: Partial<Record<Reason, number>> = { EXTENSION_SUPPORT_REQUIRED: -32600, VERSION_NOT_SUPPORTED: -32600 };

function write(error: A2AError): RpcError {
	const code = error.wire.rpc ?? STRANGE[error.reason] ?? error.rpc;
	const data: JsonValue = error.wire.data ?? { reason: error.reason, details: [...error.details] };
	return { code, message: error.message, data };
}

/** Details that an error of this dialect carries in `data`, as `write` puts them there or as a v1.0 peer would. */
function read(value: JsonValue): A2AError {
	if (!isObject(value)) return newer.rpc.read(value);
	const { data } = value;
	const inner =
		isObject(data) && Array.isArray(data["details"]) && typeof data["reason"] === "string"
			? data["details"]
			: undefined;
	return newer.rpc.read(inner ? { ...value, data: inner } : value);
}

/** `<ErrorName>: text`, as the Python 0.3 SDK writes it into grpc-message. */
const NAMED = /^(\w+)Error: ?(.*)$/s;
const byName = new Map<string, Reason>();
for (const reason of Object.keys(errors) as Reason[]) byName.set(reason.toLowerCase().replaceAll("_", ""), reason);
byName.set("authenticatedextendedcardnotconfigured", "EXTENDED_AGENT_CARD_NOT_CONFIGURED");
byName.set("jsonparse", "PARSE_ERROR");
byName.set("internal", "INTERNAL_ERROR");

/** What 0.3 servers mean by a status when the body tells no code (errors.md §4, the Python 0.3 table), beyond v1.0's own. */
const byStatus: ReadonlyMap<number, Reason> = new Map([
	[409, "TASK_NOT_CANCELABLE"],
	[415, "CONTENT_TYPE_NOT_SUPPORTED"],
	[501, "UNSUPPORTED_OPERATION"],
]);

function textOf(body: JsonValue | undefined): string {
	const inner = isObject(body) && isObject(body["error"]) ? body["error"] : body;
	const text = isObject(inner) ? (inner["message"] ?? inner["detail"] ?? inner["title"]) : undefined;
	return typeof text === "string" ? text : "";
}

/** Does this body say nothing but perhaps a text? A Status body, v1.0's, has more. */
function isPlain(body: JsonValue | undefined): boolean {
	if (!isObject(body)) return true;
	const inner = isObject(body["error"]) ? body["error"] : body;
	return inner["status"] === undefined && inner["details"] === undefined;
}

export const errorForms: ErrorForms = {
	rpc: { write, read },
	http: {
		/** The bare object of the 0.3 SDKs inside the v1.0 one: each reader finds what it looks for. */
		write(error) {
			const { status, body } = newer.http.write(error);
			const { code, message, data } = write(error);
			return { status, body: { ...(body as JsonObject), code, message, ...(data !== undefined && { data }) } };
		},
		read(status, body, header) {
			if (isObject(body) && typeof body["code"] === "number" && !isObject(body["error"])) {
				const error = read(body);
				const says = newer.http.read(status, undefined, header);
				return new A2AError(error.reason === "UNKNOWN" ? says.reason : error.reason, {
					message: error.message,
					details: error.details.filter((d: Detail) => error.reason !== "UNKNOWN" || d["reason"] !== "UNKNOWN"),
					header: says.header,
					wire: error.wire,
				});
			}
			const error = newer.http.read(status, body, header);
			const reason = isPlain(body) ? byStatus.get(status) : undefined;
			return reason ? new A2AError(reason, { message: textOf(body), header: error.header }) : error;
		},
	},
	grpc: {
		write: newer.grpc.write,
		read(status) {
			const error = newer.grpc.read(status);
			// ErrorInfo first, then the name before the text, then the status.
			const told = status.details && errorInfo(unpackStatus(status.details)?.details ?? []) !== undefined;
			const [, name, text] = (told ? undefined : NAMED.exec(status.message)) ?? [];
			const reason = name === undefined ? undefined : byName.get(name.toLowerCase());
			if (reason) return new A2AError(reason, { message: text ?? "" });
			// Nothing but tasks (and what belongs to them) is looked for in this version.
			return !told && error.reason === "NOT_FOUND"
				? new A2AError("TASK_NOT_FOUND", { message: status.message })
				: error;
		},
	},
};
