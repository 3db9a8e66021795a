/** An agent of each form that says nothing but the worked conversation's messages, and notes what it was asked. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { type RawReply, type RawRequest, startRawHttp } from "../../peer/agents/raw-http.ts";
import { cardOf, cardPath } from "../../peer/older/card.ts";
import { type Form, object, text } from "../../peer/older/model.ts";
import { bytesOf, jsonOf, methods, pathOf } from "./grpc-json.ts";
import { type Asked, conversationOf, type Step, steps } from "./worked.ts";

export interface CorpusAgent {
	readonly form: Form;
	/** Base URL under which its card is. */
	readonly url: string;
	/** Everything asked, in order; whoever looks empties it. */
	readonly arrived: Asked[];
	close(): Promise<void>;
}

/** `t-7f3a` stands for whatever task the path names: the conversation has one. */
const shape = (name: string): string =>
	name.replace(/\?.*/, "").replace(/(\/tasks\/)[^/]+/, (_, tasks: string) => `${tasks}*`);

function stepOf(form: Form, name: string): Step {
	const conversation = conversationOf(form);
	const found = steps.find((step) => shape(conversation[step]?.asked.name ?? "") === shape(name));
	if (!found) throw new Error(`${name} is not in the conversation`);
	return found;
}

/** v0.1 agents answer under the names that their clients gave: with the examples' own ids, word for word the examples. */
function underNames(params: JsonObject, sessions: Map<string, string>, answer: JsonValue): JsonValue {
	const id = text(params["id"]);
	const session = text(params["sessionId"]) || sessions.get(id) || "";
	sessions.set(id, session);
	const named = JSON.stringify(answer).replaceAll('"cl-5501"', JSON.stringify(id));
	return JSON.parse(named.replaceAll('"sess-8"', JSON.stringify(session))) as JsonValue;
}

/** `card` replaces the card, given where the agent is. */
export async function startCorpusAgent(form: Form, card?: (endpoint: string) => JsonObject): Promise<CorpusAgent> {
	const arrived: Asked[] = [];
	const sessions = new Map<string, string>();
	let endpoint = "";
	let served: grpc.Server | undefined;
	if (form.binding === "GRPC") {
		served = grpcServer(form, arrived);
		endpoint = await bound(served);
	}
	const http = await startRawHttp(
		(raw) => {
			if (raw.target === cardPath(form)) {
				const body = JSON.stringify(card?.(endpoint) ?? cardOf(form, endpoint));
				return { header: { "content-type": "application/json" }, body };
			}
			if (form.binding === "JSONRPC" && raw.target === "/a2a" && raw.verb === "POST") return rpc(raw);
			if (form.binding === "HTTP+JSON" && raw.target.startsWith("/rest/")) return rest(raw);
			return { status: 404 };
		},
		{ record: false },
	);
	if (!served) endpoint = `${http.url}${form.binding === "JSONRPC" ? "/a2a" : "/rest"}`;

	function rpc(raw: RawRequest): RawReply {
		const body = object(JSON.parse(raw.body.toString()) as JsonValue);
		const asked = { name: text(body["method"]), body };
		arrived.push(asked);
		const step = stepOf(form, asked.name);
		const answers = (conversationOf(form)[step]?.answers ?? []).map((answer) => {
			const said = { ...object(answer), id: body["id"] ?? null };
			return form.version === "0.1" ? underNames(object(body["params"]), sessions, said) : said;
		});
		return answered(step, answers, "application/json");
	}
	function rest(raw: RawRequest): RawReply {
		const name = `${raw.verb} ${raw.target.slice("/rest".length)}`;
		const body = raw.body.length > 0 ? (JSON.parse(raw.body.toString()) as JsonValue) : undefined;
		arrived.push({ name, ...(body !== undefined && { body }) });
		const step = stepOf(form, name);
		const type = form.version === "1.0" ? "application/a2a+json" : "application/json";
		return answered(step, conversationOf(form)[step]?.answers ?? [], type);
	}
	return {
		form,
		url: http.url,
		arrived,
		async close() {
			served?.forceShutdown();
			await http.close();
		},
	};
}

function answered(step: Step, answers: readonly JsonValue[], type: string): RawReply {
	if (step !== "stream") return { header: { "content-type": type }, body: JSON.stringify(answers[0]) };
	const body = answers.map((answer) => `data: ${JSON.stringify(answer)}\n\n`).join("");
	return { header: { "content-type": "text/event-stream" }, body };
}

function grpcServer(form: Form, arrived: Asked[]): grpc.Server {
	const server = new grpc.Server();
	const identity = (bytes: Buffer): Buffer => bytes;
	for (const method of methods.values()) {
		const path = pathOf(method);
		/** What to answer; throws outside the conversation. */
		const receive = (message: Buffer): Buffer[] => {
			arrived.push({ name: path, body: jsonOf(method.input, message) });
			const answers = conversationOf(form)[stepOf(form, path)]?.answers ?? [];
			return answers.map((answer) => bytesOf(method.output, answer));
		};
		const failed = (error: unknown) => ({ code: grpc.status.INTERNAL, details: String(error) });
		if (method.methodKind === "server_streaming") {
			const handler: grpc.handleServerStreamingCall<Buffer, Buffer> = (call) => {
				call.on("error", () => {});
				try {
					for (const answer of receive(call.request)) call.write(answer);
					call.end();
				} catch (error) {
					call.emit("error", failed(error));
				}
			};
			server.register(path, handler, identity, identity, "serverStream");
		} else {
			const handler: grpc.handleUnaryCall<Buffer, Buffer> = (call, callback) => {
				try {
					callback(null, receive(call.request)[0]);
				} catch (error) {
					callback(failed(error));
				}
			};
			server.register(path, handler, identity, identity, "unary");
		}
	}
	return server;
}

function bound(server: grpc.Server): Promise<string> {
	return new Promise((resolve, reject) =>
		server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) =>
			error ? reject(error) : resolve(`127.0.0.1:${port}`),
		),
	);
}
