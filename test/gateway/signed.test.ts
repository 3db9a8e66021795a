import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentCard, verifyAgentCardSignature } from "@a2a-js/sdk";
import { importJWK } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { generateKey, privateJwk } from "../../src/card/keys.ts";
import { main } from "../../src/cli.ts";
import { loadConfig, silent } from "../../src/config/index.ts";
import { startDemo } from "../../src/demo/index.ts";
import { startGateway } from "../../src/gateway.ts";

const open: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
	for (const close of open.splice(0).reverse()) await close();
});

async function signedBy(...keys: readonly string[]): Promise<string> {
	const demo = await startDemo({ pace: 1 });
	open.push(() => demo.close());
	const argv = ["--agent", demo.url, "--listen", "127.0.0.1:0", ...keys.flatMap((file) => ["--signing-key", file])];
	const gateway = await startGateway(loadConfig(argv, { env: {}, cwd: process.cwd(), terminal: false }), {
		log: silent,
	});
	open.push(() => gateway.close());
	return gateway.url;
}

function keyFile(): { file: string; kid: string } {
	const folder = mkdtempSync(join(tmpdir(), "a2a-key-"));
	open.push(() => rmSync(folder, { recursive: true }));
	const key = generateKey("ES256");
	const file = join(folder, "key.jwk");
	writeFileSync(file, JSON.stringify(privateJwk(key)));
	chmodSync(file, 0o600);
	return { file, kid: key.kid };
}

const card = async (url: string, version?: string) =>
	(await (
		await fetch(`${url}/.well-known/agent-card.json`, {
			headers: version === undefined ? {} : { "a2a-version": version },
		})
	).json()) as {
		signatures?: { protected: string; signature: string }[];
	};

describe("a signed card", () => {
	it("names the key and where it is published", async () => {
		const { file, kid } = keyFile();
		const url = await signedBy(file);
		const jwks = await fetch(`${url}/.well-known/jwks.json`);
		expect(jwks.headers.get("cache-control")).toBe("public, max-age=300");
		const { keys } = (await jwks.json()) as { keys: { kid: string; d?: string }[] };
		expect(keys.map((k) => k.kid)).toEqual([kid]);
		expect(keys.every((k) => k.d === undefined)).toBe(true);
		const [signature] = (await card(url, "1.0")).signatures ?? [];
		const header = JSON.parse(Buffer.from(signature?.protected ?? "", "base64url").toString()) as object;
		expect(header).toMatchObject({ alg: "ES256", typ: "JOSE", kid, jku: `${url}/.well-known/jwks.json` });
		expect((await card(url, "0.3")).signatures).toBeUndefined();
	});

	it.each([["1.0"], [undefined]])("is accepted by the official verifier in form %s", async (version) => {
		const { file } = keyFile();
		const url = await signedBy(file);
		const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as { keys: object[] };
		const verify = verifyAgentCardSignature(async () => (await importJWK(keys[0] as never, "ES256")) as never);
		const signed = await card(url, version);
		await verify(signed as unknown as AgentCard);
		await expect(verify({ ...signed, name: "Another agent" } as unknown as AgentCard)).rejects.toThrow();
	});

	it("is verified by `card verify`, against the running gateway", async () => {
		expect(await main(["card", "verify", await signedBy(keyFile().file)])).toBe(0);
	});

	it("is refused by `card verify` once it is altered, with exit code 1 and a reason", async () => {
		const url = await signedBy(keyFile().file);
		const folder = mkdtempSync(join(tmpdir(), "a2a-card-"));
		open.push(() => rmSync(folder, { recursive: true }));
		const file = join(folder, "card.json");
		const text = await (
			await fetch(`${url}/.well-known/agent-card.json`, { headers: { "a2a-version": "1.0" } })
		).text();
		const said: string[] = [];
		const outputs = [process.stdout, process.stderr].map((stream) =>
			vi.spyOn(stream, "write").mockImplementation((chunk) => said.push(String(chunk)) > 0),
		);
		try {
			writeFileSync(file, text);
			expect(await main(["card", "verify", file, "--jwks", `${url}/.well-known/jwks.json`])).toBe(0);
			writeFileSync(file, text.replace("Demo agent", "Demo Agent"));
			expect(await main(["card", "verify", file, "--jwks", `${url}/.well-known/jwks.json`])).toBe(1);
		} finally {
			for (const output of outputs) output.mockRestore();
		}
		expect(said.join("")).toMatch(/valid: signed by the key[\s\S]*(invalid|not valid|altered|does not)/i);
	});

	it("is signed with a key of the process when none is given", async () => {
		expect(await main(["card", "verify", await signedBy()])).toBe(0);
	});
});
