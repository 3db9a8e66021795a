/** Signing keys change while clients read cards: one that honours cache headers never holds a card it cannot verify (G30, G41). */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { generateKey, privateJwk } from "../../src/card/keys.ts";
import { readPublic, type SigningKey } from "../../src/card/sign-jwk.ts";
import { type Verdict, verify } from "../../src/card/signature.ts";
import { type Log, loadConfig, silent } from "../../src/config/index.ts";
import { startDemo } from "../../src/demo/index.ts";
import { startGateway } from "../../src/gateway.ts";
import { ready } from "../peer/gateway.ts";

const open: (() => Promise<unknown> | unknown)[] = [];
// The gateway's clock and its look at the files, nothing that sockets live by.
beforeEach(() => {
	vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
});
afterEach(async () => {
	for (const close of open.splice(0).reverse()) await close();
	vi.useRealTimers();
});

const SECOND = 1_000;

/** A document as HTTP caches keep it: until its max-age has gone by, then asked for with its validator. */
function cached(url: string, slow: number, header: Record<string, string> = {}) {
	let kept: { text: string; until: number; etag: string } | undefined;
	let requests = 0;
	return {
		get requests() {
			return requests;
		},
		async get(): Promise<string> {
			if (kept && Date.now() < kept.until) return kept.text;
			requests += 1;
			const answer = await fetch(url, { headers: { ...header, ...(kept && { "if-none-match": kept.etag }) } });
			const age = Number(/max-age=(\d+)/.exec(answer.headers.get("cache-control") ?? "")?.[1]);
			expect(age).toBeGreaterThan(0);
			const body = await answer.text();
			expect([200, 304]).toContain(answer.status);
			const text = answer.status === 304 && kept ? kept.text : body;
			// Counted from when it came, as simple clients do, `slow` after it was written.
			kept = { text, until: Date.now() + slow + age * SECOND, etag: answer.headers.get("etag") ?? "" };
			return text;
		},
	};
}

/** Verifying is costly, and most clients hold the same documents. */
const verdicts = new Map<string, Promise<Verdict>>();
function verdictOf(card: string, jwks: string): Promise<Verdict> {
	const id = `${card}\n${jwks}`;
	const found = verdicts.get(id) ?? verify(JSON.parse(card) as JsonObject, () => readPublic(jwks, "jwks"));
	verdicts.set(id, found);
	return found;
}

/** A client that never asks for anything before its time is over. */
function client(url: string, slow: number, version?: string) {
	const header: Record<string, string> = version === undefined ? {} : { "a2a-version": version };
	const card = cached(`${url}/.well-known/agent-card.json`, slow, header);
	const keys = cached(`${url}/.well-known/jwks.json`, slow);
	const kids = new Set<string>();
	return {
		card,
		keys,
		kids,
		/** `newest`: the card as it is now; without it, as the cache has it. The keys first: the worse order, they are the older. */
		async look(newest?: string): Promise<string | undefined> {
			const known = await keys.get();
			const { valid, reason, kid } = await verdictOf(newest ?? (await card.get()), known);
			if (valid && kid !== undefined) kids.add(kid);
			return valid ? undefined : reason;
		},
	};
}

async function rotating(files: readonly string[], log: Log = silent): Promise<string> {
	const demo = await startDemo({ pace: 1 });
	open.push(() => demo.close());
	const argv = [
		"--agent",
		demo.url,
		"--listen",
		"127.0.0.1:0",
		"--admin",
		"off",
		...files.flatMap((file) => ["--signing-key", file]),
	];
	const gateway = await startGateway(loadConfig(argv, { env: {}, cwd: "/", terminal: false }), { log });
	open.push(() => gateway.close());
	await ready(gateway.url);
	return gateway.url;
}

function folder() {
	const at = mkdtempSync(join(tmpdir(), "a2a-rotation-"));
	open.push(() => rmSync(at, { recursive: true }));
	return {
		path: (name: string) => join(at, name),
		/** As operators are told to: by renaming. */
		put(name: string, key: SigningKey | string) {
			const text = typeof key === "string" ? key : JSON.stringify(privateJwk(key));
			writeFileSync(join(at, "new"), text, { mode: 0o600 });
			renameSync(join(at, "new"), join(at, name));
		},
	};
}

it("rotates keys under traffic, and no client ever holds a card it cannot verify", async () => {
	const [a, b, c, d] = [generateKey(), generateKey("EdDSA"), generateKey("PS256"), generateKey()];
	const dir = folder();
	dir.put("first", a);
	dir.put("second", b);
	const url = await rotating([dir.path("first"), dir.path("second")]);
	// Begun at different times, so that caches end at different times; some behind slow lines.
	const clients = Array.from({ length: 48 }, (_, i) =>
		client(url, (i % 4) * 7 * SECOND, i % 3 === 0 ? "1.0" : undefined),
	);
	const changes: Readonly<Record<number, () => void>> = {
		// A new key in the place of the one that signs.
		20: () => dir.put("first", c),
		// Another in its place before it ever signed.
		35: () => dir.put("first", d),
		90: () => dir.put("second", "not a key"),
		// The first goes back, the other with it: each is published already.
		130: () => {
			dir.put("first", b);
			dir.put("second", d);
		},
		// A key that was in use comes back.
		180: () => dir.put("first", a),
		240: () => dir.put("first", c),
	};
	const failures: string[] = [];
	const published = new Set<string>();
	for (let step = 0; step < 320; step++) {
		changes[step]?.();
		vi.advanceTimersByTime(7 * SECOND);
		// What the clock has set off is done when the card is asked for: the worst moment is the first with a new signature.
		await new Promise((resolve) => setTimeout(resolve, 4));
		const newest = await (await fetch(`${url}/.well-known/agent-card.json`)).text();
		await Promise.all(
			clients.map(async (one, i) => {
				if (step < i) return;
				// Every other one wants the card anew each time and keeps only the keys.
				const reason = await one.look(i % 8 < 4 ? newest : undefined);
				if (reason !== undefined) failures.push(`client ${i} at step ${step}: ${reason}`);
			}),
		);
		const held = readPublic((await clients[0]?.keys.get()) ?? "", "jwks");
		for (const key of held) if (key.kid !== undefined) published.add(key.kid);
	}
	expect(failures).toEqual([]);
	// All this happened: each key was met, and clients lived off their caches.
	for (const one of clients) expect([...one.kids].sort()).toEqual([a, b, c, d].map((k) => k.kid).sort());
	expect(published).toEqual(new Set([a, b, c, d].map((k) => k.kid)));
	expect(clients[0]?.keys.requests).toBeLessThan(12);
	expect(clients[4]?.card.requests).toBeLessThan(50);
}, 15_000);

it("a client that asks all the time sees every card verify with the keys of that moment, in every form", async () => {
	const [a, b] = [generateKey(), generateKey()];
	const dir = folder();
	dir.put("key", a);
	const url = await rotating([dir.path("key")]);
	const kids = new Set<string | undefined>();
	for (let step = 0; step < 60; step++) {
		if (step === 5) dir.put("key", b);
		vi.advanceTimersByTime(10 * SECOND);
		const found = await Promise.all(
			["1.0", ""].map(async (version) => {
				const text = await (
					await fetch(`${url}/.well-known/agent-card.json`, { headers: version ? { "a2a-version": version } : {} })
				).json();
				return text as JsonObject;
			}),
		);
		const keys = readPublic(await (await fetch(`${url}/.well-known/jwks.json`)).text(), "jwks");
		for (const card of found) {
			const verdict = await verify(card, () => keys);
			expect([step, verdict.reason]).toEqual([step, expect.stringContaining("signed by")]);
			kids.add(verdict.kid);
		}
	}
	expect(kids).toEqual(new Set([a.kid, b.kid]));
});

it("keeps the keys in use and says so when a file cannot be used", async () => {
	const dir = folder();
	dir.put("key", generateKey());
	const said: string[] = [];
	const url = await rotating([dir.path("key")], { ...silent, error: (text) => void said.push(text) });
	const before = await (await fetch(`${url}/.well-known/jwks.json`)).text();
	dir.put("key", "-----BEGIN NONSENSE-----");
	vi.advanceTimersByTime(10 * SECOND);
	expect(said).toEqual(["signing keys not read; those in use stay"]);
	expect(await (await fetch(`${url}/.well-known/jwks.json`)).text()).toBe(before);
});
