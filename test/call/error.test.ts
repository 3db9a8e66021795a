/** The one error class and the losses: what they keep, what they show, and what they never show. */
import { describe, expect, it } from "vitest";
import { A2AError, errorInfo, errors, invalidParams, isReason, type Reason, Status } from "../../src/call/error.ts";
import { LOSS_HEADER, Losses, pointer } from "../../src/call/loss.ts";
import { PayloadError } from "../../src/call/payload.ts";

const INFO = "type.googleapis.com/google.rpc.ErrorInfo";

describe("A2AError", () => {
	it.each(Object.keys(errors) as Reason[])("%s has its codes, a text and an ErrorInfo", (reason) => {
		const error = new A2AError(reason);
		expect(error.rpc).toBeLessThan(0);
		expect(Status[error.grpc]).toBeGreaterThan(0);
		expect(error.http).toBeGreaterThanOrEqual(400);
		expect(error.message).toMatch(/\S/);
		expect(errorInfo(error.details)).toEqual({ reason, domain: "a2a-protocol.org" });
		expect(isReason(reason)).toBe(true);
	});

	it("A2A's own codes belong to one reason each", () => {
		const own = Object.values(errors).filter((row) => "a2a" in row);
		expect(new Set(own.map((row) => row.rpc)).size).toBe(9);
	});

	it("keeps a peer's ErrorInfo, and its own codes", () => {
		const details = [{ "@type": INFO, reason: "THEIRS", domain: "x" }];
		const error = new A2AError("UNKNOWN", { details, wire: { rpc: -32050, http: 418, grpc: "ABORTED" } });
		expect(error.details).toEqual(details);
		expect([error.rpc, error.http, error.grpc]).toEqual([-32050, 418, "ABORTED"]);
	});

	it.each(["toString", "__proto__", "constructor", "", "task_not_found"])("%j is no reason", (name) => {
		expect(isReason(name)).toBe(false);
	});

	it.each<[string, unknown, Reason]>([
		["an A2AError", new A2AError("TASK_NOT_FOUND"), "TASK_NOT_FOUND"],
		["a payload that does not fit", new PayloadError([{ field: "a", description: "no" }]), "INVALID_PARAMS"],
		["an abort", new DOMException("secret", "AbortError"), "CANCELLED"],
		[
			"an abort for a reason",
			Object.assign(new Error("x", { cause: new A2AError("DEADLINE_EXCEEDED") }), { name: "AbortError" }),
			"DEADLINE_EXCEEDED",
		],
		["an error", new TypeError("secret"), "INTERNAL_ERROR"],
		["a string", "secret", "INTERNAL_ERROR"],
		["nothing", undefined, "INTERNAL_ERROR"],
	])("from %s", (_, thrown, reason) => {
		const error = A2AError.from(thrown);
		expect(error.reason).toBe(reason);
		expect(`${error.message} ${JSON.stringify(error.details)}`).not.toContain("secret");
	});

	it("names the fields that are wrong", () => {
		const error = invalidParams([{ field: "message.parts[0]", description: "must be set" }]);
		expect(error.message).toContain("message.parts[0]");
		expect(error.details[1]).toEqual({
			"@type": "type.googleapis.com/google.rpc.BadRequest",
			fieldViolations: [{ field: "message.parts[0]", description: "must be set" }],
		});
	});
});

describe("Losses", () => {
	it("lists each pointer once, percent-encoded, and not without end", () => {
		const losses = new Losses();
		expect(losses.header()).toBeUndefined();
		losses.add("/a", "why");
		losses.add("/a", "why");
		losses.add("/a", "another why");
		losses.add("/b,c é%\r\n", "why");
		losses.add("", "everything");
		expect(losses.entries).toHaveLength(4);
		expect(losses.header()).toBe("/a, /b%2Cc%20%C3%A9%25%0D%0A, /");
		losses.add("/half\ud800", "why");
		expect(losses.header()).toMatch(/%EF%BF%BD$/);
		for (let i = 0; i < 100_000; i++) losses.add(`/member/${i}`, "why");
		expect(losses.entries.length).toBeLessThan(1000);
		expect(losses.header()?.length).toBeLessThan(2100);
		expect(losses.header()).toMatch(/, \.\.\.$/);
		expect(LOSS_HEADER).toBe("a2a-gateway-loss");
	});

	it("refuses in strict mode only, and only losses", () => {
		const losses = new Losses();
		const refuse = () => new Error("refused");
		losses.strict = true;
		expect(() => losses.check(refuse)).not.toThrow();
		losses.add("/a", "why");
		expect(() => losses.check(refuse)).toThrow("refused");
		losses.strict = false;
		expect(() => losses.check(refuse)).not.toThrow();
	});

	it("pointers escape their steps", () => {
		expect(pointer(pointer("", "a/b~c"), 0)).toBe("/a~1b~0c/0");
	});
});
