/** The bytes of the benchmark: one 1 KB request, one 1 KB answer, one stream, in JSON and protobuf (A2A v1.0 §4, §9-11). */
import { create, fromJson, type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { SendMessageRequestSchema, SendMessageResponseSchema, StreamResponseSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";

/** The bindings an agent or a client of the benchmark speaks. */
export const bindings = ["JSONRPC", "GRPC", "HTTP+JSON"] as const;
export type BindingName = (typeof bindings)[number];

/** Appears in every unary answer: its presence proves that an answer is one, not an error with status 200. */
export const marker = "bench-task-1";

/** Size of the unary answer's Task and of the request's Message, in bytes of JSON. */
const messageSize = 1056;

export const paths = { unary: "SendMessage", stream: "SendStreamingMessage" } as const;
export const grpcPath = (method: string) => `/lf.a2a.v1.A2AService/${method}`;
export const restPath = (method: string) => (method === paths.stream ? "/message:stream" : "/message:send");

const timestamp = "2026-11-20T09:30:00.125Z";
const lorem = "Translate the attached minutes into French and list every decision with its owner and its due date. ";

function text(length: number): string {
	return lorem.repeat(Math.ceil(length / lorem.length)).slice(0, length);
}

/** Fills `build(text)` up so that its JSON is `size` bytes long. */
function sized(size: number, build: (text: string) => JsonObject): JsonObject {
	return build(text(size - JSON.stringify(build("")).length));
}

function userMessage(size: number): JsonObject {
	return sized(size, (filler) => ({
		messageId: "0d2c1f6e-6f35-4b1c-9c53-1f0a3f1d7a11",
		contextId: "ctx-5f0e",
		role: "ROLE_USER",
		parts: [
			{ text: filler },
			{ data: { locale: "fr-FR", pages: 12, draft: true, weights: [0.5, 0.25, 1] }, mediaType: "application/json" },
		],
		metadata: { trace: "a1b2c3", priority: 3 },
	}));
}

function task(size: number): JsonObject {
	return sized(size, (filler) => ({
		id: marker,
		contextId: "ctx-5f0e",
		status: { state: "TASK_STATE_COMPLETED", timestamp },
		artifacts: [
			{
				artifactId: "artifact-1",
				name: "minutes.md",
				parts: [{ text: filler }, { data: { decisions: 4, owners: ["ann", "bob"] }, mediaType: "application/json" }],
			},
		],
		metadata: { model: "scripted", tokens: 218 },
	}));
}

function event(index: number, count: number): JsonObject {
	const ids = { taskId: marker, contextId: "ctx-5f0e" };
	if (index === 0)
		return { task: { id: marker, contextId: "ctx-5f0e", status: { state: "TASK_STATE_WORKING", timestamp } } };
	if (index === count - 1) return { statusUpdate: { ...ids, status: { state: "TASK_STATE_COMPLETED", timestamp } } };
	const artifact = { artifactId: "artifact-1", parts: [{ text: text(120) }] };
	return { artifactUpdate: { ...ids, artifact, append: index > 1 } };
}

/** A length-prefixed gRPC message, uncompressed. */
export function frame(message: Uint8Array): Buffer {
	const bytes = Buffer.alloc(5 + message.length);
	bytes.writeUInt32BE(message.length, 1);
	bytes.set(message, 5);
	return bytes;
}

/** One message in every encoding the benchmark needs. */
export interface Encoded {
	readonly json: string;
	readonly grpc: Buffer;
}

/** A SendMessageRequest whose message is `size` bytes of JSON. */
export function request(size = messageSize): Encoded {
	const value: JsonValue = { message: userMessage(size), configuration: { acceptedOutputModes: ["text/plain"] } };
	return {
		json: JSON.stringify(value),
		grpc: frame(toBinary(SendMessageRequestSchema, fromJson(SendMessageRequestSchema, value))),
	};
}

/** A SendMessageResponse whose task is `size` bytes of JSON. */
export function answer(size = messageSize): Encoded {
	const value: JsonValue = { task: task(size) };
	return {
		json: JSON.stringify(value),
		grpc: frame(toBinary(SendMessageResponseSchema, fromJson(SendMessageResponseSchema, value))),
	};
}

/** The events of a stream of `count` (at least 2): a Task, artifact chunks of about 240 bytes, a final status. */
export function events(count: number): Encoded[] {
	return Array.from({ length: count }, (_, index) => {
		const value = event(index, count);
		return {
			json: JSON.stringify(value),
			grpc: frame(toBinary(StreamResponseSchema, fromJson(StreamResponseSchema, value))),
		};
	});
}

/** The card of the scripted agent that speaks `binding` at `url`. */
export function card(binding: BindingName, url: string): JsonObject {
	return {
		name: "bench agent",
		description: "Answers with constants.",
		version: "1.0.0",
		supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: "1.0" }],
		capabilities: { streaming: true, pushNotifications: false },
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [{ id: "echo", name: "Echo", description: "Answers.", tags: ["bench"] }],
	};
}

/** Sizes worth printing: the request and the answer in JSON and protobuf, bytes. */
export function sizes(): { request: [number, number]; answer: [number, number]; event: [number, number] } {
	const pair = (encoded: Encoded): [number, number] => [encoded.json.length, encoded.grpc.length - 5];
	const middle = events(3)[1] ?? {
		json: "",
		grpc: Buffer.from(toBinary(StreamResponseSchema, create(StreamResponseSchema))),
	};
	return { request: pair(request()), answer: pair(answer()), event: pair(middle) };
}
