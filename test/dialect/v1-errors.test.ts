import { describe, expect, it } from "vitest";
import { A2AError, type Detail, errors, type Reason, Status } from "../../src/call/error.ts";
import { v1 } from "../../src/dialect/v1/index.ts";
import { unpackStatus } from "../../src/schema/details.ts";

const { rpc, http, grpc } = v1.errors;
const reasons = Object.keys(errors) as Reason[];
const info = (reason: string, metadata?: Record<string, string>): Detail => ({
	"@type": "type.googleapis.com/google.rpc.ErrorInfo",
	reason,
	domain: "a2a-protocol.org",
	...(metadata && { metadata }),
});

describe("every reason survives every form", () => {
	it.each(reasons)("%s", (reason) => {
		const error = new A2AError(reason, { message: "why", metadata: { taskId: "t-1" } });
		const viaRpc = rpc.read(JSON.parse(JSON.stringify(rpc.write(error))));
		const written = http.write(error);
		const viaHttp = http.read(written.status, JSON.parse(JSON.stringify(written.body)), {});
		const viaGrpc = grpc.read(grpc.write(error));
		for (const read of [viaRpc, viaHttp, viaGrpc]) {
			expect(read).toMatchObject({ reason, message: "why", rpc: error.rpc, grpc: error.grpc, http: error.http });
			expect(read.details).toEqual([info(reason, { taskId: "t-1" })]);
		}
	});
});

describe("the table of errors.md §1", () => {
	it.each([
		["TASK_NOT_FOUND", -32001, 5, 404],
		["TASK_NOT_CANCELABLE", -32002, 9, 400],
		["PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 9, 400],
		["UNSUPPORTED_OPERATION", -32004, 9, 400],
		["CONTENT_TYPE_NOT_SUPPORTED", -32005, 3, 400],
		["INVALID_AGENT_RESPONSE", -32006, 13, 500],
		["EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007, 9, 400],
		["EXTENSION_SUPPORT_REQUIRED", -32008, 9, 400],
		["VERSION_NOT_SUPPORTED", -32009, 9, 400],
	] as const)("%s is %i, %i, %i", (reason, code, status, httpStatus) => {
		const error = new A2AError(reason);
		expect(rpc.write(error).code).toBe(code);
		expect(grpc.write(error).code).toBe(status);
		expect(http.write(error).status).toBe(httpStatus);
		expect(errors[reason].a2a).toBe(true);
	});
});

describe("reading peers", () => {
	it.each([
		["v1.0.0 cancel", 409, "TASK_NOT_CANCELABLE", 400],
		["v1.0.0 content type", 415, "CONTENT_TYPE_NOT_SUPPORTED", 400],
		["v1.0.0 invalid answer", 502, "INVALID_AGENT_RESPONSE", 500],
	])("brings a v1.0.0 HTTP status up to date: %s", (_name, status, reason, now) => {
		const error = http.read(status, { error: { code: status, message: "m", details: [info(reason)] } }, {});
		expect(error).toMatchObject({ reason, http: now });
	});

	it.each(["PUSH_NOTIFICATION_NOT_SUPPORTED", "UNSUPPORTED_OPERATION", "VERSION_NOT_SUPPORTED"] as const)(
		"brings a v1.0.0 UNIMPLEMENTED up to date: %s",
		(reason) => {
			const { details } = grpc.write(new A2AError(reason));
			expect(grpc.read({ code: 12, message: "m", ...(details && { details }) })).toMatchObject({
				reason,
				grpc: "FAILED_PRECONDITION",
			});
		},
	);

	it("reads problem documents", () => {
		const error = http.read(400, { type: "about:blank", title: "Bad", detail: "because", status: 400 }, {});
		expect(error).toMatchObject({ reason: "INVALID_PARAMS", message: "because" });
	});

	it.each([
		[401, "UNAUTHENTICATED"],
		[403, "PERMISSION_DENIED"],
		[404, "NOT_FOUND"],
		[413, "REQUEST_TOO_LARGE"],
		[429, "RESOURCE_EXHAUSTED"],
		[500, "INTERNAL_ERROR"],
		[502, "UNAVAILABLE"],
		[503, "UNAVAILABLE"],
		[504, "DEADLINE_EXCEEDED"],
		[418, "FAILED_PRECONDITION"],
		[599, "UNAVAILABLE"],
	])("reads a bare HTTP %i as %s and keeps the challenge", (status, reason) => {
		const error = http.read(status, undefined, { "www-authenticate": "Bearer", "retry-after": "3", server: "x" });
		expect(error).toMatchObject({ reason, http: status });
		expect(error.header).toEqual({ "www-authenticate": "Bearer", "retry-after": "3" });
	});

	it("keeps a JSON-RPC code and data that no row has", () => {
		const error = rpc.read({ code: -32050, message: "odd", data: { a: 1 } });
		expect(rpc.write(error)).toEqual({ code: -32050, message: "odd", data: { a: 1 } });
		expect(Status[error.grpc]).toBe(2);
	});

	it("keeps every gRPC status, details it does not know included", () => {
		for (let code = 1; code <= 16; code++) {
			expect(grpc.write(grpc.read({ code, message: "m" })).code, String(code)).toBe(code);
		}
		const strange: Detail = { "@type": "type.googleapis.com/acme.Quota", value: "AQI=" };
		const written = grpc.write(new A2AError("RESOURCE_EXHAUSTED", { details: [strange] }));
		expect(grpc.read(written).details).toContainEqual(strange);
	});

	it.each([null, 5, "x", [], {}, { code: "5" }, { code: 1.5 }])("never throws: %j", (value) => {
		expect(rpc.read(value as never).reason).toBe("INVALID_AGENT_RESPONSE");
		expect(http.read(500, value as never, {}).reason).toBe("INTERNAL_ERROR");
		expect(grpc.read({ code: 5, message: "", details: new Uint8Array([255, 255]) }).reason).toBe("NOT_FOUND");
	});

	it("reads the test vector of errors.md §3", () => {
		const details = Buffer.from(
			"CAUSDE5vIHN1Y2ggdGFzaxpfCih0eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5ycGMuRXJyb3JJbmZvEjMKDlRBU0tfTk9UX0ZPVU5EEhBhMmEtcHJvdG9jb2wub3JnGg8KBnRhc2tJZBIFdC00MDQ",
			"base64",
		);
		expect(grpc.read({ code: 5, message: "No such task", details })).toMatchObject({
			reason: "TASK_NOT_FOUND",
			message: "No such task",
			details: [info("TASK_NOT_FOUND", { taskId: "t-404" })],
		});
		const error = new A2AError("TASK_NOT_FOUND", { message: "No such task", metadata: { taskId: "t-404" } });
		expect(Buffer.from(grpc.write(error).details ?? []).toString("hex")).toBe(details.toString("hex"));
		expect(unpackStatus(details)).toMatchObject({ code: 5 });
	});
});

describe("A2AError.from", () => {
	it("shows nothing of a foreign error", () => {
		const error = A2AError.from(new Error("postgres://user:pw@10.0.0.1 refused"));
		expect(JSON.stringify([error.message, error.details])).not.toContain("10.0.0.1");
		expect(error.reason).toBe("INTERNAL_ERROR");
		expect(error.cause).toBeInstanceOf(Error);
	});
});
