/** What a card says, whichever shape it has (§4.4, §8; dialects.md §14): one place, one file per shape, tolerant as the SDKs are. */
import type { JsonObject } from "@bufbuild/protobuf";
import { olderVersion } from "../dialect/v0_3/card.ts";
import { list, member } from "./document.ts";
import { normalVersion } from "./endpoint.ts";
import { CardError } from "./error.ts";
import { v0_1Shape } from "./read-v0_1.ts";
import { v0_2Shape, v0_3Shape } from "./read-v0_3.ts";
import { v1Shape } from "./read-v1.ts";
import type { Contents, Shape } from "./shape.ts";

export interface Reading extends Contents {
	/** The card as it came, unknown members included. Shared: never write to it. */
	readonly json: JsonObject;
	/** Version of the shape it was read by. */
	readonly shape: string;
	/** It has the top-level members of an older version too, which were not used. */
	readonly hybrid: boolean;
	/** What was wrong but tolerated. For the operator. */
	readonly warnings: readonly string[];
}

/** Newest first: of a hybrid card, the newest part counts. */
export const shapes: readonly Shape[] = [v1Shape, v0_3Shape, v0_2Shape, v0_1Shape];

export interface ReadOptions {
	/** For the operator: which card it is. */
	readonly from: string;
	/** What relative URLs are relative to; undefined = nothing. */
	readonly base: string | undefined;
	/** Default: all there are. */
	readonly shapes?: readonly Shape[];
}

/** Reads a card. Throws CardError when no shape fits, or when the card names no endpoint at all. */
export function read(json: JsonObject, options: ReadOptions): Reading {
	const { from, base } = options;
	const legacy = legacyVersion(json);
	const shape = (options.shapes ?? shapes).find((s) => s.matches(json));
	if (!shape) {
		if (legacy !== undefined) {
			throw new CardError(
				"UNAVAILABLE",
				`the card from ${from} is an A2A ${legacy} card; it needs dialect support that this build lacks (${legacy})`,
				{ public: "The agent speaks a protocol version that this gateway does not support" },
			);
		}
		throw new CardError(
			"INVALID_AGENT_RESPONSE",
			list(json, "supportedInterfaces").length === 0 && member(json, "supportedInterfaces") !== undefined
				? `the card from ${from} has an empty supportedInterfaces: it names no endpoint`
				: `the document from ${from} is not an agent card: it has neither supportedInterfaces nor url`,
		);
	}
	const warnings: string[] = [];
	const contents = shape.read(json, base, (warning) => warnings.push(warning));
	if (contents.interfaces.length === 0) {
		const why = warnings.length > 0 ? `: ${warnings.join("; ")}` : "";
		throw new CardError("INVALID_AGENT_RESPONSE", `the card from ${from} names no usable endpoint${why}`);
	}
	return {
		...contents,
		json,
		shape: shape.version,
		hybrid: legacy !== undefined && legacy !== shape.version,
		warnings,
	};
}

/** The older version whose top-level members a card has; undefined when it has none (dialects.md §7, §14). */
export function legacyVersion(json: JsonObject): string | undefined {
	const version = olderVersion(json);
	return version === undefined ? undefined : (normalVersion(version) ?? version);
}
