import { request } from "node:http";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { loadConfig, makeAgent, silent, withAgents } from "../../src/config/index.ts";
import { startDemo } from "../../src/demo/index.ts";
import { core } from "../../src/dialect/v1/index.ts";
import { type Gateway, startGateway } from "../../src/gateway.ts";
import { collect, failure } from "../peer/clients/client.ts";
import { grpcClient } from "../peer/clients/grpc.ts";

interface Card {
	readonly supportedInterfaces: readonly {
		url: string;
		protocolBinding: string;
		protocolVersion: string;
		tenant?: string;
	}[];
}

let gateway: Gateway;
const open: { close(): Promise<unknown> }[] = [];
const { hostname } = new URL("http://two.example");

beforeAll(async () => {
	const [one, two, three] = [await startDemo({ pace: 1 }), await startDemo({ pace: 1 }), await startDemo({ pace: 1 })];
	open.push(one, two, three);
	const config = loadConfig(["--agent", one.url, "--listen", "127.0.0.1:0"], {
		env: {},
		cwd: process.cwd(),
		terminal: false,
	});
	const agents = [
		{ ...makeAgent("one", one.url, config.timeouts), default: true },
		{ ...makeAgent("two", two.url, config.timeouts), hosts: [hostname] },
		makeAgent("three", three.url, config.timeouts),
	];
	gateway = await startGateway(withAgents(config, agents), { log: silent });
	open.push(gateway);
});
afterAll(async () => {
	for (const each of open.reverse()) await each.close();
});

function get(path: string, host?: string): Promise<{ status: number; text: string }> {
	return new Promise((resolve, reject) => {
		const { port } = new URL(gateway.url);
		const headers = { "a2a-version": "1.0", ...(host !== undefined && { host }) };
		const req = request({ host: "127.0.0.1", port, path, headers }, (res) => {
			let text = "";
			res.on("data", (chunk) => {
				text += chunk;
			});
			res.on("end", () => resolve({ status: res.statusCode ?? 0, text }));
		});
		req.on("error", reject);
		req.end();
	});
}

async function card(path: string, host?: string): Promise<Card> {
	return JSON.parse((await get(`${path}/.well-known/agent-card.json`, host)).text) as Card;
}

const to = (tenant: string) =>
	create(SendMessageRequestSchema, {
		tenant,
		message: { messageId: "m", role: 1, parts: [{ content: { case: "text", value: "hello" } }] },
	});
const send = core.methods.find(
	(m) => m.input === SendMessageRequestSchema && m.methodKind === "unary",
) as (typeof core.methods)[number];

describe("several agents on one port", () => {
	it("each has its tree, and the tenant where a URL cannot tell", async () => {
		const { supportedInterfaces } = await card("/agents/three");
		const { port } = new URL(gateway.url);
		expect(supportedInterfaces.filter((i) => i.protocolVersion === "1.0")).toEqual([
			{ url: `http://127.0.0.1:${port}/agents/three`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
			{ url: `http://127.0.0.1:${port}/agents/three`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
			{ url: `127.0.0.1:${port}`, protocolBinding: "GRPC", protocolVersion: "1.0", tenant: "three" },
		]);
		// v0.3 has no tenant: over gRPC, a client of it could not say which agent it means.
		expect(supportedInterfaces.filter((i) => i.protocolVersion === "0.3").map((i) => i.protocolBinding)).toEqual([
			"JSONRPC",
			"HTTP+JSON",
		]);
		expect((await get("/.well-known/agent-card.json")).status).toBe(404);
		expect((await get("/agents/nobody/.well-known/agent-card.json")).status).toBe(404);
	});

	it("a virtual host has its agent at the root", async () => {
		const { supportedInterfaces } = await card("", hostname);
		expect(supportedInterfaces[0]?.url).toContain(`http://${hostname}:`);
		expect(supportedInterfaces.every((i) => i.tenant === undefined)).toBe(true);
	});

	it("JSON-RPC and HTTP+JSON reach the agent of the path", async () => {
		const body = JSON.stringify({
			jsonrpc: "2.0",
			id: 1,
			method: "SendMessage",
			params: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] } },
		});
		const headers = { "content-type": "application/json", "a2a-version": "1.0" };
		for (const path of ["/agents/one", "/agents/one/", "/agents/two", "/agents/three"]) {
			const answer = await fetch(gateway.url + path, { method: "POST", headers, body });
			expect(await answer.json(), path).toHaveProperty("result.task.id");
		}
		expect((await fetch(`${gateway.url}/agents/one/tasks/nobody`, { headers })).status).toBe(404);
		expect((await fetch(`${gateway.url}/message:send`, { method: "POST", headers, body: "{}" })).status).toBe(404);
	});

	it("gRPC goes by tenant, to the default without one, and says little of a wrong one", async () => {
		const client = grpcClient(new URL(gateway.url).host);
		try {
			const ids = new Set<string>();
			for (const tenant of ["one", "two", "three", ""]) {
				const [answer] = await collect(client.call(send, to(tenant)));
				ids.add((answer as unknown as { payload: { value: { id: string } } }).payload.value.id);
			}
			expect(ids.size).toBe(4);
			const { error } = await failure(client.call(send, to("nobody")));
			expect(error.message).not.toMatch(/one|two|three/);
			expect(error.code).toBe(5);
		} finally {
			client.close();
		}
	});
});
