/** The gateway's card in every form that clients of one version or another read (design/contract.md "URLs", dialects.md §2, §14). */
import type { JsonObject } from "@bufbuild/protobuf";
import { lowerCard as lowerV01 } from "../dialect/v0_1/card.ts";
import { hybridCard, lowerCard as lowerV03 } from "../dialect/v0_3/card.ts";
import { type Serialised, serialise } from "./project.ts";

/** `legacy` is the document at agent.json, which clients of v0.1 and v0.2 read. */
export type CardForm = "1.0" | "0.3" | "hybrid" | "legacy";

export type CardVariants = Readonly<Record<CardForm, Serialised>>;

/**
 * `card` is the gateway's v1.0 card with its interfaces of every version; `v0_1` the URL at which clients of that
 * version are served. `changed`: epoch milliseconds of the card's last change.
 */
export function variants(card: JsonObject, v0_1: string, changed: number): CardVariants {
	const older = lowerV03(card);
	const interfaces = [{ url: v0_1, protocolBinding: "JSONRPC", protocolVersion: "0.1" }];
	const { authentication } = lowerV01({ ...card, supportedInterfaces: interfaces });
	return {
		"1.0": serialise(card, changed),
		"0.3": serialise(older, changed),
		hybrid: serialise(hybridCard(card), changed),
		legacy: serialise({ ...older, ...(authentication !== undefined && { authentication }) }, changed),
	};
}
