/** Errors between versions (errors.md §4): v0.1's own codes, codes nobody knows, and 0.3 gRPC errors told by name. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import { startRawHttp } from "../peer/agents/raw-http.ts";
import { type Gateway, startGatewayFor } from "../peer/gateway.ts";
import { cardOf, cardPath } from "../peer/older/card.ts";
import { Refused } from "../peer/older/fault.ts";
import { endpointAt, startClient } from "../peer/older/index.ts";
import { type Form, forms, nameOf, object } from "../peer/older/model.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});

const json = { "content-type": "application/json" };

/** A JSON-RPC agent of that version that answers everything with one error. */
async function failing(form: Form, error: JsonObject, status = 200): Promise<Gateway> {
	const agent = await startRawHttp((raw) => {
		if (raw.target === cardPath(form)) return { header: json, body: JSON.stringify(cardOf(form, `${agent.url}/rpc`)) };
		if (raw.target !== "/rpc") return { status: 404 };
		const { id = null } = object(JSON.parse(raw.body.toString()) as JsonValue);
		return { status, header: json, body: JSON.stringify({ jsonrpc: "2.0", id, error }) };
	});
	closing.push(() => agent.close());
	const gateway = await startGatewayFor(agent.url);
	closing.push(() => gateway.close());
	return gateway;
}

async function refusal(form: Form, gateway: Gateway): Promise<Refused> {
	const client = startClient(form, endpointAt(form, gateway.url));
	closing.push(() => client.close());
	const named = form.version === "0.1" ? { taskId: `cl-${crypto.randomUUID()}` } : {};
	try {
		await client.ask({ op: "send", message: { role: "user", id: "m-1", parts: [{ text: "x" }] }, ...named });
	} catch (error) {
		if (error instanceof Refused) return error;
		throw error;
	}
	throw new Error("no error");
}

const rpc = (version: Form["version"]): Form => ({ binding: "JSONRPC", version });

describe("the v0.1 prose's codes, which mean something else later", () => {
	// Code from a v0.1 agent; what a v1.0 client is told over JSON-RPC (undefined: no code assigned), HTTP and gRPC.
	test.each([
		[-32006, "StreamingNotSupported", -32004, 400, 9],
		[-32007, "AuthenticationRequired", undefined, 401, 16],
		[-32008, "AuthorizationFailed", undefined, 403, 7],
		[-32009, "InvalidTaskState", -32004, 400, 9],
		[-32010, "RateLimitExceeded", undefined, 429, 8],
		[-32011, "ResourceUnavailable", undefined, 503, 14],
	] as const)("%i %s", async (code, name, asRpc, asHttp, asGrpc) => {
		const gateway = await failing(rpc("0.1"), { code, message: name });
		const http = await refusal({ binding: "HTTP+JSON", version: "1.0" }, gateway);
		expect([http.code, http.message]).toEqual([asHttp, name]);
		const overGrpc = await refusal({ binding: "GRPC", version: "1.0" }, gateway);
		expect([overGrpc.code, overGrpc.message]).toEqual([asGrpc, name]);
		if (asRpc !== undefined) expect((await refusal(rpc("1.0"), gateway)).code).toBe(asRpc);
		expect((await refusal(rpc("0.1"), gateway)).code, "and in v0.1 it is what it was").toBe(code);
	});

	test("-32006 and -32007 of a v0.3 agent are v0.3's", async () => {
		const six = await failing(rpc("0.3"), { code: -32006, message: "Invalid agent response" });
		expect((await refusal(rpc("1.0"), six)).code).toBe(-32006);
		expect((await refusal(rpc("0.1"), six)).code).toBe(-32603);
		const seven = await failing(rpc("0.3"), { code: -32007, message: "not configured" });
		expect((await refusal(rpc("1.0"), seven)).code).toBe(-32007);
	});
});

const rpcForms = forms.filter(({ binding }) => binding === "JSONRPC");

describe.each(rpcForms.map((form) => [nameOf(form), form] as const))("codes nobody knows, from %s", (_, form) => {
	test.each(rpcForms.map((each) => [nameOf(each), each] as const))("to a %s client", async (__, to) => {
		const error = { code: -32050, message: "the greenhouse is closed", data: { until: "monday" } };
		const gateway = await failing(form, error);
		const refused = await refusal(to, gateway);
		expect([refused.code, refused.message]).toEqual([error.code, error.message]);
		expect(JSON.stringify(refused.data)).toContain("monday");
	});
});

test("a failed call of v0.1 may come as a 4xx with a JSON-RPC body", async () => {
	const gateway = await failing(rpc("0.1"), { code: -32001, message: "Task not found" }, 404);
	expect((await refusal(rpc("1.0"), gateway)).code).toBe(-32001);
});

describe("v0.3 gRPC errors as the Python SDK writes them: a name before the text, no details", () => {
	test.each([
		["TaskNotFoundError: no such task", grpc.status.NOT_FOUND, -32001],
		["TaskNotCancelableError: it has ended", grpc.status.UNIMPLEMENTED, -32002],
		["PushNotificationNotSupportedError: none", grpc.status.UNIMPLEMENTED, -32003],
		["UnsupportedOperationError: no", grpc.status.UNIMPLEMENTED, -32004],
		["ContentTypeNotSupportedError: no", grpc.status.UNIMPLEMENTED, -32005],
		["InvalidAgentResponseError: what", grpc.status.INTERNAL, -32006],
		["InvalidParamsError: bad", grpc.status.INVALID_ARGUMENT, -32602],
	] as const)("%s", async (details, code, asRpc) => {
		const server = new grpc.Server();
		const identity = (bytes: Buffer): Buffer => bytes;
		const handler: grpc.handleUnaryCall<Buffer, Buffer> = (_, done) => done({ code, details });
		server.register("/a2a.v1.A2AService/SendMessage", handler, identity, identity, "unary");
		const port = await new Promise<number>((resolve, reject) =>
			server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
				error ? reject(error) : resolve(bound),
			),
		);
		closing.push(async () => server.forceShutdown());
		const form: Form = { binding: "GRPC", version: "0.3" };
		const card = await startRawHttp((raw) =>
			raw.target === cardPath(form)
				? { header: json, body: JSON.stringify(cardOf(form, `127.0.0.1:${port}`)) }
				: { status: 404 },
		);
		closing.push(() => card.close());
		const gateway = await startGatewayFor(card.url);
		closing.push(() => gateway.close());
		const refused = await refusal(rpc("1.0"), gateway);
		expect([refused.code, refused.message]).toEqual([asRpc, details.slice(details.indexOf(": ") + 2)]);
	});
});
