/** Cards signed for serving: every form, once per change; and a source that yields trusted cards only, in front of a keeper. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { CardError } from "../../src/card/error.ts";
import { keeper } from "../../src/card/keeper.ts";
import { generateKey } from "../../src/card/keys.ts";
import type { Serialised } from "../../src/card/project.ts";
import { cardSigner } from "../../src/card/sign-serve.ts";
import { verify } from "../../src/card/signature.ts";
import type { Loaded, Source } from "../../src/card/source.ts";
import { trust, trustedSource } from "../../src/card/trust.ts";
import { sdkVerify } from "./sign-support.ts";
import { cardV1, json, serve } from "./support.ts";

const key = generateKey();
const parsed = ({ body }: Serialised) => JSON.parse(body.toString()) as JsonObject;

test("v1.0 and hybrid are signed, older forms say nothing of signatures", async () => {
	const made = await cardSigner({ signing: key }, { jku: "https://gw.example/.well-known/jwks.json" }).variants(
		cardV1,
		"https://gw.example/",
		1_000_000,
	);
	for (const form of ["1.0", "hybrid"] as const) {
		const card = parsed(made[form]);
		expect(await verify(card, () => [key])).toMatchObject({ valid: true, uncovered: [] });
		expect(await sdkVerify(card, [key])).toBeUndefined();
	}
	expect(parsed(made.hybrid)).toHaveProperty("protocolVersion", "0.3.0");
	expect(parsed(made["1.0"])).not.toHaveProperty("protocolVersion");
	for (const form of ["0.3", "legacy"] as const) expect(parsed(made[form])).not.toHaveProperty("signatures");
});

test("the same card is signed once, by each key that signs", async () => {
	const ring = { signing: key };
	const signer = cardSigner(ring, {});
	const first = await signer.sign(cardV1);
	expect(await signer.sign({ ...cardV1 })).toBe(first);
	ring.signing = generateKey();
	const second = await signer.sign(cardV1);
	expect(await verify(second, () => [ring.signing])).toMatchObject({ valid: true, kid: ring.signing.kid });
	// Many callers with a card each are not all remembered.
	for (let i = 0; i < 300; i++) await signer.sign({ name: `${i}` });
	expect(await signer.sign(cardV1)).not.toBe(second);
});

test("a card that cannot be signed is refused, every time", async () => {
	const signer = cardSigner({ signing: { ...key, key: generateKey().key } }, {});
	await expect(signer.sign(cardV1)).rejects.toThrow("own signature");
	await expect(signer.sign(cardV1)).rejects.toThrow("own signature");
});

test("the keeper keeps the last card that was trusted, and says why", async () => {
	await using server = await serve({ "/jwks.json": json({ keys: [key.jwk] }) });
	const good = await cardSigner({ signing: key }, { jku: `${server.url}/jwks.json` }).sign(cardV1);
	let now: JsonObject = good;
	let closed = false;
	const source: Source = {
		name: "test",
		load: async (): Promise<Loaded> => ({
			json: now,
			digest: JSON.stringify(now),
			from: "test",
			base: undefined,
			freshFor: 60_000,
		}),
		close: async () => {
			closed = true;
		},
	};
	const own = trust({ policy: "require", jku: [server.url] });
	const kept = keeper({
		source: trustedSource(source, own, () => {}),
		choose: { bindings: ["JSONRPC"], versions: ["1.0"], prefer: { binding: undefined, version: undefined } },
		refreshInterval: 0,
	});
	kept.start();
	await kept.refresh("start");
	expect(kept.current()?.reading.card.version).toBe("2.1.0");
	now = { ...good, version: "6.6.6" };
	await kept.refresh("changed");
	expect(kept.current()?.reading.card.version).toBe("2.1.0");
	expect(kept.state).toMatchObject({
		ready: true,
		reason: expect.stringMatching(/not trusted: .*altered.*last good card/),
	});
	await kept.stop();
	expect(closed).toBe(true);
});

test("warnings are told once; errors are CardErrors", async () => {
	const source = (card: JsonObject): Source => ({
		name: "test",
		load: async () => ({ json: card, digest: "", from: "test", base: undefined, freshFor: 1 }),
		close: async () => {},
	});
	const told: string[] = [];
	const lenient = trustedSource(source(cardV1), trust({ policy: "warn" }), (text) => told.push(text));
	await lenient.load();
	await lenient.load();
	expect(told).toEqual([expect.stringContaining("not signed")]);
	await lenient.close();
	const strict = trustedSource(source(cardV1), trust({ policy: "require", jku: ["keys.example"] }), () => {});
	await expect(strict.load()).rejects.toThrow(CardError);
	await strict.close();
});
