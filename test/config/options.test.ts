/** Every option of the table is reachable in all its ways, comes before what it should, and says what it means. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readArgs } from "../../src/config/args.ts";
import type { Config } from "../../src/config/config.ts";
import { readFile } from "../../src/config/file.ts";
import { envName, type Option, options, table } from "../../src/config/options.ts";
import { loadConfig, resolveConfig, serveFlags } from "../../src/config/resolve.ts";

const dir = mkdtempSync(join(tmpdir(), "a2a-gateway-config-"));
const file = (name: string) => join(dir, name);
beforeAll(() => {
	writeFileSync(file("cert.pem"), "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n");
	writeFileSync(file("key.pem"), "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n");
	writeFileSync(file("card.json"), '{ "name": "x" }');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function load(sources: { argv?: string[]; env?: NodeJS.ProcessEnv; yaml?: string }): Config {
	const args = readArgs(sources.argv ?? [], serveFlags);
	const env = sources.env ?? {};
	const read = sources.yaml === undefined ? undefined : readFile(join(dir, "g.yaml"), sources.yaml, env);
	return resolveConfig({ args, env, cwd: dir, terminal: false }, read);
}

interface Sample {
	readonly option: Option;
	/** Three different values, as text. */
	readonly texts: readonly [string, string, string];
	readonly get: (config: Config) => unknown;
	readonly values: readonly [unknown, unknown, unknown];
}

const samples: readonly Sample[] = [
	{
		option: options.listen,
		texts: ["0.0.0.0:1", "localhost:2", "[::1]:0"],
		get: (c) => c.listen,
		values: [
			{ host: "0.0.0.0", port: 1 },
			{ host: "localhost", port: 2 },
			{ host: "::1", port: 0 },
		],
	},
	{
		option: options.publicUrl,
		texts: ["http://a", "https://b/x", "https://c:8/y/"],
		get: (c) => c.publicUrl,
		values: ["http://a/", "https://b/x", "https://c:8/y/"],
	},
	{
		option: options.cors,
		texts: ["*", "https://a", "http://b:1"],
		get: (c) => c.cors[0],
		values: ["*", "https://a", "http://b:1"],
	},
	{
		option: options.logLevel,
		texts: ["debug", "warn", "error"],
		get: (c) => c.log.level,
		values: ["debug", "warn", "error"],
	},
	{
		option: options.logFormat,
		texts: ["json", "pretty", "json"],
		get: (c) => c.log.format,
		values: ["json", "pretty", "json"],
	},
	{
		option: options.maxMessage,
		texts: ["1024", "2 MB", "1.5MiB"],
		get: (c) => c.limits.maxMessage,
		values: [1024, 2_000_000, 1_572_864],
	},
	{ option: options.maxDepth, texts: ["10", "50", "1000"], get: (c) => c.limits.maxDepth, values: [10, 50, 1000] },
	{ option: options.unary, texts: ["0", "1.5s", "2h"], get: (c) => c.timeouts.unary, values: [0, 1500, 7_200_000] },
	{ option: options.connect, texts: ["1ms", "2s", "1m"], get: (c) => c.timeouts.connect, values: [1, 2000, 60_000] },
	{ option: options.streamIdle, texts: ["0", "1s", "2s"], get: (c) => c.timeouts.streamIdle, values: [0, 1000, 2000] },
	{ option: options.body, texts: ["3s", "1s", "2s"], get: (c) => c.timeouts.body, values: [3000, 1000, 2000] },
	{ option: options.drain, texts: ["0", "1s", "2s"], get: (c) => c.timeouts.drain, values: [0, 1000, 2000] },
	{ option: options.keepAlive, texts: ["0", "1s", "2s"], get: (c) => c.sse.keepAlive, values: [0, 1000, 2000] },
	{ option: options.connections, texts: ["1", "2", "3"], get: (c) => c.upstream.connections, values: [1, 2, 3] },
	{
		option: options.cardForm,
		texts: ["1.0", "hybrid", "1.0"],
		get: (c) => c.cardForm,
		values: ["1.0", "hybrid", "1.0"],
	},
	{
		option: options.strict,
		texts: ["true", "false", "true"],
		get: (c) => c.strict,
		values: [true, false, true],
	},
	{
		option: options.agent,
		texts: ["http://a", "b=https://b/card.json", "c=http://u:p@c/?x=1"],
		get: (c) => `${c.agents[0]?.name} ${c.agents[0]?.url}`,
		values: ["default http://a/", "b https://b/card.json", "c http://u:p@c/?x=1"],
	},
];

describe("each option", () => {
	test("of the table has a sample, or is covered below", () => {
		const rest = [
			options.card,
			options.admin,
			options.agentsDir,
			options.signingKeys,
			options.state,
			options.tlsCert,
			options.tlsKey,
			options.webhookAllow,
			options.ca,
		];
		expect(new Set([...samples.map(({ option }) => option), ...rest])).toEqual(new Set(table));
	});

	test.each(samples.map((s) => [envName(s.option), s] as const))(
		"%s: flag, environment, file, default",
		(name, sample) => {
			const { option, texts, get, values } = sample;
			const [low, middle, high] = texts;
			const fallback = get(load({}));
			const yaml = yamlOf(option, low);
			expect(get(load({ yaml }))).toEqual(values[0]);
			expect(get(load({ yaml, env: { [name]: middle } }))).toEqual(values[1]);
			expect(get(load({ env: { [name]: "" } }))).toEqual(fallback);
			if (option.flag === undefined) return;
			const argv = [`--${option.flag}`, high];
			expect(get(load({ yaml, env: { [name]: middle }, argv }))).toEqual(values[2]);
			expect(get(load({ yaml, argv: [`--${option.flag}=${high}`] }))).toEqual(values[2]);
		},
	);

	test("has a name of its own in every place", () => {
		for (const names of [
			table.map(envName),
			table.flatMap(({ flag }) => flag ?? []),
			table.flatMap(({ key }) => key ?? []),
		]) {
			expect(new Set(names).size).toBe(names.length);
		}
	});
});

/** The option as a file has it: quoted where a list or a bare word could be misread. */
function yamlOf(option: Option, text: string): string {
	if (option === options.agent) return `agents: [{ url: ${JSON.stringify(text)} }]`;
	const value = option.many ? `[${JSON.stringify(text)}]` : JSON.stringify(text);
	return (option.key ?? "").split(".").reduceRight((inner, key) => `{ ${JSON.stringify(key)}: ${inner} }`, value);
}

test("defaults are the documented ones, frozen all through", () => {
	const config = load({});
	expect(config).toEqual({
		agents: [],
		listen: { host: "127.0.0.1", port: 8080 },
		admin: { host: "127.0.0.1", port: 9090 },
		adminGiven: false,
		agentsDir: undefined,
		publicUrl: undefined,
		signingKeys: [],
		state: "memory:",
		tls: undefined,
		cors: [],
		cardForm: "hybrid",
		strict: false,
		webhookAllow: [],
		log: { level: "info", format: "json" },
		limits: { maxMessage: 33_554_432, maxDepth: 100 },
		timeouts: { unary: 600_000, connect: 5_000, streamIdle: 0, body: 60_000, drain: 30_000 },
		sse: { keepAlive: 15_000 },
		upstream: { connections: 128, ca: undefined },
	});
	expect(Object.isFrozen(config) && Object.isFrozen(config.log) && Object.isFrozen(config.agents)).toBe(true);
	// The default that is shown is the default that is used.
	for (const option of table) {
		if (option.many || option.fallback === undefined || option === options.listen) continue;
		expect([option.key, option.kind.read(option.shown, dir)]).toEqual([option.key, option.fallback]);
	}
});

test("a terminal makes the log pretty unless told otherwise", () => {
	const args = readArgs([], serveFlags);
	const at = (env: NodeJS.ProcessEnv) => resolveConfig({ args, env, cwd: dir, terminal: true }, undefined).log.format;
	expect([at({}), at({ A2A_GATEWAY_LOG_FORMAT: "json" })]).toEqual(["pretty", "json"]);
});

test("lists: repeated flags, commas in the environment, lists in the file", () => {
	const wanted = ["https://a", "https://b"];
	expect(load({ argv: ["--cors", "https://a", "--cors=https://b"] }).cors).toEqual(wanted);
	expect(load({ env: { A2A_GATEWAY_CORS: "https://a, https://b" } }).cors).toEqual(wanted);
	expect(load({ yaml: "cors:\n  - https://a\n  - https://b\n" }).cors).toEqual(wanted);
});

test("files: relative to the working directory as flags, to the file in the file; content is read once", () => {
	const flags = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--card", "card.json", "--agent", "grpc://h:1"];
	const config = load({ argv: flags, yaml: "upstream: { ca: file:cert.pem }" });
	expect(config.tls?.cert.file).toBe(file("cert.pem"));
	expect(config.tls?.key.text).toContain("PRIVATE KEY");
	expect(config.upstream.ca?.text).toContain("CERTIFICATE");
	expect(config.agents).toMatchObject([{ name: "default", url: "grpc://h:1", card: { file: file("card.json") } }]);
	expect(load({ yaml: "agents: [{ card: ./card.json }]" }).agents[0]?.card?.text).toBe('{ "name": "x" }');
});

test("an agent's timeouts default to the general ones", () => {
	const yaml = "timeouts: { unary: 1s, connect: 2s }\nagents: [{ url: http://a, timeouts: { connect: 3s } }]";
	expect(load({ yaml }).agents[0]?.timeouts).toEqual({ unary: 1000, connect: 3000, streamIdle: 0 });
});

test("a card by flag joins the agent of the file, an agent by flag replaces the file's", () => {
	const yaml = "agents: [{ name: w, url: http://a, prefer: { binding: GRPC, version: 1.0 } }]";
	const joined = load({ yaml, argv: ["--card", "w=card.json"] }).agents;
	expect(joined).toMatchObject([
		{ name: "w", url: "http://a/", card: { text: '{ "name": "x" }' }, prefer: { binding: "GRPC", version: "1.0" } },
	]);
	expect(load({ yaml, argv: ["--agent", "http://b"] }).agents).toMatchObject([{ name: "default", url: "http://b/" }]);
	expect(load({ argv: ["--card", "card.json"] }).agents).toMatchObject([{ name: "default", url: undefined }]);
});

test("an agent's version may be any that is spoken, written as YAML likes it", () => {
	for (const version of ["1.0", "0.3", "0.2", "0.1"]) {
		const read = load({ yaml: `agents: [{ url: http://a, prefer: { version: ${version} } }]` });
		expect(read.agents[0]?.prefer.version).toBe(version);
	}
	expect(load({ yaml: "strict: true\ncardForm: 1.0" })).toMatchObject({ strict: true, cardForm: "1.0" });
});

test("references: variables with defaults and escapes, content of files, aliases", () => {
	writeFileSync(file("secret"), "http://from-file\n");
	const yaml = [
		"publicUrl: http://$" + "{HOST}:$" + "{PORT:-7}/x",
		"log:\n  level: $" + "{LEVEL:-warn}",
		"agents: [{ url: file:secret }]",
		"cors: ['http://$$" + "{x}']",
	].join("\n");
	const config = load({ yaml, env: { HOST: "h" } });
	expect(config.publicUrl).toBe("http://h:7/x");
	expect(config.log.level).toBe("warn");
	expect(config.agents[0]?.url).toBe("http://from-file/");
	expect(config.cors[0]).toContain("{x}");
	expect(load({ yaml: "sse: { keepAlive: &t 5s }\ntimeouts: { body: *t }" }).timeouts.body).toBe(5000);
});

test("--config and its variable name the file; the flag comes first", () => {
	writeFileSync(file("a.yaml"), "listen: 127.0.0.1:1");
	writeFileSync(file("b.yaml"), "listen: 127.0.0.1:2");
	const port = (argv: string[], env: NodeJS.ProcessEnv) =>
		loadConfig(argv, { env, cwd: dir, terminal: false }).listen.port;
	expect(port([], { A2A_GATEWAY_CONFIG: file("a.yaml") })).toBe(1);
	expect(port(["--config", file("b.yaml")], { A2A_GATEWAY_CONFIG: file("a.yaml") })).toBe(2);
});
