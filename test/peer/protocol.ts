/** What agents and clients of the tests share: the service, scripts, recorded calls, errors. Nothing of src. */
import {
	create,
	createRegistry,
	type DescMethod,
	fromBinary,
	fromJson,
	type JsonObject,
	type JsonValue,
	type Message,
	toBinary,
	toJson,
} from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";

export const service = A2AService;
/** The operations, in the order of the descriptor. No test names one. */
export const methods: readonly DescMethod[] = A2AService.methods;
export const VERSION = "1.0";
export const isStream = (method: DescMethod): boolean => method.methodKind === "server_streaming";
export const grpcPath = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;

/** A detail in JSON form. */
export type Detail = JsonObject & { "@type": string };

/** An error in everybody's terms: what a scripted agent throws, with the codes of each binding. */
export class PeerError extends Error {
	override readonly name = "PeerError";
	readonly rpc: number;
	readonly grpc: number;
	readonly http: number;
	readonly status: string;
	readonly details: readonly Detail[];
	constructor(init: {
		message: string;
		rpc: number;
		grpc: number;
		http: number;
		/** gRPC status name, for the HTTP body. */
		status: string;
		details?: readonly Detail[];
	}) {
		super(init.message);
		this.rpc = init.rpc;
		this.grpc = init.grpc;
		this.http = init.http;
		this.status = init.status;
		this.details = init.details ?? [];
	}
}

export const errorInfo = (reason: string, metadata?: Record<string, string>): Detail => ({
	"@type": "type.googleapis.com/google.rpc.ErrorInfo",
	reason,
	domain: "a2a-protocol.org",
	...(metadata && { metadata }),
});

/** One call as it arrived at an agent. */
export interface Received {
	readonly binding: string;
	readonly method: DescMethod;
	readonly request: Message;
	/** Lower-case names. */
	readonly header: Readonly<Record<string, string>>;
	/** Aborts when the caller has gone. */
	readonly signal: AbortSignal;
}

/** Decides every answer. Unary: one message. Stream: messages one by one. Throws PeerError. */
export type Script = (call: Received) => Message | Promise<Message> | AsyncIterable<Message>;

export interface AgentInterfaceOf {
	readonly binding: string;
	/** As the card says it: `host:port` for gRPC. */
	readonly url: string;
	readonly tenant?: string;
}

export interface Agent {
	readonly cardUrl: string;
	/** Base URL of the HTTP side. */
	readonly url: string;
	readonly interfaces: readonly AgentInterfaceOf[];
	/** Everything that arrived, in order. Empty it between runs. */
	readonly calls: Received[];
	script: Script;
	close(): Promise<void>;
}

const registry = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema);

/** `grpc-status-details-bin` content to JSON details. */
export function readDetails(bytes: Uint8Array): Detail[] {
	return fromBinary(StatusSchema, bytes).details.map((any) => detailToJson(any.typeUrl, any.value));
}

/** One Any, as type (with or without the URL prefix) and bytes, to its JSON form. */
export function detailToJson(type: string, value: Uint8Array): Detail {
	const name = type.slice(type.lastIndexOf("/") + 1);
	const schema = registry.getMessage(name);
	const json: JsonValue = schema
		? toJson(schema, fromBinary(schema, value))
		: { value: Buffer.from(value).toString("base64") };
	return { "@type": `type.googleapis.com/${name}`, ...(json as JsonObject) };
}

/** JSON details to `grpc-status-details-bin` content. */
export function writeDetails(code: number, message: string, details: readonly Detail[]): Uint8Array {
	return toBinary(StatusSchema, create(StatusSchema, { code, message, details: details.map(detailToAny) }));
}

export function detailToAny(detail: Detail): Any {
	const { "@type": typeUrl, ...json } = detail;
	const schema = registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
	if (!schema) throw new Error(`unknown detail ${typeUrl}`);
	return create(AnySchema, { typeUrl, value: toBinary(schema, fromJson(schema, json)) });
}

/** The reason of the ErrorInfo among details. */
export function reasonOf(details: readonly JsonValue[]): string | undefined {
	for (const detail of details) {
		if (typeof detail !== "object" || detail === null || Array.isArray(detail)) continue;
		if (String(detail["@type"]).endsWith("/google.rpc.ErrorInfo")) return String(detail["reason"]);
	}
	return undefined;
}
