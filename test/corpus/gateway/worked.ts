/** The worked conversation of reference/examples.md as each of the eight forms says it: what a client asks, what an agent answers. */
import { readFileSync } from "node:fs";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Form, nameOf, object } from "../../peer/older/model.ts";

export const steps = ["send", "stream", "get", "list", "pushCreate"] as const;
export type Step = (typeof steps)[number];

/** A request. `name`: JSON-RPC method, `VERB /path?query`, or gRPC path. `body`: the whole envelope, the body, or the message's ProtoJSON. */
export interface Asked {
	readonly name: string;
	readonly body?: JsonValue;
}
export interface Turn {
	readonly asked: Asked;
	/** One, but for a stream: whole envelopes, bodies, or messages' ProtoJSON. */
	readonly answers: readonly JsonValue[];
}
export type Conversation = Readonly<Partial<Record<Step, Turn>>>;

type Corpus = Readonly<Record<string, { readonly blocks: readonly JsonObject[] }>>;
export const readJson = (name: string): JsonObject =>
	JSON.parse(readFileSync(new URL(`../${name}.json`, import.meta.url), "utf8")) as JsonObject;
const corpus = (name: string): Corpus => readJson(name) as unknown as Corpus;

const [rpc1, http1, grpc1] = [corpus("v1.0-rpc"), corpus("v1.0-http"), corpus("v1.0-grpc")];
const [rpc03, http03, grpc03] = [corpus("v0.3-rpc"), corpus("v0.3-http"), corpus("v0.3-grpc")];
const [rpc02, rpc01] = [corpus("v0.2-rpc"), corpus("v0.1-rpc")];

/** The block's messages. A name that is not in the examples throws. */
function all(from: Corpus, block: string): readonly JsonObject[] {
	const found = from[block];
	if (!found) throw new Error(`no ${block} in the corpus`);
	return found.blocks;
}
const one = (from: Corpus, block: string): JsonObject => all(from, block)[0] ?? {};

const envelope = (id: string, member: JsonObject): JsonObject => ({ jsonrpc: "2.0", id, ...member });

function rpc(asked: JsonObject, answers: readonly JsonObject[]): Turn {
	return { asked: { name: String(asked["method"]), body: asked }, answers };
}
const turn = (name: string, body: JsonValue | undefined, ...answers: readonly JsonValue[]): Turn => ({
	asked: { name, ...(body !== undefined && { body }) },
	answers,
});

const TASK = "t-7f3a";
const hook1 = one(http1, "pushCreate.request");
const list1 = object(one(rpc1, "list.request")["params"]);
/** §3: "same messages as 2.1", whatever v0.2's own blocks leave out. */
const rpc02And03 = { ...rpc03, ...rpc02, "stream.reply": rpc03["stream.reply"] } as Corpus;

function olderRpc(from: Corpus): Conversation {
	return {
		send: rpc(one(from, "send.request"), all(from, "send.reply")),
		stream: rpc(one(from, "stream.request"), all(from, "stream.reply")),
		get: rpc(one(from, "get.request"), all(from, "get.reply")),
		pushCreate: rpc(one(from, "pushCreate.request"), all(from, "pushCreate.reply")),
	};
}

const conversations: Readonly<Record<string, Conversation>> = {
	"JSONRPC 1.0": {
		send: rpc(one(rpc1, "send.request"), all(rpc1, "send.reply")),
		stream: rpc(one(rpc1, "stream.request"), all(rpc1, "stream.reply")),
		get: rpc(one(rpc1, "get.request"), all(rpc1, "get.reply")),
		list: rpc(one(rpc1, "list.request"), all(rpc1, "list.reply")),
		// 1.1 leaves it out: 1.2's messages in 1.1's envelope, the path's task as a member.
		pushCreate: rpc(
			envelope("r-5", { method: "CreateTaskPushNotificationConfig", params: { taskId: TASK, ...hook1 } }),
			[envelope("r-5", { result: one(http1, "pushCreate.reply") })],
		),
	},
	"HTTP+JSON 1.0": {
		send: turn("POST /message:send", one(http1, "send.request"), one(http1, "send.reply")),
		// "Body as above".
		stream: turn("POST /message:stream", one(http1, "send.request"), ...all(http1, "stream.reply")),
		get: turn(`GET /tasks/${TASK}?historyLength=1`, undefined, one(http1, "get.reply")),
		list: turn("GET /tasks?contextId=c-19&status=TASK_STATE_COMPLETED&pageSize=1", undefined, one(http1, "list.reply")),
		pushCreate: turn(`POST /tasks/${TASK}/pushNotificationConfigs`, hook1, one(http1, "pushCreate.reply")),
	},
	"GRPC 1.0": {
		send: turn("/lf.a2a.v1.A2AService/SendMessage", one(grpc1, "send.request"), one(grpc1, "send.reply")),
		// "The five StreamResponse messages of 1.2".
		stream: turn(
			"/lf.a2a.v1.A2AService/SendStreamingMessage",
			one(grpc1, "send.request"),
			...all(http1, "stream.reply"),
		),
		get: turn("/lf.a2a.v1.A2AService/GetTask", one(grpc1, "get.request"), one(grpc1, "get.reply")),
		// 1.3 leaves these out: the messages of 1.1 and 1.2.
		list: turn("/lf.a2a.v1.A2AService/ListTasks", list1, one(http1, "list.reply")),
		pushCreate: turn(
			"/lf.a2a.v1.A2AService/CreateTaskPushNotificationConfig",
			{ taskId: TASK, ...hook1 },
			one(http1, "pushCreate.reply"),
		),
	},
	"JSONRPC 0.3": olderRpc(rpc03),
	"HTTP+JSON 0.3": {
		send: turn("POST /v1/message:send", one(http03, "send.request"), one(http03, "send.reply")),
		stream: turn("POST /v1/message:stream", one(http03, "send.request"), ...all(http03, "stream.reply")),
		get: turn(`GET /v1/tasks/${TASK}?historyLength=1`, undefined, one(http03, "get.reply")),
		// Of the three bodies in use the whole one; 2.2 gives no answer: the stored configuration, which is its first body.
		pushCreate: turn(
			`POST /v1/tasks/${TASK}/pushNotificationConfigs`,
			one(http03, "pushCreate.request.full"),
			one(http03, "pushCreate.request"),
		),
	},
	"GRPC 0.3": {
		// 2.3 leaves its answers out: those of 2.2.
		send: turn("/a2a.v1.A2AService/SendMessage", one(grpc03, "send.request"), one(http03, "send.reply")),
		stream: turn(
			"/a2a.v1.A2AService/SendStreamingMessage",
			one(grpc03, "send.request"),
			...all(http03, "stream.reply"),
		),
		get: turn("/a2a.v1.A2AService/GetTask", one(grpc03, "get.request"), one(grpc03, "get.reply")),
		pushCreate: turn(
			"/a2a.v1.A2AService/CreateTaskPushNotificationConfig",
			one(http03, "pushCreate.request.full"),
			one(http03, "pushCreate.request"),
		),
	},
	"JSONRPC 0.2": olderRpc(rpc02And03),
	"JSONRPC 0.1": {
		send: rpc(one(rpc01, "send.request"), all(rpc01, "send.reply")),
		stream: rpc(one(rpc01, "stream.request"), all(rpc01, "stream.reply")),
		get: rpc(one(rpc01, "get.request"), all(rpc01, "get.reply")),
		// §4 gives no answer: TaskPushNotificationConfig, which is the request's params.
		pushCreate: rpc(one(rpc01, "pushCreate.request"), [
			envelope("r-4", { result: one(rpc01, "pushCreate.request")["params"] ?? {} }),
		]),
	},
};

export function conversationOf(form: Form): Conversation {
	const found = conversations[nameOf(form)];
	if (!found) throw new Error(`no conversation in ${nameOf(form)}`);
	return found;
}

/** The other two bodies of a webhook creation that v0.3 HTTP clients send (2.2). */
export const otherBodies: readonly JsonObject[] = [
	one(http03, "pushCreate.request"),
	one(http03, "pushCreate.request.config"),
];
