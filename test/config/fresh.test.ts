/** What is derived from the option table is in the repository as derived: README, JSON Schema, documented defaults. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { flagHelp, jsonSchema, markdown } from "../../src/config/describe.ts";
import { agentTable, table } from "../../src/config/options.ts";
import { checkFile } from "../../src/config/resolve.ts";

const text = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");

test("README.md has the table (npm run generate)", () => {
	expect(text("README.md")).toContain(`npm run generate -->\n${markdown()}\n<!-- /options -->`);
});

test("schema/config.schema.json is the schema (npm run generate)", () => {
	expect(JSON.parse(text("schema/config.schema.json"))).toEqual(JSON.parse(JSON.stringify(jsonSchema())));
});

test("the schema has every field and only usable patterns", () => {
	const schema = text("schema/config.schema.json");
	for (const option of [...table, ...agentTable]) {
		const name = option.key?.split(".").at(-1);
		if (name !== undefined) expect(schema).toContain(`"${name}"`);
	}
	for (const [, pattern = ""] of schema.matchAll(/"pattern": ("(?:[^"\\]|\\.)*")/g)) {
		expect(() => new RegExp(JSON.parse(pattern), "u")).not.toThrow();
	}
});

test("the schema's patterns accept the defaults", () => {
	for (const option of table) {
		const pattern = option.kind.schema["pattern"];
		if (typeof pattern === "string" && option.fallback !== undefined && !option.many) {
			expect(option.shown).toMatch(new RegExp(pattern, "u"));
		}
	}
});

test("the help names every flag once", () => {
	for (const { flag } of table) if (flag) expect(flagHelp().split(`  --${flag} `)).toHaveLength(2);
});

test("config.ts documents each default as the table has it", () => {
	const source = text("src/config/config.ts");
	for (const option of table) {
		if (option.many || option.fallback === undefined || option.key === "listen") continue;
		expect(source).toContain(`Default: ${option.shown}`);
	}
});

test("the README's configuration is valid", () => {
	const yaml = /```yaml\n(# yaml-language-server[\s\S]*?)```/.exec(text("README.md"))?.[1] ?? "";
	const dir = mkdtempSync(join(tmpdir(), "a2a-gateway-readme-"));
	try {
		writeFileSync(join(dir, "server.crt"), "-----BEGIN CERTIFICATE-----\n");
		writeFileSync(join(dir, "server.key"), "-----BEGIN PRIVATE KEY-----\n");
		writeFileSync(join(dir, "g.yaml"), yaml);
		const config = checkFile(join(dir, "g.yaml"), {});
		expect(config.agents[0]).toMatchObject({ name: "weather", url: "http://127.0.0.1:9000/" });
	} finally {
		rmSync(dir, { recursive: true, force: true });
	}
});
