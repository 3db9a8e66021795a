/** An agent that is not there yet, goes away, comes back elsewhere: readiness, clear errors, and the way back. */
import net from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { cardJson } from "../peer/agents/card.ts";
import { startRawHttp } from "../peer/agents/raw-http.ts";
import { startScripted } from "../peer/agents/scripted.ts";
import { steadyPort } from "../peer/port.ts";
import type { Agent } from "../peer/protocol.ts";
import {
	agentBindings,
	byPath,
	closeAll,
	expectAlive,
	expectClean,
	expectReason,
	later,
	message,
	openGate,
	polite,
	streaming,
	unary,
	until,
} from "./harness.ts";
import { ask, forms, http1, type Outcome } from "./raw.ts";

afterEach(closeAll);

/** A port with a memory: forwards connections to whatever agent is there now, refuses them while there is none. */
async function place(): Promise<{ url: string; host: string; to: (target: string | undefined) => Promise<void> }> {
	let server: net.Server | undefined;
	const port = await steadyPort();
	const sockets = new Set<net.Socket>();
	const close = async () => {
		const old = server;
		server = undefined;
		if (!old) return;
		for (const socket of sockets) socket.destroy();
		await new Promise<void>((resolve) => old.close(() => resolve()));
	};
	const to = async (target: string | undefined) => {
		await close();
		if (target === undefined) return;
		const [, toPort] = target.split(":");
		const fresh = net.createServer((socket) => {
			const out = net.connect(Number(toPort), "127.0.0.1");
			for (const each of [socket, out]) {
				sockets.add(each);
				each
					.on("error", () => {})
					.on("close", () => {
						sockets.delete(each);
						(each === socket ? out : socket).destroy();
					});
			}
			socket.pipe(out).pipe(socket);
		});
		await new Promise<void>((resolve) => fresh.listen(port, "127.0.0.1", resolve));
		server = fresh;
	};
	later(close);
	return { url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}`, to };
}

/** A scripted agent whose card, and whose interface, are at a place that may come and go. */
async function placed(
	binding: string,
): Promise<{ agent: Agent; front: Awaited<ReturnType<typeof place>>; comes(): Promise<void>; goes(): Promise<void> }> {
	const agent = await startScripted({ bindings: [binding], script: polite });
	const inner = agent.interfaces[0]?.url ?? "";
	const [cards, calls] = [await place(), await place()];
	const url = binding === "GRPC" ? calls.host : `${calls.url}${new URL(inner).pathname}`;
	const site = await startRawHttp(() => ({
		header: { "content-type": "application/json", "cache-control": "max-age=3600" },
		body: JSON.stringify(cardJson([{ binding, url }])),
	}));
	later(() => Promise.all([agent.close(), site.close()]));
	return {
		agent,
		front: cards,
		comes: async () => {
			await calls.to(binding === "GRPC" ? inner : new URL(inner).host);
			await cards.to(new URL(site.url).host);
		},
		goes: async () => {
			await Promise.all([calls.to(undefined), cards.to(undefined)]);
		},
	};
}

const readiness = async (url: string) => {
	const { http, body } = await http1(url, { verb: "GET", path: "/readyz" });
	return { status: http, text: body.toString() };
};

function expectAway(answer: Outcome, host: string): void {
	expectReason(answer, "UNAVAILABLE");
	expect(answer.message).toMatch(/agent/i);
	expect(answer.header["retry-after"]).toMatch(/^\d+$/);
	expect(answer.messages).toBe(0);
	expectClean(answer, [host, "ECONNREFUSED"]);
	if (answer.form === "HTTP+JSON" || answer.form === "CONNECT") expect([200, 503]).toContain(answer.http);
}

describe.each(agentBindings)("an agent over %s", (binding) => {
	it("is waited for, missed, and found again", async () => {
		const { front, comes, goes } = await placed(binding);
		const gate = await openGate(front.url, { early: true });

		// Not there yet: the gateway is up, red, and says so in every form.
		expect((await http1(gate.url, { verb: "GET", path: "/healthz" })).http).toBe(200);
		const red = await readiness(gate.url);
		expect(red.status).toBe(503);
		expect(red.text).not.toContain(front.host);
		const noCard = await http1(gate.url, { verb: "GET", path: "/.well-known/agent-card.json" });
		expect([noCard.http, noCard.header["retry-after"]]).toEqual([503, expect.stringMatching(/^\d+$/)]);
		for (const form of forms) {
			expectAway(await ask(gate.url, form, unary, message), front.host);
			expectAway(await ask(gate.url, form, streaming, message), front.host);
		}

		// Comes: found without anybody's help.
		await comes();
		await until(async () => (await readiness(gate.url)).status === 200, "green");
		for (const form of forms) await expectAlive(gate.url, form);

		// Goes: calls say so, readiness follows.
		await goes();
		for (const form of forms) {
			expectAway(await ask(gate.url, form, byPath, { id: "t" }), front.host);
			expectAway(await ask(gate.url, form, streaming, message), front.host);
		}
		await until(async () => (await readiness(gate.url)).status === 503, "red again");
		// The last good card stays.
		expect((await http1(gate.url, { verb: "GET", path: "/.well-known/agent-card.json" })).http).toBe(200);

		// Comes back: the next calls work, whatever the card's freshness.
		await comes();
		await until(async () => (await ask(gate.url, "JSONRPC", byPath, { id: "t" })).code === undefined, "answers again");
		await until(async () => (await readiness(gate.url)).status === 200, "green again");
		for (const form of forms) await expectAlive(gate.url, form);
		for (const line of gate.lines) expect(line).not.toContain('"level":"error"');
	});

	it("that goes in the middle of streams ends them with an error", async () => {
		const { agent, front, comes, goes } = await placed(binding);
		await comes();
		const gate = await openGate(front.url);
		agent.script = (call) =>
			(async function* () {
				const first = polite({ ...call, method: streaming });
				if (Symbol.asyncIterator in first) yield* first;
				await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
			})();
		const pending = forms.map((form) => ask(gate.url, form, streaming, message));
		await until(() => agent.calls.length === forms.length, "streams under way");
		// Time for the first event to be through; that it is not decides nothing but `messages`.
		await new Promise((resolve) => setTimeout(resolve, 200));
		await goes();
		for (const answer of await Promise.all(pending)) {
			expectReason(answer, "UNAVAILABLE");
			expect(answer.messages).toBe(1);
			expectClean(answer, [front.host]);
		}
	});
});

it("a card that nobody can use is told to the operator, not to clients", async () => {
	const site = await startRawHttp(() => ({
		header: { "content-type": "application/json" },
		body: JSON.stringify(cardJson([{ binding: "SOAP", url: "http://inside.example/soap" }])),
	}));
	later(() => site.close());
	const gate = await openGate(site.url, { early: true });
	await until(() => gate.lines.some((line) => line.includes("SOAP")), "explained");
	expect((await readiness(gate.url)).status).toBe(503);
	for (const form of forms) {
		const answer = await ask(gate.url, form, unary, message);
		expectReason(answer, "UNAVAILABLE");
		expectClean(answer, ["SOAP", "inside.example", new URL(site.url).host]);
	}
});

it("closing the gateway tells streams under way, and ends", async () => {
	const agent = await startScripted({ bindings: ["JSONRPC"], script: polite });
	later(() => agent.close());
	agent.script = (call) =>
		(async function* () {
			const first = polite({ ...call, method: streaming });
			if (Symbol.asyncIterator in first) yield* first;
			await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
		})();
	const gate = await openGate(agent.url, {
		config: (config) => ({ ...config, timeouts: { ...config.timeouts, drain: 50 } }),
	});
	const pending = forms.map((form) => ask(gate.url, form, streaming, message).catch((error: unknown) => error));
	await until(() => agent.calls.length === forms.length, "streams under way");
	await gate.close();
	await Promise.all(pending);
	await until(() => agent.calls.every((call) => call.signal.aborted), "the agent's streams have ended");
});
