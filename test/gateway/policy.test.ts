/** The operator's word on the card, through the running gateway; and what `card verify` makes of any change to it (§4.4, §8.4). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPublic } from "../../src/card/sign-jwk.ts";
import { verify } from "../../src/card/signature.ts";
import { main } from "../../src/cli.ts";
import { ConfigError, checkFile, silent, withAgents } from "../../src/config/index.ts";
import { startDemo } from "../../src/demo/index.ts";
import { type Gateway, startGateway } from "../../src/gateway.ts";
import { ready } from "../peer/gateway.ts";

const YAML = `
agents:
  - name: bed
    url: AGENT
    project:
      name: Garden
      provider: { organization: Gardeners, url: https://gardeners.example }
      iconUrl: https://gardeners.example/icon.png
      skills:
        - { id: dig, name: Digging, description: Digs, tags: [garden] }
      securitySchemes:
        key: { apiKeySecurityScheme: { location: header, name: X-Key } }
      securityRequirements:
        - { schemes: { key: { list: [] } } }
listen: 127.0.0.1:0
admin: "off"
`;
const dir = mkdtempSync(join(tmpdir(), "a2a-policy-"));
const file = join(dir, "g.yaml");
const closing: (() => Promise<unknown>)[] = [];
let gateway: Gateway;

beforeAll(async () => {
	const demo = await startDemo({ pace: 1 });
	closing.push(() => demo.close());
	writeFileSync(file, YAML.replace("AGENT", demo.url));
	const config = checkFile(file, {});
	gateway = await startGateway(withAgents(config, config.agents), { log: silent });
	closing.push(() => gateway.close());
	await ready(gateway.url);
});
afterAll(async () => {
	for (const close of closing.reverse()) await close();
	rmSync(dir, { recursive: true });
});

const card = async (version?: string) => {
	const headers: Record<string, string> = version === undefined ? {} : { "a2a-version": version };
	return (await fetch(`${gateway.url}/.well-known/agent-card.json`, { headers })).text();
};

describe("the card", () => {
	it("is what the operator says, in every form, and signed", async () => {
		for (const version of ["1.0", "0.3", undefined]) {
			const shown = JSON.parse(await card(version)) as JsonObject & { skills: { id: string }[] };
			expect(shown).toMatchObject({ name: "Garden", provider: { organization: "Gardeners" } });
			expect(shown.skills.map(({ id }) => id)).toContain("dig");
			expect(Object.keys(shown["securitySchemes"] as JsonObject)).toEqual(["key"]);
		}
		expect(await main(["card", "verify", gateway.url])).toBe(0);
	});

	it.each([["1.0"], [undefined]])(
		"fails verification after any change of one character, in form %s",
		async (version) => {
			const text = await card(version);
			const keys = readPublic(await (await fetch(`${gateway.url}/.well-known/jwks.json`)).text(), "jwks");
			const missed: string[] = [];
			await fc.assert(
				fc.asyncProperty(fc.nat(text.length - 1), fc.constantFrom(...'aZ09 _"{}[],:.-/\u00e4'), async (at, put) => {
					if (text[at] === put) return;
					const changed = text.slice(0, at) + put + text.slice(at + 1);
					let json: JsonObject;
					try {
						json = JSON.parse(changed) as JsonObject;
					} catch {
						return;
					}
					const { valid, reason } = await verify(json, () => keys);
					if (valid) missed.push(changed.slice(Math.max(0, at - 30), at + 30));
					else expect(reason).not.toBe("");
				}),
				{ numRuns: 400 },
			);
			expect(missed).toEqual([]);
		},
	);
});

describe("mistakes", () => {
	it("are told with line and column", () => {
		const bad = join(dir, "bad.yaml");
		writeFileSync(
			bad,
			YAML.replace("AGENT", "http://127.0.0.1:1")
				.replace("tags: [garden]", "tag: [garden]")
				.replace("name: X-Key", "nam: X-Key"),
		);
		let told = "";
		try {
			checkFile(bad, {});
		} catch (error) {
			told = error instanceof ConfigError ? error.message : String(error);
		}
		expect(told).toMatch(
			/bad\.yaml:10:\d+: agents\[0\]\.project\.skills\[0\]\.tag: unknown field \(did you mean tags\?\)/,
		);
		expect(told).toMatch(
			/bad\.yaml:12:\d+: agents\[0\]\.project\.securitySchemes\.key\.apiKeySecurityScheme\.nam: unknown field/,
		);
	});
});
