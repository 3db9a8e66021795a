/** The card of v0.1 (April 2025): one JSON-RPC URL, authentication by scheme names (dialects.md §14). */
import { liftCard } from "../dialect/v0_1/card.ts";
import { olderVersion } from "../dialect/v0_3/card.ts";
import { readLifted } from "./read-v0_3.ts";
import type { Shape } from "./shape.ts";

export const v0_1Shape: Shape = {
	version: "0.1",
	matches: (json) => olderVersion(json) === "0.1",
	read: (json, base, warn) => readLifted(json, liftCard, base, warn),
};
