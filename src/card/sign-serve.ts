/** The gateway's cards, signed before they are served: each form as its version allows, once per change, never per request (§8.4; contract.md "URLs"). */
import { createHash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { hybridCard } from "../dialect/v0_3/card.ts";
import { signable } from "./canonical.ts";
import type { KeyRing } from "./keys.ts";
import { serialise } from "./project.ts";
import { type SignOptions, signAndCheck } from "./signature.ts";
import { type CardVariants, variants } from "./variants.ts";

/** Extended cards may differ by caller: so many signed ones are remembered. */
const MOST = 256;

export interface CardSigner {
	/**
	 * A v1.0 card (public or extended, as `project` made it) with the gateway's signatures, checked by its own verifier. The same
	 * card is signed once per key. Rejects when that verifier refuses it: nothing may be served then.
	 */
	sign(card: JsonObject): Promise<JsonObject>;
	/** Every form of a card: those with v1.0 members signed, those of older versions without signatures (v0.3 defines no payload). */
	variants(card: JsonObject, v0_1: string, changed: number): Promise<CardVariants>;
}

/** `options.jku`: public URL of the key set. */
export function cardSigner(ring: Pick<KeyRing, "signing">, options: SignOptions): CardSigner {
	const done = new Map<string, Promise<JsonObject>>();

	const sign = (card: JsonObject): Promise<JsonObject> => {
		const key = ring.signing;
		const id = createHash("sha256")
			.update(`${key.kid}\n${JSON.stringify(card)}`)
			.digest("base64url");
		const before = done.get(id);
		const made = before ?? signAndCheck(signable(card), [key], options);
		// The one used last is the last to go; a failure is not remembered.
		done.delete(id);
		done.set(id, made);
		if (!before) made.catch(() => done.delete(id));
		const [oldest] = done.keys();
		if (done.size > MOST && oldest !== undefined) done.delete(oldest);
		return made;
	};

	return {
		sign,
		async variants(card, v0_1, changed) {
			const [plain, newest, both] = await Promise.all([
				variants(card, v0_1, changed),
				sign(card),
				sign(hybridCard(signable(card))),
			]);
			return { ...plain, "1.0": serialise(newest, changed), hybrid: serialise(both, changed) };
		},
	};
}
