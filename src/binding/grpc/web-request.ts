/**
 * The request of a gRPC-Web or Connect call, read and decoded here like any other binding's, so that what is wrong
 * with it is told alike. connect-node, which speaks the protocols, is handed an empty message in its place.
 */
import { gzipSync } from "node:zlib";
import type { JsonValue } from "@bufbuild/protobuf";
import { A2AError } from "../../call/error.ts";
import type { Losses } from "../../call/loss.ts";
import type { Payload } from "../../call/payload.ts";
import type { JsonText } from "../../dialect/dialect.ts";
import { readBody } from "../../wire/body.ts";
import { frame, PREFIX } from "../../wire/grpc-frame.ts";
import { mediaType } from "../../wire/header.ts";
import { parseJson } from "../../wire/json-text.ts";
import type { AttachOptions, HttpRequest } from "../binding.ts";
import { oneOf } from "./request.ts";
import type { Route } from "./server.ts";

const nothing = Buffer.alloc(0);
const object = Buffer.from("{}");
const zipped = gzipSync(object);
const framedNothing = frame(nothing);
const framedObject = frame(object);

/** How a content type puts a message into a body. */
interface Form {
	readonly json: boolean;
	/** In a length-prefixed frame, as gRPC-Web and Connect's streams have it. */
	readonly framed: boolean;
}

function formOf(req: HttpRequest): Form {
	const type = mediaType(req.headers["content-type"]);
	return { json: type.endsWith("json"), framed: /^application\/(grpc-web|connect\+)/.test(type) };
}

/**
 * The message of a request, checked. Throws A2AError as `readBody` does, INVALID_REQUEST and UNIMPLEMENTED for what is
 * wrong with its frame, PARSE_ERROR for what is no JSON; PayloadError for what does not fit its type.
 */
export async function readWeb(
	req: HttpRequest,
	{ dialect, method }: Route,
	losses: Losses,
	options: AttachOptions,
): Promise<Payload> {
	const { json, framed } = formOf(req);
	const max = options.maxMessage + (framed ? PREFIX : 0);
	const body = await readBody(req, { max, timeout: options.bodyTimeout || 2 ** 31 - 1 });
	const encoding = req.headers["grpc-encoding"] ?? req.headers["connect-content-encoding"];
	const bytes = framed ? await oneOf(body, encoding, options.maxMessage) : body;
	const payload = json
		? dialect.http.readRequest(method, readJson(bytes, options.maxDepth), losses.add)
		: dialect.binary.readRequest(method, bytes, losses.add);
	// Here, so that what is no message goes no further; the core needs it decoded anyway.
	payload.message();
	return payload;
}

function readJson(bytes: Uint8Array, maxDepth: number): JsonText {
	const { text, value, unique } = parseJson(bytes, maxDepth);
	if (!isObject(value)) throw new A2AError("INVALID_REQUEST", { message: "The request must be a JSON object" });
	if (!unique) throw new A2AError("INVALID_REQUEST", { message: "The request has a member twice" });
	return { text, value };
}

/** An empty message in the same form. */
export function emptyLike(req: HttpRequest): Uint8Array {
	const { json, framed } = formOf(req);
	if (framed) return json ? framedObject : framedNothing;
	if (!json) return nothing;
	return req.headers["content-encoding"] === "gzip" ? zipped : object;
}

function isObject(value: JsonValue): boolean {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
