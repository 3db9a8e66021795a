/** Supplies what the older of two versions lacks: a Task at a stream's head, the end of a finished task, history limits, a config without its id (dialects.md §16). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { SendMessageResponseSchema, StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Call, type Handler, isStream, type Middleware, type Reply } from "../call/call.ts";
import { A2AError } from "../call/error.ts";
import type { Payload } from "../call/payload.ts";
import { iterate, open, reply, single } from "../call/stream.ts";
import type { Traits } from "../dialect/dialect.ts";
import { fromValue } from "../schema/payload.ts";
import { isTerminal, jsonOf, type Operations, objectOf, sends, taskField, textOf } from "./types.ts";
import type { AgentView } from "./view.ts";

/** `client` tells the traits of the client's version, `view` those of the agent's and by which binding it is spoken to. */
export function continuity(
	client: (call: Call) => Traits,
	view: (call: Call) => AgentView,
	operations: Operations,
): Middleware {
	return (next) => (call) => {
		const own = client(call);
		const { traits, binding } = view(call);
		// Only JSON-RPC of the older versions can ask for a config without its id.
		const askable = !traits.configIds && binding === "JSONRPC";
		if (!own.configIds && !askable && !traits.clientIds && lacksConfigId(call)) return firstConfig(call, next);
		if (own === traits) return next(call);
		return bridge(call, own, traits, next);
	};

	async function bridge(call: Call, client: Traits, agent: Traits, next: Handler): Promise<Reply> {
		if (!isStream(call.method)) return trimmed(call, agent, await next(call));
		if (sends(call.method)) {
			const got = await next(call);
			return client.taskFirst && !agent.taskFirst ? taskFirst(call, got) : got;
		}
		if (client.taskFirst && !agent.taskFirst) return subscribeWithTask(call, next);
		if (!client.liveOnly && agent.liveOnly) return subscribeOrFinished(call, next);
		return next(call);
	}

	/** Reads the task a subscription is about. */
	async function read(call: Call, next: Handler): Promise<JsonObject> {
		const { id, tenant } = jsonOf(call.request);
		const request = fromValue(operations.readTask.input, { id: id ?? "", ...(tenant !== undefined && { tenant }) });
		return jsonOf(await single(await next({ ...call, method: operations.readTask, request })));
	}

	/** v1.0 §3.1.6: the task first; a finished task cannot be subscribed to. */
	async function subscribeWithTask(call: Call, next: Handler): Promise<Reply> {
		const task = await read(call, next);
		if (isTerminal(task["status"])) {
			throw new A2AError("UNSUPPORTED_OPERATION", { message: "The task has ended: there is nothing to subscribe to" });
		}
		const got = await next(call);
		return { header: got.header, messages: prepend(event({ task }), iterate(got), (first) => "task" in first) };
	}

	/** Older clients get a finished task and the end, where v1.0 has an error. */
	async function subscribeOrFinished(call: Call, next: Handler): Promise<Reply> {
		try {
			const got = await next(call);
			return { header: got.header, messages: (await open(got)).messages };
		} catch (thrown) {
			if (!(thrown instanceof A2AError) || thrown.reason !== "UNSUPPORTED_OPERATION") throw thrown;
			const task = await read(call, next);
			if (!isTerminal(task["status"])) throw thrown;
			return { header: {}, messages: once(event({ task })) };
		}
	}

	async function firstConfig(call: Call, next: Handler): Promise<Reply> {
		const { taskId, tenant } = jsonOf(call.request);
		const request = fromValue(operations.listConfigs.input, {
			taskId: taskId ?? "",
			...(tenant !== undefined && { tenant }),
		});
		const listed = jsonOf(await single(await next({ ...call, method: operations.listConfigs, request })));
		const [first] = Array.isArray(listed["configs"]) ? listed["configs"] : [];
		if (first === undefined)
			throw new A2AError("TASK_NOT_FOUND", { message: "The task has no push notification configuration" });
		return reply(fromValue(call.method.output, { ...objectOf(first), taskId: taskId ?? "" }));
	}
}

function lacksConfigId(call: Call): boolean {
	const { method } = call;
	const byId =
		taskField(method) === "taskId" && method.input.field["id"] !== undefined && method.input !== method.output;
	return byId && method.output.field["taskId"] !== undefined && textOf(jsonOf(call.request)["id"]) === "";
}

function event(value: JsonObject): Payload {
	return fromValue(StreamResponseSchema, value);
}

async function* once(payload: Payload): AsyncIterable<Payload> {
	yield payload;
}

/** `head` and then the rest, unless the rest has a head of its own. */
async function* prepend(
	head: Payload,
	rest: AsyncIterable<Payload>,
	isHead: (first: JsonObject) => boolean,
): AsyncIterable<Payload> {
	let first = true;
	for await (const message of rest) {
		if (first && !isHead(jsonOf(message))) yield head;
		first = false;
		yield message;
	}
	if (first) yield head;
}

/** A stream that begins with an update gets the Task that the update implies. */
function taskFirst(call: Call, got: Reply): Reply {
	return { header: got.header, messages: withTask(call, iterate(got)) };
}

async function* withTask(call: Call, messages: AsyncIterable<Payload>): AsyncIterable<Payload> {
	let first = true;
	for await (const message of messages) {
		if (first) {
			const update = jsonOf(message);
			const status = objectOf(update["statusUpdate"]);
			const artifact = objectOf(update["artifactUpdate"]);
			const about = status ?? artifact;
			if (about) yield event({ task: impliedTask(call, about, status?.["status"]) });
		}
		first = false;
		yield message;
	}
}

function impliedTask(call: Call, update: JsonObject, status: JsonValue | undefined): JsonObject {
	const said = objectOf(jsonOf(call.request)["message"]);
	const contextId = textOf(update["contextId"]) || textOf(said?.["contextId"]);
	// A task that ends with its first event was still begun.
	const begun = status === undefined || isTerminal(status) ? { state: "TASK_STATE_WORKING" } : status;
	return { id: update["taskId"] ?? "", ...(contextId !== "" && { contextId }), status: begun };
}

/** An encoding that cannot ask for no history gets the history taken out of the answer. */
async function trimmed(call: Call, agent: Traits, got: Reply): Promise<Reply> {
	if (agent.noHistory) return got;
	const request = jsonOf(call.request);
	const length = request["historyLength"] ?? objectOf(request["configuration"])?.["historyLength"];
	if (length !== 0) return got;
	const payload = await single(got);
	const value = jsonOf(payload);
	const { task } = value;
	if (payload.type === TaskSchema) return reply(fromValue(payload.type, withoutHistory(value)), got.header);
	if (payload.type === SendMessageResponseSchema && objectOf(task)) {
		return reply(fromValue(payload.type, { task: withoutHistory(task as JsonObject) }), got.header);
	}
	return got;
}

function withoutHistory({ history: _history, ...task }: JsonObject): JsonObject {
	return task;
}
