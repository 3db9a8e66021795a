/** JSON-RPC 2.0 envelopes, read and written around content that is passed on as it came. */
import type { DescMethod, JsonValue } from "@bufbuild/protobuf";
import { A2AError } from "../../call/error.ts";
import type { Dialect, JsonText, RpcError } from "../../dialect/dialect.ts";
import { memberOf, parseJson, parseJsonText } from "../../wire/json-text.ts";

export interface Request {
	readonly dialect: Dialect;
	/** The core's method. */
	readonly method: DescMethod;
	readonly params: JsonText;
}

/** What can be said of a request before it is understood: `id` is raw JSON text, "null" until known. */
export interface Envelope {
	readonly id: string;
	read(recognise: Recognise): Promise<Request>;
}

/** Which of these versions a method of several is meant in, by the task the request is about. */
export type Recognise = (taskId: string, versions: readonly string[]) => Promise<string | undefined>;

const NO_PARAMS: JsonText = { text: "{}", value: {} };

/**
 * Reads a request in two steps, so that an error in the second can carry the id found in the first.
 * Throws PARSE_ERROR (no JSON) and INVALID_REQUEST (no envelope); `read` throws INVALID_REQUEST,
 * METHOD_NOT_FOUND and INVALID_PARAMS.
 */
export function readRequest(body: Buffer, maxDepth: number, dialects: readonly Dialect[]): Envelope {
	const parsed = parseJson(body, maxDepth);
	const { value, unique } = parsed;
	if (Array.isArray(value)) throw invalid("Batches are not supported: send one request per POST");
	if (typeof value !== "object" || value === null) throw invalid("A request is a JSON object");
	if (!unique) throw invalid("A member is set more than once");
	const idValue = value["id"];
	const id = idValue === undefined || !isId(idValue) ? "null" : (memberOf(parsed, "id") ?? "null");
	return {
		id,
		async read(recognise) {
			if (value["jsonrpc"] !== "2.0") throw invalid('Member "jsonrpc" must be "2.0"');
			if (idValue === undefined) throw invalid('Member "id" is required: notifications are not supported');
			if (!isId(idValue)) throw invalid('Member "id" must be a string, a number or null');
			const name = value["method"];
			if (typeof name !== "string") throw invalid('Member "method" must be a string');
			const params = value["params"];
			const found = await resolve(name, params, dialects, recognise);
			if (params === undefined || params === null) return { ...found, params: NO_PARAMS };
			if (typeof params !== "object" || Array.isArray(params)) {
				throw new A2AError("INVALID_PARAMS", { message: 'Invalid parameters: "params" must be an object' });
			}
			return { ...found, params: { text: memberOf(parsed, "params") ?? "{}", value: params } };
		},
	};
}

function isId(value: JsonValue): boolean {
	return value === null || typeof value === "string" || typeof value === "number";
}

function invalid(message: string): A2AError {
	return new A2AError("INVALID_REQUEST", { message });
}

async function resolve(
	name: string,
	params: JsonValue | undefined,
	dialects: readonly Dialect[],
	recognise: Recognise,
): Promise<{ dialect: Dialect; method: DescMethod }> {
	const candidates: { dialect: Dialect; method: DescMethod }[] = [];
	for (const dialect of dialects) {
		const method = dialect.rpcMethod(name);
		if (method) candidates.push({ dialect, method });
	}
	const [first] = candidates;
	if (!first)
		throw new A2AError("METHOD_NOT_FOUND", { message: `Method not found: ${JSON.stringify(name.slice(0, 64))}` });
	if (candidates.length === 1) return first;
	const id = typeof params === "object" && params !== null && !Array.isArray(params) ? params["id"] : undefined;
	const versions = candidates.map((c) => c.dialect.version);
	const version = typeof id === "string" ? await recognise(id, versions) : undefined;
	return candidates.find((c) => c.dialect.version === version) ?? first;
}

/** A response with a result, both as raw JSON text. */
export function writeResult(id: string, result: string): string {
	return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

export function writeError(id: string, error: RpcError): string {
	return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`;
}

export function writeRequest(id: number, method: string, params: string): string {
	return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${params}}`;
}

/** A response: a result (undefined when it is absent or null: deletions have nothing to say) or an error object. */
export type Response = { readonly result: JsonText | undefined } | { readonly error: JsonValue };

/** The inverse of writeResult and writeError. Undefined when the text is no JSON-RPC response. */
export function readResponse(body: Buffer | string, maxDepth: number): Response | undefined {
	const parsed = typeof body === "string" ? parseJsonText(body, maxDepth) : parseJson(body, maxDepth);
	const { value, unique } = parsed;
	if (typeof value !== "object" || value === null || Array.isArray(value) || !unique) return undefined;
	const error = value["error"];
	// Without a code it is somebody else's error: a proxy's, or OAuth's `{"error":"invalid_token"}`.
	if (error !== undefined && error !== null) return isError(error) ? { error } : undefined;
	const result = value["result"];
	if (result === undefined && value["jsonrpc"] !== "2.0") return undefined;
	if (result === undefined || result === null) return { result: undefined };
	return { result: { text: memberOf(parsed, "result") ?? "{}", value: result } };
}

function isError(value: JsonValue): boolean {
	return typeof value === "object" && value !== null && !Array.isArray(value) && Number.isInteger(value["code"]);
}
