/** Lenses: a translation between an older dialect's JSON and the core's ProtoJSON, both directions written once. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Loss, pointer } from "../call/loss.ts";
import { PayloadError } from "../call/payload.ts";

/** Where in a message a translation is, for losses and complaints. */
export interface At {
	readonly path: string;
	readonly loss: Loss;
}

/** `lift` reads the older form into the core's, `lower` writes it. `undefined` = leave the member out. */
export interface Lens {
	lift(older: JsonValue, at: At): JsonValue | undefined;
	lower(core: JsonValue, at: At): JsonValue | undefined;
}

/** The value as it is. */
export const same: Lens = { lift: (v) => v, lower: (v) => v };

/** One step further in. */
export function step(at: At, key: string | number): At {
	return { path: pointer(at.path, key), loss: at.loss };
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Refuses what cannot be translated at all. */
export function misfit(at: At, description: string): PayloadError {
	const field = at.path
		.slice(1)
		.replaceAll(/\/(\d+)(?=\/|$)/g, "[$1]")
		.replaceAll("/", ".");
	return new PayloadError([{ field, description }]);
}

function objectAt(value: JsonValue, at: At): JsonObject {
	if (!isObject(value)) throw misfit(at, "must be an object");
	return value;
}

/** One member: its name in the older form, and how its value translates. */
export type Member = readonly [older: string, lens?: Lens];

export interface RecordOptions {
	/** Members the older form always has and the core never (`kind`). */
	readonly constants?: JsonObject;
	/** Last word on the older object: add what absence means there, or fold in what has no member. */
	readonly lowered?: (older: JsonObject, core: JsonObject, at: At) => void;
	/** Last word on the core object. Receives the members of the older one that no table names. */
	readonly lifted?: (core: JsonObject, older: JsonObject, at: At) => void;
	/** Core members that `lowered` takes care of. */
	readonly handled?: readonly string[];
	/** Older members that `lifted` takes care of. */
	readonly consumed?: readonly string[];
}

/**
 * An object. Members of the table translate; a core member without counterpart is a loss; an older
 * member that nobody knows is kept as it is (readers ignore what they do not know, §5.7), unless its
 * name means something in the core.
 */
export function record(members: Readonly<Record<string, Member>>, options: RecordOptions = {}): Lens {
	const byOlder = new Map<string, { core: string; lens: Lens }>();
	const byCore = new Map<string, { older: string; lens: Lens }>();
	for (const [core, [older, lens = same]] of Object.entries(members)) {
		byOlder.set(older, { core, lens });
		byCore.set(core, { older, lens });
	}
	const { constants = {}, lowered, lifted } = options;
	const handled = new Set(options.handled);
	const consumed = new Set([...(options.consumed ?? []), ...Object.keys(constants)]);
	return {
		lift(value, at) {
			const older = objectAt(value, at);
			const core: JsonObject = {};
			for (const key of Object.keys(older)) {
				const item = older[key];
				// April 2025 peers write null for every absent member.
				if (item === undefined || item === null || key === "__proto__") continue;
				const known = byOlder.get(key);
				if (known) {
					const result = known.lens.lift(item, step(at, key));
					if (result !== undefined) core[known.core] = result;
				} else if (!consumed.has(key)) {
					if (byCore.has(key) || handled.has(key)) at.loss(pointer(at.path, key), "not a member of this version");
					else core[key] = item;
				}
			}
			lifted?.(core, older, at);
			return core;
		},
		lower(value, at) {
			const core = objectAt(value, at);
			const older: JsonObject = { ...constants };
			for (const key of Object.keys(core)) {
				const item = core[key];
				if (item === undefined || handled.has(key)) continue;
				const known = byCore.get(key);
				if (known) {
					const result = known.lens.lower(item, step(at, key));
					if (result !== undefined) older[known.older] = result;
				} else {
					at.loss(pointer(at.path, key), "has no counterpart");
				}
			}
			lowered?.(older, core, at);
			return older;
		},
	};
}

/** A list of the same. */
export function list(item: Lens): Lens {
	const each = (value: JsonValue, at: At, direction: "lift" | "lower"): JsonValue => {
		if (!Array.isArray(value)) throw misfit(at, "must be an array");
		return value.flatMap((element, i) => {
			const result = item[direction](element, step(at, i));
			return result === undefined ? [] : [result];
		});
	};
	return { lift: (v, at) => each(v, at, "lift"), lower: (v, at) => each(v, at, "lower") };
}

/** Names of one vocabulary for names of another; `unknown` names what neither table has, each way. */
export function names(
	pairs: Readonly<Record<string, string>>,
	unknown: { readonly lifted: string; readonly lowered: string },
): Lens {
	const up = new Map(Object.entries(pairs).map(([core, older]) => [older, core]));
	const down = new Map(Object.entries(pairs));
	return {
		lift(value, at) {
			const found = typeof value === "string" ? up.get(value) : undefined;
			if (found === undefined) at.loss(at.path, "is not a name of this version");
			return found ?? unknown.lifted;
		},
		lower(value, at) {
			const found = typeof value === "string" ? down.get(value) : undefined;
			if (found === undefined) at.loss(at.path, "is not a name of the older version");
			return found ?? unknown.lowered;
		},
	};
}

/** Reports those members of `object` that are there and say something. */
export function lost(object: JsonObject, at: At, why: string, ...members: readonly string[]): void {
	for (const name of members) {
		const value = object[name];
		if (value === undefined || value === null || value === "") continue;
		if (isEmpty(value)) continue;
		at.loss(pointer(at.path, name), why);
	}
}

function isEmpty(value: JsonValue): boolean {
	return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** Reports every member that is not among those the older form has a place for. */
export function lostBut(object: JsonObject, at: At, ...members: readonly string[]): void {
	for (const name of Object.keys(object))
		if (!members.includes(name)) at.loss(pointer(at.path, name), "has no counterpart");
}
