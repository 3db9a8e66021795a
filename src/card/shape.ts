/** What a reader of one card shape is; `read.ts` keeps the list of them. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Interface } from "../binding/binding.ts";

/** One shape of cards. Shapes of other versions are added to `shapes` in read.ts, a file each. */
export interface Shape {
	/** `Major.Minor` of the specification that defines it. */
	readonly version: string;
	/** Does the card have this shape's members? A hybrid card has those of two. */
	matches(json: JsonObject): boolean;
	/** Reads the card into the core's words. `warn` takes what was tolerated. Never throws. */
	read(json: JsonObject, base: string | undefined, warn: (text: string) => void): Contents;
}

export interface Contents {
	/** The card's JSON in the words of v1.0, what v1.0 does not know included. Shared: never write to it. */
	readonly core: JsonObject;
	readonly card: AgentCard;
	/** In card order, first = preferred. Bindings nobody knows are among them, under their own names. */
	readonly interfaces: readonly Interface[];
}
