import { fromJson, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
	GetTaskRequestSchema,
	ListTasksResponseSchema,
	SendMessageRequestSchema,
	StreamResponseSchema,
	TaskSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { PayloadError } from "../../src/call/payload.ts";
import { fromBinary, fromMessage, fromText, fromValue, withString } from "../../src/schema/payload.ts";
import { missing } from "../../src/schema/required.ts";

const text = (value: unknown) => JSON.stringify(value);

describe("a payload", () => {
	it("keeps the text it came with, byte for byte, unknown members and odd numbers included", () => {
		const odd = '{ "id":"t", "future": {"n": 1.0, "big": 12345678901234567890}, "historyLength": 2 }';
		const payload = fromText(GetTaskRequestSchema, odd, JSON.parse(odd));
		payload.message();
		payload.binary();
		expect(payload.text()).toBe(odd);
	});

	it("keeps the bytes it came with", () => {
		const bytes = new Uint8Array([
			...toBinary(GetTaskRequestSchema, fromJson(GetTaskRequestSchema, { id: "t" })),
			0x98,
			0x06,
			0x01,
		]);
		const payload = fromBinary(GetTaskRequestSchema, bytes);
		payload.json();
		expect(payload.binary()).toBe(bytes);
	});

	it("converts every form into every other", () => {
		const value = { id: "t", historyLength: 0 };
		const forms = [
			fromText(GetTaskRequestSchema, text(value), value),
			fromValue(GetTaskRequestSchema, value),
			fromBinary(GetTaskRequestSchema, toBinary(GetTaskRequestSchema, fromJson(GetTaskRequestSchema, value))),
			fromMessage(GetTaskRequestSchema, fromJson(GetTaskRequestSchema, value)),
		];
		for (const form of forms) {
			expect(form.json()).toEqual(value);
			expect(JSON.parse(form.text())).toEqual(value);
			expect(fromBinary(GetTaskRequestSchema, form.binary()).json()).toEqual(value);
		}
	});

	it("writes required members that hold their default, and only those (§5.7)", () => {
		const task = fromMessage(TaskSchema, fromJson(TaskSchema, { status: {} }));
		expect(task.json()).toEqual({ id: "", status: { state: "TASK_STATE_UNSPECIFIED" } });
		expect(fromBinary(ListTasksResponseSchema, new Uint8Array()).json()).toEqual({
			tasks: [],
			nextPageToken: "",
			pageSize: 0,
			totalSize: 0,
		});
	});

	it.each([
		["wrong type", GetTaskRequestSchema, { id: 5 }, "id"],
		["not an object", GetTaskRequestSchema, 5, ""],
		["both spellings", GetTaskRequestSchema, { id: "a", historyLength: 1, history_length: 2 }, "historyLength"],
		["two members of a oneof", StreamResponseSchema, { task: { id: "a" }, message: {} }, "payload"],
		["bad base64", SendMessageRequestSchema, { message: { parts: [{ raw: "***" }] } }, "raw"],
		["bad timestamp", TaskSchema, { status: { timestamp: "yesterday" } }, ""],
	])("says what does not fit: %s", (_name, type, value, field) => {
		const payload = fromText(type, text(value), value as never);
		expect(() => payload.message()).toThrow(PayloadError);
		try {
			payload.message();
		} catch (error) {
			expect((error as PayloadError).violations[0]?.field).toBe(field);
		}
	});

	it("accepts both spellings of a member", () => {
		expect(fromValue(GetTaskRequestSchema, { id: "a", history_length: 3 }).message()).toMatchObject({
			historyLength: 3,
		});
	});
});

describe("withString", () => {
	it("changes one member of a text and nothing else", () => {
		const odd = '{"id":"t", "tenant" : "old", "x":1.0}';
		const changed = withString(fromText(GetTaskRequestSchema, odd, JSON.parse(odd)), "tenant", "new");
		expect(changed.text()).toBe('{"id":"t", "tenant" : "new", "x":1.0}');
		expect(changed.message()).toMatchObject({ tenant: "new", id: "t" });
	});

	it("keeps unknown fields of a binary", () => {
		const bytes = new Uint8Array([0x12, 1, 0x74, 0x98, 0x06, 0x01]);
		const changed = withString(fromBinary(GetTaskRequestSchema, bytes), "tenant", "x");
		expect(Buffer.from(changed.binary()).toString("hex")).toContain("980601");
		expect(changed.message()).toMatchObject({ tenant: "x", id: "t" });
	});

	it("leaves a payload alone that already says so, or has no such field", () => {
		const payload = fromValue(GetTaskRequestSchema, { id: "t", tenant: "x" });
		expect(withString(payload, "tenant", "x")).toBe(payload);
		expect(withString(payload, "nothing", "x")).toBe(payload);
	});
});

describe("missing", () => {
	const fields = (value: object) =>
		missing(
			SendMessageRequestSchema,
			fromJson(SendMessageRequestSchema, value as never, { ignoreUnknownFields: true }),
			value as never,
		).map((v) => v.field);

	it.each([
		[{}, ["message"]],
		[{ message: {} }, ["message.messageId", "message.role", "message.parts"]],
		[{ message: { messageId: "m", role: "ROLE_USER", parts: [{}] } }, ["message.parts[0]"]],
		[{ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "" }] } }, []],
		[{ message: { messageId: "m", role: "ROLE_USER", parts: [{ data: null }] } }, []],
		[{ message: { messageId: "m", role: "ROLE_FROM_THE_FUTURE", parts: [{ text: "x" }] } }, []],
		[{ message: { messageId: "m", role: "ROLE_UNSPECIFIED", parts: [{ text: "x" }] } }, ["message.role"]],
		[
			{
				message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] },
				configuration: { taskPushNotificationConfig: { authentication: {} } },
			},
			[
				"configuration.taskPushNotificationConfig.url",
				"configuration.taskPushNotificationConfig.authentication.scheme",
			],
		],
	])("%j lacks %j", (value, expected) => {
		expect(fields(value)).toEqual(expected);
	});
});
