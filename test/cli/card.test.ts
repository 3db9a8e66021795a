/** `card get|verify|sign`, against files and a server that serves signed cards as the gateway does. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, describe, expect, test } from "vitest";
import { signable } from "../../src/card/canonical.ts";
import { generateKey, privateJwk } from "../../src/card/keys.ts";
import { signAndCheck } from "../../src/card/signature.ts";
import { card } from "../../src/cli/card.ts";
import { hybridCard, lowerCard } from "../../src/dialect/v0_3/card.ts";
import { sdkVerify, vector1 } from "../card/sign-support.ts";
import { type Answer, cardV1, json, serve } from "../card/support.ts";
import { inside } from "./inside.ts";

const dir = mkdtempSync(join(tmpdir(), "a2a-gateway-card-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let count = 0;
function file(content: unknown, mode = 0o600): string {
	const path = join(dir, `${count++}.json`);
	writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
	chmodSync(path, mode);
	return path;
}

const key = generateKey();
const privateFile = file(privateJwk(key));
const publicFile = file(key.jwk);

/** A gateway's documents: the card by version, the key set. */
async function gateway(change: (card: JsonObject) => JsonObject = (same) => same) {
	let base = "";
	const signedFor = (of: JsonObject) => signAndCheck(signable(of), [key], { jku: `${base}/.well-known/jwks.json` });
	const answer: Answer = (req, res) => {
		const version = req.headers["a2a-version"];
		const respond = async () => {
			if (version === "0.3") return lowerCard(cardV1);
			return change(await signedFor(version === "1.0" ? cardV1 : hybridCard(cardV1)));
		};
		respond().then(
			(body) => json(body)(req, res),
			() => res.destroy(),
		);
	};
	const server = await serve({
		"/.well-known/agent-card.json": answer,
		"/.well-known/agent.json": json({ name: "old", url: "https://gh.example/a2a" }),
		"/.well-known/jwks.json": json({ keys: [key.jwk] }),
	});
	base = server.url;
	return server;
}

describe("get", () => {
	test.each([
		[[], { supportedInterfaces: cardV1["supportedInterfaces"] }],
		[["--protocol", "1.0"], { supportedInterfaces: cardV1["supportedInterfaces"] }],
		[["--protocol", "0.3"], { protocolVersion: "0.3.0", url: "https://gh.example/a2a" }],
		[["--protocol", "hybrid"], { protocolVersion: "0.3.0", supportedInterfaces: cardV1["supportedInterfaces"] }],
		[["--protocol", "0.2"], { name: "old" }],
		[["--protocol", "0.1"], { name: "old" }],
	])("%j", async (flags, wanted) => {
		await using server = await gateway();
		const got = await inside(card, ["get", server.url, ...flags]);
		expect([got.code, got.stderr]).toEqual([0, ""]);
		expect(JSON.parse(got.stdout)).toMatchObject(wanted);
	});
	test("headers go along; what is printed drives no terminal and reads back as it was", async () => {
		const odd = { ...cardV1, name: "\u009b31m\u007f" };
		await using server = await serve({ "/x/agent-card.json": json(odd) });
		const got = await inside(card, ["get", `${server.url}/x/agent-card.json`, "--header", "Authorization: Bearer t"]);
		expect(server.requests[0]?.headers.authorization).toBe("Bearer t");
		expect(got.stdout).not.toMatch(/[\u007f-\u009f]/);
		expect(JSON.parse(got.stdout)).toEqual(odd);
	});
	test("nothing there", async () => {
		await using server = await serve({});
		const got = await inside(card, ["get", server.url]);
		expect([got.code, got.stdout]).toEqual([1, ""]);
		expect(got.stderr).toMatch(/^error: no agent card found: .*HTTP 404/);
	});
});

describe("verify", () => {
	test.each([[[]], [["--protocol", "hybrid"]]])("a gateway's card by its own keys %j", async (flags) => {
		await using server = await gateway();
		const got = await inside(card, ["verify", server.url, ...flags]);
		expect(got).toEqual({ code: 0, stdout: `valid: signed by the key ${key.kid}\n`, stderr: "" });
	});
	test.each<[string, (card: JsonObject) => JsonObject, RegExp]>([
		["a changed member", (c) => ({ ...c, version: "2.1.1" }), /^invalid: .*altered/],
		["a removed member", ({ securitySchemes: _, ...c }) => c, /altered/],
		["no signatures", ({ signatures: _, ...c }) => c, /^invalid: the card is not signed\n$/],
	])("%s", async (_, change, reason) => {
		await using server = await gateway(change);
		const got = await inside(card, ["verify", server.url]);
		expect([got.code, got.stdout]).toEqual([1, ""]);
		expect(got.stderr).toMatch(reason);
	});
	test("a changed member of v0.3 in a hybrid card", async () => {
		await using server = await gateway((c) => ({ ...c, url: "https://evil.example" }));
		const got = await inside(card, ["verify", server.url, "--protocol", "hybrid"]);
		expect([got.code, got.stdout]).toEqual([1, ""]);
		expect(got.stderr).toMatch(/members that v1\.0 does not know were altered/);
	});
	test("keys from a file, a URL, or an allowed jku", async () => {
		await using server = await gateway();
		const jwks = file({ keys: [key.jwk] });
		for (const flags of [
			["--key", publicFile],
			["--jwks", jwks],
			["--jwks", `${server.url}/.well-known/jwks.json`],
			["--allow-jku", server.url],
		]) {
			expect(await inside(card, ["verify", server.url, ...flags])).toMatchObject({ code: 0 });
		}
		const wrong = await inside(card, ["verify", server.url, "--key", file(generateKey().jwk)]);
		expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("unknown key") });
	});
	test("a file, also the reference's with a key that has no name", async () => {
		const signed = file({
			...vector1.card,
			signatures: [{ protected: vector1.protected, signature: vector1.signature }],
		});
		const got = await inside(card, ["verify", signed, "--key", file(vector1.jwk)]);
		expect(got).toEqual({ code: 0, stdout: "valid: signed by the key gh-1\n", stderr: "" });
		const without = await inside(card, ["verify", signed]);
		expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining("no keys are configured") });
	});
	test("JSON", async () => {
		await using server = await gateway();
		const got = await inside(card, ["verify", server.url, "--json"]);
		expect(JSON.parse(got.stdout)).toMatchObject({ valid: true, kid: key.kid, uncovered: [] });
	});
});

describe("sign", () => {
	test("what it prints is verified by the SDK and by verify", async () => {
		const unsigned = file({ ...cardV1, iconUrl: "" });
		const got = await inside(card, ["sign", unsigned, "--key", privateFile, "--jku", "https://k.example/jwks.json"]);
		expect([got.code, got.stderr]).toEqual([0, ""]);
		expect(await sdkVerify(JSON.parse(got.stdout), [key])).toBeUndefined();
		expect(await inside(card, ["verify", file(got.stdout), "--key", publicFile, "--strict"])).toMatchObject({
			code: 0,
		});
	});
	test("a card of v0.3 is refused", async () => {
		const got = await inside(card, ["sign", file(lowerCard(cardV1)), "--key", privateFile]);
		expect(got).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("no v1.0 card") });
	});
});

test.each([
	[[], /^card: needs one of get, verify, sign/],
	[["steal"], /^card: needs one of/],
	[["get"], /needs one URL/],
	[["get", "ftp://x"], /must start with http/],
	[["get", "http://127.0.0.1:1", "--protocol", "9"], /^--protocol: must be one of 1\.0, 0\.3/],
	[["get", "http://127.0.0.1:1", "--header", "x"], /^--header: must be/],
	[["verify"], /needs one URL or FILE/],
	[["verify", "/nonexistent.json"], /cannot read .*no such file/],
	[["verify", publicFile, "--key", "/nonexistent.json"], /cannot read it: no such file/],
	[["verify", publicFile, "--allow-jku", "a/b"], /no host, origin or URL/],
	[["sign", publicFile], /needs --key FILE/],
	[["sign", publicFile, "--key", publicFile], /holds no private key/],
	[["sign", publicFile, "--key", file(privateJwk(key), 0o644)], /chmod 600/],
	[["sign", publicFile, "--key", privateFile, "--jku", "x"], /^--jku: URL must start/],
])("usage: %j", async (argv, message) => {
	const got = await inside(card, argv);
	expect([got.code, got.stdout]).toEqual([2, ""]);
	expect(got.stderr).toMatch(message);
});

test("help", () => expect(card.help()).toContain("--allow-jku"));
