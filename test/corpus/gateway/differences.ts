/** The only ways in which what goes through the gateway differs from what reference/examples.md writes, each with its reason. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Form, object } from "../../peer/older/model.ts";
import { conversationOf, type Step } from "./worked.ts";

/** One message on its way: what the client sends becomes what the agent hears, or the agent's answer what the client gets. */
export interface Hop {
	readonly client: Form;
	readonly agent: Form;
	readonly step: Step;
}
/** What is expected, told so that it can be changed in place: envelopes, bodies or ProtoJSON. */
export interface Expected {
	name: string;
	messages: JsonValue[];
}
export interface Difference {
	readonly what: string;
	readonly why: string;
	/**
	 * Words of docs/dialects.md that say so; or the two examples tell different stories; or it is no matter of dialects.
	 */
	readonly see: { readonly docs: string } | "examples" | "JSON-RPC 2.0, 4: a response has its own request's id";
	readonly side: "asked" | "answered";
	readonly steps: readonly Step[];
	readonly when: (client: Form, agent: Form) => boolean;
	change(expected: Expected, hop: Hop): void;
}

const everyStep: readonly Step[] = ["send", "stream", "get", "list", "pushCreate"];
export const sends: readonly Step[] = ["send", "stream"];
const rpc = (form: Form): boolean => form.binding === "JSONRPC";
export const v1 = (form: Form): boolean => form.version === "1.0";
export const v01 = (form: Form): boolean => form.version === "0.1";
/** v0.3 over HTTP+JSON and gRPC. */
export const proto03 = (form: Form): boolean => form.version === "0.3" && !rpc(form);
/** JSON-RPC of 0.3 and 0.2. */
export const kind = (form: Form): boolean => rpc(form) && !v1(form) && !v01(form);

/** Every object in a message, the message itself included. */
function each(value: JsonValue, visit: (object: JsonObject) => void): void {
	if (typeof value !== "object" || value === null) return;
	if (!Array.isArray(value)) visit(value);
	for (const inner of Object.values(value)) each(inner, visit);
}
const eachOf = (expected: Expected, visit: (object: JsonObject) => void): void => each(expected.messages, visit);
/** Replaces ids, whole or as a segment of a path. */
function rename(expected: Expected, names: Readonly<Record<string, string>>): void {
	for (const [from, to] of Object.entries(names)) {
		const told = (text: string) => text.replaceAll(new RegExp(`(?<=^|[/"])${from}(?=$|[/"?:])`, "g"), to);
		expected.name = told(expected.name);
		expected.messages = expected.messages.map((message) => JSON.parse(told(JSON.stringify(message))) as JsonValue);
	}
}
/** Params of an envelope, result of one, or the message itself. */
function inner(form: Form, message: JsonValue | undefined): JsonObject {
	const whole = object(message);
	return rpc(form) ? object(whole["params"] ?? whole["result"]) : whole;
}
export const hasConfiguration = (form: Form, step: Step): boolean =>
	"configuration" in inner(form, conversationOf(form)[step]?.asked.body);
/** The configuration of the agent's own version, from its example of a send. */
const exampleConfiguration = (form: Form): JsonObject =>
	structuredClone(object(inner(form, conversationOf(form).send?.asked.body)["configuration"]));

/** In order: each changes what the ones before have left. */
export const differences: readonly Difference[] = [
	{
		what: "the envelope's id is the gateway's",
		why: "calls of many clients share a connection to the agent",
		see: "JSON-RPC 2.0, 4: a response has its own request's id",
		side: "asked",
		steps: everyStep,
		when: (_, agent) => rpc(agent),
		change: ({ messages }) => each(messages[0] ?? null, (o) => "jsonrpc" in o && Object.assign(o, { id: "«call»" })),
	},
	{
		what: "the stream's request has a configuration exactly when the client's has",
		why: "1.2 and 2.2 send 'the body as above', configuration and all; 1.1 and 2.1 write one without",
		see: "examples",
		side: "asked",
		steps: ["stream"],
		when: (client, agent) => !v01(client) && !v01(agent),
		change({ messages }, { client, agent, step }) {
			const request = inner(agent, messages[0]);
			if (hasConfiguration(client, step)) request["configuration"] = exampleConfiguration(agent);
			else delete request["configuration"];
		},
	},
	{
		what: "the file has no name",
		why: "what the client cannot say, the agent does not hear",
		see: { docs: "kept (fields 4, younger than the tag)" },
		side: "asked",
		steps: sends,
		when: (client, agent) => proto03(client) && !proto03(agent),
		change: (expected) =>
			eachOf(expected, (o) => {
				delete o["filename"];
				if ("uri" in o) delete o["name"];
			}),
	},
	{
		what: "the file has its name",
		why: "FilePart.name came after the v0.3.0 tag from which the examples are; the SDKs have it",
		see: { docs: "kept (fields 4, younger than the tag)" },
		side: "asked",
		steps: sends,
		when: (client, agent) => !proto03(client) && proto03(agent),
		change: (expected) => eachOf(expected, (o) => "fileWithUri" in o && Object.assign(o, { name: "bed7.csv" })),
	},

	// A v0.1 client before a later agent.
	{
		what: "the message has an id of the gateway's",
		why: "v0.1 messages have none, later ones must",
		see: { docs: "made from the content on the way up" },
		side: "asked",
		steps: sends,
		when: (client, agent) => v01(client) && !v01(agent),
		change: (expected) => eachOf(expected, (o) => "messageId" in o && Object.assign(o, { messageId: "«message»" })),
	},
	{
		what: "the configuration is what a v0.1 send says: its history and webhook, no modes, and waiting",
		why: "v0.1 has no word for not waiting; its example names no modes; its stream names no history, which asks for none",
		see: { docs: "absent, null and 0 all ask for none: 0" },
		side: "asked",
		steps: sends,
		when: (client, agent) => v01(client) && !v01(agent),
		change({ messages }, { agent, step }) {
			const hook = v1(agent)
				? "taskPushNotificationConfig"
				: proto03(agent)
					? "pushNotification"
					: "pushNotificationConfig";
			const configuration = exampleConfiguration(agent);
			const asked = step === "send" ? 1 : 0;
			inner(agent, messages[0])["configuration"] = {
				...(step === "send" && { [hook]: configuration[hook] ?? null }),
				// 0 has no words there: no limit.
				...(!(proto03(agent) && asked === 0) && { historyLength: asked }),
				...(!v1(agent) && { blocking: true }),
				...(kind(agent) && { acceptedOutputModes: [] }),
			};
		},
	},
	{
		what: "the task is told as its status, at the stream's head",
		why: "v0.1 has no Task event",
		see: { docs: "a Task as its artifacts and status" },
		side: "answered",
		steps: ["stream"],
		when: (client, agent) => v01(client) && !v01(agent),
		change({ messages }) {
			const status = { state: "submitted", timestamp: "2026-09-01T08:00:00.000Z" };
			messages.unshift({ ...object(messages[0]), result: { id: "cl-5501", status, final: false } });
		},
	},
	{
		what: "the second chunk does not repeat the artifact's name",
		why: "only v0.1's example does: nothing to take it from",
		see: "examples",
		side: "answered",
		steps: ["stream"],
		when: (client, agent) => v01(client) && !v01(agent),
		change: (expected) => eachOf(expected, (o) => o["append"] === true && delete o["name"]),
	},

	// A later client before a v0.1 agent.
	{
		what: "task and session have ids of the gateway's",
		why: "in v0.1 the client makes them",
		see: { docs: "the gateway makes the task id, contextId is the session" },
		side: "asked",
		steps: everyStep,
		when: (client, agent) => !v01(client) && v01(agent),
		change: (expected) => rename(expected, { "cl-5501": "«task»", "sess-8": "«context»" }),
	},
	{
		what: "the client gets the gateway's ids",
		why: "the same, on the way back",
		see: { docs: "ids left out of answers are filled in" },
		side: "answered",
		steps: everyStep,
		when: (client, agent) => !v01(client) && v01(agent),
		change: (expected) => rename(expected, { "t-7f3a": "«task»", "c-19": "«context»" }),
	},
	{
		what: "the send carries modes beside the message, no history, and in a stream the webhook if the client's does",
		why: "v0.1's example asks for one message of history and names no modes; the others do the opposite",
		see: { docs: "0.1: beside the message" },
		side: "asked",
		steps: sends,
		when: (client, agent) => !v01(client) && v01(agent),
		change({ messages }, { client, agent, step }) {
			const request = inner(agent, messages[0]);
			delete request["historyLength"];
			if (!hasConfiguration(client, step)) return;
			request["acceptedOutputModes"] = ["text/plain", "application/json"];
			const send = inner(agent, conversationOf(agent).send?.asked.body);
			request["pushNotification"] = structuredClone(send["pushNotification"] ?? null);
		},
	},
	{
		what: "the agent's message has an id of the gateway's, the same in the stream and in the history",
		why: "v0.1 messages have none",
		see: { docs: "so that a message has the same id each time it is read" },
		side: "answered",
		steps: ["stream", "get"],
		when: (client, agent) => !v01(client) && v01(agent),
		change: (expected) => rename(expected, { "m-2": "«said»" }),
	},
	{
		what: "the artifact's id is its index",
		why: "v0.1 artifacts have only that",
		see: { docs: "index N is `artifact-N`" },
		side: "answered",
		steps: ["stream", "get"],
		when: (client, agent) => !v01(client) && v01(agent),
		change: (expected) => rename(expected, { "a-1": "artifact-0" }),
	},
	{
		what: "the second chunk repeats the artifact's name",
		why: "v0.1's example does",
		see: "examples",
		side: "answered",
		steps: ["stream"],
		when: (client, agent) => !v01(client) && v01(agent),
		change: (expected) =>
			eachOf(expected, (o) => o["append"] === true && Object.assign(object(o["artifact"]), { name: "Bed 7 report" })),
	},
	{
		what: "the stream begins with its first update",
		why: "v0.1 has no Task event, and before v1.0 a stream needs none",
		see: { docs: "towards 1.0 a stream that begins otherwise gets the Task" },
		side: "answered",
		steps: ["stream"],
		when: (client, agent) => !v01(client) && !v1(client) && v01(agent),
		change: ({ messages }) => void messages.shift(),
	},
	{
		what: "the task at the stream's head has the first update's status",
		why: "v1.0 streams begin with a Task, which v0.1 has not told",
		see: { docs: "towards 1.0 a stream that begins otherwise gets the Task that its first event implies" },
		side: "answered",
		steps: ["stream"],
		when: (client, agent) => v1(client) && v01(agent),
		change({ messages }, { client }) {
			const [head, update] = messages.map((message) =>
				rpc(client) ? object(object(message)["result"]) : object(message),
			);
			const status = object(update?.["statusUpdate"])["status"] ?? null;
			Object.assign(object(head?.["task"]), { status: structuredClone(status) });
		},
	},

	// Data.
	{
		what: "the data part has no media type",
		why: "before v1.0 a data part is JSON and says so nowhere",
		see: { docs: "lost: goes without saying" },
		side: "answered",
		steps: ["stream", "get"],
		when: (client, agent) => v1(client) && !v1(agent),
		change: (expected) => eachOf(expected, (o) => "data" in o && delete o["mediaType"]),
	},
	{
		what: "`append` and `lastChunk` are written out",
		why: "as the v0.3 JSON-RPC agent has written them",
		see: { docs: "0.3 JSON-RPC: always written" },
		side: "answered",
		steps: ["stream"],
		when: (client, agent) => v1(client) && client.binding !== "GRPC" && kind(agent),
		change: (expected) =>
			eachOf(expected, (o) => {
				if ("artifact" in o) Object.assign(o, { append: o["append"] ?? false, lastChunk: o["lastChunk"] ?? false });
			}),
	},
	{
		what: "times have no zeros for milliseconds",
		why: "the binary message has seconds and nanoseconds; the same time",
		see: { docs: "ISO 8601 as found in practice becomes RFC 3339 in UTC" },
		side: "answered",
		steps: everyStep,
		when: (client, agent) => client.binding !== "GRPC" && agent.binding === "GRPC",
		change: (expected) =>
			eachOf(expected, (o) => {
				const { timestamp } = o;
				if (typeof timestamp === "string") o["timestamp"] = timestamp.replace(".000Z", "Z");
			}),
	},

	// Webhook configurations.
	{
		what: "the body names the path's task too",
		why: "the path's variable is put into the request, and the request is passed on as it is then",
		see: { docs: "repeats the path's task as `parent`" },
		side: "asked",
		steps: ["pushCreate"],
		when: (client, agent) =>
			proto03(client) && client.binding === "HTTP+JSON" && agent.binding === client.binding && !v1(agent),
		change({ messages }) {
			const body = object(messages[0]);
			if ("config" in body) Object.assign(body, { parent: "tasks/t-7f3a" });
		},
	},
	{
		what: "the client's id for the configuration is passed on",
		why: "v0.3 HTTP and gRPC have the client name it, the other examples leave it to the server",
		see: { docs: "required there: without one, the task's" },
		side: "asked",
		steps: ["pushCreate"],
		when: (client, agent) => proto03(client) && !proto03(agent) && !v01(agent),
		change({ messages }, { agent }) {
			const request = inner(agent, messages[0]);
			Object.assign(v1(agent) ? request : object(request["pushNotificationConfig"]), { id: "pc-1" });
		},
	},
	{
		what: "the configuration is named as the task is",
		why: "v0.3 HTTP and gRPC demand a name, and the client gives none",
		see: { docs: "required there: without one, the task's" },
		side: "asked",
		steps: ["pushCreate"],
		when: (client, agent) => !proto03(client) && proto03(agent),
		change: (expected) => rename(expected, { "pc-1": "t-7f3a" }),
	},
	{
		what: "the configuration's id is the agent's: the task's, where the client's example has another",
		why: "the examples' servers choose differently; v0.1 has no such id",
		see: { docs: "a peer that tells none has one per task: it goes by the task's id" },
		side: "answered",
		steps: ["pushCreate"],
		when: (client, agent) => (v1(client) || proto03(client)) && (kind(agent) || v01(agent)),
		change: (expected, { agent }) => rename(expected, { "pc-1": v01(agent) ? "«task»" : "t-7f3a" }),
	},
	{
		what: "the configuration's id is the agent's: one of its own, where the client's example has the task's",
		why: "the examples' servers choose differently",
		see: "examples",
		side: "answered",
		steps: ["pushCreate"],
		when: (client, agent) => kind(client) && (v1(agent) || proto03(agent)),
		change: ({ messages }, { client }) => {
			Object.assign(object(inner(client, messages[0])["pushNotificationConfig"]), { id: "pc-1" });
		},
	},
];
