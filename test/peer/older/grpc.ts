/** gRPC peers in v1.0 (lf.a2a.v1) and v0.3 (a2a.v1) on @grpc/grpc-js and the generated types. */
import {
	type DescMethod,
	fromBinary,
	fromJson,
	type JsonObject,
	type JsonValue,
	type Message,
	toBinary,
	toJson,
} from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { A2AService as V03Service } from "../../../gen/a2a/v1/a2a_pb.ts";
import { A2AService as V1Service } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { startRawHttp } from "../agents/raw-http.ts";
import { errorInfo, readDetails, writeDetails } from "../protocol.ts";
import { cardOf, cardPath, extendedCardOf } from "./card.ts";
import { Fault, faults, Refused } from "./fault.ts";
import type { AgentOptions } from "./http.ts";
import { type Ask, type Form, isStream, type Operation, object, type Said } from "./model.ts";
import { type Arrived, brainOf, codecOf, knows, type OlderAgent, type OlderClient } from "./peer.ts";

const names: Readonly<Record<Operation, readonly [string, string]>> = {
	send: ["SendMessage", "SendMessage"],
	stream: ["SendStreamingMessage", "SendStreamingMessage"],
	get: ["GetTask", "GetTask"],
	list: ["ListTasks", ""],
	cancel: ["CancelTask", "CancelTask"],
	subscribe: ["SubscribeToTask", "TaskSubscription"],
	pushCreate: ["CreateTaskPushNotificationConfig", "CreateTaskPushNotificationConfig"],
	pushGet: ["GetTaskPushNotificationConfig", "GetTaskPushNotificationConfig"],
	pushList: ["ListTaskPushNotificationConfigs", "ListTaskPushNotificationConfig"],
	pushDelete: ["DeleteTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"],
	card: ["GetExtendedAgentCard", "GetAgentCard"],
};

function methodOf(form: Form, op: Operation): DescMethod {
	const newer = form.version === "1.0";
	const service = newer ? V1Service : V03Service;
	const name = names[op][newer ? 0 : 1];
	const found = service.methods.find((method) => method.name === name);
	if (!found) throw new Error(`${form.version} has no ${op}`);
	return found;
}
const pathOf = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;
const known = (form: Form): Operation[] => (Object.keys(names) as Operation[]).filter((op) => knows(form, op));

/** Status numbers the Python 0.3 SDK gives where v1.0 has others (errors.md §4). */
const pythonStatus: Readonly<Record<string, number>> = {
	TASK_NOT_CANCELABLE: 12,
	PUSH_NOTIFICATION_NOT_SUPPORTED: 12,
	UNSUPPORTED_OPERATION: 12,
	CONTENT_TYPE_NOT_SUPPORTED: 12,
	METHOD_NOT_FOUND: 5,
};

function serviceError(form: Form, thrown: unknown): Partial<grpc.ServiceError> {
	const fault = thrown instanceof Fault ? thrown : new Fault("INTERNAL_ERROR", `agent failed: ${String(thrown)}`);
	const { grpc: code, name } = faults[fault.reason];
	if (form.version !== "1.0") return { code: pythonStatus[fault.reason] ?? code, details: `${name}: ${fault.message}` };
	const metadata = new grpc.Metadata();
	const bytes = writeDetails(code, fault.message, [errorInfo(fault.reason)]);
	metadata.set("grpc-status-details-bin", Buffer.from(bytes));
	return { code, details: fault.message, metadata };
}

export async function startGrpcAgent(form: Form, options: AgentOptions = {}): Promise<OlderAgent> {
	const brain = brainOf(form);
	const arrived: Arrived[] = [];
	const codec = codecOf(form);
	const server = new grpc.Server();
	const identity = (bytes: Buffer): Buffer => bytes;
	let endpoint = "";
	for (const op of known(form)) {
		const method = methodOf(form, op);
		const read = (call: { request: Buffer; metadata: grpc.Metadata }): Ask => {
			const json = toJson(method.input, fromBinary(method.input, call.request));
			const header = Object.fromEntries(
				Object.keys(call.metadata.getMap()).map((name) => [name, call.metadata.get(name).map(String).join(", ")]),
			);
			arrived.push({ op, header, json, name: pathOf(method) });
			return codec.readAsk(op, object(json));
		};
		const write = (said: Said): Buffer => {
			const json = said.done ? {} : said.card ? extendedCardOf(form, endpoint) : codec.writeSaid(op, said);
			const message = fromJson(method.output, json, { ignoreUnknownFields: said.card !== undefined });
			return Buffer.from(toBinary(method.output, message));
		};
		if (isStream(op)) {
			const handler: grpc.handleServerStreamingCall<Buffer, Buffer> = async (call) => {
				call.on("error", () => {});
				try {
					for await (const said of brain.listen(read(call))) {
						if (call.cancelled) return;
						call.write(write(said));
					}
					call.end();
				} catch (error) {
					if (!call.cancelled) call.emit("error", serviceError(form, error));
				}
			};
			server.register(pathOf(method), handler, identity, identity, "serverStream");
		} else {
			const handler: grpc.handleUnaryCall<Buffer, Buffer> = async (call, callback) => {
				try {
					callback(null, write(await brain.answer(read(call))));
				} catch (error) {
					callback(serviceError(form, error));
				}
			};
			server.register(pathOf(method), handler, identity, identity, "unary");
		}
	}
	endpoint = await new Promise<string>((resolve, reject) =>
		server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) =>
			error ? reject(error) : resolve(`127.0.0.1:${port}`),
		),
	);
	const http = await startRawHttp(
		(raw) => {
			const shown = options.cardForm ?? form;
			if (raw.target !== cardPath(shown)) return { status: 404 };
			const header = { "content-type": "application/json" };
			return { header, body: JSON.stringify(cardOf(shown, endpoint, options.card)) };
		},
		{ record: false },
	);
	const close = async (): Promise<void> => {
		server.forceShutdown();
		await http.close();
	};
	return { form, brain, url: http.url, endpoint, arrived, close };
}

/** `target` is `host:port`, plain text. */
export function grpcClient(form: Form, target: string): OlderClient {
	const client = new grpc.Client(target, grpc.credentials.createInsecure());
	const codec = codecOf(form);
	let last: Record<string, string> = {};
	const note = (metadata: grpc.Metadata): void => {
		for (const [name, value] of Object.entries(metadata.getMap())) last[name] = String(value);
	};
	const refused = (thrown: unknown): Error => {
		const error = thrown as grpc.ServiceError;
		if (typeof error.code !== "number") return error;
		note(error.metadata);
		const [bytes] = error.metadata.get("grpc-status-details-bin");
		return new Refused(
			error.code,
			error.details,
			Buffer.isBuffer(bytes) ? (readDetails(bytes) as JsonValue) : undefined,
		);
	};
	const metadata = (): grpc.Metadata => {
		last = {};
		const sent = new grpc.Metadata();
		if (form.version === "1.0") sent.set("a2a-version", "1.0");
		return sent;
	};
	const write = (method: DescMethod) => (ask: Ask) => {
		const json: JsonObject = codec.writeAsk(ask);
		return Buffer.from(toBinary(method.input, fromJson(method.input, json)));
	};
	const read = (method: DescMethod, op: Operation) => (bytes: Buffer) => {
		const message: Message = fromBinary(method.output, bytes);
		return codec.readSaid(op, toJson(method.output, message));
	};
	return {
		form,
		get header() {
			return last;
		},
		knows: (op) => knows(form, op),
		async ask(ask) {
			const method = methodOf(form, ask.op);
			try {
				return await new Promise<Said>((resolve, reject) => {
					const call = client.makeUnaryRequest<Ask, Said>(
						pathOf(method),
						write(method),
						read(method, ask.op),
						ask,
						metadata(),
						(error, reply) => (reply ? resolve(reply) : reject(error)),
					);
					call.on("metadata", note);
					call.on("status", (status: grpc.StatusObject) => note(status.metadata));
				});
			} catch (error) {
				throw refused(error);
			}
		},
		async *listen(ask) {
			const method = methodOf(form, ask.op);
			const call = client.makeServerStreamRequest<Ask, Said>(
				pathOf(method),
				write(method),
				read(method, ask.op),
				ask,
				metadata(),
			);
			call.on("metadata", note);
			call.on("error", () => {});
			try {
				for await (const said of call) yield said as Said;
			} catch (error) {
				throw refused(error);
			} finally {
				call.cancel();
			}
		},
		close: async () => client.close(),
	};
}
