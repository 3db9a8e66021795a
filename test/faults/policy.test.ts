/** What the gateway decides for the agent, in every client form: versions, extensions, capabilities, ranges, deadlines, request ids. */
import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Reason } from "../../src/call/error.ts";
import { startScripted } from "../peer/agents/scripted.ts";
import { type Agent, isStream, methods } from "../peer/protocol.ts";
import {
	agentBindings,
	byPath,
	card,
	closeAll,
	expectClean,
	expectReason,
	type Gate,
	later,
	list,
	message,
	openGate,
	polite,
	pushes,
	streaming,
	unary,
	until,
} from "./harness.ts";
import { ask, forms, http1 } from "./raw.ts";

afterAll(closeAll);

async function open(bindings: readonly string[], cardMembers: JsonObject = {}, flags: readonly string[] = []) {
	const agent = await startScripted({ bindings, script: polite, card: cardMembers });
	later(() => agent.close());
	return { agent, gate: await openGate(agent.url, { flags }) };
}

/** The least that an operation accepts. */
function least(method: DescMethod): JsonObject {
	const fields = new Set(method.input.fields.map((f) => f.name));
	if (fields.has("message")) return message;
	return {
		...(fields.has("id") && { id: "1" }),
		...(fields.has("task_id") && { taskId: "1" }),
		...(fields.has("url") && { url: "https://hook.example" }),
	};
}

describe("versions, ranges and ids", () => {
	let agent: Agent;
	let gate: Gate;
	beforeAll(async () => {
		({ agent, gate } = await open(["JSONRPC"]));
	});
	afterEach(() => {
		agent.calls.length = 0;
	});

	const versions: readonly [string, boolean][] = [
		["1.0", true],
		["1.0.0", true],
		["1.0.7", true],
		["", true],
		["0.3", false],
		["0.2", false],
		["0.1", false],
		["1.1", false],
		["2.0", false],
		["1", false],
		["v1.0", false],
		["1.0, 0.3", false],
		["nonsense", false],
		[`9.${"9".repeat(500)}`, false],
	];
	it.each(versions.flatMap(([version, good]) => forms.map((form) => [form, version, good] as const)))(
		"%s: A2A-Version %j",
		async (form, version, good) => {
			for (const method of [byPath, streaming]) {
				const answer = await ask(gate.url, form, method, least(method), { header: { "a2a-version": version } });
				expectClean(answer, [new URL(agent.url).host, "9".repeat(100)]);
				if (good) expect([answer.reason, answer.messages]).toEqual([undefined, 1]);
				else {
					expectReason(answer, "VERSION_NOT_SUPPORTED");
					expect(answer.details[0]?.["metadata"]).toMatchObject({ supportedVersions: expect.stringContaining("1.0") });
				}
			}
			expect(agent.calls).toHaveLength(good ? 2 : 0);
			for (const call of agent.calls) expect(call.header["a2a-version"]).toBe("1.0");
		},
	);

	it.each(["JSONRPC", "HTTP+JSON", "CONNECT"] as const)(
		"%s: a version in the query, if the header has none",
		async (form) => {
			const asked = (query: string, version: string) =>
				ask(gate.url, form, byPath, { id: "1" }, { header: { "a2a-version": version }, query });
			expectReason(await asked("A2A-Version=2.0", ""), "VERSION_NOT_SUPPORTED");
			expect((await asked("A2A-Version=1.0", "")).code).toBeUndefined();
			expect((await asked("A2A-Version=2.0", "1.0")).code).toBeUndefined();
		},
	);

	const ranges: readonly [DescMethod, JsonObject, string | undefined][] = [
		[byPath, { id: "1", historyLength: 0 }, undefined],
		[byPath, { id: "1", historyLength: 2147483647 }, undefined],
		[byPath, { id: "1", historyLength: -1 }, "historyLength"],
		[byPath, {}, "id"],
		[list, { pageSize: 1 }, undefined],
		[list, { pageSize: 100 }, undefined],
		[list, { pageSize: 101 }, "pageSize"],
		[list, { pageSize: -1 }, "pageSize"],
		[list, { pageSize: 0 }, "pageSize"],
		[list, { historyLength: -5 }, "historyLength"],
		[unary, { ...message, configuration: { historyLength: -1 } }, "configuration.historyLength"],
		[unary, {}, "message"],
		[unary, { message: { role: "ROLE_USER", parts: [{ text: "x" }] } }, "message.messageId"],
		[unary, { message: { messageId: "m", parts: [{ text: "x" }] } }, "message.role"],
		[unary, { message: { messageId: "m", role: "ROLE_USER" } }, "message.parts"],
		[unary, { message: { messageId: "m", role: "ROLE_USER", parts: [{}] } }, "message.parts[0]"],
		[streaming, {}, "message"],
	];
	it.each(
		ranges.flatMap(([method, request, field]) =>
			forms.map((form) => [form, method.name, JSON.stringify(request), field, method, request] as const),
		),
	)("%s: %s %s → %s", async (form, _name, _text, field, method, request) => {
		// An empty path segment is another route.
		if (form === "HTTP+JSON" && field === "id") return;
		const answer = await ask(gate.url, form, method, request);
		if (field === undefined) return expect([answer.reason, answer.messages]).toEqual([undefined, 1]);
		expectReason(answer, "INVALID_PARAMS");
		const violations = answer.details.flatMap((d) => (d["fieldViolations"] ?? []) as { field: string }[]);
		expect(violations.map((v) => v.field)).toContain(field);
		return expect(agent.calls).toEqual([]);
	});

	it.each(forms)("%s: the request id is the client's, or the gateway's own", async (form) => {
		const id = async (given: string | undefined, method: DescMethod, request: JsonObject) =>
			(await ask(gate.url, form, method, request, { header: given === undefined ? {} : { "x-request-id": given } }))
				.header["x-request-id"];
		for (const [method, request] of [
			[byPath, { id: "1" }],
			[byPath, { id: "1", historyLength: -1 }],
			[streaming, message],
			[streaming, {}],
		] as const) {
			expect(await id("mine-1", method, request)).toBe("mine-1");
			const [one, other] = [await id(undefined, method, request), await id("x".repeat(500), method, request)];
			expect(one).toMatch(/^[\x21-\x7e]{1,128}$/);
			expect(other).toMatch(/^[\x21-\x7e]{1,128}$/);
			expect(one).not.toBe(other);
		}
	});

	it.each(["/", "/healthz", "/readyz", "/.well-known/agent-card.json", "/nowhere", "/tasks/%zz"])(
		"GET %s has a request id",
		async (path) => {
			expect((await http1(gate.url, { verb: "GET", path })).header["x-request-id"]).toMatch(/\S/);
			expect(
				(await http1(gate.url, { verb: "GET", path, header: { "x-request-id": "mine" } })).header["x-request-id"],
			).toBe("mine");
		},
	);
});

describe.each(agentBindings)("an agent over %s", (binding) => {
	it("that can nothing is asked nothing it cannot", async () => {
		const { agent, gate } = await open([binding], { capabilities: {} });
		const needs = new Map<DescMethod, Reason>([
			...methods.filter(isStream).map((m) => [m, "UNSUPPORTED_OPERATION"] as const),
			...pushes.map((m) => [m, "PUSH_NOTIFICATION_NOT_SUPPORTED"] as const),
			[card, "UNSUPPORTED_OPERATION"],
		]);
		for (const form of forms) {
			for (const method of methods) {
				const answer = await ask(gate.url, form, method, least(method));
				const reason = needs.get(method);
				if (reason) expectReason(answer, reason);
				else expect([method.name, answer.reason, answer.code]).toEqual([method.name, undefined, undefined]);
				expectClean(answer);
			}
		}
		expect(agent.calls).toHaveLength(forms.length * (methods.length - needs.size));
	});

	it("that requires an extension gets it named, or is not called", async () => {
		const extensions = [
			{ uri: "urn:must", required: true },
			{ uri: "urn:may", required: false },
		];
		const { agent, gate } = await open([binding], { capabilities: { streaming: true, extensions } });
		for (const form of forms) {
			for (const method of [unary, streaming]) {
				for (const header of [{}, { "a2a-extensions": "urn:may" }, { "a2a-extensions": "urn:must2,urn:mus" }]) {
					const answer = await ask(gate.url, form, method, message, { header });
					expectReason(answer, "EXTENSION_SUPPORT_REQUIRED");
					expect(JSON.stringify(answer.details)).toContain("urn:must");
				}
				expect(agent.calls).toEqual([]);
				for (const header of [
					{ "a2a-extensions": "urn:must" },
					{ "a2a-extensions": "urn:x , urn:must" },
					{ "x-a2a-extensions": "urn:must" },
				] as const) {
					expect((await ask(gate.url, form, method, message, { header })).reason).toBeUndefined();
				}
				expect(agent.calls.splice(0).map((c) => c.header["a2a-extensions"])).toEqual([
					"urn:must",
					"urn:x, urn:must",
					"urn:must",
				]);
			}
		}
	});

	describe("that hangs", () => {
		let agent: Agent;
		let gate: Gate;
		let short: Gate;
		beforeAll(async () => {
			({ agent, gate } = await open([binding]));
			short = await openGate(agent.url, { config: (c) => ({ ...c, timeouts: { ...c.timeouts, unary: 150 } }) });
			agent.script = (call) => {
				const gone = new Promise<never>((_, reject) =>
					call.signal.addEventListener("abort", () => reject(new Error("gone")), { once: true }),
				);
				if (!isStream(call.method)) return gone;
				return (async function* () {
					yield await gone;
				})();
			};
		});
		afterEach(async () => {
			expect(agent.calls.length).toBeGreaterThan(0);
			await until(() => agent.calls.every((call) => call.signal.aborted), "the agent's calls have ended", 1_000);
			agent.calls.length = 0;
		});

		const deadlines = [
			["GRPC", { "grpc-timeout": "150m" }],
			["GRPC-WEB", { "grpc-timeout": "150m" }],
			["CONNECT", { "connect-timeout-ms": "150" }],
		] as const;
		it.each(deadlines)("%s: the client's deadline ends the call on both sides", async (form, header) => {
			for (const [method, request] of [
				[byPath, { id: "1" }],
				[streaming, message],
			] as const) {
				const answer = await ask(gate.url, form, method, request, { header });
				expect(answer.code).toBe(form === "CONNECT" ? "deadline_exceeded" : 4);
				expectClean(answer);
			}
		});

		it.each(forms)("%s: the gateway's own deadline ends a unary call on both sides", async (form) => {
			const answer = await ask(short.url, form, byPath, { id: "1" });
			expectReason(answer, "DEADLINE_EXCEEDED");
			expectClean(answer);
		});

		it.each(forms)("%s: a client that leaves ends the agent's call", async (form) => {
			for (const [method, request] of [
				[byPath, { id: "1" }],
				[streaming, message],
			] as const) {
				const controller = new AbortController();
				const before = agent.calls.length;
				const asked = ask(gate.url, form, method, request, { signal: controller.signal }).catch(() => undefined);
				await until(() => agent.calls.length > before, "the call has come");
				controller.abort();
				await asked;
			}
		});
	});
});
