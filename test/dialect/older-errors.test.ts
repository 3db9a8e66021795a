/** Errors of v0.3, v0.2 and v0.1 in the three wire forms, and back (errors.md §4). */
import { describe, expect, test } from "vitest";
import { A2AError, errors, type Reason } from "../../src/call/error.ts";
import { v0_1 } from "../../src/dialect/v0_1/index.ts";
import { v0_3 } from "../../src/dialect/v0_3/index.ts";
import { v1 } from "../../src/dialect/v1/index.ts";

const reasons = Object.keys(errors) as Reason[];

test.each(reasons)("%s comes back from every form of both", (reason) => {
	const error = new A2AError(reason, { message: "why", metadata: { taskId: "t" } });
	const { errors: third } = v0_3;
	const http = third.http.write(error);
	for (const back of [
		third.rpc.read(JSON.parse(JSON.stringify(third.rpc.write(error)))),
		third.http.read(http.status, JSON.parse(JSON.stringify(http.body)), {}),
		third.grpc.read(third.grpc.write(error)),
		v0_1.errors.rpc.read(JSON.parse(JSON.stringify(v0_1.errors.rpc.write(error)))),
	]) {
		expect(back.reason).toBe(reason);
		expect(back.message).toBe("why");
		expect(back.details[0]?.["metadata"]).toMatchObject({ taskId: "t" });
	}
});

describe("JSON-RPC codes", () => {
	test.each<[Reason, number, number]>([
		["TASK_NOT_FOUND", -32001, -32001],
		["CONTENT_TYPE_NOT_SUPPORTED", -32005, -32005],
		["INVALID_AGENT_RESPONSE", -32006, -32603],
		["EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007, -32004],
		["EXTENSION_SUPPORT_REQUIRED", -32600, -32600],
		["VERSION_NOT_SUPPORTED", -32600, -32600],
		["METHOD_NOT_FOUND", -32601, -32601],
		["UNAUTHENTICATED", -31401, -32007],
		["PERMISSION_DENIED", -31403, -32008],
		["RESOURCE_EXHAUSTED", -32603, -32010],
	])("%s is %d in v0.3 and %d in v0.1, its reason in data", (reason, third, first) => {
		const error = new A2AError(reason);
		expect(v0_3.errors.rpc.write(error)).toMatchObject({ code: third, data: { reason } });
		expect(v0_1.errors.rpc.write(error)).toMatchObject({ code: first, data: { reason } });
	});

	test.each([v0_3, v0_1])("$version: codes nobody knows survive, with their data", ({ errors: forms }) => {
		const foreign = { code: -32050, message: "odd", data: { any: ["thing"] } };
		expect(forms.rpc.write(forms.rpc.read(foreign))).toEqual(foreign);
		expect(v1.errors.rpc.write(forms.rpc.read(foreign))).toEqual(foreign);
	});

	test.each<[number, Reason]>([
		[-32006, "UNSUPPORTED_OPERATION"],
		[-32007, "UNAUTHENTICATED"],
		[-32008, "PERMISSION_DENIED"],
		[-32009, "UNSUPPORTED_OPERATION"],
		[-32010, "RESOURCE_EXHAUSTED"],
		[-32011, "UNAVAILABLE"],
	])("v0.1's own %d means %s, and is never told as a later version's error", (code, reason) => {
		const read = v0_1.errors.rpc.read({ code, message: "m" });
		expect(read.reason).toBe(reason);
		expect(v1.errors.rpc.write(read).code).toBe(errors[reason].rpc);
		expect(v0_3.errors.rpc.write(read).code).toBe(errors[reason].rpc);
		expect(v0_1.errors.rpc.write(read)).toMatchObject({ code, message: "m" });
	});
});

describe("v0.3 HTTP+JSON", () => {
	test.each<[number, unknown, Reason]>([
		[400, { code: -32002, message: "m" }, "TASK_NOT_CANCELABLE"],
		[404, { code: -32001, message: "m" }, "TASK_NOT_FOUND"],
		[404, { code: -32007, message: "m" }, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"],
		[409, { message: "m" }, "TASK_NOT_CANCELABLE"],
		[501, { message: "m" }, "UNSUPPORTED_OPERATION"],
		[415, undefined, "CONTENT_TYPE_NOT_SUPPORTED"],
		[422, undefined, "INVALID_PARAMS"],
		[401, undefined, "UNAUTHENTICATED"],
	])("%d %j is %s", (status, body, reason) => {
		const read = v0_3.errors.http.read(status, body as never, {});
		expect(read.reason).toBe(reason);
		if (body !== undefined) expect(read.message).toBe("m");
	});

	test("each reader finds its own: the bare object of 0.3 and the Status of v1.0", () => {
		const { status, body } = v0_3.errors.http.write(new A2AError("TASK_NOT_FOUND", { message: "m" }));
		expect(status).toBe(404);
		expect(body).toMatchObject({ code: -32001, message: "m", error: { code: 404, status: "NOT_FOUND" } });
	});
});

describe("v0.3 gRPC", () => {
	test.each<[number, string, Reason, string]>([
		[5, "TaskNotFoundError: gone", "TASK_NOT_FOUND", "gone"],
		[12, "TaskNotCancelableError: no", "TASK_NOT_CANCELABLE", "no"],
		[3, "InvalidParamsError: bad", "INVALID_PARAMS", "bad"],
		[13, "JSONParseError: bad", "PARSE_ERROR", "bad"],
		[2, "AuthenticatedExtendedCardNotConfiguredError: none", "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "none"],
		[14, "Unknown: not a name", "UNAVAILABLE", "Unknown: not a name"],
		[5, "no such thing", "TASK_NOT_FOUND", "no such thing"],
	])("%d %j is %s", (code, message, reason, text) => {
		const read = v0_3.errors.grpc.read({ code, message });
		expect([read.reason, read.message]).toEqual([reason, text]);
	});
});
