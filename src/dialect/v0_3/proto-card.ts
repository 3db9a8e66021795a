/** v0.3 ProtoJSON cards (gRPC, and /v1/card of some servers) ↔ v1.0 cards: v1.0's security in v0.3's layout; reads the JSON-schema form too. */
import { cardLens } from "./card.ts";

export const card = cardLens("member");
