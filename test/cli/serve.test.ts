/** `serve`, `call`, `explain` and `health` together, as processes: the demo agent behind the gateway. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bindings } from "../../src/registry.ts";
import { inside, launch, run, type Served, serve, until } from "./run.ts";

let served: Served;
beforeAll(async () => {
	served = await serve();
	await until(`${served.url}/readyz`, 200);
});
afterAll(async () => {
	served?.child.kill("SIGKILL");
});

describe.each(bindings.map(({ name }) => name))("call over %s", (binding) => {
	const ask = (...flags: string[]) =>
		inside(["call", served.url, "the quick brown fox", "--binding", binding, ...flags]);

	test("prints the text, the task and its state", async () => {
		const got = await ask();
		expect(got.stderr).toBe("");
		expect(got.stdout).toMatch(
			/^4 words, 19 characters\. Longest word: quick.*\ntask \S+ \(context \S+\): completed\n$/,
		);
		expect(got.code).toBe(0);
	});

	test("--stream --json prints an event a line", async () => {
		const got = await ask("--json", "--stream");
		const kinds = got.stdout
			.trim()
			.split("\n")
			.map((line) => Object.keys(JSON.parse(line))[0]);
		expect(kinds).toEqual(["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
	});

	test("an error of the agent: its reason, code 1", async () => {
		const got = await ask("--task", "nope");
		expect(got.stderr).toMatch(/^error: TASK_NOT_FOUND: /);
		expect([got.code, got.stdout]).toEqual([1, ""]);
	});
});

test.each(["0.3", "0.2", "0.1"])("call --protocol %s", async (version) => {
	for (const more of [[], ["--stream"]]) {
		const got = await inside(["call", served.url, "the quick brown fox", "--protocol", version, ...more]);
		expect(got.stdout).toMatch(/4 words, 19 characters[\s\S]*: completed\n$/);
		expect(got.stderr).toMatch(version === "0.3" ? /^$/ : /^note: the card does not list version 0\.[12]; .*\n$/);
		expect(got.code).toBe(0);
	}
});

test("call: a binding that the version does not have", async () => {
	const got = await inside(["call", served.url, "x", "--protocol", "0.1", "--binding", "GRPC"]);
	expect(got.stderr).toMatch(/^error: the card offers no interface for protocol version 0\.1 over GRPC:\n/);
	expect(got.code).toBe(1);
});

test("--stream prints as it comes", async () => {
	const got = await inside(["call", served.url, "the quick brown fox", "--stream"]);
	expect(got.stdout).toMatch(/^\[working\]\n4 words.*\n\[completed\]\ntask \S+ \(context \S+\): completed\n$/);
	expect([got.code, got.stderr]).toEqual([0, ""]);
});

test("--timeout ends the wait", async () => {
	const got = await inside(["call", served.url, "slow one", "--timeout", "300ms"]);
	expect(got.stderr).toMatch(/^error: DEADLINE_EXCEEDED/);
	expect(got.code).toBe(1);
});

test("--json prints the answer", async () => {
	const got = await inside(["call", served.url, "one two", "--json"]);
	expect(JSON.parse(got.stdout)).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
});

test("call grpc://host:port needs no card", async () => {
	const got = await inside(["call", served.url.replace("http:", "grpc:"), "one two"]);
	expect([got.code, got.stderr]).toEqual([0, ""]);
	expect(got.stdout).toContain("2 words");
});

test("what an agent writes cannot drive the terminal", async () => {
	const got = await inside(["call", served.url, "a\x1b[2Jb"]);
	expect(got.code).toBe(0);
	expect(got.stdout).not.toContain("\x1b");
});

test("headers cross as given", async () => {
	const seen: (string | undefined)[] = [];
	const agent = createServer((req, res) => {
		seen.push(req.headers["x-test"] as string | undefined);
		res.writeHead(500).end();
	}).listen(0, "127.0.0.1");
	await new Promise((resolve) => agent.once("listening", resolve));
	try {
		const url = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`;
		const got = await inside([
			"call",
			url,
			"hi",
			"--binding",
			"HTTP+JSON",
			"--header",
			"X-Test: a",
			"--header",
			"x-test: b",
		]);
		expect(got.code).toBe(1);
		expect(new Set(seen)).toEqual(new Set(["a, b"]));
	} finally {
		agent.closeAllConnections();
		await new Promise((resolve) => agent.close(resolve));
	}
});

test("explain says what is chosen and what is served", async () => {
	const [text, json] = await Promise.all([
		run(["explain", served.url]),
		run(["explain", served.url, "--json", "--binding", "GRPC"]),
	]);
	expect(text.code).toBe(0);
	expect(text.stdout).toMatch(/^\* JSONRPC 1\.0 .*chosen/m);
	expect(text.stdout).toMatch(/^ {4}no: version 0\.3 has no such operation \(ListTasks\)$/m);
	expect(text.stdout).toMatch(/^ {2}JSONRPC \(1\.0, 0\.3, 0\.1\)\n {2}HTTP\+JSON \(1\.0, 0\.3\)$/m);
	expect(JSON.parse(json.stdout)).toMatchObject({ name: "Demo agent", chosen: { binding: "GRPC", version: "1.0" } });
});

test("health is green, and finds the gateway by its variable", async () => {
	const address = served.url.replace("http://127.0.0.1", "0.0.0.0");
	const [given, own] = await Promise.all([
		run(["health", served.url]),
		run(["health"], { A2A_GATEWAY_LISTEN: address }),
	]);
	expect([given.code, own.code]).toEqual([0, 0]);
});

test("the lines that serve prints work as they are", async () => {
	const { stderr } = served.output();
	const lines = stderr.split("\n").filter((line) => line.startsWith("  curl "));
	expect(lines).toHaveLength(9);
	for (const line of lines) {
		const [, url = ""] = /(http:\S+)/.exec(line) ?? [];
		const headers = [...line.matchAll(/-H '([^:']+): ([^']+)'/g)].map(([, name = "", value = ""]) => [name, value]);
		const [, body] = /-d '([^']+)'/.exec(line) ?? [];
		const response = await fetch(url, {
			headers: Object.fromEntries(headers),
			...(body !== undefined && { method: "POST", body }),
		});
		const text = await response.text();
		expect([line, response.status]).toEqual([line, 200]);
		expect(text).toMatch(body === undefined ? /"supportedInterfaces"/ : /^(data: )?\{.*4 words, 19 characters/s);
	}
	expect(stderr).toMatch(/^ {2}grpcurl -plaintext .* 127\.0\.0\.1:\d+ \S+\/\S+$/m);
	expect(stderr.match(/npm exec a2a-gateway -- call/g)).toHaveLength(4);
});

test("one line on standard output; SIGTERM ends with code 0", async () => {
	expect(await served.stop()).toBe(0);
	expect(served.output().stdout).toBe(`a2a-gateway listening on ${served.url}\n`);
	expect(served.output().stderr).toContain('"message":"stopped"');
});

test("SIGTERM lets a call finish; a second one does not wait", async () => {
	const mine = await serve();
	await until(`${mine.url}/readyz`, 200);
	const slow = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "slow" }] } });
	const headers = { "a2a-version": "1.0", "content-type": "application/json" };
	const response = await fetch(`${mine.url}/message:stream`, { method: "POST", headers, body: slow });
	expect(response.status).toBe(200);
	const reader = response.body?.getReader();
	await reader?.read();
	mine.child.kill("SIGTERM");
	// The stream goes on after the signal.
	const next = await reader?.read();
	expect(next?.done).toBe(false);
	expect(mine.child.exitCode).toBe(null);
	expect(await mine.stop()).toBe(1);
	await reader?.cancel().catch(() => {});
});

test("an agent that is not there: it starts, is not ready, and says so to clients", async () => {
	const mine = await serve(["--agent", "http://127.0.0.1:1"]);
	try {
		await until(`${mine.url}/readyz`, 503);
		expect((await fetch(`${mine.url}/healthz`)).status).toBe(200);
		const got = await inside(["call", mine.url, "hi", "--binding", "JSONRPC"]);
		expect(got.stderr).toMatch(/error: UNAVAILABLE/);
		expect(got.stdout + got.stderr).not.toContain("127.0.0.1:1/");
	} finally {
		expect(await mine.stop()).toBe(0);
	}
});

test("a signal while it waits for its agent ends it at once, with code 0 and nothing on standard output", async () => {
	const silent = createServer(() => {}).listen(0, "127.0.0.1");
	const asked = new Promise((resolve) => silent.once("connection", resolve));
	await new Promise((resolve) => silent.once("listening", resolve));
	const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
	try {
		const running = launch(["--agent", url]);
		await asked;
		running.child.kill("SIGTERM");
		const got = await running.outcome;
		expect([got.code, got.stdout]).toEqual([0, ""]);
		expect(got.stderr).toContain("stopped before it was up");
	} finally {
		silent.closeAllConnections();
		await new Promise((resolve) => silent.close(resolve));
	}
});
