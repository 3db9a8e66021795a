/** The catalogue, the agents directory and the admin listener as parts of a running gateway. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { loadConfig, makeAgent, silent, withAgents } from "../../src/config/index.ts";
import { startDemo } from "../../src/demo/index.ts";
import { core } from "../../src/dialect/v1/index.ts";
import { type Gateway, startGateway } from "../../src/gateway.ts";
import { collect } from "../peer/clients/client.ts";
import { grpcClient } from "../peer/clients/grpc.ts";
import { cardOf } from "./support.ts";

let gateway: Gateway;
let demo: Awaited<ReturnType<typeof startDemo>>;
let dir: string;

beforeAll(async () => {
	demo = await startDemo({ pace: 1 });
	dir = await mkdtemp(join(tmpdir(), "gw-"));
	await writeFile(join(dir, "filed.json"), JSON.stringify(cardOf(1, demo.url)));
	const config = loadConfig(["--listen", "127.0.0.1:0"], { env: {}, cwd: process.cwd(), terminal: false });
	gateway = await startGateway(
		{
			...withAgents(config, [makeAgent("one", demo.url, config.timeouts)]),
			admin: { host: "127.0.0.1", port: 0 },
			agentsDir: dir,
		},
		{ log: silent },
	);
});
afterAll(async () => {
	await gateway?.close();
	await demo?.close();
	await rm(dir, { recursive: true });
});

interface Listing {
	agents: { name: string; url: string; card: object }[];
	totalSize: number;
}
const listing = async (query = ""): Promise<Listing> =>
	(await (await fetch(`${gateway.url}/agents${query}`)).json()) as Listing;
const soon = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 5_000, interval: 10 });
const send = core.methods.find(
	(m) => m.input === SendMessageRequestSchema && m.methodKind === "unary",
) as (typeof core.methods)[number];

describe("a gateway with one agent in its configuration", () => {
	test("lists it at the root and the directory's below /agents, each card where its URL says", async () => {
		await soon(async () => expect((await listing()).totalSize).toBe(2));
		const { agents } = await listing();
		expect(agents.map((a) => a.url.slice(gateway.url.length))).toEqual([
			"/agents/filed/.well-known/agent-card.json",
			"/.well-known/agent-card.json",
		]);
		for (const { url, card } of agents) {
			const served = await fetch(url, { headers: { "a2a-version": "1.0" } });
			expect(await served.json()).toEqual(card);
		}
		const catalog = await fetch(`${gateway.url}/.well-known/api-catalog`);
		expect(((await catalog.json()) as { linkset: unknown[] }).linkset.length).toBe(3);
		expect((await fetch(`${gateway.url}/agents?pageSize=x`)).status).toBe(400);
	});

	test("an agent added by the admin API is found, called in every binding, and gone when removed", async () => {
		const admin = `${gateway.adminUrl}/agents`;
		const headers = { "content-type": "application/json", "a2a-version": "1.0" };
		const body = JSON.stringify({ name: "late", url: demo.url });
		expect((await fetch(admin, { method: "POST", headers, body })).status).toBe(201);
		await soon(async () => expect((await listing()).totalSize).toBe(3));
		const params = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] } };
		const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: send.name, params });
		for (const path of ["", "/agents/one", "/agents/late"]) {
			const rpc = await fetch(gateway.url + path, { method: "POST", headers, body: call });
			expect(await rpc.json(), path).toHaveProperty("result.task.id");
			const http = await fetch(`${gateway.url}${path}/message:send`, {
				method: "POST",
				headers,
				body: JSON.stringify(params),
			});
			expect(await http.json(), path).toHaveProperty("task.id");
		}
		const client = grpcClient(new URL(gateway.url).host);
		try {
			// The root's agent still needs no tenant: its card, which clients have, names none.
			for (const tenant of ["", "one", "late"]) {
				const request = create(SendMessageRequestSchema, {
					tenant,
					message: { messageId: "m", role: 1, parts: [{ content: { case: "text", value: "x" } }] },
				});
				expect((await collect(client.call(send, request))).length, tenant).toBe(1);
			}
		} finally {
			client.close();
		}
		expect((await fetch(`${admin}/late`, { method: "DELETE" })).status).toBe(204);
		expect((await listing()).totalSize).toBe(2);
		const gone = await fetch(`${gateway.url}/agents/late/.well-known/agent-card.json`);
		expect(gone.status).toBe(404);
	});
});
