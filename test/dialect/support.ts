/** What the dialect tests share: the forms by name, losses collected, and losses applied to what they were found in. */
import type { DescMessage, DescMethod, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { LossEntry } from "../../src/call/loss.ts";
import type { Payload } from "../../src/call/payload.ts";
import type { Form, JsonText } from "../../src/dialect/dialect.ts";
import { v0_1 } from "../../src/dialect/v0_1/index.ts";
import { v0_3 } from "../../src/dialect/v0_3/index.ts";
import { fromText } from "../../src/schema/payload.ts";

export type Direction = "Request" | "Reply";

/** A form whose wire is told as JSON or bytes, both opaque to the tests. */
export interface Hop {
	readonly name: "0.3 rpc" | "0.3 http" | "0.3 binary" | "0.1 rpc";
	lower(direction: Direction, method: DescMethod, payload: Payload, losses?: LossEntry[]): unknown;
	lift(direction: Direction, method: DescMethod, wire: unknown, losses?: LossEntry[]): Payload;
}

function hop<Wire>(name: Hop["name"], form: Form<Wire>): Hop {
	return {
		name,
		lower: (direction, method, payload, losses) => form[`write${direction}`](method, payload, collect(losses)),
		lift: (direction, method, wire, losses) => form[`read${direction}`](method, wire as Wire, collect(losses)),
	};
}

export const hops: readonly Hop[] = [
	hop("0.3 rpc", v0_3.rpc),
	hop("0.3 http", v0_3.http),
	hop("0.3 binary", v0_3.binary),
	hop("0.1 rpc", v0_1.rpc),
];

export function collect(losses: LossEntry[] = []) {
	return (pointer: string, why: string) => {
		losses.push({ pointer, why });
	};
}

export const pointers = (losses: readonly LossEntry[]): string[] => losses.map((l) => l.pointer).sort();

export function json(value: JsonValue): JsonText {
	return { text: JSON.stringify(value), value };
}

export function payload(type: DescMessage, value: JsonValue): Payload {
	return fromText(type, JSON.stringify(value), value);
}

export const { method } = A2AService;

/** The core's method by its local name. */
export function coreMethod(name: string): DescMethod {
	const found = A2AService.methods.find((m) => m.localName === name);
	if (!found) throw new Error(`no method ${name}`);
	return found;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The message without what was reported lost. Throws when a pointer leads nowhere: losses are exact. */
export function without(value: JsonValue, losses: readonly LossEntry[]): JsonValue {
	const result = structuredClone(value);
	const elements: [JsonValue[], number][] = [];
	for (const { pointer } of losses) {
		const steps = pointer
			.split("/")
			.slice(1)
			.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
		const last = steps.pop();
		let here: JsonValue | undefined = result;
		for (const step of steps) here = Array.isArray(here) ? here[Number(step)] : isObject(here) ? here[step] : undefined;
		if (Array.isArray(here) && Number(last) < here.length) elements.push([here, Number(last)]);
		else if (isObject(here) && last !== undefined && Object.hasOwn(here, last)) delete here[last];
		else throw new Error(`the loss ${JSON.stringify(pointer)} leads nowhere in ${JSON.stringify(value)}`);
	}
	for (const [list, index] of elements.toSorted(([, a], [, b]) => b - a)) list.splice(index, 1);
	return result;
}

/** Every object in a JSON value, outermost last, may be changed in place. */
export function each(value: JsonValue, change: (object: JsonObject, path: readonly string[]) => void): void {
	const visit = (item: JsonValue, path: readonly string[]): void => {
		if (typeof item !== "object" || item === null) return;
		for (const [key, inner] of Object.entries(item)) visit(inner, [...path, key]);
		if (!Array.isArray(item)) change(item, path);
	};
	visit(value, []);
}
