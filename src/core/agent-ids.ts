/** Agents whose clients name the tasks (v0.1): the gateway makes the ids and knows which it made (dialects.md §12). */
import { randomUUID } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { SendMessageResponseSchema, StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Call, type Handler, isStream, type Middleware, type Reply } from "../call/call.ts";
import { A2AError } from "../call/error.ts";
import type { Payload } from "../call/payload.ts";
import { iterate, reply, single } from "../call/stream.ts";
import type { Traits } from "../dialect/dialect.ts";
import { fromValue } from "../schema/payload.ts";
import type { Store } from "../state/store.ts";
import { isTerminal, jsonOf, type Operations, objectOf, sends, taskField, textOf } from "./types.ts";

interface AgentTask {
	readonly contextId: string;
	readonly ended: boolean;
}

export function agentIds(
	client: (call: Call) => Traits,
	agent: (call: Call) => Traits,
	store: Store,
	operations: Operations,
): Middleware {
	const keyOf = (call: Call, id: string) => `agent-task ${JSON.stringify([call.agent, call.principal.id, id])}`;

	return (next) => (call) => {
		if (!agent(call).clientIds || client(call).clientIds) return next(call);
		return sends(call.method) ? send(call, next) : about(call, next);
	};

	async function send(call: Call, next: Handler): Promise<Reply> {
		const request = jsonOf(call.request);
		const message = objectOf(request["message"]) ?? {};
		const given = textOf(message["taskId"]);
		const known = given === "" ? undefined : await existing(call, given, next);
		if (known?.ended) {
			throw new A2AError("UNSUPPORTED_OPERATION", {
				message: "The task has ended: send a new message without its id",
				metadata: { taskId: given },
			});
		}
		const asked = textOf(message["contextId"]);
		if (known && asked !== "" && known.contextId !== "" && known.contextId !== asked) {
			throw new A2AError("INVALID_PARAMS", { message: "Invalid parameters: message.contextId is not the task's" });
		}
		const taskId = given || randomUUID();
		const contextId = known?.contextId || asked || randomUUID();
		const said = { ...message, taskId, contextId };
		const got = await next({ ...call, request: fromValue(call.method.input, { ...request, message: said }) });
		return convert(call, got, taskId, contextId);
	}

	/** A task of the agent's: remembered, or asked for, so that a made-up id makes no task (A7). */
	async function existing(call: Call, id: string, next: Handler): Promise<AgentTask> {
		const known = await store.get<AgentTask>(keyOf(call, id));
		if (known) return known;
		const request = fromValue(operations.readTask.input, { id });
		const task = jsonOf(await single(await next({ ...call, method: operations.readTask, request })));
		return { contextId: textOf(task["contextId"]), ended: isTerminal(task["status"]) };
	}

	async function about(call: Call, next: Handler): Promise<Reply> {
		const field = taskField(call.method);
		const id = field ? textOf(jsonOf(call.request)[field]) : "";
		const known = id === "" ? undefined : await store.get<AgentTask>(keyOf(call, id));
		return convert(call, await next(call), id, known?.contextId ?? "");
	}

	async function convert(call: Call, got: Reply, taskId: string, contextId: string): Promise<Reply> {
		const one = async (payload: Payload): Promise<Payload> => {
			const { value, ended } = complete(payload, taskId, contextId);
			if (ended !== undefined && taskId !== "") {
				await store.set(keyOf(call, taskId), { contextId: contextId || contextOf(value), ended } satisfies AgentTask);
			}
			return fromValue(payload.type, value);
		};
		if (!isStream(call.method)) return reply(await one(await single(got)), got.header);
		return { header: got.header, messages: each(iterate(got), one) };
	}
}

async function* each(
	messages: AsyncIterable<Payload>,
	convert: (payload: Payload) => Promise<Payload>,
): AsyncIterable<Payload> {
	for await (const message of messages) yield await convert(message);
}

function contextOf(value: JsonObject): string {
	const inner = objectOf(value["task"]) ?? objectOf(value["statusUpdate"]) ?? value;
	return textOf(inner["contextId"]);
}

/** Adds the ids that this version leaves out: every v1.0 task and event names its task and context. */
function complete(
	payload: Payload,
	taskId: string,
	contextId: string,
): { value: JsonObject; ended: boolean | undefined } {
	const value = jsonOf(payload);
	const task = (whole: JsonObject): JsonObject => {
		const context = textOf(whole["contextId"]) || contextId;
		const ids = { taskId: textOf(whole["id"]) || taskId, ...(context !== "" && { contextId: context }) };
		const said = (message: JsonObject): JsonObject => ({ ...message, ...ids });
		const status = objectOf(whole["status"]);
		const { history } = whole;
		return {
			...whole,
			...(context !== "" && { contextId: context }),
			...(status && { status: withMessage(status, said) }),
			...(Array.isArray(history) && { history: history.map((m) => said(objectOf(m) ?? {})) }),
		};
	};
	if (payload.type === TaskSchema) return { value: task(value), ended: isTerminal(value["status"]) };
	if (payload.type !== SendMessageResponseSchema && payload.type !== StreamResponseSchema)
		return { value, ended: undefined };
	const whole = objectOf(value["task"]);
	if (whole) return { value: { task: task(whole) }, ended: isTerminal(whole["status"]) };
	const update = objectOf(value["statusUpdate"]) ?? objectOf(value["artifactUpdate"]);
	if (!update) return { value, ended: undefined };
	const ids = { taskId: textOf(update["taskId"]) || taskId, contextId: textOf(update["contextId"]) || contextId };
	const status = objectOf(update["status"]);
	if (!status) return { value: { artifactUpdate: { ...update, ...ids } }, ended: false };
	return {
		value: { statusUpdate: { ...update, ...ids, status: withMessage(status, (message) => ({ ...message, ...ids })) } },
		ended: isTerminal(status),
	};
}

function withMessage(status: JsonObject, convert: (message: JsonObject) => JsonObject): JsonObject {
	const message = objectOf(status["message"]);
	return message ? { ...status, message: convert(message) } : status;
}
