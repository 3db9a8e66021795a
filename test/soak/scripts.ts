/** Scripts and small measures of the soak tests. */
import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { arbitraryMessage } from "../arbitrary/message.ts";
import { arbitraryExchange } from "../matrix/exchange.ts";
import { startScripted } from "../peer/agents/scripted.ts";
import type { Client } from "../peer/clients/client.ts";
import { allClients } from "../peer/clients/index.ts";
import { type Agent, isStream, methods, type Script } from "../peer/protocol.ts";
import { type RemoteGateway, startRemote } from "./remote.ts";

export const bindings = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;
export const streamMethod = methods.find(isStream) as DescMethod;
export const unaryMethod = methods.find((method) => !isStream(method)) as DescMethod;

const sample = (method: DescMethod): Message =>
	fc.sample(arbitraryExchange(method, { tenants: false }), { numRuns: 1, seed: 1 })[0]?.request as Message;
export const streamRequest = sample(streamMethod);
export const unaryRequest = sample(unaryMethod);
export const unaryReply = fc.sample(arbitraryMessage(unaryMethod.output), { numRuns: 1, seed: 4 })[0] as Message;

/** The n-th event: a status update that carries its number and `text`. */
export function event(n: number, text = ""): Message {
	const message = { messageId: `m-${n}`, role: 2, parts: [{ content: { case: "text" as const, value: text } }] };
	const status = { state: TaskState.WORKING, message };
	const value = { taskId: "t", contextId: String(n), status };
	return create(StreamResponseSchema, { payload: { case: "statusUpdate", value } } as never);
}

export const numberOf = (message: Message): number =>
	Number((message as { payload?: { value?: { contextId?: string } } }).payload?.value?.contextId);

export interface Bench {
	readonly agent: Agent;
	readonly gateway: RemoteGateway;
	readonly clients: readonly Client[];
	client(form: string): Client;
	close(): Promise<void>;
}

/** An agent over one binding, a gateway in its own process, and all client forms. */
export async function openBench(binding: string, script: Script): Promise<Bench> {
	const agent = await startScripted({ bindings: [binding], script, record: false });
	try {
		const gateway = await startRemote(agent.url);
		const clients = await allClients(gateway.url);
		return {
			agent,
			gateway,
			clients,
			client(form) {
				const found = clients.find((client) => client.form === form);
				if (!found) throw new Error(`no client ${form}`);
				return found;
			},
			close: async () => {
				await Promise.all(clients.map((client) => client.close()));
				await gateway.close();
				await agent.close();
			},
		};
	} catch (error) {
		await agent.close();
		throw error;
	}
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until a counter has stood still for `ms`; returns it. */
export async function quiet(count: () => number, ms: number): Promise<number> {
	for (;;) {
		const before = count();
		await sleep(ms);
		if (count() === before) return before;
	}
}

/** Waits until a condition holds; throws with `what` when it never does. */
export async function until(condition: () => boolean, what: string, ms = 20_000): Promise<void> {
	for (const end = performance.now() + ms; !condition(); await sleep(5)) {
		if (performance.now() > end) throw new Error(`never: ${what}`);
	}
}

/** Resolves when a signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		if (signal.aborted) resolve();
		else signal.addEventListener("abort", () => resolve(), { once: true });
	});
}
