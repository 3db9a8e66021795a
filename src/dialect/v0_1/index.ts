/** The v0.1 dialect (April 2025): JSON-RPC only, `tasks/send` and client-made ids (dialects.md). */
import type { DescMethod } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError } from "../../call/error.ts";
import type { Dialect, Form } from "../dialect.ts";
import { textForm } from "../forms.ts";
import { errorForms } from "./errors.ts";
import * as rpc from "./rpc.ts";

/** JSON-RPC method names; undefined = there is none. */
const rpcNames = {
	sendMessage: "tasks/send",
	sendStreamingMessage: "tasks/sendSubscribe",
	getTask: "tasks/get",
	listTasks: undefined,
	cancelTask: "tasks/cancel",
	subscribeToTask: "tasks/resubscribe",
	createTaskPushNotificationConfig: "tasks/pushNotification/set",
	getTaskPushNotificationConfig: "tasks/pushNotification/get",
	listTaskPushNotificationConfigs: undefined,
	getExtendedAgentCard: undefined,
	deleteTaskPushNotificationConfig: undefined,
} as const satisfies Record<keyof typeof A2AService.method, string | undefined>;

const toRpc = new Map<DescMethod, string>();
const fromRpc = new Map<string, DescMethod>();
for (const core of A2AService.methods) {
	const name = rpcNames[core.localName as keyof typeof rpcNames];
	if (name === undefined) continue;
	toRpc.set(core, name);
	fromRpc.set(name, core);
}

function never(): never {
	throw new A2AError("UNSUPPORTED_OPERATION", { message: "Protocol version 0.1 is JSON-RPC only" });
}
const none: Form<never> = { readRequest: never, writeRequest: never, readReply: never, writeReply: never };

export const v0_1: Dialect = {
	version: "0.1",
	bindings: ["JSONRPC"],
	served: true,
	traits: {
		clientIds: true,
		taskFirst: false,
		messages: false,
		liveOnly: false,
		noHistory: true,
		streamErrors: true,
		configIds: false,
	},
	// No service of its own: nothing but JSON-RPC.
	service: A2AService,
	errata: [],
	coreMethod: (own) => own,
	ownMethod: () => undefined,
	rpcMethod: (name) => fromRpc.get(name),
	rpcName: (core) => toRpc.get(core),
	requestHeader: {},
	extensionsHeader: "x-a2a-extensions",
	rpc: textForm(rpc),
	http: none,
	binary: none,
	errors: errorForms,
	mediaType: "application/json",
};
