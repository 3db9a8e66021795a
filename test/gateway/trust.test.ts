/** Agents whose cards go bad behind a running gateway: the last good card stays served, and readiness and the log say why (§8.4, §8.6.2; G12, G41). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { generateKey } from "../../src/card/keys.ts";
import { signAndCheck } from "../../src/card/signature.ts";
import type { Policy } from "../../src/card/trust.ts";
import { type Log, loadConfig, makeAgent, silent, withAgents } from "../../src/config/index.ts";
import { startGateway } from "../../src/gateway.ts";
import { ready } from "../peer/gateway.ts";

const [own, other] = [generateKey(), generateKey("EdDSA")];
type Answer = (req: IncomingMessage, res: ServerResponse) => unknown;

const json = (value: unknown) => text(JSON.stringify(value));
const text =
	(body: string, type = "application/json"): Answer =>
	(_req, res) =>
		res.writeHead(200, { "content-type": type, "cache-control": "max-age=3600" }).end(body);

interface Good {
	readonly url: string;
	card(name: string, more?: JsonObject): JsonObject;
	signed(name: string, key?: typeof own): Promise<JsonObject>;
	/** The file of keys that the gateway trusts. */
	trusts(jwk: JsonObject): void;
}

interface Bad {
	readonly name: string;
	/** What the agent shows from now on in the place of its card; undefined: what it showed before. */
	show(good: Good): Promise<Answer | undefined> | Answer | undefined;
	/** What the operator is told. */
	readonly told: RegExp;
	/** It is a card that only a policy refuses. */
	readonly card?: true;
	/** Nothing came at all, as from an agent that is away. */
	readonly away?: true;
}

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

const bads: readonly Bad[] = [
	{
		name: "tampered",
		card: true,
		show: async (good) => json({ ...(await good.signed("Bad")), description: "Trust me" }),
		told: /the signature does not match/,
	},
	{ name: "without its signature", card: true, show: (good) => json(good.card("Bad")), told: /the card is not signed/ },
	{
		name: "of an unknown key",
		card: true,
		show: async (good) => json(await good.signed("Bad", other)),
		told: /unknown key/,
	},
	{
		name: "with a signature of nonsense",
		card: true,
		show: (good) => json(good.card("Bad", { signatures: [{ protected: "e30", signature: "AA" }, 7] })),
		told: /malformed/,
	},
	{
		name: "of a key that has expired",
		card: true,
		show(good) {
			good.trusts({ ...own.jwk, exp: 1 });
			return undefined;
		},
		told: /the key has expired/,
	},
	{
		name: "oversized",
		show: (good) => json(good.card("Bad", { description: "x".repeat(1 << 20) })),
		told: /is larger than 1048576 bytes/,
	},
	{
		name: "oversized without an end",
		show: () => (_req, res) => {
			const timer = setInterval(() => res.write(" ".repeat(1 << 17)), 5);
			res.on("close", () => clearInterval(timer));
		},
		told: /is larger than 1048576 bytes/,
	},
	{ name: "nested too deep", show: () => text(nested(5_000)), told: /is nested deeper than/ },
	{
		name: "nested too deep within a card",
		show: (good) => text(JSON.stringify(good.card("Bad")).replace(/}$/, `,"x":${nested(80)}}`)),
		told: /is nested deeper than/,
	},
	{ name: "not JSON", show: () => text('{"name": "Bad", '), told: /is not JSON/ },
	{ name: "JSON of something else", show: () => json([1, 2]), told: /not a JSON object/ },
	{
		name: "a card without interfaces",
		show: async (good) => json(await signAndCheck(good.card("Bad", { supportedInterfaces: [] }), [own])),
		told: /names no endpoint/,
	},
	{ name: "404", away: true, show: () => (_req, res) => res.writeHead(404).end(), told: /has no card \(HTTP 404\)/ },
	{ name: "500", away: true, show: () => (_req, res) => res.writeHead(500).end(), told: /answered HTTP 500/ },
	{
		name: "an HTML page",
		away: true,
		show: () => text("<!doctype html><title>Sign in</title>", "text/html"),
		told: /is an HTML page, not a card/,
	},
	{
		name: "redirecting for ever",
		show: () => (req, res) => res.writeHead(302, { location: `${req.url}?again` }).end(),
		told: /redirects more than 3 times/,
	},
	{
		name: "redirecting to a file",
		show: () => (_req, res) => res.writeHead(301, { location: "file:///etc/passwd" }).end(),
		told: /redirects to something that is no HTTP URL/,
	},
	{
		name: "cut in the middle",
		away: true,
		show: () => (_req, res) => {
			res.writeHead(200, { "content-length": "1000" }).write("{");
			setTimeout(() => res.destroy(), 20);
		},
		told: /cannot fetch/,
	},
];

/** Answers nothing, whenever it is asked. */
const slow: Bad = { name: "slow", away: true, show: () => () => {}, told: /no card from .* within 10000 ms/ };

interface Entry {
	readonly level: string;
	readonly text: string;
}

function recorder(): { log: Log; entries: Entry[] } {
	const entries: Entry[] = [];
	const at = (level: string) => (text: string) => void entries.push({ level, text });
	return { entries, log: { ...silent, info: at("info"), warn: at("warn"), error: at("error") } };
}

/** One agent that goes bad and gets well again, behind one gateway. */
async function suffers(bad: Bad, policy: Policy): Promise<void> {
	await using stack = new AsyncDisposableStack();
	const dir = mkdtempSync(join(tmpdir(), "a2a-trust-"));
	stack.defer(() => rmSync(dir, { recursive: true }));
	const file = join(dir, "keys.json");
	let show: Answer = (_req, res) => res.writeHead(404).end();
	// Calls find nobody: that makes the gateway look at the card again without waiting for its time.
	const server = createServer((req, res) => (req.method === "GET" ? void show(req, res) : void res.destroy()));
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	stack.defer(async () => {
		server.closeAllConnections();
		await new Promise((resolve) => server.close(resolve));
	});
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const card = (name: string, more: JsonObject = {}): JsonObject => ({
		name,
		description: "Reads moisture probes",
		version: "2.1.0",
		supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
		capabilities: { streaming: true },
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [{ id: "moisture", name: "Soil moisture", description: "Average per bed", tags: ["garden"] }],
		...more,
	});
	const good: Good = {
		url,
		card,
		signed: (name, key = own) => signAndCheck(card(name), [key]),
		trusts: (jwk) => writeFileSync(file, JSON.stringify(jwk)),
	};
	good.trusts({ ...own.jwk });
	show = json(await good.signed("Good"));
	const { log, entries } = recorder();
	const config = loadConfig(["--listen", "127.0.0.1:0", "--admin", "off"], { env: {}, cwd: "/", terminal: false });
	const agent = { ...makeAgent("bed", url, config.timeouts), trust: { policy, files: [file], jwks: [], jku: [] } };
	const gateway = await startGateway(withAgents(config, [agent]), { log });
	stack.defer(() => gateway.close());
	await ready(gateway.url);

	const name = async (): Promise<unknown> => {
		const answer = await fetch(`${gateway.url}/.well-known/agent-card.json`, { headers: { "a2a-version": "1.0" } });
		expect(answer.status, bad.name).toBe(200);
		return ((await answer.json()) as JsonObject)["name"];
	};
	const call = async () => {
		const body = JSON.stringify({
			jsonrpc: "2.0",
			id: 1,
			method: "SendMessage",
			params: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] } },
		});
		const headers = { "content-type": "application/json", "a2a-version": "1.0" };
		await (await fetch(gateway.url, { method: "POST", headers, body })).text();
	};
	/** Calls until it is so: each call makes the gateway look at the card, once a second. */
	const until = async (what: string, so: () => boolean | Promise<boolean>) => {
		for (const deadline = Date.now() + 14_000; !(await so()); ) {
			if (Date.now() > deadline) throw new Error(`${bad.name}, ${policy}: not ${what}: ${JSON.stringify(entries)}`);
			await call();
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
	};
	expect(await name(), bad.name).toBe("Good");

	const already = entries.length;
	show = (await bad.show(good)) ?? show;
	const used = bad.card === true && policy !== "require" && bad.name !== "of a key that has expired";
	const silentlyUsed = bad.card === true && policy === "ignore";
	const since = () => entries.slice(already).filter(({ level }) => level === "warn");
	if (silentlyUsed && !used) await call();
	else if (used) await until("used", async () => (await name()) === "Bad");
	if (!silentlyUsed) {
		const told = () => since().some((entry) => bad.told.test(entry.text));
		const before = Date.now();
		await until("told", async () => {
			// While the agent is asked, and while it is bad.
			expect(await name(), bad.name).toBe(used ? "Bad" : "Good");
			return told() || Date.now() - before > 13_000;
		});
		expect(
			since()
				.map((entry) => entry.text)
				.join("\n"),
			`${bad.name}, ${policy}`,
		).toMatch(bad.told);
		const why = since().find((entry) => bad.told.test(entry.text))?.text ?? "";
		if (bad.card && policy === "warn") expect(why).toContain("not trusted, but used");
		else expect(why, bad.name).toContain("the last good card stays in use");
	}
	const readiness = await fetch(`${gateway.url}/readyz`);
	expect([bad.name, readiness.status]).toEqual([bad.name, bad.away ? 503 : 200]);
	// Clients learn that it is so, never where the agent is.
	expect(await readiness.text(), bad.name).not.toContain(new URL(url).port);

	good.trusts({ ...own.jwk });
	show = json(await good.signed("Better"));
	// What it never answered ends now, not at its time.
	server.closeAllConnections();
	await until("well again", async () => (await name()) === "Better");
	await until("ready again", async () => (await fetch(`${gateway.url}/readyz`)).ok);
}

describe("a card that goes bad", () => {
	it.concurrent.each(["require", "warn", "ignore"] as const)(
		"of any kind, with the policy %s",
		async (policy) => {
			await Promise.all(bads.map((bad) => suffers(bad, policy)));
		},
		20_000,
	);

	it.concurrent("that never comes", async () => {
		await Promise.all((["require", "warn", "ignore"] as const).map((policy) => suffers(slow, policy)));
	}, 25_000);
});

describe("require", () => {
	it("serves no card at all until one verifies", async () => {
		await using stack = new AsyncDisposableStack();
		const dir = mkdtempSync(join(tmpdir(), "a2a-trust-"));
		stack.defer(() => rmSync(dir, { recursive: true }));
		const file = join(dir, "keys.json");
		writeFileSync(file, JSON.stringify(own.jwk));
		let signed: JsonObject = {};
		const server = createServer((_req, res) =>
			res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(signed)),
		);
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		stack.defer(async () => {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		});
		const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
		const card: JsonObject = {
			name: "Signed by whom?",
			description: "",
			version: "1",
			supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
			capabilities: { streaming: false },
			defaultInputModes: [],
			defaultOutputModes: [],
			skills: [],
		};
		signed = await signAndCheck(card, [other]);
		const { log, entries } = recorder();
		const config = loadConfig(["--listen", "127.0.0.1:0", "--admin", "off"], { env: {}, cwd: "/", terminal: false });
		const trust = { policy: "require" as const, files: [file], jwks: [], jku: [] };
		const agent = { ...makeAgent("bed", url, config.timeouts), trust };
		const gateway = await startGateway(withAgents(config, [agent]), { log });
		stack.defer(() => gateway.close());
		expect((await fetch(`${gateway.url}/.well-known/agent-card.json`)).status).toBe(503);
		expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503);
		expect(entries.map(({ text }) => text).join("\n")).toMatch(
			/agent not ready: the card from .* is not trusted: .*unknown key/,
		);
		signed = await signAndCheck(card, [own]);
		await ready(gateway.url);
		expect((await fetch(`${gateway.url}/.well-known/agent-card.json`)).status).toBe(200);
	});
});
