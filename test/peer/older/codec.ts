/** What a version's vocabulary does for a peer: requests and answers to JSON and back, for tests only. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Ask, Operation, Said } from "./model.ts";

export interface Codec {
	/** Request body or params. In HTTP and gRPC forms the caller moves path fields. */
	writeAsk(ask: Ask): JsonObject;
	/** Throws Fault INVALID_PARAMS when it is no such request. */
	readAsk(op: Operation, json: JsonObject): Ask;
	writeSaid(op: Operation, said: Said): JsonValue;
	readSaid(op: Operation, json: JsonValue): Said;
}
