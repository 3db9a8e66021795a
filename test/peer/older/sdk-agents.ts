/** @a2a-js/sdk 0.3.x and 0.2.x as agents, with their own request handlers and an executor that obeys the words of a message. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import * as v02 from "a2a-sdk-0.2/server";
import * as v03 from "a2a-sdk-0.3/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "a2a-sdk-0.3/server/express";
import { UserBuilder as GrpcUserBuilder, grpcService, A2AService as Sdk03Service } from "a2a-sdk-0.3/server/grpc";
import express from "express";
import { cardOf, extendedCardOf } from "./card.ts";
import { type Artifact, defined, type Form, type Message, type Said, type State, textOf } from "./model.ts";
import { readMessage, writeKind } from "./shaped.ts";

export interface SdkAgent {
	readonly name: string;
	readonly form: Form;
	/** Base URL under which its card is found. */
	readonly url: string;
	/** Where it takes calls. */
	readonly endpoint: string;
	/** Ends a task that was told to wait. */
	finish(taskId: string): void;
	close(): Promise<void>;
}

/** What both SDKs' contexts and buses have in common. */
interface Context {
	readonly userMessage: unknown;
	readonly task?: unknown;
	readonly taskId: string;
	readonly contextId: string;
}
interface Bus {
	publish(event: never): void;
	finished(): void;
}

/** `message X`, `task N`, `input`, `wait`, `fail`, as the Brain does them; on the SDKs' event bus. */
class Obedient {
	readonly #store: { load(taskId: string): Promise<unknown> };
	constructor(store: { load(taskId: string): Promise<unknown> }) {
		this.#store = store;
	}
	readonly waiting = new Map<string, (state: State) => void>();

	readonly execute = async ({ userMessage, task, taskId, contextId }: Context, bus: Bus): Promise<void> => {
		const given = readMessage(userMessage as JsonObject, "kind");
		const words = textOf(given);
		const [word, argument = ""] = words.split(" ");
		const publish = (said: Said): void => bus.publish(writeKind(said) as never);
		const says = (text: string): Message => ({ role: "agent", parts: [{ text }], contextId });
		const state = (to: State, text?: string): void => {
			const message = text === undefined ? undefined : { ...says(text), taskId };
			const status = defined<{ state: State; message?: Message; timestamp: string }>({
				state: to,
				message,
				timestamp: new Date().toISOString(),
			});
			publish({ status: { taskId, contextId, status } });
		};
		if (word === "message") {
			publish({ message: says(words.slice("message ".length)) });
			return bus.finished();
		}
		if (task === undefined) {
			const status = { state: "submitted" as const, timestamp: new Date().toISOString() };
			publish({ task: { id: taskId, contextId, status, artifacts: [], history: [given] } });
		} else {
			state("completed", `got ${words}`);
			return bus.finished();
		}
		state("working", "at it");
		if (word === "wait") state(await new Promise<State>((resolve) => this.waiting.set(taskId, resolve)));
		else if (word === "input") state("input-required", "which one?");
		else if (word === "fail") state("failed", "broken");
		else {
			for (let i = 1; i <= Number(argument || 0); i++) {
				const artifact: Artifact = { id: `a-${i}`, name: `No. ${i}`, parts: [{ text: `number ${i}` }] };
				publish({ artifact: { taskId, contextId, artifact, append: false, last: true } });
			}
			state("completed", "done");
		}
		bus.finished();
	};

	readonly cancelTask = async (taskId: string): Promise<void> => {
		this.waiting.get(taskId)?.("canceled");
		// The SDKs answer with the task as stored, and store it when the event is processed.
		for (let n = 0; n < 1000; n++) {
			const { status } = (await this.#store.load(taskId)) as { status: { state: State } };
			if (status.state !== "working") return;
			await new Promise((resolve) => setImmediate(resolve));
		}
	};
}

async function serve(app: ReturnType<typeof express>): Promise<{ url: string; close(): Promise<void> }> {
	const server = createServer(app);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const close = (): Promise<void> =>
		new Promise((resolve) => {
			server.close(() => resolve());
			server.closeAllConnections();
		});
	return { url, close };
}

/** One binding per agent, as most are. */
export async function startSdk03(binding: Form["binding"]): Promise<SdkAgent> {
	const form: Form = { binding, version: "0.3" };
	const store = new v03.InMemoryTaskStore();
	const executor = new Obedient(store as never);
	const app = express();
	const host = await serve(app);
	let endpoint = binding === "HTTP+JSON" ? `${host.url}/rest` : `${host.url}/rpc`;
	let server: grpc.Server | undefined;
	const handler = (): v03.DefaultRequestHandler =>
		new v03.DefaultRequestHandler(
			cardOf(form, endpoint) as never,
			store,
			executor as never,
			undefined,
			undefined,
			undefined,
			extendedCardOf(form, endpoint) as never,
		);
	if (binding === "GRPC") {
		let requestHandler: v03.DefaultRequestHandler | undefined;
		const late = new Proxy({} as v03.DefaultRequestHandler, {
			get: (_, name) => Reflect.get(requestHandler as object, name).bind(requestHandler),
		});
		server = new grpc.Server();
		server.addService(
			Sdk03Service,
			grpcService({ requestHandler: late, userBuilder: GrpcUserBuilder.noAuthentication }),
		);
		const started = server;
		endpoint = await new Promise<string>((resolve, reject) =>
			started.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) =>
				error ? reject(error) : resolve(`127.0.0.1:${port}`),
			),
		);
		requestHandler = handler();
	}
	const requestHandler = handler();
	const userBuilder = UserBuilder.noAuthentication;
	app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
	app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder }));
	app.use("/rest", restHandler({ requestHandler, userBuilder }));
	return {
		name: `SDK 0.3 ${binding}`,
		form,
		url: host.url,
		endpoint,
		finish: (taskId) => executor.waiting.get(taskId)?.("completed"),
		async close() {
			server?.forceShutdown();
			await host.close();
		},
	};
}

export async function startSdk02(): Promise<SdkAgent> {
	const form: Form = { binding: "JSONRPC", version: "0.2" };
	const store = new v02.InMemoryTaskStore();
	const executor = new Obedient(store);
	const app = express();
	const host = await serve(app);
	const endpoint = `${host.url}/`;
	// This SDK has no extended card, and says so.
	const card = cardOf(form, endpoint, { supportsAuthenticatedExtendedCard: false });
	const handler = new v02.DefaultRequestHandler(card as never, store, executor as never);
	new v02.A2AExpressApp(handler).setupRoutes(app as never, "");
	return {
		name: "SDK 0.2 JSONRPC",
		form,
		url: host.url,
		endpoint,
		finish: (taskId) => executor.waiting.get(taskId)?.("completed"),
		close: host.close,
	};
}
