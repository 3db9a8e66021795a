/** Clients that name their own tasks and sessions (v0.1): their ids ↔ the server's, and answers in the only two forms they know (dialects.md §12). */
import { createHash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { SendMessageResponseSchema, StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { type Call, type Handler, isStream, type Middleware, type Reply } from "../call/call.ts";
import type { Loss } from "../call/loss.ts";
import type { Payload } from "../call/payload.ts";
import { iterate, reply, single } from "../call/stream.ts";
import type { Traits } from "../dialect/dialect.ts";
import { fromValue } from "../schema/payload.ts";
import type { Store } from "../state/store.ts";
import { jsonOf, type Operations, objectOf, sends, taskField, textOf } from "./types.ts";

/** What is known of a task under the name its client gave it. */
export interface ClientTask {
	readonly taskId: string;
	readonly contextId: string;
	/** The client's sessionId; "" when it gave none. */
	readonly session: string;
	/** Of the request that was sent last: a repetition is a retry, not a second message. */
	readonly print: string;
	/** Artifact ids in order of appearance: their index towards the client. */
	readonly artifacts: readonly string[];
}

/** The record's key. `principal` keeps callers apart: one cannot reach another's task by its name. */
export function clientTaskKey(agent: string, principal: string, id: string): string {
	return `client-task ${JSON.stringify([agent, principal, id])}`;
}

export function clientIds(
	traits: (call: Call) => Traits,
	agentTraits: (call: Call) => Traits,
	store: Store,
	operations: Operations,
): Middleware {
	/** Sends of one client id, one after the other: the second must know what the first made. */
	const queues = new Map<string, Promise<unknown>>();

	return (next) => (call) => {
		if (!traits(call).clientIds) return next(call);
		// Both sides name tasks alike: their ids are everybody's ids. That they are this version's is remembered.
		if (agentTraits(call).clientIds) return sends(call.method) ? noted(call, next) : next(call);
		return sends(call.method) ? send(call, next) : about(call, next);
	};

	async function noted(call: Call, next: Handler): Promise<Reply> {
		const id = textOf(objectOf(jsonOf(call.request)["message"])?.["taskId"]);
		await store.set(clientTaskKey(call.agent, call.principal.id, id), {
			taskId: id,
			contextId: "",
			session: "",
			print: "",
			artifacts: [],
		} satisfies ClientTask);
		return next(call);
	}

	async function send(call: Call, next: Handler): Promise<Reply> {
		const request = jsonOf(call.request);
		const message = objectOf(request["message"]) ?? {};
		const id = textOf(message["taskId"]);
		const session = textOf(message["contextId"]);
		const key = clientTaskKey(call.agent, call.principal.id, id);
		const release = await enter(key);
		let held = true;
		const leave = () => {
			if (held) release();
			held = false;
		};
		try {
			const before = await store.get<ClientTask>(key);
			const print = fingerprint(request);
			if (before?.print === print) {
				leave();
				return retry(call, before, id, next);
			}
			const sessionKey = `client-session ${JSON.stringify([call.agent, call.principal.id, session])}`;
			const known = session === "" ? undefined : await store.get<{ contextId: string }>(sessionKey);
			const contextId = before?.contextId || known?.contextId || "";
			const { taskId: _task, contextId: _context, ...rest } = message;
			const said = { ...rest, ...(before && { taskId: before.taskId }), ...(contextId !== "" && { contextId }) };
			const got = await next({ ...call, request: fromValue(call.method.input, { ...request, message: said }) });
			const track = tracker(call.losses.add, key, id, session, print, before);
			const learn = async (payload: Payload): Promise<readonly Payload[]> => {
				const answers = await track(payload);
				leave();
				const made = await store.get<ClientTask>(key);
				if (session !== "" && made && made.contextId !== "" && !known)
					await store.set(sessionKey, { contextId: made.contextId });
				return answers;
			};
			if (!isStream(call.method)) {
				const [answer] = await learn(await single(got));
				return reply(answer ?? fromValue(call.method.output, {}), got.header);
			}
			return { header: got.header, messages: each(iterate(got), learn, leave) };
		} catch (error) {
			leave();
			throw error;
		}
	}

	/** The same request again: the task as it is now, and no second one. */
	async function retry(call: Call, task: ClientTask, id: string, next: Handler): Promise<Reply> {
		const request = fromValue(operations.readTask.input, { id: task.taskId });
		const got = await next({ ...call, method: operations.readTask, request });
		const whole = translate(jsonOf(await single(got)), task, id);
		if (!isStream(call.method)) return reply(fromValue(SendMessageResponseSchema, { task: whole }), got.header);
		return { header: got.header, messages: listed(unfold(whole, call.losses.add)) };
	}

	/** Calls about a task: the server's id in, the client's out. An id nobody knows here may be the server's own. */
	async function about(call: Call, next: Handler): Promise<Reply> {
		const field = taskField(call.method);
		const request = jsonOf(call.request);
		const id = field ? textOf(request[field]) : "";
		const key = clientTaskKey(call.agent, call.principal.id, id);
		const known = field ? await store.get<ClientTask>(key) : undefined;
		const track = tracker(call.losses.add, key, id, known?.session ?? "", known?.print ?? "", known);
		const asked =
			known && field ? { ...call, request: fromValue(call.method.input, { ...request, [field]: known.taskId }) } : call;
		const got = await next(asked);
		if (isStream(call.method)) return { header: got.header, messages: each(iterate(got), track, () => {}) };
		const [answer] = await track(await single(got));
		return reply(answer ?? fromValue(call.method.output, {}), got.header);
	}

	/** Turns answers into the client's terms and remembers what they tell. */
	function tracker(
		loss: Loss,
		key: string,
		id: string,
		session: string,
		print: string,
		before: ClientTask | undefined,
	) {
		let task = before;
		const see = async (taskId: string, contextId: string, artifacts: readonly string[]) => {
			const fresh = artifacts.filter((a) => !task?.artifacts.includes(a));
			const changed = !task || task.print !== print || (task.contextId === "" && contextId !== "") || fresh.length > 0;
			task = {
				taskId: task?.taskId ?? taskId,
				contextId: contextId || (task?.contextId ?? ""),
				session: task?.session || session,
				print,
				artifacts: [...(task?.artifacts ?? []), ...fresh],
			};
			if (changed && id !== "" && task.taskId !== "") await store.set(key, task);
			return task;
		};
		return async (payload: Payload): Promise<readonly Payload[]> => {
			const value = jsonOf(payload);
			if (payload.type === TaskSchema) return [fromValue(TaskSchema, translate(value, await seeTask(value, see), id))];
			const { task: whole, message, statusUpdate, artifactUpdate } = value;
			if (payload.type === SendMessageResponseSchema || payload.type === StreamResponseSchema) {
				const stream = payload.type === StreamResponseSchema;
				const answer = objectOf(whole) ?? (objectOf(message) && wrapped(objectOf(message) ?? {}, id, session));
				if (answer) {
					const lifted = objectOf(whole) ? translate(answer, await seeTask(answer, see), id) : answer;
					return stream ? unfold(lifted, loss) : [fromValue(SendMessageResponseSchema, { task: lifted })];
				}
				const update = objectOf(statusUpdate) ?? objectOf(artifactUpdate) ?? {};
				const artifact = objectOf(update["artifact"]);
				const now = await see(
					textOf(update["taskId"]),
					textOf(update["contextId"]),
					artifact ? [textOf(artifact["artifactId"])] : [],
				);
				const said = { ...update, taskId: id || now.taskId, ...(artifact && { artifact: indexed(artifact, now) }) };
				return [
					fromValue(
						StreamResponseSchema,
						statusUpdate === undefined ? { artifactUpdate: said } : { statusUpdate: said },
					),
				];
			}
			if (!("taskId" in value) || id === "") return [payload];
			// A configuration that goes by its task's id goes by the client's name for it.
			const named = value["id"] === value["taskId"] ? { taskId: id, id } : { taskId: id };
			return [fromValue(payload.type, { ...value, ...named })];
		};
	}

	async function enter(key: string): Promise<() => void> {
		const before = queues.get(key);
		let release = () => {};
		const mine = new Promise<void>((resolve) => {
			release = resolve;
		});
		const tail = (before ?? Promise.resolve()).then(() => mine);
		queues.set(key, tail);
		await before;
		return () => {
			release();
			if (queues.get(key) === tail) queues.delete(key);
		};
	}
}

type See = (taskId: string, contextId: string, artifacts: readonly string[]) => Promise<ClientTask>;

function seeTask(task: JsonObject, see: See): Promise<ClientTask> {
	const artifacts = Array.isArray(task["artifacts"]) ? task["artifacts"] : [];
	return see(
		textOf(task["id"]),
		textOf(task["contextId"]),
		artifacts.map((a) => textOf(objectOf(a)?.["artifactId"])),
	);
}

/** A task under the client's names. A session the client did not ask for is not told. */
function translate(task: JsonObject, known: ClientTask, id: string): JsonObject {
	const { contextId: _context, artifacts, ...rest } = task;
	return {
		...rest,
		id: id || known.taskId,
		...(known.session !== "" && { contextId: known.session }),
		...(Array.isArray(artifacts) && { artifacts: artifacts.map((a) => indexed(objectOf(a) ?? {}, known)) }),
	};
}

function indexed(artifact: JsonObject, known: ClientTask): JsonObject {
	const at = known.artifacts.indexOf(textOf(artifact["artifactId"]));
	return { ...artifact, artifactId: `artifact-${at < 0 ? known.artifacts.length : at}` };
}

/** A bare Message as the completed task it amounts to. */
function wrapped(message: JsonObject, id: string, session: string): JsonObject {
	return {
		id,
		...(session !== "" && { contextId: session }),
		status: { state: "TASK_STATE_COMPLETED", message, timestamp: new Date().toISOString() },
	};
}

/** A task as the events this version has: its artifacts, then its status. Only the history has no event. */
function unfold(task: JsonObject, loss: Loss): readonly Payload[] {
	const { id = "", contextId = "", artifacts, status, metadata, history } = task;
	if (Array.isArray(history) && history.length > 0) loss("/task/history", "has no event in this version");
	const events: JsonObject[] = (Array.isArray(artifacts) ? artifacts : []).map((artifact) => ({
		artifactUpdate: { taskId: id, contextId, artifact, lastChunk: true },
	}));
	events.push({
		statusUpdate: { taskId: id, contextId, status: status ?? {}, ...(metadata !== undefined && { metadata }) },
	});
	return events.map((value) => fromValue(StreamResponseSchema, value));
}

async function* listed(payloads: readonly Payload[]): AsyncIterable<Payload> {
	yield* payloads;
}

async function* each(
	messages: AsyncIterable<Payload>,
	convert: (payload: Payload) => Promise<readonly Payload[]>,
	done: () => void,
): AsyncIterable<Payload> {
	try {
		for await (const message of messages) yield* await convert(message);
	} finally {
		done();
	}
}

/** The request without the message id, which the lifting made up. */
function fingerprint(request: JsonObject): string {
	const { messageId: _id, ...message } = objectOf(request["message"]) ?? {};
	return createHash("sha256")
		.update(JSON.stringify({ ...request, message }))
		.digest("base64url");
}
