/** Agents that come and go while the gateway runs: by the admin API and by a directory, with real agents behind. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { agentsFromDirectory } from "../../src/added.ts";
import { type Admin, startAdmin } from "../../src/admin.ts";
import { type Agents, createAgents } from "../../src/agents.ts";
import { keyRing } from "../../src/card/keys.ts";
import { cardSigner } from "../../src/card/sign-serve.ts";
import { mirror } from "../../src/catalogue/mirror.ts";
import { readQuery } from "../../src/catalogue/query.ts";
import { type Config, loadConfig, makeAgent, silent, withAgents } from "../../src/config/index.ts";
import { startDemo } from "../../src/demo/index.ts";
import { ask1 } from "../listener/harness.ts";
import { cardOf } from "./support.ts";

let demo: Awaited<ReturnType<typeof startDemo>>;
let config: Config;
const signer = cardSigner(keyRing({ files: [] }), { jku: "http://127.0.0.1:1234/.well-known/jwks.json" });
const later: (() => unknown)[] = [];
const reports: unknown[] = [];

beforeEach(async () => {
	demo = await startDemo({ pace: 1 });
	later.push(() => demo.close());
	config = loadConfig(["--listen", "127.0.0.1:0"], { env: {}, cwd: process.cwd(), terminal: false });
});
afterEach(async () => {
	for (const end of later.splice(0).reverse()) await end();
	expect(reports.splice(0)).toEqual([]);
});

function some(...names: string[]): Agents {
	const agents = createAgents(
		withAgents(
			config,
			names.map((name) => makeAgent(name, demo.url, config.timeouts)),
		),
		silent,
	);
	later.push(() => agents.close());
	agents.start({ host: "127.0.0.1", port: 1234, tls: false }, signer);
	return agents;
}

async function admin(agents: Agents, host = "127.0.0.1"): Promise<Admin & { port: number }> {
	const started = await startAdmin({
		address: { host, port: 0 },
		agents,
		timeouts: config.timeouts,
		notReady: () => agents.list().flatMap((a) => (a.ready ? [] : [`agent ${a.name} is not available`])),
		counters: () => [{ name: "losses", labels: { agent: "one" }, value: 3 }],
		version: "1.2.3",
		protocols: ["1.0", "0.3"],
		log: silent,
		report: (error) => reports.push(error),
	});
	later.push(() => started.close(0));
	return { ...started, port: Number(new URL(started.url).port) };
}

const JSON_TYPE = { "content-type": "application/json" };
const post = (port: number, body: unknown, headers: Record<string, string> = JSON_TYPE) =>
	ask1(port, { verb: "POST", path: "/agents", headers, body: typeof body === "string" ? body : JSON.stringify(body) });
const soon = (check: () => void) => vi.waitFor(check, { timeout: 5_000, interval: 10 });

describe("the admin API", () => {
	test("adds an agent, which is served, found and removed", async () => {
		const agents = some("one", "two");
		const catalogue = mirror(() => agents.list());
		agents.onChange(catalogue.touch);
		const { port } = await admin(agents);
		const answer = await post(port, { name: "three", url: demo.url, hosts: ["Three.Example"] });
		expect([answer.status, answer.headers.location]).toEqual([201, "/agents/three"]);
		expect(JSON.parse(answer.body)).toMatchObject({ name: "three", url: "http://three.example:1234" });
		await soon(() => expect(agents.get("three")?.card("1.0")).toBeDefined());
		expect(agents.resolve("three.example:80", "/x")).toEqual({ agent: "three", path: "/x" });
		expect(agents.resolve("127.0.0.1", "/agents/three/x")).toEqual({ agent: "three", path: "/x" });
		const listed = JSON.parse((await ask1(port, { path: "/agents" })).body);
		expect(listed.agents.map((a: { name: string }) => a.name)).toEqual(["one", "two", "three"]);
		expect(JSON.parse((await ask1(port, { path: "/agents/three" })).body)).toMatchObject({
			name: "three",
			ready: true,
			version: "0.3",
			default: false,
		});
		expect(catalogue.search(readQuery("")).agents.map((a) => a.name)).toContain("three");
		const gone = await ask1(port, { verb: "DELETE", path: "/agents/three" });
		expect([gone.status, gone.body]).toEqual([204, ""]);
		expect(agents.get("three")).toBeUndefined();
		expect(agents.resolve("three.example", "/x")).toBeUndefined();
		expect(catalogue.search(readQuery("")).agents.map((a) => a.name)).not.toContain("three");
		expect((await ask1(port, { verb: "DELETE", path: "/agents/three" })).status).toBe(404);
		expect((await ask1(port, { path: "/agents/three" })).status).toBe(404);
	});

	test("an agent alone at the root stays there when others come", async () => {
		const agents = some("one");
		const { port } = await admin(agents);
		expect((await post(port, { name: "two", url: demo.url })).status).toBe(201);
		await soon(() => expect(agents.list().map((a) => a.ready)).toEqual([true, true]));
		expect(agents.list().map((a) => a.base?.href)).toEqual([
			"http://127.0.0.1:1234/",
			"http://127.0.0.1:1234/agents/two",
		]);
		expect(agents.resolve("h", "/message:send")).toEqual({ agent: "one", path: "/message:send" });
		expect(agents.resolve("h", "/agents/two/message:send")).toEqual({ agent: "two", path: "/message:send" });
		expect(agents.resolve("h", "/lf.a2a.v1.A2AService/X")).toEqual({ agent: "", path: "/lf.a2a.v1.A2AService/X" });
		expect(agents.fallback()?.name).toBe("one");
		await agents.remove("two");
		expect(agents.resolve("h", "/lf.a2a.v1.A2AService/X")?.agent).toBe("one");
	});

	test("a card in the request, or a file of one, instead of discovery", async () => {
		const agents = some("one", "two");
		const { port } = await admin(agents);
		const dir = await mkdtemp(join(tmpdir(), "admin-"));
		later.push(() => rm(dir, { recursive: true }));
		const file = join(dir, "card.json");
		await writeFile(file, JSON.stringify(cardOf(2, demo.url)));
		for (const [name, card] of [
			["given", cardOf(1, demo.url)],
			["file", file],
		] as const) {
			expect((await post(port, { name, card, prefer: { binding: "JSONRPC" } })).status).toBe(201);
			await soon(() => expect(agents.get(name)?.card("1.0")).toBeDefined());
			const served = JSON.parse(agents.get(name)?.card("1.0")?.body.toString() ?? "") as JsonObject;
			expect(served["name"]).toBe(cardOf(name === "given" ? 1 : 2)["name"]);
		}
	});

	/** body → what the message names */
	const mistakes: readonly (readonly [unknown, RegExp])[] = [
		[{}, /name: is required.*url: an agent needs a url or a card/],
		[{ name: "Bad Name", url: "http://x" }, /name: an agent's name is made of/],
		[{ name: "", url: "http://x" }, /name: /],
		[{ name: "a", url: "ftp://x" }, /url: must be an absolute URL/],
		[{ name: "a", url: 3 }, /url: must be a string/],
		[{ name: "a", url: "grpc://h:1" }, /card: a gRPC address has no card/],
		[{ name: "a", card: {} }, /card: .*not an agent card/],
		[{ name: "a", card: { name: "x", supportedInterfaces: [] } }, /card: .*names no endpoint/],
		[{ name: "a", card: "relative.json" }, /card: must be an absolute path/],
		[{ name: "a", card: "/nowhere/card.json" }, /card: cannot read .*no such file/],
		[{ name: "a", card: "/dev/zero" }, /card: is not a file/],
		[{ name: "a", card: "/etc/passwd" }, /card: the file does not hold JSON$/],
		[{ name: "a", card: [] }, /card: must be a card/],
		[{ name: "a", url: "http://x", hosts: "h" }, /hosts: must be a list/],
		[{ name: "a", url: "http://x", hosts: ["a/b"] }, /hosts: must be a list/],
		[{ name: "a", url: "http://x", prefer: { binding: "SOAP" } }, /prefer.binding: must be one of/],
		[{ name: "a", url: "http://x", prefer: { colour: "red" } }, /prefer.colour: unknown member/],
		[{ name: "a", url: "http://x", prefer: 1 }, /prefer: must be an object/],
		[{ name: "a", ulr: "http://x" }, /ulr: unknown member \(did you mean url\?\)/],
		["[]", /not a JSON object/],
		["{", /not JSON/],
		["", /is empty/],
		[`{"card":${"[".repeat(500_000)}${"]".repeat(500_000)}}`, /nested deeper/],
	];

	test.each(mistakes)("mistake %# is refused with the reason", async (body, why) => {
		const agents = some("one", "two");
		const { port } = await admin(agents);
		const answer = await post(port, body);
		const { error } = JSON.parse(answer.body);
		expect([answer.status, error.code, error.status]).toEqual([400, 400, "INVALID_ARGUMENT"]);
		expect(error.message).toMatch(why);
		expect(agents.list().length).toBe(2);
	});

	test("a name that is taken: 409; too large: 413; not JSON by type: 415; wrong verbs and paths", async () => {
		const { port } = await admin(some("one", "two"));
		const taken = await post(port, { name: "one", url: demo.url });
		expect([taken.status, JSON.parse(taken.body).error.status]).toEqual([409, "ALREADY_EXISTS"]);
		expect((await post(port, { name: "a", url: `http://${"x".repeat(2 << 20)}` })).status).toBe(413);
		expect((await post(port, "{}", { "content-type": "text/plain" })).status).toBe(415);
		const wrong = await ask1(port, { verb: "PUT", path: "/agents", body: "{}" });
		expect([wrong.status, wrong.headers.allow]).toEqual([405, "GET, HEAD, POST"]);
		expect((await ask1(port, { verb: "OPTIONS", path: "/agents/one" })).headers.allow).toBe("GET, HEAD, DELETE");
		expect((await ask1(port, { path: "/nowhere" })).status).toBe(404);
	});

	test("health, readiness, status", async () => {
		const agents = some("one", "two");
		const { port } = await admin(agents);
		await soon(() => expect(agents.list().every((a) => a.ready)).toBe(true));
		expect((await ask1(port, { path: "/healthz" })).body).toBe('{"status":"ok"}');
		expect((await ask1(port, { path: "/readyz" })).body).toBe('{"status":"ready"}');
		const status = JSON.parse((await ask1(port, { path: "/status" })).body);
		expect(status).toMatchObject({
			version: "1.2.3",
			protocols: ["1.0", "0.3"],
			ready: true,
			reasons: [],
			counters: [{ name: "losses", labels: { agent: "one" }, value: 3 }],
		});
		expect(status.agents.map((a: JsonObject) => [a["name"], a["ready"], a["version"]])).toEqual([
			["one", true, "0.3"],
			["two", true, "0.3"],
		]);
		await post(port, { name: "away", url: "http://127.0.0.1:9" });
		await soon(() => expect(agents.get("away")?.reason).toContain("http://127.0.0.1:9"));
		const red = await ask1(port, { path: "/readyz" });
		expect([red.status, JSON.parse(red.body).reasons]).toEqual([503, ["agent away is not available"]]);
	});

	/** header fields a browser sends for another site's page */
	const foreign: readonly Record<string, string>[] = [
		{ origin: "https://evil.example" },
		{ origin: "null" },
		{ "sec-fetch-site": "cross-site" },
		{ "sec-fetch-site": "same-site" },
		{ host: "rebound.example:9090" },
		{ host: "127.0.0.1.evil.example" },
	];

	test.each(foreign)("pages of other sites are refused: %j", async (headers) => {
		const agents = some("one", "two");
		const { port } = await admin(agents);
		for (const verb of ["GET", "POST", "DELETE"]) {
			const answer = await ask1(port, { verb, path: verb === "POST" ? "/agents" : "/agents/one", headers, body: "" });
			expect([verb, answer.status]).toEqual([verb, 403]);
			expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
		}
		expect(agents.list().length).toBe(2);
	});

	test("its own pages, and tools by any loopback name, are not", async () => {
		const { port } = await admin(some("one", "two"));
		for (const headers of [
			{ host: `localhost:${port}`, origin: `http://localhost:${port}`, "sec-fetch-site": "same-origin" },
			{ host: "[::1]:9090" },
			{ host: "127.0.0.2", "sec-fetch-site": "none" },
		]) {
			expect((await ask1(port, { path: "/status", headers })).status).toBe(200);
		}
		// Elsewhere than on loopback, any name may be its name.
		const open = await admin(some("three"), "0.0.0.0");
		expect((await ask1(open.port, { path: "/status", headers: { host: "gw.internal" } })).status).toBe(200);
	});
});

describe("a directory of cards", () => {
	test("its agents are served, follow their files, and go with them", async () => {
		const dir = await mkdtemp(join(tmpdir(), "dir-"));
		later.push(() => rm(dir, { recursive: true }));
		const agents = some("one", "two");
		const warnings: unknown[] = [];
		const log = { ...silent, warn: (_text: string, fields?: unknown) => void warnings.push(fields) };
		const file = (name: string) => join(dir, `${name}.json`);
		const write = (name: string, version: string) =>
			writeFile(file(name), JSON.stringify({ ...cardOf(1, demo.url), version }));
		await write("three", "1");
		await write("one", "1");
		const directory = agentsFromDirectory({ dir, agents, timeouts: config.timeouts, log, debounce: 10 });
		later.push(() => directory.close());
		await directory.ready;
		const version = (name: string) => {
			const body = agents.get(name)?.card("1.0")?.body.toString();
			return body === undefined ? undefined : (JSON.parse(body) as JsonObject)["version"];
		};
		await soon(() => expect(version("three")).toBe("1"));
		const kept = agents.get("three");
		// A name that the configuration has is not taken over.
		expect(JSON.stringify(warnings)).toContain("one.json");
		await soon(() => expect(version("one")).not.toBeUndefined());
		expect(version("one")).not.toBe("1");
		await write("three", "2");
		await soon(() => expect(version("three")).toBe("2"));
		expect(agents.get("three")).toBe(kept);
		await writeFile(file("three"), "{");
		await directory.scan();
		expect([version("three"), agents.get("three")?.ready]).toEqual(["2", true]);
		await rm(file("one"));
		await rm(file("three"));
		await soon(() => expect(agents.get("three")).toBeUndefined());
		expect(agents.get("one")).toBeDefined();
	});
});
