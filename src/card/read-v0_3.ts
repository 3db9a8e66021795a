/** The cards of v0.3 and v0.2: a main URL, further interfaces, OpenAPI-style security (dialects.md §14). */
import type { JsonObject } from "@bufbuild/protobuf";
import { PayloadError } from "../call/payload.ts";
import { liftCard, olderVersion } from "../dialect/v0_3/card.ts";
import { v1Shape } from "./read-v1.ts";
import type { Contents, Shape } from "./shape.ts";

type Warn = (text: string) => void;

/** Reads an older card through what it becomes in v1.0. `lift` may throw PayloadError for members that are not even objects. */
export function readLifted(
	json: JsonObject,
	lift: (json: JsonObject) => JsonObject,
	base: string | undefined,
	warn: Warn,
): Contents {
	let fitting = json;
	for (;;) {
		try {
			return v1Shape.read(lift(fitting), base, warn);
		} catch (error) {
			const member = error instanceof PayloadError ? error.violations[0]?.field.split(/[.[]/)[0] : undefined;
			if (member === undefined || !Object.hasOwn(fitting, member)) throw error;
			warn(`${member} does not fit and is read as absent: ${error instanceof Error ? error.message : "unreadable"}`);
			const { [member]: _unfit, ...rest } = fitting;
			fitting = rest;
		}
	}
}

function read(json: JsonObject, base: string | undefined, warn: Warn): Contents {
	return readLifted(json, liftCard, base, warn);
}

/** Its layout is also that of cards which only claim a later version. */
export const v0_3Shape: Shape = {
	version: "0.3",
	matches: (json) => !["0.2", "0.1", undefined].includes(olderVersion(json)),
	read,
};
export const v0_2Shape: Shape = { version: "0.2", matches: (json) => olderVersion(json) === "0.2", read };
