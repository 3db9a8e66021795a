/** What peers really send: exact loss pointers, unknown members, nulls, both spellings, aliases, and what is refused. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { TaskSchema } from "../../gen/a2a/v1/a2a_pb.ts";
import { type LossEntry, Losses } from "../../src/call/loss.ts";
import { PayloadError } from "../../src/call/payload.ts";
import { violations } from "../../src/core/validate.ts";
import type { Form, JsonText } from "../../src/dialect/dialect.ts";
import { v0_1 } from "../../src/dialect/v0_1/index.ts";
import { v0_3 } from "../../src/dialect/v0_3/index.ts";
import { collect, json, method, payload, pointers } from "./support.ts";

const forms = { "0.3 rpc": v0_3.rpc, "0.3 http": v0_3.http, "0.1 rpc": v0_1.rpc } as const;
type Name = keyof typeof forms;

const v3 = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hi" }] };
const v1 = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] };
const part = (more: JsonObject) => ({ message: { ...v1, parts: [{ text: "a" }, more] } });

describe("losses on the way to an older version point into what was written", () => {
	test.each<[Name, string, JsonObject, string[]]>([
		["0.3 rpc", "an unknown member", { message: { ...v1, future: 1 } }, ["/message/future"]],
		["0.3 rpc", "an unknown member deep inside", part({ text: "b", x: { y: 1 } }), ["/message/parts/1/x"]],
		["0.3 rpc", "an unknown kind of part", part({ hologram: "b" }), ["/message/parts/1"]],
		["0.3 rpc", "an unknown role", { message: { ...v1, role: "ROLE_FUTURE" } }, ["/message/role"]],
		["0.3 rpc", "the type of data", part({ data: 1, mediaType: "application/json" }), ["/message/parts/1/mediaType"]],
		["0.3 rpc", "a tenant", { tenant: "t", message: v1 }, ["/tenant"]],
		[
			"0.3 http",
			"in the sender's own spelling",
			{ message: { ...v1, parts: [{ data: 1, media_type: "application/json" }] } },
			["/message/parts/0/media_type"],
		],
		[
			"0.3 rpc",
			"an inline webhook's task",
			{ message: v1, configuration: { taskPushNotificationConfig: { url: "u", task_id: "t" } } },
			["/configuration/taskPushNotificationConfig/task_id"],
		],
		[
			"0.1 rpc",
			"what v0.1 has no word for",
			{ message: { ...v1, taskId: "t" }, configuration: { returnImmediately: true, future: 1 }, more: 2 },
			["/configuration/future", "/configuration/returnImmediately", "/more"],
		],
	])("%s: %s", (name, _, core, expected) => {
		const losses: LossEntry[] = [];
		forms[name].writeRequest(method.sendMessage, payload(method.sendMessage.input, core), collect(losses));
		expect(pointers(losses)).toEqual(expected);
	});

	test("nothing is lost of a plain message, and null is nothing", () => {
		const losses: LossEntry[] = [];
		const core = { message: { ...v1, future: null, taskId: null }, configuration: null };
		const wire = v0_3.rpc.writeRequest(method.sendMessage, payload(method.sendMessage.input, core), collect(losses));
		expect(losses).toEqual([]);
		expect(wire.value).toEqual({ message: v3 });
	});
});

describe("lifting", () => {
	const lift = (form: Form<JsonText>, value: JsonValue, losses: LossEntry[] = []) =>
		form.readRequest(method.sendMessage, json(value), collect(losses));

	test("unknown members survive for JSON peers", () => {
		const losses: LossEntry[] = [];
		const given = { message: { ...v3, future: 1, parts: [{ kind: "text", text: "a", x: 2 }] }, more: 3 };
		expect(lift(v0_3.rpc, given, losses).json()).toMatchObject({
			message: { future: 1, parts: [{ text: "a", x: 2 }] },
			more: 3,
		});
		expect(losses).toEqual([]);
	});

	test("members that mean something else in v1.0 are reported, not believed", () => {
		const losses: LossEntry[] = [];
		const parts = [
			{ kind: "text", text: "a", data: 1, filename: "f" },
			{ kind: "file", file: { uri: "u", bytes: "YQ==", z: 1 } },
		];
		const core = lift(v0_3.rpc, { message: { ...v3, parts } }, losses).canonical();
		expect(core["message"]).toMatchObject({ parts: [{ text: "a" }, { raw: "YQ==" }] });
		expect(pointers(losses)).toEqual([
			"/message/parts/0/data",
			"/message/parts/0/filename",
			"/message/parts/1/file/uri",
			"/message/parts/1/file/z",
		]);
	});

	test("what goes on as it came was not lost", () => {
		const given = { message: { ...v3, parts: [{ kind: "file", file: { uri: "u", z: 1 } }] } };
		const losses = new Losses();
		const lifted = v0_3.rpc.readRequest(method.sendMessage, json(given), losses.add);
		expect(pointers(losses.entries)).toEqual(["/message/parts/0/file/z"]);
		expect(v0_3.rpc.writeRequest(method.sendMessage, lifted, losses.add).value).toBe(given);
		expect(losses.entries).toEqual([]);
	});

	test("several auth schemes: the first is kept", () => {
		const losses: LossEntry[] = [];
		const config = { url: "u", authentication: { schemes: ["Basic", "Bearer"] } };
		const core = lift(v0_3.rpc, { message: v3, configuration: { pushNotificationConfig: config } }, losses).canonical();
		expect(core["configuration"]).toMatchObject({
			taskPushNotificationConfig: { authentication: { scheme: "Basic" } },
		});
		expect(pointers(losses)).toEqual(["/configuration/pushNotificationConfig/authentication/schemes/1"]);
	});

	test("April 2025: null is absent, everywhere", () => {
		const losses: LossEntry[] = [];
		const given = {
			id: "t",
			sessionId: null,
			message: { role: "user", metadata: null, parts: [{ type: "text", text: "a", metadata: null }, { text: "b" }] },
			acceptedOutputModes: null,
			pushNotification: null,
			historyLength: null,
			metadata: null,
		};
		const core = lift(v0_1.rpc, given, losses).canonical();
		expect(core).toEqual({
			message: expect.objectContaining({ taskId: "t", role: "ROLE_USER", parts: [{ text: "a" }, { text: "b" }] }),
			configuration: { historyLength: 0 },
		});
		expect(losses).toEqual([]);
	});

	test.each<[string, JsonObject]>([
		["the proto's names", { request: { message_id: "m", role: 1, content: [{ text: "hi" }] } }],
		["JSON names", { message: { messageId: "m", role: "ROLE_USER", content: [{ text: "hi" }] } }],
		["kind shapes", { message: v3 }],
		["kind shapes without kind", { message: { messageId: "m", role: "user", parts: [{ text: "hi" }] } }],
	])("v0.3 HTTP+JSON reads %s", (_, given) => {
		expect(lift(v0_3.http, given).canonical()).toEqual({ message: v1 });
	});

	test.each<[string, JsonObject, JsonObject]>([
		["data", { data: { data: { a: 1 } } }, { data: { a: 1 } }],
		["data of JSON-RPC", { kind: "data", data: { a: 1 } }, { data: { a: 1 } }],
		[
			"bytes",
			{ file: { file_with_bytes: "YQ==", mime_type: "t/x", name: "n" } },
			{ raw: "YQ==", mediaType: "t/x", filename: "n" },
		],
		["bytes of JSON-RPC", { kind: "file", file: { bytes: "YQ==" } }, { raw: "YQ==" }],
	])("v0.3 HTTP+JSON part: %s", (_, given, core) => {
		const message = { messageId: "m", role: "user", content: [given] };
		expect(lift(v0_3.http, { message }).canonical()["message"]).toMatchObject({ parts: [core] });
	});

	test("v0.3 HTTP+JSON replies: lower-case states, msg, update, bare kinds, bare arrays", () => {
		const reply = (value: JsonValue) => v0_3.http.readReply(method.sendMessage, json(value)).canonical();
		const status = { state: "canceled", update: { messageId: "m", role: "agent", content: [{ text: "hi" }] } };
		const task = { id: "t", status: { state: "TASK_STATE_CANCELED", message: { ...v1, role: "ROLE_AGENT" } } };
		expect(reply({ task: { id: "t", status } })).toEqual({ task });
		expect(reply({ kind: "task", id: "t", status: { state: "canceled" } })).toEqual({
			task: { id: "t", status: { state: "TASK_STATE_CANCELED" } },
		});
		expect(reply({ msg: { message_id: "m", role: "ROLE_USER", content: [{ text: "hi" }] } })).toEqual({ message: v1 });
		const name = "tasks/t/pushNotificationConfigs/c";
		const list = v0_3.http.readReply(
			method.listTaskPushNotificationConfigs,
			json([{ name, push_notification_config: { id: "c", url: "u" } }]),
		);
		expect(list.canonical()).toEqual({ configs: [{ id: "c", taskId: "t", url: "u" }] });
	});

	test("gRPC: unknown fields are told by the message they are in", () => {
		const losses: LossEntry[] = [];
		// Task {id: "t", status {state: 2, field 99: 1}}
		const bytes = Uint8Array.of(0x0a, 1, 0x74, 0x1a, 5, 0x08, 2, 0x98, 6, 1);
		expect(TaskSchema.name).toBe("Task");
		v0_3.binary.readReply(method.getTask, bytes, collect(losses));
		expect(losses).toEqual([{ pointer: "/status", why: "field 99 is unknown" }]);
	});
});

describe("times", () => {
	test.each([
		["2026-09-01T08:00:00.000Z", "2026-09-01T08:00:00.000Z"],
		["2026-09-01T10:00:00.123456+02:00", "2026-09-01T08:00:00.123456Z"],
		["2026-09-01T08:00:00.123456", "2026-09-01T08:00:00.123456Z"],
		["2026-09-01 08:00:00", "2026-09-01T08:00:00Z"],
		["yesterday", undefined],
		["2026-13-01T08:00:00Z", undefined],
	])("%s is %s", (written, read) => {
		const losses: LossEntry[] = [];
		const task = { kind: "task", id: "t", contextId: "c", status: { state: "working", timestamp: written } };
		const lifted = v0_3.rpc.readReply(method.getTask, json(task), collect(losses));
		expect((lifted.json()["status"] as JsonObject)["timestamp"]).toBe(read);
		expect(pointers(losses)).toEqual(read === undefined ? ["/status/timestamp"] : []);
		lifted.message();
	});
});

describe("refused, as the SDKs refuse it", () => {
	test.each<[Name, JsonObject, string]>([
		["0.3 rpc", { message: { ...v3, messageId: null } }, "message.messageId"],
		["0.3 rpc", { message: { ...v3, role: "" } }, "message.role"],
		["0.3 rpc", { message: { ...v3, role: "system" } }, "message.role"],
		["0.3 rpc", { message: { ...v3, parts: [] } }, "message.parts"],
		["0.3 rpc", { message: { ...v3, parts: [{ kind: "video" }] } }, "message.parts[0]"],
		["0.3 rpc", { message: { ...v3, parts: [{ kind: "file", file: {} }] } }, "message.parts[0].file"],
		["0.3 rpc", { message: "hi" }, "message"],
		["0.3 rpc", {}, "message"],
		["0.3 http", { message: { messageId: "m", role: "ROLE_USER" } }, "message.parts"],
		["0.3 http", { message: { messageId: "m", role: "ROLE_USER", content: [{}] } }, "message.parts[0]"],
		["0.1 rpc", { message: { role: "user", parts: [{ type: "text", text: "a" }] } }, "id"],
		["0.1 rpc", { id: "t" }, "message"],
		["0.1 rpc", { id: "t", message: { parts: [{ type: "text", text: "a" }] } }, "message.role"],
		["0.1 rpc", { id: "t", message: { role: "user", parts: [{ type: "file", file: {} }] } }, "message.parts[0].file"],
	])("%s %j: %s", (name, given, field) => {
		const found = (() => {
			try {
				return violations(method.sendMessage, forms[name].readRequest(method.sendMessage, json(given)));
			} catch (error) {
				expect(error).toBeInstanceOf(PayloadError);
				return (error as PayloadError).violations;
			}
		})();
		expect(found.map((v) => v.field)).toContain(field);
	});
});

describe("v0.1", () => {
	const reply = (value: JsonValue, losses: LossEntry[] = []) =>
		v0_1.rpc.readReply(method.getTask, json(value), collect(losses));

	test("states it lacks are the nearest it has, and come back", () => {
		const task = payload(method.getTask.output, { id: "t", status: { state: "TASK_STATE_REJECTED" } });
		const wire = v0_1.rpc.writeReply(method.getTask, task);
		expect(wire.value).toMatchObject({
			status: { state: "failed" },
			metadata: { "a2a-gateway/state": "TASK_STATE_REJECTED" },
		});
		expect(reply(wire.value).canonical()).toEqual({ id: "t", status: { state: "TASK_STATE_REJECTED" } });
	});

	test("artifacts of one index are one, and what that hides is reported", () => {
		const losses: LossEntry[] = [];
		const text = (index: number, name: string) => ({
			index,
			name,
			parts: [{ type: "text", text: name }],
			append: true,
		});
		const task = reply(
			{ id: "t", status: { state: "working" }, artifacts: [text(0, "a"), text(0, "b"), text(1, "c")] },
			losses,
		);
		expect(task.canonical()["artifacts"]).toEqual([
			{ artifactId: "artifact-0", name: "a", parts: [{ text: "a" }, { text: "b" }] },
			{ artifactId: "artifact-1", name: "c", parts: [{ text: "c" }] },
		]);
		expect(pointers(losses)).toEqual(["/artifacts/1/name"]);
	});

	test("a message has the same id whenever it is read, and its own within a history", () => {
		const said = { role: "user", parts: [{ type: "text", text: "yes" }] };
		const read = () =>
			reply({ id: "t", status: { state: "working" }, history: [said, said] }).canonical()["history"] as JsonObject[];
		const [first, second] = read();
		expect(first?.["messageId"]).not.toBe(second?.["messageId"]);
		expect(read()).toEqual([first, second]);
	});
});
