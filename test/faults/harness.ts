/** The whole gateway in this process, its log kept, and the questions every fault test asks of it. */
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { create, type DescMethod, type JsonObject } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Reason } from "../../src/call/error.ts";
import type { Config } from "../../src/config/config.ts";
import { createLog, loadConfig } from "../../src/config/index.ts";
import { startGateway } from "../../src/gateway.ts";
import { cardJson } from "../peer/agents/card.ts";
import { ready } from "../peer/gateway.ts";
import { type AgentInterfaceOf, isStream, methods, type Script } from "../peer/protocol.ts";
import { ask, codeOf, type FormName, type Outcome } from "./raw.ts";

export const agentBindings = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;

const closers: (() => unknown)[] = [];
export const later = (close: () => unknown): void => void closers.push(close);
/** For afterEach or afterAll. */
export async function closeAll(): Promise<void> {
	for (const close of closers.splice(0).reverse()) await close();
}

export interface Gate {
	readonly url: string;
	/** Log lines, debug level. */
	readonly lines: string[];
	close(): Promise<void>;
}

export interface GateOptions {
	readonly flags?: readonly string[];
	readonly config?: (config: Config) => Config;
	/** Do not wait for the agent. */
	readonly early?: boolean;
}

/** A gateway for the agent at this URL, with a complete log. */
export async function openGate(agentUrl: string, options: GateOptions = {}): Promise<Gate> {
	const argv = ["--agent", agentUrl, "--listen", "127.0.0.1:0", ...(options.flags ?? [])];
	const loaded = loadConfig(argv, { env: {}, cwd: process.cwd(), terminal: false });
	const lines: string[] = [];
	const log = createLog({ level: "debug", format: "json", write: (line) => lines.push(line) });
	const gateway = await startGateway(options.config?.(loaded) ?? loaded, { log });
	later(() => gateway.close());
	if (!options.early) await ready(gateway.url);
	return { url: gateway.url, lines, close: () => gateway.close() };
}

/** Smaller limits and shorter times than anybody would configure. */
export const tight = (config: Config): Config => ({
	...config,
	limits: { ...config.limits, maxMessage: 100_000, maxDepth: 50 },
	timeouts: { ...config.timeouts, body: 500, drain: 100 },
	agents: config.agents.map((agent) => ({
		...agent,
		timeouts: { ...agent.timeouts, connect: 1_000, streamIdle: 400 },
	})),
});

const named = (test: (method: DescMethod) => boolean): DescMethod => {
	const found = methods.find(test);
	if (!found) throw new Error("no such operation");
	return found;
};
/** One unary and one streaming operation, and a request that both take. */
export const unary = named((m) => !isStream(m));
export const streaming = named(isStream);
export const message: JsonObject = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } };

/** Operations by what they ask for. */
export const byPath = named((m) => m.input.typeName.endsWith(".GetTaskRequest"));
export const list = named((m) => m.input.typeName.endsWith(".ListTasksRequest"));
export const pushes = methods.filter((m) => m.input.typeName.includes("PushNotificationConfig"));
export const card = named((m) => m.output.typeName.endsWith(".AgentCard"));

const status = { taskId: "t", contextId: "c", status: { state: TaskState.WORKING } };
/** Answers everything with the least that is sound. */
export const polite: Script = (call) => {
	if (isStream(call.method)) {
		return (async function* () {
			yield create(StreamResponseSchema, { payload: { case: "statusUpdate", value: status } } as never);
		})();
	}
	const task = { id: "t", contextId: "c", status: status.status };
	const { output } = call.method;
	if (output.oneofs.length > 0) return create(output, { payload: { case: "task", value: task } } as never);
	return create(output, (output.field["contextId"] ? task : {}) as never);
};

/** Nothing of the inside shows: no stack, no file, no class of the source, no address of the agent. */
export function expectClean(answer: Outcome, secrets: readonly string[] = []): void {
	expect(answer.all).not.toMatch(
		/\.(ts|js|mjs):\d|\bat [\w.<>]+ \(|node_modules|node:internal|\/work\/|undici|grpc-js|protobuf-es|bufbuild/i,
	);
	for (const secret of secrets) expect(answer.all).not.toContain(secret);
	expect(answer.header["x-request-id"]).toMatch(/^[\x21-\x7e]+$/);
}

/** The answer is this error, in its form's own code, with its ErrorInfo. */
export function expectReason(
	answer: Outcome,
	reason: Reason,
	code: number | string = codeOf(answer.form, reason),
): void {
	expect({ form: answer.form, reason: answer.reason, code: answer.code, message: answer.message }).toEqual({
		form: answer.form,
		reason,
		code,
		message: expect.stringMatching(/\S/),
	});
}

/** A good request gets a good answer. */
export async function expectAlive(url: string, form: FormName = "JSONRPC"): Promise<void> {
	const answer = await ask(url, form, byPath, { id: "t" });
	expect([answer.code, answer.messages]).toEqual([undefined, 1]);
}

/** An agent of one binding on raw sockets: a card, and whatever `act` does with each connection's request. */
export async function rawAgent(
	binding: string,
	act: (socket: Socket, head: string) => void,
	card: JsonObject = {},
): Promise<{ url: string; hostPort: string; close(): Promise<void> }> {
	const server: Server = createServer((req, res) => {
		if (req.url !== "/.well-known/agent-card.json") {
			const { socket } = req;
			let body = "";
			req.on("data", (part) => {
				body += part;
			});
			req.on("end", () => act(socket, `${req.method} ${req.url}\n${body}`));
			return;
		}
		const { port } = server.address() as AddressInfo;
		const interfaces: AgentInterfaceOf[] = [{ binding, url: `http://127.0.0.1:${port}/agent` }];
		res.setHeader("content-type", "application/json");
		res.setHeader("connection", "close");
		res.end(JSON.stringify(cardJson(interfaces, card)));
	});
	server.on("connection", (socket) => socket.on("error", () => {}));
	server.on("clientError", (_error, socket) => socket.destroy());
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	const close = () =>
		new Promise<void>((resolve) => {
			server.close(() => resolve());
			server.closeAllConnections();
		});
	later(close);
	return { url: `http://127.0.0.1:${port}`, hostPort: `127.0.0.1:${port}`, close };
}

export async function until(condition: () => boolean | Promise<boolean>, what: string, ms = 10_000): Promise<void> {
	for (const end = performance.now() + ms; !(await condition()); await new Promise((r) => setTimeout(r, 10))) {
		if (performance.now() > end) throw new Error(`never: ${what}`);
	}
}
