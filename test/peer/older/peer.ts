/** What every agent and client of an older (or the present) version offers a test. */
import type { JsonValue } from "@bufbuild/protobuf";
import { Brain, type Nature } from "./brain.ts";
import type { Codec } from "./codec.ts";
import type { Ask, Form, Operation, Said, Version } from "./model.ts";
import { protoCodec } from "./proto.ts";
import { kindCodec, typeCodec } from "./shaped.ts";

/** A request exactly as it arrived: nothing dropped, nothing normalised. */
export interface Arrived {
	readonly op: Operation;
	/** Lower-case names. */
	readonly header: Readonly<Record<string, string>>;
	/** Params, body, or the ProtoJSON of a gRPC message; undefined without a body. */
	readonly json: JsonValue | undefined;
	/** JSON-RPC method, `VERB path`, or gRPC path. */
	readonly name: string;
}

export interface OlderAgent {
	readonly form: Form;
	readonly brain: Brain;
	/** Base URL under which its card is found. */
	readonly url: string;
	/** Where it takes calls: URL, or `host:port` for gRPC. */
	readonly endpoint: string;
	readonly arrived: Arrived[];
	close(): Promise<void>;
}

export interface OlderClient {
	readonly form: Form;
	/** Header or metadata of the last answer, lower-case names. */
	readonly header: Readonly<Record<string, string>>;
	knows(op: Operation): boolean;
	/** Unary. Throws Refused. */
	ask(ask: Ask): Promise<Said>;
	/** Streams. Throws Refused; ending the iteration early cuts the stream. */
	listen(ask: Ask): AsyncIterable<Said>;
	close(): Promise<void>;
}

export function codecOf({ binding, version }: Form): Codec {
	if (version === "1.0") return protoCodec(false);
	if (binding === "JSONRPC") return version === "0.1" ? typeCodec : kindCodec;
	return protoCodec(true);
}

export const natureOf = (version: Version): Nature => ({
	clientIds: version === "0.1",
	liveOnly: version === "1.0",
	snapshot: version === "1.0",
});

export const brainOf = (form: Form): Brain => new Brain(natureOf(form.version));

const knownByRpc: Readonly<Record<Version, Readonly<Partial<Record<Operation, string>>>>> = (() => {
	const newer = {
		send: "SendMessage",
		stream: "SendStreamingMessage",
		get: "GetTask",
		list: "ListTasks",
		cancel: "CancelTask",
		subscribe: "SubscribeToTask",
		pushCreate: "CreateTaskPushNotificationConfig",
		pushGet: "GetTaskPushNotificationConfig",
		pushList: "ListTaskPushNotificationConfigs",
		pushDelete: "DeleteTaskPushNotificationConfig",
		card: "GetExtendedAgentCard",
	};
	const older = {
		send: "message/send",
		stream: "message/stream",
		get: "tasks/get",
		cancel: "tasks/cancel",
		subscribe: "tasks/resubscribe",
		pushCreate: "tasks/pushNotificationConfig/set",
		pushGet: "tasks/pushNotificationConfig/get",
		pushList: "tasks/pushNotificationConfig/list",
		pushDelete: "tasks/pushNotificationConfig/delete",
	};
	const first = {
		send: "tasks/send",
		stream: "tasks/sendSubscribe",
		get: "tasks/get",
		cancel: "tasks/cancel",
		subscribe: "tasks/resubscribe",
		pushCreate: "tasks/pushNotification/set",
		pushGet: "tasks/pushNotification/get",
	};
	const card = "agent/getAuthenticatedExtendedCard";
	return { "1.0": newer, "0.3": { ...older, card }, "0.2": older, "0.1": first };
})();

export const rpcName = (version: Version, op: Operation): string | undefined => knownByRpc[version][op];
export function rpcOperation(version: Version, name: string): Operation | undefined {
	const found = Object.entries(knownByRpc[version]).find(([, each]) => each === name);
	return found?.[0] as Operation | undefined;
}

/** Does a peer of this form know the operation at all? v0.2 has its extended card as an HTTP GET. */
export function knows({ binding, version }: Form, op: Operation): boolean {
	if (binding === "JSONRPC") return op === "card" ? version !== "0.1" : rpcName(version, op) !== undefined;
	return version === "1.0" || op !== "list";
}
