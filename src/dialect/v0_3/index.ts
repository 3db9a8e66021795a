/** The v0.3 dialect: JSON-RPC with `kind` shapes, HTTP+JSON under /v1 and gRPC `a2a.v1` (dialects.md). */
import type { DescMethod } from "@bufbuild/protobuf";
import { A2AService as V03Service } from "../../../gen/a2a/v1/a2a_pb.ts";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { A2AError } from "../../call/error.ts";
import type { Dialect } from "../dialect.ts";
import { binaryForm, textForm } from "../forms.ts";
import { errorForms } from "./errors.ts";
import * as proto from "./proto.ts";
import * as rpc from "./rpc.ts";

/** The core's method for each of v0.3's own; a new RPC is a compile error until it is placed. */
const coreNames = {
	sendMessage: "sendMessage",
	sendStreamingMessage: "sendStreamingMessage",
	getTask: "getTask",
	cancelTask: "cancelTask",
	taskSubscription: "subscribeToTask",
	createTaskPushNotificationConfig: "createTaskPushNotificationConfig",
	getTaskPushNotificationConfig: "getTaskPushNotificationConfig",
	listTaskPushNotificationConfig: "listTaskPushNotificationConfigs",
	getAgentCard: "getExtendedAgentCard",
	deleteTaskPushNotificationConfig: "deleteTaskPushNotificationConfig",
} as const satisfies Record<keyof typeof V03Service.method, keyof typeof A2AService.method>;

/** JSON-RPC method names; undefined = there is none. */
const rpcNames = {
	sendMessage: "message/send",
	sendStreamingMessage: "message/stream",
	getTask: "tasks/get",
	listTasks: undefined,
	cancelTask: "tasks/cancel",
	subscribeToTask: "tasks/resubscribe",
	createTaskPushNotificationConfig: "tasks/pushNotificationConfig/set",
	getTaskPushNotificationConfig: "tasks/pushNotificationConfig/get",
	listTaskPushNotificationConfigs: "tasks/pushNotificationConfig/list",
	getExtendedAgentCard: "agent/getAuthenticatedExtendedCard",
	deleteTaskPushNotificationConfig: "tasks/pushNotificationConfig/delete",
} as const satisfies Record<keyof typeof A2AService.method, string | undefined>;

const toCore = new Map<DescMethod, DescMethod>();
const toOwn = new Map<DescMethod, DescMethod>();
for (const own of V03Service.methods) {
	const core = A2AService.method[coreNames[own.localName as keyof typeof coreNames]];
	toCore.set(own, core);
	toOwn.set(core, own);
}
const toRpc = new Map<DescMethod, string>();
const fromRpc = new Map<string, DescMethod>();
for (const core of A2AService.methods) {
	const name = rpcNames[core.localName as keyof typeof rpcNames];
	if (name === undefined) continue;
	toRpc.set(core, name);
	fromRpc.set(name, core);
}

function own(core: DescMethod): DescMethod {
	const method = toOwn.get(core);
	if (!method) throw new A2AError("UNSUPPORTED_OPERATION", { message: "Protocol version 0.3 has no such operation" });
	return method;
}

const { method } = V03Service;

/** v0.2's extended card: a GET beside the endpoint. */
export const documents: ReadonlyMap<string, DescMethod> = new Map([
	["agent/authenticatedExtendedCard", A2AService.method.getExtendedAgentCard],
]);

export const v0_3: Dialect = {
	version: "0.3",
	bindings: ["JSONRPC", "HTTP+JSON", "GRPC"],
	served: true,
	traits: {
		clientIds: false,
		taskFirst: false,
		messages: true,
		liveOnly: false,
		noHistory: false,
		streamErrors: true,
		configIds: false,
	},
	service: V03Service,
	errata: [
		// The annotation says task/* (a typo); the prose and every SDK say tasks/*.
		{
			method: method.createTaskPushNotificationConfig,
			verb: "POST",
			path: "/v1/{parent=tasks/*}/pushNotificationConfigs",
			body: "*",
			whole: true,
			preferred: true,
		},
		// The annotation says GET, the prose POST; the 0.3 servers know GET.
		{ method: method.taskSubscription, verb: "POST", path: "/v1/{name=tasks/*}:subscribe", body: "*" },
	],
	coreMethod(of) {
		const core = toCore.get(of);
		if (!core) throw new TypeError(`${of.name} is no method of ${V03Service.typeName}`);
		return core;
	},
	ownMethod: (core) => toOwn.get(core),
	rpcMethod: (name) => fromRpc.get(name),
	rpcName: (core) => toRpc.get(core),
	requestHeader: {},
	extensionsHeader: "x-a2a-extensions",
	rpc: textForm(rpc),
	http: textForm(proto, own),
	binary: binaryForm(proto, own),
	errors: errorForms,
	documents,
	mediaType: "application/json",
};

/** v0.2.x towards agents: v0.3's JSON-RPC without the extended card method, which is a GET there. */
export const v0_2: Dialect = {
	...v0_3,
	version: "0.2",
	served: false,
	rpcName: (core) => (core === A2AService.method.getExtendedAgentCard ? undefined : toRpc.get(core)),
};
