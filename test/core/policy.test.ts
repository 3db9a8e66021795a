import { fromJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AgentCardSchema, StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { anonymous, type Call, chain, type Handler, isStream, type Middleware } from "../../src/call/call.ts";
import { A2AError } from "../../src/call/error.ts";
import { Losses } from "../../src/call/loss.ts";
import { reply, single } from "../../src/call/stream.ts";
import { answer } from "../../src/core/answer.ts";
import { checkCapabilities } from "../../src/core/capability.ts";
import { extensionsTowardsAgent, extensionsTowardsClient } from "../../src/core/extension-header.ts";
import { forward } from "../../src/core/forward.ts";
import { checkExtensions, checkVersion } from "../../src/core/negotiate.ts";
import { relay } from "../../src/core/relay.ts";
import { validate } from "../../src/core/validate.ts";
import { type AgentView, capabilitiesOf } from "../../src/core/view.ts";
import { core, v1 } from "../../src/dialect/v1/index.ts";
import { fromValue } from "../../src/schema/payload.ts";

const methods = core.methods;
const byOutput = (output: unknown) => methods.find((m) => m.output === output) ?? methods[0];
const named = (part: string) => methods.filter((m) => m.input.name.includes(part));

function call(method: (typeof methods)[number], value: object, extra: Partial<Call> = {}): Call {
	return {
		method,
		request: fromValue(method.input, value as never),
		agent: "default",
		header: {},
		query: {},
		principal: anonymous,
		origin: { binding: "JSONRPC", version: "1.0" },
		losses: new Losses(),
		id: "1",
		signal: new AbortController().signal,
		...extra,
	};
}

const view: AgentView = {
	streaming: true,
	pushNotifications: true,
	extendedCard: true,
	requiredExtensions: [],
	version: "1.0",
	traits: v1.traits,
	binding: "JSONRPC",
	strict: false,
	tenant: "",
	credentials: (header) => ({
		header: header["authorization"] ? { authorization: header["authorization"] } : {},
		query: {},
	}),
	redact: (text) => text.replaceAll("http://10.0.0.1:9", "https://gw"),
	project: async (card) => ({ ...card, name: "projected" }),
};

const ok: Handler = async (c) => reply(fromValue(c.method.output, {}));

async function outcome(middleware: Middleware, c: Call, next: Handler = ok): Promise<string> {
	try {
		await (async () => chain([middleware], next)(c))();
		return "ok";
	} catch (error) {
		return A2AError.from(error).reason;
	}
}

describe("versions", () => {
	const middleware = checkVersion(["1.0"]);
	it.each([
		["", "ok"],
		["1.0", "ok"],
		["1.0.1", "ok"],
		[" 1.0 ", "ok"],
		["2.0", "VERSION_NOT_SUPPORTED"],
		["1.1", "VERSION_NOT_SUPPORTED"],
		["0.3", "VERSION_NOT_SUPPORTED"],
		["rubbish", "VERSION_NOT_SUPPORTED"],
	])("A2A-Version %j: %s", async (version, expected) => {
		const [method] = methods;
		expect(await outcome(middleware, call(method as never, {}, { header: { "a2a-version": version } }))).toBe(expected);
		expect(await outcome(middleware, call(method as never, {}, { query: { "A2A-Version": version } }))).toBe(expected);
	});
});

describe("capabilities", () => {
	const without = { ...view, streaming: false, pushNotifications: false, extendedCard: false };
	const middleware = checkCapabilities(() => without);
	it.each(methods.map((m) => [m.name, m] as const))("%s without any", async (_name, method) => {
		const expected = isStream(method)
			? "UNSUPPORTED_OPERATION"
			: named("PushNotificationConfig").includes(method)
				? "PUSH_NOTIFICATION_NOT_SUPPORTED"
				: method.output === AgentCardSchema
					? "UNSUPPORTED_OPERATION"
					: "ok";
		expect(await outcome(middleware, call(method, {}))).toBe(expected);
		expect(
			await outcome(
				checkCapabilities(() => view),
				call(method, {}),
			),
		).toBe("ok");
	});

	it("absent counts as false", () => {
		expect(capabilitiesOf(fromJson(AgentCardSchema, {}))).toEqual({
			streaming: false,
			pushNotifications: false,
			extendedCard: false,
			requiredExtensions: [],
		});
	});
});

describe("required extensions", () => {
	const middleware = checkExtensions(() => ({ ...view, requiredExtensions: ["urn:a", "urn:b"] }));
	it.each([
		[{}, "EXTENSION_SUPPORT_REQUIRED"],
		[{ "a2a-extensions": "urn:a" }, "EXTENSION_SUPPORT_REQUIRED"],
		[{ "a2a-extensions": "urn:b,urn:a" }, "ok"],
		[{ "a2a-extensions": "urn:b", "x-a2a-extensions": " urn:a " }, "ok"],
	])("%j: %s", async (header, expected) => {
		expect(await outcome(middleware, call(methods[0] as never, {}, { header: header as never }))).toBe(expected);
	});
});

describe("validation", () => {
	const list = byOutput(methods.find((m) => m.output.name.startsWith("ListTasks"))?.output) as (typeof methods)[number];
	const get = methods.find(
		(m) => m.output === TaskSchema && m.input.field["historyLength"],
	) as (typeof methods)[number];
	const create = methods.find((m) => m.input === m.output) as (typeof methods)[number];
	const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] };
	const send = methods[0] as (typeof methods)[number];

	it.each([
		[get, { id: "t" }, "ok"],
		[get, { id: "t", historyLength: 0 }, "ok"],
		[get, { id: "t", historyLength: -1 }, "INVALID_PARAMS"],
		[get, {}, "INVALID_PARAMS"],
		[list, {}, "ok"],
		[list, { pageSize: 1 }, "ok"],
		[list, { pageSize: 100 }, "ok"],
		[list, { pageSize: 0 }, "INVALID_PARAMS"],
		[list, { pageSize: 101 }, "INVALID_PARAMS"],
		[list, { historyLength: -2 }, "INVALID_PARAMS"],
		[list, { status: "TASK_STATE_WORKING" }, "ok"],
		[list, { status: "TASK_STATE_LOST" }, "INVALID_PARAMS"],
		[list, { statusTimestampAfter: "noon" }, "INVALID_PARAMS"],
		[send, { message }, "ok"],
		[send, { message, configuration: { historyLength: -1 } }, "INVALID_PARAMS"],
		[send, { message: { ...message, parts: [] } }, "INVALID_PARAMS"],
		[send, { message: { ...message, role: "ROLE_SYSTEM" } }, "ok"],
		[create, { url: "https://x" }, "INVALID_PARAMS"],
		[create, { taskId: "t" }, "INVALID_PARAMS"],
		[create, { taskId: "t", url: "https://x" }, "ok"],
	])("%s %j: %s", async (method, value, expected) => {
		expect(
			await outcome(
				validate(() => v1.traits),
				call(method, value),
			),
		).toBe(expected);
	});
});

describe("forwarding", () => {
	it("lets the named set cross and nothing else", async () => {
		let seen: Call | undefined;
		const handler = chain([forward(() => view)], async (c) => {
			seen = c;
			return ok(c);
		});
		await handler(
			call(
				methods[0] as never,
				{},
				{
					header: {
						authorization: "Bearer x",
						cookie: "session=1",
						"x-forwarded-for": "1.2.3.4",
						"a2a-version": "1.0",
						"x-a2a-extensions": "urn:a",
						traceparent: "00-1-2-01",
					},
					query: { key: "1" },
				},
			),
		);
		expect(seen?.header).toEqual({ authorization: "Bearer x", "a2a-extensions": "urn:a", traceparent: "00-1-2-01" });
		expect(seen?.query).toEqual({});
	});
});

describe("answers", () => {
	const stream = methods.find(isStream) as (typeof methods)[number];

	it("hides the agent's address in errors, details and foreign data", async () => {
		const handler = chain([answer(() => view)], async () => {
			throw new A2AError("INTERNAL_ERROR", {
				message: "cannot reach http://10.0.0.1:9/db",
				metadata: { url: "http://10.0.0.1:9/x" },
				wire: { data: { at: "http://10.0.0.1:9" } },
			});
		});
		const error = await handler(call(methods[0] as never, {})).catch((e: unknown) => e as A2AError);
		expect(
			JSON.stringify([(error as A2AError).message, (error as A2AError).details, (error as A2AError).wire]),
		).not.toContain("10.0.0.1");
	});

	it("refuses an event that holds nothing, and passes one it does not know", async () => {
		const through = async (value: object) => {
			const handler = chain([answer(() => view)], async () => ({
				header: {},
				messages: (async function* () {
					yield fromValue(StreamResponseSchema, value as never);
				})(),
			}));
			return (await single(await handler(call(stream, {})))).json();
		};
		await expect(through({})).rejects.toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
		expect(await through({ progress: { percent: 5 } })).toEqual({ progress: { percent: 5 } });
	});

	it("serves cards as its own", async () => {
		const method = byOutput(AgentCardSchema) as (typeof methods)[number];
		const handler = chain([answer(() => view)], async () => ({
			...reply(fromValue(AgentCardSchema, { name: "a", future: 1 })),
			header: { etag: "1", server: "x" },
		}));
		const got = await handler(call(method, {}));
		expect((await single(got)).json()).toEqual({ name: "projected", future: 1 });
		// Whoever it was made for, and not the document that the agent's validator names (G25).
		expect(got.header).toEqual({ "cache-control": "private, no-cache" });
	});
});

describe("relay", () => {
	it("restores the agent's tenant and looks again for an agent that is gone", async () => {
		let tenant: unknown;
		let gone = 0;
		const handler = relay(
			() => ({
				view: { ...view, tenant: "north" },
				handler: async (c) => {
					tenant = c.request.json()["tenant"];
					throw new A2AError("UNAVAILABLE");
				},
			}),
			() => gone++,
		);
		await expect(handler(call(methods[0] as never, { tenant: "mine" }))).rejects.toMatchObject({
			reason: "UNAVAILABLE",
		});
		expect(tenant).toBe("north");
		expect(gone).toBe(1);
	});
});

describe("the extensions header", () => {
	const [method] = methods;
	const value = "urn:a, urn:b";

	it("has the older name towards older agents and the core's name behind it", async () => {
		let seen: Call | undefined;
		const handler = chain([extensionsTowardsAgent("x-a2a-extensions")], async (c) => {
			seen = c;
			return { ...(await ok(c)), header: { "x-a2a-extensions": value, etag: "1" } };
		});
		const got = await handler(call(method as never, {}, { header: { "a2a-extensions": value, traceparent: "t" } }));
		expect(seen?.header).toEqual({ "x-a2a-extensions": value, traceparent: "t" });
		expect(got.header).toEqual({ "a2a-extensions": value, etag: "1" });
	});

	it.each([
		["a2a-extensions", { "a2a-extensions": value }],
		["x-a2a-extensions", { "x-a2a-extensions": value }],
	])("is %s towards clients of that version", async (name, expected) => {
		const handler = chain([extensionsTowardsClient(() => name)], async (c) => ({
			...(await ok(c)),
			header: { "a2a-extensions": value },
		}));
		expect((await handler(call(method as never, {}))).header).toEqual(expected);
	});
});
