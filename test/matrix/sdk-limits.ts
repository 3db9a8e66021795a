/**
 * What @a2a-js/sdk 1.3.0 cannot carry or changes as an agent, each with its reason. The matrix keeps its comparisons
 * as they are and instead sends an SDK agent only what it can answer; the bare agents get everything.
 */
import { clone, create, type DescField, type DescMethod, fromJson, type Message } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { arbitraryJsonValue, arbitraryString } from "../arbitrary/message.ts";
import { pathFields } from "../peer/http-rule.ts";

interface Limit {
	/** Why: where the SDK does it. */
	readonly because: string;
	readonly bindings: readonly string[];
	/** Values it can carry instead; undefined for fields it does not concern. */
	readonly instead?: (field: DescField, method: DescMethod) => fc.Arbitrary<unknown> | undefined;
	/** What it makes of a request. */
	readonly request?: (method: DescMethod, request: Message) => void;
}

const everywhere = ["JSONRPC", "HTTP+JSON", "GRPC"];

export const limits: readonly Limit[] = [
	{
		because: "Part.fromJSON tests `isSet(object.data)`, which is false for null: a part whose data is null loses it",
		bindings: everywhere,
		instead: (field) =>
			field.message?.typeName === ValueSchema.typeName && field.fieldKind === "message"
				? arbitraryJsonValue()
						.filter((value) => value !== null)
						.map((value) => fromJson(ValueSchema, value))
				: undefined,
	},
	{
		because: "grpc/pb toTimestamp goes through Date: milliseconds only, and wrong nanos before 1970",
		bindings: ["GRPC"],
		instead: (field) =>
			field.message?.typeName === TimestampSchema.typeName
				? fc
						.record({ seconds: fc.bigInt({ min: 0n, max: 4_000_000_000n }), ms: fc.nat({ max: 999 }) })
						.map(({ seconds, ms }): Timestamp => create(TimestampSchema, { seconds, nanos: ms * 1_000_000 }))
				: undefined,
	},
	{
		because:
			"rest_handler registers /:tenant/tasks/:taskId before /tasks/:taskId/pushNotificationConfigs: " +
			"the configurations of a task named “tasks” are read as a task of a tenant",
		bindings: ["HTTP+JSON"],
		instead: (field, method) =>
			field.parent === method.input && pathFields(method).has(field.name)
				? arbitraryString(1).filter((value) => value !== "" && value !== "tasks")
				: undefined,
	},
	{
		because: "rest_transport_handler cancelTask passes `metadata: {}` whatever the body says",
		bindings: ["HTTP+JSON"],
		request: (method, request) => {
			// The one operation with a body, a path variable and nothing but metadata besides.
			const names = method.input.fields.map((field) => field.name).sort();
			if (pathFields(method).size > 0 && names.join() === "id,metadata,tenant") {
				(request as Message & { metadata?: object }).metadata = {};
			}
		},
	},
	{
		because: "rest_transport_handler listTaskPushNotificationConfigs passes pageSize 0 and no pageToken",
		bindings: ["HTTP+JSON"],
		request: (method, request) => {
			const paged = method.input.fields.some((field) => field.name === "page_token");
			if (pathFields(method).size > 0 && paged) Object.assign(request, { pageSize: 0, pageToken: "" });
		},
	},
	{
		because: "rest_transport_handler listTasks sets includeArtifacts to false where the query had none",
		bindings: ["HTTP+JSON"],
		request: (method, request) => {
			const flag = method.input.fields.find((field) => field.name === "include_artifacts");
			if (flag) (request as Message & { includeArtifacts?: boolean }).includeArtifacts ??= false;
		},
	},
];

/** Field replacement for an SDK agent of one binding. */
export function sdkOverride(binding: string) {
	const mine = limits.filter((limit) => limit.bindings.includes(binding));
	return (method: DescMethod) =>
		(field: DescField): fc.Arbitrary<unknown> | undefined => {
			for (const limit of mine) {
				const instead = limit.instead?.(field, method);
				if (instead) return instead;
			}
			return undefined;
		};
}

/** The request as an SDK agent of one binding hands it to its handler. */
export function sdkRequest(binding: string) {
	return (method: DescMethod, request: Message): Message => {
		const changed = clone(method.input, request);
		for (const limit of limits) if (limit.bindings.includes(binding)) limit.request?.(method, changed);
		return changed;
	};
}
