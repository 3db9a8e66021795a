/** Fidelity: between equal dialects and encodings not a member, an enum name, a byte or the order changes. */
import {
	createRegistry,
	type DescMethod,
	equals,
	fromBinary,
	type JsonObject,
	type JsonValue,
	toBinary,
} from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import fc from "fast-check";
import { getGlobalDispatcher } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { file_lf_a2a_v1_a2a } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { arbitraryUnknownJson } from "../arbitrary/json.ts";
import { type ArbitraryOptions, arbitraryMessage } from "../arbitrary/message.ts";
import { cardJson } from "../peer/agents/card.ts";
import { type RawGrpc, type RawGrpcAnswer, startRawGrpc } from "../peer/agents/raw-grpc.ts";
import { type RawAnswer, type RawHttp, startRawHttp } from "../peer/agents/raw-http.ts";
import { readSse } from "../peer/clients/http.ts";
import { fetchCard } from "../peer/clients/index.ts";
import { type Gateway, startGatewayFor } from "../peer/gateway.ts";
import { buildHttp, pathFields } from "../peer/http-rule.ts";
import { grpcPath, isStream, methods } from "../peer/protocol.ts";

const runs = Number(process.env["FC_RUNS"] ?? 15);
/** A card is the one answer a gateway writes itself. */
const relayed = methods.filter((method) => method.output.name !== "AgentCard");

const unsetTenant = (method: DescMethod): ArbitraryOptions => ({
	also: (field) => field.parent === method.input && pathFields(method).has(field.name),
	override: (field) => (field.name === "tenant" ? fc.constant(undefined) : undefined),
});

function agentOn(http: RawHttp, binding: string, url: string): RawAnswer {
	const card = JSON.stringify(cardJson([{ binding, url: url || http.url }]));
	return () => ({ header: { "content-type": "application/json" }, body: card });
}

/** Sends and returns the raw texts: one of a unary answer, one per event of a stream. The path goes out as it is. */
async function send(base: string, verb: string, path: string, body?: string): Promise<string[]> {
	const { origin, pathname } = new URL(base);
	const response = await getGlobalDispatcher().request({
		origin,
		path: pathname.replace(/\/$/, "") + path || "/",
		method: verb as "POST",
		headers: { "a2a-version": "1.0", ...(body !== undefined && { "content-type": "application/json" }) },
		body: body ?? null,
	});
	if (!String(response.headers["content-type"]).startsWith("text/event-stream")) return [await response.body.text()];
	const events: string[] = [];
	for await (const data of readSse(response.body)) events.push(data);
	return events;
}

describe.each(["JSONRPC", "HTTP+JSON"])("%s to itself", (binding) => {
	let http: RawHttp;
	let gateway: Gateway | undefined;
	let url = "";
	let reply = "{}";
	const isRpc = binding === "JSONRPC";

	beforeAll(async () => {
		const answer: RawAnswer = (request) => {
			if (request.target.startsWith("/.well-known/")) return agentOn(http, binding, "")(request);
			const body = request.body.length > 0 ? (JSON.parse(request.body.toString()) as JsonObject) : {};
			const text = isRpc ? `{"jsonrpc":"2.0","id":${JSON.stringify(body["id"] ?? null)},"result":${reply}}` : reply;
			if (!streaming) return { header: { "content-type": "application/json" }, body: text };
			return { header: { "content-type": "text/event-stream" }, body: `data: ${text}\n\n` };
		};
		http = await startRawHttp((request) => answer(request));
		gateway = await startGatewayFor(http.url);
		const card = await fetchCard(gateway.url);
		url = card.supportedInterfaces.find((each) => each.protocolBinding === binding)?.url ?? "";
	});
	afterAll(async () => {
		await gateway?.close();
		await http?.close();
	});
	let streaming = false;

	const rpcText = (method: DescMethod, params: string): string =>
		`{"jsonrpc":"2.0","id":"q","method":${JSON.stringify(method.name)},"params":${params}}`;

	test.each(relayed.map((method) => [method.name, method] as const))("%s", async (_, method) => {
		streaming = isStream(method);
		const exchange = fc.record({
			asked: arbitraryUnknownJson(method.input, unsetTenant(method)).map((json) => {
				delete json["status"]; // a state the gateway must refuse when it does not know it (rule C6)
				return json;
			}),
			answer: arbitraryUnknownJson(method.output, unsetTenant(method)),
		});
		await fc.assert(
			fc.asyncProperty(exchange, async ({ asked, answer }) => {
				reply = JSON.stringify(answer);
				http.requests.length = 0;
				if (isRpc) {
					const seen = await send(url, "POST", "", rpcText(method, JSON.stringify(asked)));
					expect(seen.map(parse)).toEqual([{ jsonrpc: "2.0", id: "q", result: answer }]);
					expect(parse(http.requests[0]?.body.toString() ?? "")).toMatchObject({ params: asked });
					expect((parse(http.requests[0]?.body.toString() ?? "") as JsonObject)["params"]).toEqual(asked);
					return;
				}
				const form = buildHttp(method, isQuery(method) ? knownOnly(method, asked) : asked);
				const body = form.body && JSON.stringify(form.body);
				expect((await send(url, form.verb, form.path, body)).map(parse)).toEqual([answer]);
				if (body) expect(parse(http.requests[0]?.body.toString() ?? "")).toEqual(form.body);
			}),
			{ numRuns: runs },
		);
	});

	test("numbers and escapes keep their spelling", async () => {
		const odd = '{"n":12345678901234567890,"f":1.50,"e":1E2,"z":-0,"u":"\\u00e9\\/"}';
		const method = relayed.find(
			(each) => !isStream(each) && each.input.fields.some((field) => field.name === "message"),
		);
		if (!method) throw new Error("no operation takes a message");
		streaming = false;
		reply = `{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"data":${odd}}],"metadata":${odd}}}`;
		http.requests.length = 0;
		const asked = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${odd}}],"metadata":${odd}}}`;
		const [seen = ""] = isRpc
			? await send(url, "POST", "", rpcText(method, asked))
			: await send(url, "POST", buildHttp(method, {}).path, asked);
		expect(seen).toContain(reply);
		expect(http.requests[0]?.body.toString()).toContain(asked);
	});
});

const parse = (text: string): JsonValue => JSON.parse(text) as JsonValue;

/** Does this operation's request ride in the query? */
const isQuery = (method: DescMethod): boolean => buildHttp(method, sample(method)).body === undefined;
const sample = (method: DescMethod): JsonObject =>
	Object.fromEntries(method.input.fields.filter((f) => pathFields(method).has(f.name)).map((f) => [f.jsonName, "x"]));

/** Queries are for fields: an unknown query member is not the agent's message. */
function knownOnly(method: DescMethod, request: JsonObject): JsonObject {
	const known = new Set(method.input.fields.map((field) => field.jsonName));
	return Object.fromEntries(Object.entries(request).filter(([name]) => known.has(name)));
}

describe("GRPC to itself", () => {
	const registry = createRegistry(file_lf_a2a_v1_a2a);
	let http: RawHttp;
	let rpc: RawGrpc;
	let gateway: Gateway | undefined;
	let client: grpc.Client;
	let answer: RawGrpcAnswer = () => new Uint8Array();

	beforeAll(async () => {
		rpc = await startRawGrpc((request) => answer(request));
		http = await startRawHttp((request) => agentOn(http, "GRPC", rpc.target)(request));
		gateway = await startGatewayFor(http.url);
		const card = await fetchCard(gateway.url);
		const target = card.supportedInterfaces.find((each) => each.protocolBinding === "GRPC")?.url ?? "";
		client = new grpc.Client(target, grpc.credentials.createInsecure());
	});
	afterAll(async () => {
		client?.close();
		await gateway?.close();
		await Promise.all([http?.close(), rpc?.close()]);
	});

	const call = (method: DescMethod, request: Uint8Array): Promise<Buffer> => {
		const metadata = new grpc.Metadata();
		metadata.set("a2a-version", "1.0");
		const bytes = (value: Buffer): Buffer => value;
		return new Promise((resolve, reject) => {
			if (!isStream(method)) {
				client.makeUnaryRequest(grpcPath(method), bytes, bytes, Buffer.from(request), metadata, (error, reply) =>
					reply ? resolve(reply) : reject(error),
				);
				return;
			}
			const stream = client.makeServerStreamRequest(grpcPath(method), bytes, bytes, Buffer.from(request), metadata);
			stream.on("data", resolve).on("error", reject);
		});
	};

	test.each(relayed.map((method) => [method.name, method] as const))("%s", async (_, method) => {
		const options = { ...unsetTenant(method), unknown: true };
		const exchange = fc.record({
			request: arbitraryMessage(method.input, options),
			reply: arbitraryMessage(method.output, options),
		});
		await fc.assert(
			fc.asyncProperty(exchange, async ({ request, reply }) => {
				const bytes = toBinary(method.output, reply);
				rpc.requests.length = 0;
				answer = () =>
					isStream(method)
						? (async function* () {
								yield bytes;
							})()
						: bytes;
				const sent = toBinary(method.input, request);
				const seen = await call(method, sent);
				expect(seen.equals(bytes), "the answer's bytes").toBe(true);
				const arrived = fromBinary(method.input, rpc.requests[0]?.message ?? new Uint8Array());
				expect(equals(method.input, arrived, request, { registry, unknown: true }), "the request").toBe(true);
			}),
			{ numRuns: runs },
		);
	});
});
