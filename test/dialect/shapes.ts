/** Generated JSON as v0.3 JSON-RPC and v0.1 peers write it (dialects.md §8, §9, §11, §13). */
import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { arbitraryJsonObject, arbitraryJsonValue, arbitraryString } from "../arbitrary/message.ts";

type Members = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** An object with all of `required` and some of `optional`. */
function object(required: Members, optional: Members = {}): fc.Arbitrary<JsonObject> {
	return fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) }) as fc.Arbitrary<JsonObject>;
}

const word = arbitraryString(1);
const words = fc.array(word, { minLength: 1, maxLength: 2 });
const metadata = fc
	.tuple(fc.constantFrom("k", "x/y", "~"), arbitraryJsonValue(1))
	.map(([key, value]): JsonObject => ({ [key]: value }));
const base64 = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const time = fc.constantFrom("2026-09-01T08:00:00Z", "2026-09-01T08:00:00.000Z", "2026-09-01T08:00:00.123456Z");

function part(discriminator: "kind" | "type"): fc.Arbitrary<JsonObject> {
	const names = { name: word, mimeType: fc.constantFrom("text/csv", "image/png") };
	const file = fc.oneof(object({ bytes: base64 }, names), object({ uri: word }, names));
	const of = (kind: string, members: Members) =>
		object({ [discriminator]: fc.constant(kind), ...members }, { metadata });
	return fc.oneof(
		of("text", { text: arbitraryString() }),
		of("file", { file }),
		of("data", { data: arbitraryJsonObject(1) }),
	);
}

const authentication = object({ schemes: fc.array(word, { maxLength: 2 }) }, { credentials: word });
const hook = { token: word, authentication };

/** v0.3 (and v0.2) JSON-RPC. */
const message3 = object(
	{
		kind: fc.constant("message"),
		messageId: word,
		role: fc.constantFrom("user", "agent"),
		parts: fc.array(part("kind"), { minLength: 1, maxLength: 3 }),
	},
	{ contextId: word, taskId: word, metadata, extensions: words, referenceTaskIds: words },
);
const states3 = fc.constantFrom(
	...[
		"submitted",
		"working",
		"input-required",
		"completed",
		"canceled",
		"failed",
		"rejected",
		"auth-required",
		"unknown",
	],
);
const status3 = object({ state: states3 }, { message: message3, timestamp: time });
const artifact3 = object(
	{ artifactId: word, parts: fc.array(part("kind"), { minLength: 1, maxLength: 2 }) },
	{ name: word, description: word, metadata, extensions: words },
);
const task3 = object(
	{ kind: fc.constant("task"), id: word, contextId: word, status: status3 },
	{
		artifacts: fc.array(artifact3, { minLength: 1, maxLength: 2 }),
		history: fc.array(message3, { minLength: 1, maxLength: 2 }),
		metadata,
	},
);
const statusUpdate3 = object(
	{ kind: fc.constant("status-update"), taskId: word, contextId: word, status: status3, final: fc.boolean() },
	{ metadata },
);
const artifactUpdate3 = object(
	{ kind: fc.constant("artifact-update"), taskId: word, contextId: word, artifact: artifact3 },
	{ append: fc.boolean(), lastChunk: fc.boolean(), metadata },
);
const config3 = object({ url: word }, { id: word, ...hook });
const taskConfig3 = object({ taskId: word, pushNotificationConfig: config3 });
const key3 = object({ id: word, pushNotificationConfigId: word }, { metadata });

export const v03 = {
	requests: {
		sendMessage: object(
			{ message: message3 },
			{
				metadata,
				configuration: object(
					{ acceptedOutputModes: fc.array(word, { maxLength: 2 }) },
					{ blocking: fc.boolean(), historyLength: fc.nat(9), pushNotificationConfig: config3 },
				),
			},
		),
		getTask: object({ id: word }, { historyLength: fc.nat(9), metadata }),
		cancelTask: object({ id: word }, { metadata }),
		subscribeToTask: object({ id: word }, { metadata }),
		createTaskPushNotificationConfig: taskConfig3,
		getTaskPushNotificationConfig: key3,
		listTaskPushNotificationConfigs: object({ id: word }, { metadata }),
		deleteTaskPushNotificationConfig: key3,
	},
	replies: {
		sendMessage: fc.oneof(task3, message3),
		sendStreamingMessage: fc.oneof(task3, message3, statusUpdate3, artifactUpdate3),
		getTask: task3,
		createTaskPushNotificationConfig: taskConfig3,
		listTaskPushNotificationConfigs: fc.array(taskConfig3, { maxLength: 3 }),
		deleteTaskPushNotificationConfig: fc.constant(null),
	},
} as const;

/** v0.1 JSON-RPC. */
const message1 = object(
	{ role: fc.constantFrom("user", "agent"), parts: fc.array(part("type"), { minLength: 1, maxLength: 3 }) },
	{ metadata },
);
const states1 = fc.constantFrom(
	...["submitted", "working", "input-required", "completed", "canceled", "failed", "unknown"],
);
const status1 = object({ state: states1 }, { message: message1, timestamp: time });
const artifactOf = (index: fc.Arbitrary<number>, more: Members = {}) =>
	object(
		{ index, parts: fc.array(part("type"), { minLength: 1, maxLength: 2 }), ...more },
		{ name: word, description: word, metadata },
	);
const artifacts1 = fc
	.array(artifactOf(fc.constant(0)), { minLength: 1, maxLength: 3 })
	.map((list) => list.map((artifact, index) => ({ ...artifact, index })));
const task1 = object(
	{ id: word, status: status1 },
	{ sessionId: word, artifacts: artifacts1, history: fc.array(message1, { minLength: 1, maxLength: 2 }), metadata },
);
const config1 = object({ url: word }, hook);
const taskConfig1 = object({ id: word, pushNotificationConfig: config1 });

export const v01 = {
	requests: {
		sendMessage: object(
			{ id: word, message: message1 },
			{ sessionId: word, historyLength: fc.nat(9), pushNotification: config1, acceptedOutputModes: words, metadata },
		),
		getTask: object({ id: word }, { historyLength: fc.nat(9), metadata }),
		cancelTask: object({ id: word }, { metadata }),
		subscribeToTask: object({ id: word }, { historyLength: fc.nat(9), metadata }),
		createTaskPushNotificationConfig: taskConfig1,
		getTaskPushNotificationConfig: object({ id: word }, { metadata }),
	},
	replies: {
		sendMessage: task1,
		sendStreamingMessage: fc.oneof(
			object({ id: word, status: status1, final: fc.boolean() }, { metadata }),
			object({ id: word, artifact: artifactOf(fc.nat(9), { append: fc.boolean() }) }, { metadata }),
		),
		getTask: task1,
		createTaskPushNotificationConfig: taskConfig1,
	},
} as const;
