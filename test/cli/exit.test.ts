/** Exit codes and texts of the program, run as users run it: 0, 2 for usage and configuration, 1 for the rest. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inside, run } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "a2a-gateway-cli-"));
const good = join(dir, "good.yaml");
const bad = join(dir, "bad.yaml");
beforeAll(() => {
	writeFileSync(good, "agents: [{ url: http://127.0.0.1:1 }]\n");
	writeFileSync(bad, "log: { level: info }\n\nlisten: nowhere\n");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

const cases: [argv: string[], code: number, stdout: RegExp, stderr: RegExp][] = [
	[["--version"], 0, new RegExp(`^${version.replaceAll(".", "\\.")}\n$`), /^$/],
	[["--help"], 0, /serve[\s\S]*call URL TEXT[\s\S]*explain URL[\s\S]*check FILE/, /^$/],
	[["serve", "--help"], 0, /--agent \[NAME=\]URL[\s\S]*--config FILE/, /^$/],
	[["call", "-h"], 0, /--binding/, /^$/],
	[[], 2, /^$/, /Usage: a2a-gateway COMMAND/],
	[["sevre"], 2, /^$/, /^unknown command "sevre" \(did you mean serve\?\)/],
	[["--agent", "http://a"], 2, /^$/, /^unknown flag "--agent"/],
	[["card"], 2, /^$/, /^card: needs one of get, verify, sign/],
	[["keys", "old"], 2, /^$/, /new/],
	[["serve", "--lisen", "a:1"], 2, /^$/, /^--lisen: unknown flag \(did you mean --listen\?\)\n$/],
	[["serve", "extra"], 2, /^$/, /takes no arguments/],
	[["serve", "--state", "sqlite:x"], 2, /^$/, /^--state: .*not in this build/],
	[["serve", "--config", "/nonexistent.yaml"], 2, /^$/, /^--config: cannot read \/nonexistent\.yaml: no such file\n$/],
	[["serve", "--config", bad], 2, /^$/, /bad\.yaml:3:9: listen: must be HOST:PORT/],
	[["check", good], 0, /^ok\n$/, /^$/],
	[["check", bad], 2, /^$/, /bad\.yaml:3:9: listen: must be HOST:PORT[^\n]*\n$/],
	[["check"], 2, /^$/, /needs one FILE/],
	[["check", "/nonexistent.yaml"], 2, /^$/, /cannot read/],
	[["call"], 2, /^$/, /needs a URL/],
	[["call", "localhost:1", "hi"], 2, /^$/, /must start with http/],
	[["call", "http://127.0.0.1:1"], 2, /^$/, /needs a TEXT/],
	[["call", "http://127.0.0.1:1", "two", "words"], 2, /^$/, /takes one TEXT/],
	[["call", "http://127.0.0.1:1", "hi", "--protocol", "0.4"], 2, /^$/, /must be one of 1\.0, 0\.3, 0\.2, 0\.1/],
	[["call", "grpc://127.0.0.1:1", "hi", "--protocol", "0.1"], 1, /^$/, /not spoken over GRPC, only JSONRPC/],
	[["call", "http://127.0.0.1:1", "hi", "--binding", "SOAP"], 2, /^$/, /must be one of JSONRPC/],
	[["call", "http://127.0.0.1:1", "hi", "--header", "x"], 2, /^$/, /must be 'NAME: VALUE'/],
	[["call", "http://127.0.0.1:1", "hi", "--timeout", "5"], 2, /^$/, /--timeout: must be a duration/],
	[["call", "http://127.0.0.1:1", "hi"], 1, /^$/, /^error: .*connection refused/],
	[["call", "http://127.0.0.1:1", "hi", "--binding", "JSONRPC"], 1, /^$/, /\nerror: UNAVAILABLE/],
	[["explain", "http://127.0.0.1:1"], 1, /^$/, /^error: .*connection refused/],
	[["health", "http://127.0.0.1:1"], 1, /^$/, /^error: connection refused/],
];

test.each(cases)("%j", async (argv, code, stdout, stderr) => {
	const got = await inside(argv);
	expect(got.stdout).toMatch(stdout);
	expect(got.stderr).toMatch(stderr);
	expect(got.code).toBe(code);
	expect(got.stdout + got.stderr).not.toMatch(/\n\s+at /);
});

// One of each code, as users run it.
const processes = cases.filter(([argv]) => ["--version", "sevre", "health"].includes(argv[0] ?? "") || argv[1] === bad);
test.each(processes)("as a process: %j", async (argv, code, stdout, stderr) => {
	const got = await run(argv);
	expect(got.stdout).toMatch(stdout);
	expect(got.stderr).toMatch(stderr);
	expect(got.code).toBe(code);
});

test("variables of the environment count, and are named when wrong", async () => {
	const got = await run(["serve"], { A2A_GATEWAY_LISTEN: "x" });
	expect([got.code, got.stderr]).toEqual([2, expect.stringMatching(/^A2A_GATEWAY_LISTEN: must be/)]);
});

test("a port in use: code 1 and a clear line", async () => {
	const server = createServer().listen(0, "127.0.0.1");
	await new Promise((resolve) => server.once("listening", resolve));
	try {
		const { port } = server.address() as AddressInfo;
		const got = await run(["serve", "--listen", `127.0.0.1:${port}`]);
		expect(got.code).toBe(1);
		expect(got.stderr).toMatch(/^error: the address is already in use/m);
		expect(got.stdout).toBe("");
	} finally {
		await new Promise((resolve) => server.close(resolve));
	}
});
