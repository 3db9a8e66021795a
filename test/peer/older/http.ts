/** HTTP peers of every version: JSON-RPC in four, HTTP+JSON in two. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Agent, type Dispatcher } from "undici";
import { type RawReply, type RawRequest, startRawHttp } from "../agents/raw-http.ts";
import { readSse } from "../clients/http.ts";
import type { Brain } from "./brain.ts";
import { cardOf, cardPath, extendedCardOf } from "./card.ts";
import { Fault, faults, Refused } from "./fault.ts";
import { type Ask, type Form, isStream, type Operation, object, operations, type Said, text } from "./model.ts";
import {
	type Arrived,
	brainOf,
	codecOf,
	knows,
	type OlderAgent,
	type OlderClient,
	rpcName,
	rpcOperation,
} from "./peer.ts";

const faultOf = (thrown: unknown): Fault =>
	thrown instanceof Fault ? thrown : new Fault("INTERNAL_ERROR", `agent failed: ${String(thrown)}`);

const details = (fault: Fault): JsonValue => [
	{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: fault.reason, domain: "a2a-protocol.org" },
];

/** Paths of HTTP+JSON: {t} the task, {c} the configuration. */
const routes: Readonly<Record<Operation, readonly [string, string]>> = {
	send: ["POST", "/message:send"],
	stream: ["POST", "/message:stream"],
	list: ["GET", "/tasks"],
	cancel: ["POST", "/tasks/{t}:cancel"],
	subscribe: ["GET", "/tasks/{t}:subscribe"],
	get: ["GET", "/tasks/{t}"],
	pushCreate: ["POST", "/tasks/{t}/pushNotificationConfigs"],
	pushList: ["GET", "/tasks/{t}/pushNotificationConfigs"],
	pushGet: ["GET", "/tasks/{t}/pushNotificationConfigs/{c}"],
	pushDelete: ["DELETE", "/tasks/{t}/pushNotificationConfigs/{c}"],
	card: ["GET", "/extendedAgentCard"],
};
function routeOf(form: Form, op: Operation): readonly [string, string] {
	const [verb, path] = routes[op];
	if (form.version === "1.0") return [verb, path];
	return [verb, op === "card" ? "/v1/card" : `/v1${path}`];
}

interface Matched {
	readonly op: Operation;
	readonly taskId: string;
	readonly configId: string;
}
function match(form: Form, verb: string, path: string): Matched | undefined {
	for (const op of operations) {
		if (!knows(form, op)) continue;
		const [want, template] = routeOf(form, op);
		if (want !== verb && !(op === "subscribe" && verb === "POST")) continue;
		const pattern = template.replace("{t}", "([^/:]+)").replace("{c}", "([^/:]+)");
		const found = new RegExp(`^${pattern}$`).exec(path);
		if (!found) continue;
		return { op, taskId: decodeURIComponent(found[1] ?? ""), configId: decodeURIComponent(found[2] ?? "") };
	}
	return undefined;
}

export interface AgentOptions {
	/** Members added to the card, or replacing them. */
	readonly card?: JsonObject;
	/** The card is another version's: what a mistaken agent shows. */
	readonly cardForm?: Form;
}

/** An agent over HTTP: JSON-RPC at /rpc or HTTP+JSON under /rest, its card where its version has it. */
export async function startHttpAgent(form: Form, options: AgentOptions = {}): Promise<OlderAgent> {
	const brain: Brain = brainOf(form);
	const arrived: Arrived[] = [];
	const codec = codecOf(form);
	const rpc = form.binding === "JSONRPC";
	let endpoint = "";
	const mediaType = !rpc && form.version === "1.0" ? "application/a2a+json" : "application/json";

	const asked = (ask: Ask, wrap: (op: Operation, said: Said) => JsonValue, fail: (f: Fault) => JsonValue): Reply =>
		isStream(ask.op)
			? streamed(brain.listen(ask), (said) => wrap(ask.op, said), fail)
			: brain
					.answer(ask)
					.then((said) => (said.card ? { card: extendedCardOf(form, endpoint) } : said))
					.then((said) => ({ body: JSON.stringify(wrap(ask.op, said)) }));

	async function jsonRpc(raw: RawRequest): Promise<RawReply> {
		const envelope = object(JSON.parse(raw.body.toString()) as JsonValue);
		const id = envelope["id"] ?? null;
		const name = text(envelope["method"]);
		const failed = (thrown: unknown): JsonValue => {
			const fault = faultOf(thrown);
			const data = form.version === "1.0" ? { data: details(fault) } : {};
			return { jsonrpc: "2.0", id, error: { code: faults[fault.reason].rpc, message: fault.message, ...data } };
		};
		const header = { "content-type": "application/json" };
		try {
			const op = rpcOperation(form.version, name);
			if (!op) throw new Fault("METHOD_NOT_FOUND", `no method ${name}`);
			arrived.push({ op, header: raw.header, json: envelope["params"], name });
			const ask = codec.readAsk(op, object(envelope["params"]));
			const wrap = (of: Operation, said: Said): JsonValue => ({
				jsonrpc: "2.0",
				id,
				result: codec.writeSaid(of, said),
			});
			return { header, ...(await asked(ask, wrap, failed)) };
		} catch (error) {
			return { header, body: JSON.stringify(failed(error)) };
		}
	}

	async function rest(raw: RawRequest): Promise<RawReply> {
		const header = { "content-type": mediaType };
		const failed = (thrown: unknown): JsonValue => {
			const fault = faultOf(thrown);
			const { rpc: code, http, status } = faults[fault.reason];
			if (form.version !== "1.0") return { code, message: fault.message };
			return { error: { code: http, status, message: fault.message, details: details(fault) } };
		};
		try {
			const [path = "", query = ""] = raw.target.slice("/rest".length).split("?", 2);
			const found = match(form, raw.verb, path);
			if (!found) return { status: 404, header: { "content-type": "text/html" }, body: "<h1>no such page</h1>" };
			const { op, taskId, configId } = found;
			const body: JsonValue | undefined = raw.body.length > 0 ? JSON.parse(raw.body.toString()) : undefined;
			arrived.push({ op, header: raw.header, json: body, name: `${raw.verb} ${raw.target.slice("/rest".length)}` });
			const given = { ...object(body), ...Object.fromEntries(new URLSearchParams(query)) };
			const ask = codec.readAsk(op, form.version === "1.0" ? newPath(given) : oldPath(given));
			return { header, ...(await asked(ask, (of, said) => codec.writeSaid(of, said), failed)) };

			function newPath(json: JsonObject): JsonObject {
				if (taskId === "") return json;
				if (op === "get" || op === "cancel" || op === "subscribe") return { ...json, id: taskId };
				return { ...json, taskId, ...(configId !== "" && { id: configId }) };
			}
			function oldPath(json: JsonObject): JsonObject {
				if (taskId === "") return json;
				const name = `tasks/${taskId}`;
				if (op === "pushList") return { ...json, parent: name };
				// The three body forms in use.
				if (op === "pushCreate") return { parent: name, config: json["config"] ?? json };
				return { ...json, name: configId === "" ? name : `${name}/pushNotificationConfigs/${configId}` };
			}
		} catch (error) {
			return { status: faults[faultOf(error).reason].http, header, body: JSON.stringify(failed(error)) };
		}
	}

	const server = await startRawHttp(
		(raw) => {
			const shown = options.cardForm ?? form;
			if (raw.target === cardPath(shown)) {
				const header = { "content-type": "application/json", "cache-control": "max-age=3600" };
				return { header, body: JSON.stringify(cardOf(shown, endpoint, options.card)) };
			}
			if (rpc && raw.target === "/rpc" && raw.verb === "POST") return jsonRpc(raw);
			if (form.version === "0.2" && raw.target === "/agent/authenticatedExtendedCard") {
				arrived.push({ op: "card", header: raw.header, json: undefined, name: `GET ${raw.target}` });
				brain.asks.push({ op: "card" });
				const header = { "content-type": "application/json" };
				return { header, body: JSON.stringify(extendedCardOf(form, endpoint)) };
			}
			if (!rpc && raw.target.startsWith("/rest/")) return rest(raw);
			return { status: 404 };
		},
		{ record: false },
	);
	endpoint = `${server.url}${rpc ? "/rpc" : "/rest"}`;
	return { form, brain, url: server.url, endpoint, arrived, close: () => server.close() };
}

type Reply = Promise<RawReply>;

async function streamed(
	events: AsyncGenerator<Said>,
	json: (said: Said) => JsonValue,
	fail: (fault: Fault) => JsonValue,
): Reply {
	// The first event decides between a stream and an error, as in every real agent.
	const first = await events.next();
	const body = async function* (): AsyncGenerator<string> {
		try {
			for (let next = first; !next.done; next = await events.next())
				yield `data: ${JSON.stringify(json(next.value))}\n\n`;
		} catch (error) {
			yield `data: ${JSON.stringify(fail(faultOf(error)))}\n\n`;
		} finally {
			await events.return(undefined);
		}
	};
	return { header: { "content-type": "text/event-stream", "cache-control": "no-cache" }, body: body() };
}

/** A client over HTTP. `endpoint` is where JSON-RPC is posted to, or the base of the HTTP+JSON paths. */
export function httpClient(form: Form, endpoint: string): OlderClient {
	const base = endpoint.replace(/\/$/, "");
	const codec = codecOf(form);
	const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connections: null });
	const rpc = form.binding === "JSONRPC";
	let last: Readonly<Record<string, string>> = {};
	let id = 0;

	function sent(ask: Ask): { verb: string; url: string; body: JsonObject | undefined } {
		const { op } = ask;
		const json = codec.writeAsk(ask);
		if (rpc && op === "card" && form.version === "0.2") {
			return { verb: "GET", url: new URL("agent/authenticatedExtendedCard", endpoint).href, body: undefined };
		}
		if (rpc) {
			const method = rpcName(form.version, op);
			if (!method) throw new Error(`${form.version} has no ${op}`);
			const params = op === "card" && form.version === "0.3" ? {} : { params: json };
			return { verb: "POST", url: endpoint, body: { jsonrpc: "2.0", id: ++id, method, ...params } };
		}
		const [verb, template] = routeOf(form, op);
		let path = template.replace("{t}", encodeURIComponent(ask.taskId ?? ""));
		path = path.replace("{c}", encodeURIComponent(ask.hookId ?? ""));
		const query = new URLSearchParams();
		if (ask.historyLength !== undefined && op === "get") query.set("historyLength", String(ask.historyLength));
		if (op === "list" && ask.contextId !== undefined) query.set("contextId", ask.contextId);
		const url = `${base}${path}${query.size > 0 ? `?${query}` : ""}`;
		if (verb !== "POST") return { verb, url, body: undefined };
		// The body that SDK servers of all three languages read; the bare one is an older habit (dialects.md §4).
		if (op === "pushCreate" && form.version === "0.3") return { verb, url, body: json };
		const { id: _id, taskId: _task, name: _name, ...body } = json;
		return { verb, url, body };
	}

	async function request(ask: Ask): Promise<Dispatcher.ResponseData> {
		const { verb, url, body } = sent(ask);
		const { origin, pathname, search } = new URL(url);
		const response = await agent.request({
			origin,
			path: pathname + search,
			method: verb as Dispatcher.HttpMethod,
			headers: {
				...(form.version === "1.0" && { "a2a-version": "1.0" }),
				...(body && { "content-type": !rpc && form.version === "1.0" ? "application/a2a+json" : "application/json" }),
				accept: isStream(ask.op) ? "text/event-stream" : "application/json, application/a2a+json",
			},
			body: body ? JSON.stringify(body) : null,
		});
		last = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
		return response;
	}

	function read(op: Operation, status: number, content: string): Said {
		if (content === "" && status >= 200 && status < 300 && op === "pushDelete") return { done: true };
		let json: JsonValue;
		try {
			json = JSON.parse(content) as JsonValue;
		} catch {
			throw new Refused(status, `not JSON: ${content.slice(0, 200)}`);
		}
		const value = object(json);
		const error = object(value["error"]);
		if (rpc && !(op === "card" && form.version === "0.2")) {
			if (value["jsonrpc"] !== "2.0") throw new Error(`no JSON-RPC answer: ${content.slice(0, 200)}`);
			if (value["error"]) throw new Refused(Number(error["code"]), text(error["message"]), error["data"]);
			if (!("result" in value)) throw new Error("neither result nor error");
			return codec.readSaid(op, value["result"] ?? null);
		}
		if (value["error"]) throw new Refused(Number(error["code"]), text(error["message"]), error["details"]);
		if (status < 200 || status > 299) throw new Refused(status, text(value["message"]), json);
		return codec.readSaid(op, json);
	}

	return {
		form,
		get header() {
			return last;
		},
		knows: (op) => knows(form, op),
		async ask(ask) {
			const response = await request(ask);
			const type = String(response.headers["content-type"] ?? "");
			if (type.startsWith("text/event-stream")) throw new Error("a unary answer came as a stream");
			return read(ask.op, response.statusCode, await response.body.text());
		},
		async *listen(ask) {
			const response = await request(ask);
			const type = String(response.headers["content-type"] ?? "");
			try {
				if (!type.startsWith("text/event-stream")) {
					read(ask.op, response.statusCode, await response.body.text());
					throw new Error(`a stream came as ${type}`);
				}
				for await (const data of readSse(response.body)) yield read(ask.op, response.statusCode, data);
			} finally {
				if (!response.body.readableEnded) {
					response.body.on("error", () => {});
					response.body.destroy();
				}
			}
		},
		close: () => agent.destroy(),
	};
}
