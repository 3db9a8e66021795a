/** The v1.0 dialect: the core's own vocabulary, so lifting and lowering change nothing. */
import type { DescMethod } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { fromBinary, fromText } from "../../schema/payload.ts";
import type { Dialect, Form, JsonText } from "../dialect.ts";
import { errorForms } from "./errors.ts";

const json: Form<JsonText> = {
	readRequest: (method, wire) => fromText(method.input, wire.text, wire.value),
	writeRequest: (_method, request) => ({ text: request.text(), value: request.json() }),
	readReply: (method, wire) => fromText(method.output, wire.text, wire.value),
	writeReply: (_method, reply) => ({ text: reply.text(), value: reply.json() }),
};

const binary: Form<Uint8Array> = {
	readRequest: (method, wire) => fromBinary(method.input, wire),
	writeRequest: (_method, request) => request.binary(),
	readReply: (method, wire) => fromBinary(method.output, wire),
	writeReply: (_method, reply) => reply.binary(),
};

const byName: ReadonlyMap<string, DescMethod> = new Map(A2AService.methods.map((m) => [m.name, m]));

export const v1: Dialect = {
	version: "1.0",
	bindings: ["JSONRPC", "HTTP+JSON", "GRPC"],
	served: true,
	traits: {
		clientIds: false,
		taskFirst: true,
		messages: true,
		liveOnly: true,
		noHistory: true,
		streamErrors: false,
		configIds: true,
	},
	service: A2AService,
	// The annotation says GET, the prose and the official clients POST (Z1): serve both, call POST first.
	errata: [
		{
			method: A2AService.method.subscribeToTask,
			verb: "POST",
			path: "/tasks/{id=*}:subscribe",
			body: "*",
			preferred: true,
		},
		{
			method: A2AService.method.subscribeToTask,
			verb: "POST",
			path: "/{tenant}/tasks/{id=*}:subscribe",
			body: "*",
			preferred: true,
		},
	],
	coreMethod: (own) => own,
	ownMethod: (core) => core,
	rpcMethod: (name) => byName.get(name),
	rpcName: (core) => core.name,
	requestHeader: { "a2a-version": "1.0" },
	extensionsHeader: "a2a-extensions",
	rpc: json,
	http: json,
	binary,
	errors: errorForms,
	mediaType: "application/a2a+json",
};

/** The core service: its methods are what `Call.method` may be. */
export const core = A2AService;
