/** Checks a request before anybody acts on it (rules A19, C6, H4, M4): required fields, ranges, names of states. */
import {
	type DescEnum,
	type DescField,
	type DescMessage,
	type DescMethod,
	getOption,
	type Message,
} from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { Call, Middleware } from "../call/call.ts";
import { invalidParams } from "../call/error.ts";
import type { Payload, Violation } from "../call/payload.ts";
import type { Traits } from "../dialect/dialect.ts";
import { missing } from "../schema/required.ts";

/** Bounds of integer fields, by field name wherever it occurs in a request. */
const ranges: Readonly<Record<string, { readonly min: number; readonly max: number }>> = {
	history_length: { min: 0, max: 2 ** 31 - 1 },
	page_size: { min: 1, max: 100 },
};

interface Plan {
	/** Fields the operation's HTTP route puts into its path: it cannot do without them in any binding. */
	readonly path: readonly DescField[];
	readonly bounded: readonly DescField[];
	readonly enums: readonly (DescField & { readonly enum: DescEnum })[];
	/** Singular message fields that have bounded fields of their own. */
	readonly inner: readonly { readonly field: DescField; readonly bounded: readonly DescField[] }[];
}

const plans = new WeakMap<DescMethod, Plan>();

function planOf(method: DescMethod): Plan {
	let plan = plans.get(method);
	if (!plan) {
		const { input } = method;
		plan = {
			path: pathFields(method),
			bounded: boundedFields(input),
			enums: input.fields.filter((f): f is DescField & { fieldKind: "enum" } => f.fieldKind === "enum"),
			inner: input.fields
				.filter((f): f is DescField & { fieldKind: "message" } => f.fieldKind === "message")
				.map((field) => ({ field, bounded: boundedFields(field.message) }))
				.filter(({ bounded }) => bounded.length > 0),
		};
		plans.set(method, plan);
	}
	return plan;
}

function boundedFields(type: DescMessage): readonly DescField[] {
	return type.fields.filter((f) => f.fieldKind === "scalar" && Object.hasOwn(ranges, f.name));
}

function pathFields(method: DescMethod): readonly DescField[] {
	const { pattern } = getOption(method, http);
	const path = typeof pattern.value === "string" ? pattern.value : "";
	return [...path.matchAll(/\{(\w+)/g)]
		.map(([, name]) => method.input.fields.find((f) => f.name === name))
		.filter((f) => f !== undefined);
}

/** `client` tells the traits of the client's version: what it may leave out is not missed. */
export function validate(client: (call: Call) => Traits): Middleware {
	return (next) => (call) => {
		let found = violations(call.method, call.request);
		if (found.length > 0 && !client(call).configIds)
			found = found.filter((v) => !(v.field === "id" && call.method.input.field["taskId"]));
		if (found.length > 0) throw invalidParams(found);
		return next(call);
	};
}

/** Everything wrong with a request, named field by field. Throws PayloadError when it does not even decode. */
export function violations(method: DescMethod, request: Payload): Violation[] {
	const plan = planOf(method);
	const message = request.message() as Message & Readonly<Record<string, unknown>>;
	const found = missing(method.input, message, request.original());
	for (const field of plan.path) {
		if (message[field.localName] === "" && !found.some((v) => v.field === field.jsonName)) {
			found.push({ field: field.jsonName, description: "must be set" });
		}
	}
	checkRanges(plan.bounded, message, "", found);
	for (const { field, bounded } of plan.inner) {
		const inner = message[field.localName] as Readonly<Record<string, unknown>> | undefined;
		if (inner) checkRanges(bounded, inner, `${field.jsonName}.`, found);
	}
	const raw = plan.enums.length > 0 ? request.original() : undefined;
	for (const field of plan.enums) {
		const value = raw?.[field.jsonName] ?? raw?.[field.name] ?? message[field.localName];
		const known = field.enum.values.some((v) => v.name === value || v.number === Number(value));
		if (!known)
			found.push({
				field: field.jsonName,
				description: `must be one of ${field.enum.values.map((v) => v.name).join(", ")}`,
			});
	}
	return found;
}

function checkRanges(
	fields: readonly DescField[],
	message: Readonly<Record<string, unknown>>,
	path: string,
	found: Violation[],
): void {
	for (const field of fields) {
		const value = message[field.localName];
		const range = ranges[field.name];
		// Without presence, zero is how the field says nothing.
		if (typeof value !== "number" || !range || (value === 0 && !field.proto.proto3Optional)) continue;
		if (value < range.min || value > range.max) {
			const most = range.max === 2 ** 31 - 1 ? `at least ${range.min}` : `from ${range.min} to ${range.max}`;
			found.push({ field: path + field.jsonName, description: `must be ${most}` });
		}
	}
}
