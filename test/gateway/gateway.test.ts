import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig, silent } from "../../src/config/index.ts";
import { startDemo } from "../../src/demo/index.ts";
import { type Gateway, startGateway } from "../../src/gateway.ts";
import { steadyPort } from "../peer/port.ts";

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
	for (const one of open.splice(0).reverse()) await one.close();
});

async function gateway(...flags: readonly string[]): Promise<Gateway> {
	const argv = ["--listen", "127.0.0.1:0", ...flags];
	const started = await startGateway(loadConfig(argv, { env: {}, cwd: process.cwd(), terminal: false }), {
		log: silent,
	});
	open.push(started);
	return started;
}

async function demo(): Promise<string> {
	const started = await startDemo({ pace: 1 });
	open.push(started);
	return started.url;
}

const hello = JSON.stringify({
	jsonrpc: "2.0",
	id: 1,
	method: "SendMessage",
	params: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } },
});
const post = (url: string, body = hello) =>
	fetch(url, { method: "POST", headers: { "content-type": "application/json", "a2a-version": "1.0" }, body });

describe("the gateway", () => {
	it("serves from the moment it says so", async () => {
		const { url } = await gateway("--agent", await demo());
		const answer = (await (await post(url)).json()) as { result?: object };
		expect(answer.result).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
	});

	it("advertises its public URL and answers with the prefix left on or taken off", async () => {
		const { url, publicUrl } = await gateway(
			"--agent",
			await demo(),
			"--public-url",
			"https://agents.example/team/one/",
		);
		expect(publicUrl).toBe("https://agents.example/team/one");
		const card = (await (
			await fetch(`${url}/.well-known/agent-card.json`, { headers: { "a2a-version": "1.0" } })
		).json()) as {
			supportedInterfaces: { url: string; protocolBinding: string; protocolVersion: string }[];
		};
		expect(
			card.supportedInterfaces
				.filter((i) => i.protocolVersion === "1.0")
				.map((i) => i.url)
				.toSorted(),
		).toEqual(["agents.example:443", "https://agents.example/team/one", "https://agents.example/team/one"]);
		for (const base of [url, `${url}/team/one`, `${url}/team/one/`]) expect((await post(base)).status).toBe(200);
		expect((await fetch(`${url}/team/one/.well-known/agent-card.json`)).status).toBe(200);
		for (const page of ["/.well-known/jwks.json", "/healthz", "/agents"]) {
			expect((await fetch(`${url}/team/one${page}`)).status, page).toBe(200);
		}
		expect((await fetch(`${url}/team/oneself`)).status).toBe(404);
	});

	it("starts without its agent, says so, and finds it later", async () => {
		const port = await steadyPort();
		const { url } = await gateway("--agent", `http://127.0.0.1:${port}`);
		expect((await fetch(`${url}/healthz`)).status).toBe(200);
		expect((await fetch(`${url}/readyz`)).status).toBe(503);
		const refused = await post(url);
		expect(refused.headers.get("retry-after")).toBe("1");
		const text = await refused.text();
		expect(JSON.parse(text)).toMatchObject({ id: 1, error: { code: -32603 } });
		expect(text).not.toContain(String(port));
		open.push(await startDemo({ port, pace: 1 }));
		for (const deadline = Date.now() + 15_000; (await fetch(`${url}/readyz`)).status !== 200; ) {
			if (Date.now() > deadline) throw new Error("never ready");
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		expect(await (await post(url)).json()).toHaveProperty("result");
	});

	it("works around a card that says 1.0 for an older wire, unless strict", async () => {
		const server = createServer((req, res) => {
			const port = (server.address() as AddressInfo).port;
			if (req.method === "GET") {
				const url = `http://127.0.0.1:${port}/`;
				res.end(
					JSON.stringify({
						name: "n",
						description: "d",
						version: "1",
						supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
						capabilities: {},
						defaultInputModes: [],
						defaultOutputModes: [],
						skills: [],
					}),
				);
				return;
			}
			let body = "";
			req.on("data", (chunk) => {
				body += chunk;
			});
			req.on("end", () => {
				const { id, method } = JSON.parse(body) as { id: number; method: string };
				const result = { kind: "message", messageId: "r", role: "agent", parts: [{ kind: "text", text: "older" }] };
				const answer =
					method === "message/send" ? { result } : { error: { code: -32601, message: "Method not found" } };
				res.setHeader("content-type", "application/json");
				res.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
			});
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		open.push({ close: () => new Promise((resolve) => server.close(resolve)) });
		const agent = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
		const lenient = await gateway("--agent", agent);
		for (let i = 0; i < 2; i++) {
			expect(await (await post(lenient.url)).json()).toMatchObject({
				result: { message: { parts: [{ text: "older" }] } },
			});
		}
		const strict = await gateway("--agent", agent, "--strict", "true");
		expect(await (await post(strict.url)).json()).toMatchObject({ error: { code: -32601 } });
	});

	it("counts what translations lose, and tells the client where", async () => {
		const started = await gateway("--agent", await demo());
		const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] };
		const answer = await post(
			started.url,
			JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { tenant: "bed", message } }),
		);
		expect(answer.headers.get("a2a-gateway-loss")?.split(", ")).toContain("/tenant");
		const labels = { agent: "default", from: "1.0", to: "0.3" };
		expect(started.counters()).toContainEqual(expect.objectContaining({ name: "losses", labels }));
	});
});
