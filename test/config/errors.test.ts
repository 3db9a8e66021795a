/** Mistakes are told where they are: line and column in a file, the flag, the variable; all at once, and without values. */
import { describe, expect, test } from "vitest";
import { readArgs } from "../../src/config/args.ts";
import { readFile } from "../../src/config/file.ts";
import { ConfigError } from "../../src/config/problem.ts";
import { resolveConfig, serveFlags } from "../../src/config/resolve.ts";

function errors(argv: string[], env: NodeJS.ProcessEnv, yaml?: string): string[] {
	try {
		const args = readArgs(argv, serveFlags);
		const read = yaml === undefined ? undefined : readFile("g.yaml", yaml, env);
		resolveConfig({ args, env, cwd: "/", terminal: false }, read);
		return [];
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		return error.message.split("\n");
	}
}

const REF = "$" + "{NOPE}";

describe("a file", () => {
	const table: [name: string, yaml: string, wanted: string[]][] = [
		[
			"bad value",
			"\n\nlisten:   8080",
			["g.yaml:3:11: listen: must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080"],
		],
		[
			"port too large",
			"listen: a:65536",
			["g.yaml:1:9: listen: must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080"],
		],
		["unknown field", "lisen: a:1", ["g.yaml:1:1: lisen: unknown field (did you mean listen?)"]],
		["unknown nested field", "tls:\n  zertifikat: x", ["g.yaml:2:3: tls.zertifikat: unknown field"]],
		[
			"unknown agent field",
			"agents:\n  - ulr: http://a\n    card: x",
			["g.yaml:2:5: agents[0].ulr: unknown field (did you mean url?)", "g.yaml:3:11: agents[0].card: cannot read"],
		],
		[
			"several, in order",
			"cors: 1\nlog: { level: loud }",
			["g.yaml:1:7: cors: must be a list", "g.yaml:2:15: log.level: must be one of debug, info, warn, error"],
		],
		["syntax", "listen: [a", ["g.yaml:1:11: Flow sequence"]],
		["duplicate key", "state: 'memory:'\nstate: 'memory:'", ["g.yaml:2:1: Map keys must be unique"]],
		["second document", "state: 'memory:'\n---\nx: 1", ["g.yaml:2:1: Source contains multiple documents"]],
		["no mapping", "- a", ["g.yaml:1:1: must be a mapping of fields"]],
		["scalar for a section", "log: info", ["g.yaml:1:6: log: must be a mapping"]],
		["list for a scalar", "listen: [a:1]", ["g.yaml:1:9: listen: must be a single value"]],
		["nothing for a scalar", "listen:", ["g.yaml:1:1: listen: has no value"]],
		[
			"variable not set",
			`agents:\n  - name: a\n    url: http://${REF}`,
			["g.yaml:3:10: agents[0].url: environment variable NOPE is not set"],
		],
		["bad reference", "publicUrl: http://$" + "{a b}", ["g.yaml:1:12: publicUrl: $" + "{a b} is not a reference"]],
		[
			"secret's file missing",
			"state: file:/nonexistent/x",
			["g.yaml:1:8: state: cannot read /nonexistent/x: no such file"],
		],
		["no unit", "timeouts: { unary: 30 }", ["g.yaml:1:20: timeouts.unary: must be a duration with a unit"]],
		["zero where it makes no sense", "timeouts: { connect: 0 }", ["g.yaml:1:22: timeouts.connect: must be a duration"]],
		["longer than a timer", "timeouts: { unary: 1000h }", ["g.yaml:1:20: timeouts.unary: must be a duration"]],
		[
			"size out of range",
			"limits: { maxMessage: 2GiB }",
			["g.yaml:1:23: limits.maxMessage: must be a size from 1KiB to 512MiB"],
		],
		[
			"no integer",
			"limits: { maxDepth: 10.5 }",
			["g.yaml:1:21: limits.maxDepth: must be a whole number from 10 to 1000"],
		],
		["no origin", "cors: [https://a/path]", ["g.yaml:1:8: cors[0]: must be an origin"]],
		["agent without place", "agents: [{ name: a }]", ["g.yaml:1:10: agents[0]: an agent needs a url or a card"]],
		[
			"agent's name",
			"agents: [{ name: A_b, url: http://a }]",
			["g.yaml:1:18: agents[0].name: an agent's name is made of a-z, 0-9 and -"],
		],
		[
			"gRPC without card",
			"agents: [{ url: grpc://a:1 }]",
			["g.yaml:1:10: agents[0]: a gRPC address has no card to discover"],
		],
		[
			"same name twice",
			"agents: [{ url: http://a }, { url: http://b }]",
			['g.yaml:1:29: agents[1]: there are two agents named "default"'],
		],
		[
			"other scheme",
			"agents: [{ url: ftp://a }]",
			["g.yaml:1:17: agents[0].url: must be an absolute URL (http://, https://, grpc://, grpcs://)"],
		],
		["agents no list", "agents: { url: http://a }", ["g.yaml:1:9: agents: must be a list"]],
		["agent no mapping", "agents: [http://a]", ["g.yaml:1:10: agents[0]: must be a mapping"]],
		[
			"later: state",
			"state: sqlite:x",
			["g.yaml:1:8: state: durable state (sqlite:, postgres:) is not in this build yet"],
		],
	];
	test.each(table)("%s", (_name, yaml, wanted) => {
		const got = errors([], {}, yaml);
		expect(got.map((line, i) => line.slice(0, wanted[i]?.length))).toEqual(wanted);
	});

	test.each(["", "# nothing\n", "agents:\n", "tls:\nlog:\n"])("empty, or empty in places: %j", (yaml) => {
		expect(errors([], {}, yaml)).toEqual([]);
	});

	test("never repeats a value: it may be a secret", () => {
		const yaml = "state: $" + "{DB}\npublicUrl: $" + "{DB}\nlisten: $" + "{DB}";
		const text = errors([], { DB: "hunter2-secret" }, yaml).join("\n");
		expect(text).toContain("g.yaml:1:8");
		expect(text).not.toContain("hunter2");
	});
});

describe("flags and variables", () => {
	const table: [argv: string[], env: NodeJS.ProcessEnv, wanted: string[]][] = [
		[["--lisen", "a:1"], {}, ["--lisen: unknown flag (did you mean --listen?)"]],
		[["--zzz"], {}, ["--zzz: unknown flag"]],
		[["-x"], {}, ["-x: unknown flag"]],
		[["--listen"], {}, ["--listen: needs a value"]],
		[["--listen", "--admin", "off"], {}, ["--listen: needs a value"]],
		[["--listen", "a:1", "--listen", "a:2"], {}, ["--listen: may be given only once"]],
		[["--listen", "8080"], {}, ["--listen: must be HOST:PORT"]],
		[[], { A2A_GATEWAY_LISTEN: "8080" }, ["A2A_GATEWAY_LISTEN: must be HOST:PORT"]],
		[["--help=x"], {}, ["--help: takes no value"]],
		[["--tls-cert", "/nonexistent"], {}, ["--tls-cert: cannot read /nonexistent: no such file"]],
		[["--agent", "http://a", "--card", "b=/dev/null"], {}, ["--card: /dev/null: is not JSON"]],
		[["--agent", "A=http://a"], {}, ["--agent: an agent's name is made of"]],
		[["--public-url", "https://u:p@h"], {}, ["--public-url: must not hold credentials"]],
		[["--agent", "http://a", "--agent", "http://b"], {}, ['--agent: there are two agents named "default"']],
		[["--state", "sqlite:x"], {}, ["--state: durable state"]],
		[["--state", "postgres://h/d"], {}, ["--state: durable state"]],
		[["--state", "redis:x"], {}, ["--state: must be memory:, sqlite:PATH or postgres://..."]],
		[["--webhook-allow", "10.0.0.0/8"], {}, ["--webhook-allow: push brokering is not in this build yet"]],
		[["--webhook-allow", "10.0.0.0/33"], {}, ["--webhook-allow: must be an address range"]],
		[["--card-form", "0.3"], {}, ["--card-form: must be one of hybrid, 1.0"]],
		[["--strict", "yes"], {}, ["--strict: must be true or false"]],
		[["--state", "memory:", "--admin", "off", "--card-form", "1.0"], {}, []],
		[["--card-form", "hybrid", "--strict", "true"], {}, []],
	];
	test.each(table)("%j %j", (argv, env, wanted) => {
		const got = errors(argv, env);
		// Two further mistakes follow from some of these; the first is the one meant.
		expect(got.slice(0, Math.max(wanted.length, 0)).map((line, i) => line.slice(0, wanted[i]?.length))).toEqual(wanted);
		expect(got.length === 0).toBe(wanted.length === 0);
	});
});
