/** The house stands as drawn (docs/architecture.md): layers, no cycles, no operation names, no foreign imports, no long files. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { cycles, foreignImports, layers, layerViolations, longFiles, operationNames } from "./rules.ts";
import { importsOf, readSources, withoutComments } from "./source.ts";

const sources = readSources("src");
const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
	dependencies: Record<string, string>;
};
const dependencies = Object.keys(manifest.dependencies);
const rpcs = A2AService.methods.map((method) => method.name);

describe("the source", () => {
	test("is there", () => {
		expect(sources.size).toBeGreaterThan(20);
		expect(rpcs.length).toBe(11);
		expect([...sources.values()].flatMap(importsOf).length).toBeGreaterThan(100);
	});
	test("imports only from layers before", () => expect(layerViolations(sources)).toEqual([]));
	test("has no import cycles", () => expect(cycles(sources)).toEqual([]));
	test("imports only run-time dependencies", () => expect(foreignImports(sources, dependencies)).toEqual([]));
	test("has no file over 350 lines", () => expect(longFiles(sources, 350)).toEqual([]));
	test("names at most two operations outside the dialects", () => {
		const found = operationNames(sources, rpcs);
		expect(found.length, found.join("\n")).toBeLessThanOrEqual(2);
	});
});

const of = (files: Record<string, string>): ReadonlyMap<string, string> => new Map(Object.entries(files));

describe("each rule can fail", () => {
	test("layers", () => {
		const up = 'import { x } from "../core/relay.ts";';
		expect(layerViolations(of({ "src/call/a.ts": up }))).toEqual(["src/call/a.ts → src/core/relay.ts"]);
		expect(layerViolations(of({ "src/binding/grpc/a.ts": 'import type { X } from "../../core/relay.ts";' }))).toEqual([
			"src/binding/grpc/a.ts → src/core/relay.ts",
		]);
		expect(layerViolations(of({ "src/core/a.ts": 'const m = await import("../binding/grpc/index.ts");' }))).toEqual([
			"src/core/a.ts → src/binding/grpc/index.ts",
		]);
		expect(layerViolations(of({ "src/core/a.ts": 'import "../../test/peer/x.ts";' }))).toEqual([
			"src/core/a.ts → test/peer/x.ts",
		]);
		expect(layerViolations(of({ "src/misc/a.ts": "" }))).toEqual(["src/misc/a.ts is in no layer"]);
		expect(layerViolations(of({ "src/dialect/dialect.ts": 'import "../core/a.ts";' }))).toHaveLength(1);
	});
	test("layers let through what they should", () => {
		const fine = of({
			"src/core/a.ts": 'import type { Upstream } from "../binding/binding.ts";\nimport { b } from "../call/b.ts";',
			"src/binding/grpc/a.ts": 'import { f } from "../../wire/f.ts";\nimport { x } from "../../../gen/a_pb.ts";',
			"src/gateway.ts": 'import { relay } from "./core/relay.ts";',
			"src/cli/serve.ts": 'import { startGateway } from "../gateway.ts";',
		});
		expect(layerViolations(fine)).toEqual([]);
		expect(new Set(layers).size).toBe(layers.length);
	});
	test("cycles", () => {
		const ring = of({
			"src/call/a.ts": 'import { b } from "./b.ts";',
			"src/call/b.ts": 'export type { C } from "./c.ts";',
			"src/call/c.ts": 'import type { A } from "./a.ts";',
			"src/call/d.ts": 'import { a } from "./a.ts";',
		});
		expect(cycles(ring)).toEqual(["src/call/a.ts → src/call/b.ts → src/call/c.ts → src/call/a.ts"]);
	});
	test("operation names, in identifiers and strings but not in comments or longer names", () => {
		const [first = "", second = ""] = rpcs;
		const camel = second.charAt(0).toLowerCase() + second.slice(1);
		const text = `
			// ${first} is fine here, and "${first}"
			/* ${first} */
			if (method.name === "${first}") handler.${camel}(x);
			import { ${first}RequestSchema } from "../../gen/a_pb.ts";
			const route = \`/svc/${second}\`; // ${second}
			const quote = /["'\`]/; const it = ${camel};
		`;
		expect(operationNames(of({ "src/core/a.ts": text }), rpcs)).toEqual([
			`src/core/a.ts: ${first}`,
			`src/core/a.ts: ${camel}`,
			`src/core/a.ts: ${second}`,
			`src/core/a.ts: ${camel}`,
		]);
		expect(operationNames(of({ "src/dialect/v1/a.ts": text }), rpcs)).toEqual([]);
	});
	test("foreign imports", () => {
		const text = `
			import express from "express";
			import { Client } from "@a2a-js/sdk/client";
			import { Hono } from "hono";
			import { codec } from "@bufbuild/protobuf/wire";
			import { readFile } from "node:fs/promises";
			import fs from "fs";
		`;
		expect(foreignImports(of({ "src/core/a.ts": text }), dependencies)).toEqual([
			"src/core/a.ts: express",
			"src/core/a.ts: @a2a-js/sdk/client",
			"src/core/a.ts: fs",
		]);
	});
	test("long files", () => {
		expect(longFiles(of({ "src/a.ts": "x\n".repeat(351) }), 350)).toEqual(["src/a.ts: 351 lines"]);
		expect(longFiles(of({ "src/a.ts": "x\n".repeat(350) }), 350)).toEqual([]);
	});
	test("comments are told from what looks like them", () => {
		const text = 'const url = "http://x"; const a = `//b`; const r = /\\/\\//; /* gone */ const c = 1; // gone';
		expect(withoutComments(text)).toBe('const url = "http://x"; const a = `//b`; const r = /\\/\\//;   const c = 1;  ');
		const many = 'import {\n\ta,\n\ttype B,\n} from "./a.ts";\nexport * as c from "./c.ts";\nimport "./d.ts";\n';
		expect(importsOf(many)).toEqual(["./a.ts", "./c.ts", "./d.ts"]);
	});
});
