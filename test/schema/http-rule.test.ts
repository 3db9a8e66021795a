/** Routes from google.api.http: the template grammar, matching, building, and that the two are inverses. */
import type { DescMethod } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2AService as V03 } from "../../gen/a2a/v1/a2a_pb.ts";
import { A2AService as V1 } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { v1 } from "../../src/dialect/v1/index.ts";
import { parseTemplate, type Route, routesOf } from "../../src/schema/http-rule.ts";
import { builder } from "../../src/schema/http-rule-build.ts";
import { matcher } from "../../src/schema/http-rule-match.ts";

describe("parseTemplate", () => {
	it.each([
		["/tasks", { segments: ["tasks"], suffix: "", variables: [] }],
		["/message:send", { segments: ["message:send"], suffix: "", variables: [] }],
		[
			"/{tenant}/tasks",
			{ segments: [undefined, "tasks"], suffix: "", variables: [{ field: "tenant", from: 0, to: 1 }] },
		],
		[
			"/tasks/{id=*}:cancel",
			{ segments: ["tasks", undefined], suffix: "cancel", variables: [{ field: "id", from: 1, to: 2 }] },
		],
		[
			"/v1/{name=tasks/*}:x",
			{ segments: ["v1", "tasks", undefined], suffix: "x", variables: [{ field: "name", from: 1, to: 3 }] },
		],
		[
			"/{a_b=x/*/y}/z/{c}",
			{
				segments: ["x", undefined, "y", "z", undefined],
				suffix: "",
				variables: [
					{ field: "a_b", from: 0, to: 3 },
					{ field: "c", from: 4, to: 5 },
				],
			},
		],
	])("%s", (path, expected) => {
		expect(parseTemplate(path)).toEqual(expected);
	});

	it.each([
		"",
		"tasks",
		"/",
		"/a//b",
		"/a/",
		"/**",
		"/{a=**}",
		"/*",
		"/{a.b}",
		"/{a",
		"/a}",
		"/{a}x",
		"/a:",
		"/{a=}",
		"/a:{b}",
	])("refuses %j", (path) => {
		expect(() => parseTemplate(path)).toThrow("unsupported path template");
	});
});

it("refuses variables and bodies that are no fields", () => {
	const method = V1.method.getTask;
	expect(() => routesOf(V1, [{ method, verb: "GET", path: "/x/{nope}", body: "" }])).toThrow("no field nope");
	expect(() => routesOf(V1, [{ method, verb: "POST", path: "/x", body: "nope" }])).toThrow("no field nope");
});

const routes = routesOf(V1, v1.errata);
const match = matcher(routes);

describe("match", () => {
	const found = (method: DescMethod, variables: Record<string, string> = {}) => ({ method: method.name, variables });
	const { method: m } = V1;
	it.each([
		["POST", "/message:send", found(m.sendMessage)],
		["POST", "/t1/message:send", found(m.sendMessage, { tenant: "t1" })],
		["GET", "/tasks", found(m.listTasks)],
		["GET", "/tasks/tasks", found(m.getTask, { id: "tasks" })],
		["GET", "/x/tasks", found(m.listTasks, { tenant: "x" })],
		["GET", "/tasks/1", found(m.getTask, { id: "1" })],
		["GET", "/x/tasks/1", found(m.getTask, { tenant: "x", id: "1" })],
		["GET", "/tasks/a:b:c", found(m.getTask, { id: "a:b:c" })],
		["GET", "/tasks/a%2Fb", found(m.getTask, { id: "a/b" })],
		["GET", "/tasks/a%2fb%25%3A%20%E2%82%AC+", found(m.getTask, { id: "a/b%: €+" })],
		["GET", "/tasks/%2E%2E", found(m.getTask, { id: ".." })],
		["POST", "/tasks/a:cancel", found(m.cancelTask, { id: "a" })],
		["POST", "/tasks/a:b:cancel", found(m.cancelTask, { id: "a:b" })],
		["POST", "/tasks/a%3Acancel:cancel", found(m.cancelTask, { id: "a:cancel" })],
		["GET", "/tasks/a%3Acancel", found(m.getTask, { id: "a:cancel" })],
		["GET", "/tasks/a:subscribe", found(m.subscribeToTask, { id: "a" })],
		["POST", "/tasks/a:subscribe", found(m.subscribeToTask, { id: "a" })],
		["POST", "/x/tasks/a:subscribe", found(m.subscribeToTask, { tenant: "x", id: "a" })],
		["GET", "/tasks/a:", found(m.getTask, { id: "a:" })],
		["GET", "/tasks/extendedAgentCard", found(m.getTask, { id: "extendedAgentCard" })],
		["GET", "/extendedAgentCard", found(m.getExtendedAgentCard)],
		["GET", "/x/extendedAgentCard", found(m.getExtendedAgentCard, { tenant: "x" })],
		["POST", "/tasks/message:send", found(m.sendMessage, { tenant: "tasks" })],
		["GET", "/tasks/tasks/tasks", found(m.getTask, { tenant: "tasks", id: "tasks" })],
		["GET", "/tasks/1/pushNotificationConfigs", found(m.listTaskPushNotificationConfigs, { task_id: "1" })],
		["POST", "/tasks/1/pushNotificationConfigs", found(m.createTaskPushNotificationConfig, { task_id: "1" })],
		[
			"DELETE",
			"/tasks/1/pushNotificationConfigs/2",
			found(m.deleteTaskPushNotificationConfig, { task_id: "1", id: "2" }),
		],
		[
			"GET",
			"/t/tasks/1/pushNotificationConfigs/2:x",
			found(m.getTaskPushNotificationConfig, { tenant: "t", task_id: "1", id: "2:x" }),
		],
	])("%s %s", (verb, path, expected) => {
		const got = match(verb, path);
		expect(got.kind === "found" ? { method: got.route.method.name, variables: got.variables } : got.kind).toEqual(
			expected,
		);
	});

	it.each([
		["GET", "/message:send", ["POST"]],
		["HEAD", "/tasks/1", ["GET"]],
		["POST", "/tasks/1", ["GET"]],
		["GET", "/tasks/1:cancel", ["POST"]],
		["DELETE", "/tasks/1:subscribe", ["GET", "POST"]],
		["PUT", "/tasks/1/pushNotificationConfigs", ["GET", "POST"]],
		["get", "/tasks", ["GET"]],
	])("%s %s is the wrong verb", (verb, path, allow) => {
		expect(match(verb, path)).toMatchObject({ kind: "verb", allow });
	});

	it.each([
		"",
		"/",
		"//",
		"/tasks/",
		"//tasks",
		"/tasks//pushNotificationConfigs",
		"/tasks/:cancel",
		"/message",
		"/a/b/c/d",
		"/message%3Asend",
		"tasks",
		"*",
		"/__proto__",
		"/tasks/1/toString",
	])("nothing at %j", (path) => {
		for (const verb of ["GET", "POST"]) expect(match(verb, path).kind).toBe("none");
	});

	it.each(["/tasks/%", "/tasks/%zz", "/tasks/%ff", "/%c3%28/tasks/1", "/tasks/%ED%A0%80"])(
		"bad escapes in %s",
		(path) => {
			expect(() => match("GET", path)).toThrow(expect.objectContaining({ reason: "INVALID_PARAMS", http: 400 }));
		},
	);

	it("knows several services at once: literal segments first, then the caller's choice", () => {
		const name = ({ method }: Route) => `${method.parent.typeName}.${method.name}`;
		const both = matcher([...routes, ...routesOf(V03)]);
		const at = (verb: string, path: string) => {
			const got = both(verb, path);
			return got.kind === "found" ? [name(got.route), got.variables] : got.kind;
		};
		expect(at("POST", "/v1/message:send")).toEqual(["a2a.v1.A2AService.SendMessage", {}]);
		expect(at("GET", "/v1/tasks/1")).toEqual(["a2a.v1.A2AService.GetTask", { name: "tasks/1" }]);
		expect(at("GET", "/v1/card")).toEqual(["a2a.v1.A2AService.GetAgentCard", {}]);
		expect(at("GET", "/v2/tasks/1")).toEqual(["lf.a2a.v1.A2AService.GetTask", { tenant: "v2", id: "1" }]);
		const twin = { method: V03.method.getTask, verb: "GET", path: "/tasks/{name}", body: "" };
		const alike = matcher([...routes, ...routesOf(V03, [twin])]);
		const seen: string[][] = [];
		const choose = (list: readonly Route[]): Route => {
			seen.push(list.map(name));
			return list.at(-1) as Route;
		};
		const got = alike("GET", "/tasks/1", choose);
		expect(got.kind === "found" && [name(got.route), got.variables]).toEqual([
			"a2a.v1.A2AService.GetTask",
			{ name: "1" },
		]);
		expect(alike("GET", "/tasks", choose).kind).toBe("found");
		expect(seen).toEqual([["lf.a2a.v1.A2AService.GetTask", "a2a.v1.A2AService.GetTask"]]);
	});

	it("matches v0.3's variables of several segments", () => {
		const v03 = matcher(routesOf(V03));
		expect(v03("GET", "/v1/tasks/a%2Fb%20c/pushNotificationConfigs/1")).toMatchObject({
			variables: { name: "tasks/a%2Fb c/pushNotificationConfigs/1" },
		});
		expect(v03("POST", "/v1/tasks/1:cancel")).toMatchObject({ variables: { name: "tasks/1" } });
	});
});

describe("build", () => {
	const build = builder(routes);
	const line = (method: DescMethod, request: object, avoid?: Set<Route>) => {
		const built = build(method, request as Record<string, string>, avoid);
		return built && `${built.route.verb} ${built.path} ${built.bound.join()}`;
	};
	const { method: m } = V1;

	it.each<[DescMethod, object, string]>([
		[m.sendMessage, { message: {} }, "POST /message:send "],
		[m.sendMessage, { tenant: "t/1", message: {} }, "POST /t%2F1/message:send tenant"],
		[m.sendMessage, { tenant: "", message: {} }, "POST /message:send "],
		[m.getTask, { id: "a:b c/d" }, "GET /tasks/a%3Ab%20c%2Fd id"],
		[m.getTask, { id: ".." }, "GET /tasks/%2E%2E id"],
		[m.subscribeToTask, { id: "1" }, "POST /tasks/1:subscribe id"],
		[m.subscribeToTask, { id: "1", tenant: "t" }, "POST /t/tasks/1:subscribe tenant,id"],
		[m.createTaskPushNotificationConfig, { task_id: "1", url: "u" }, "POST /tasks/1/pushNotificationConfigs task_id"],
		[
			m.createTaskPushNotificationConfig,
			{ taskId: "1", tenant: "t" },
			"POST /t/tasks/1/pushNotificationConfigs tenant,taskId",
		],
	])("$0.name %j", (method, request, expected) => {
		expect(line(method, request)).toBe(expected);
	});

	it("offers the next best when one is avoided", () => {
		const avoid = new Set<Route>();
		const lines: (string | undefined)[] = [];
		for (;;) {
			const built = build(m.subscribeToTask, { id: "1", tenant: "t" }, avoid);
			if (!built) break;
			lines.push(`${built.route.verb} ${built.path}`);
			avoid.add(built.route);
		}
		expect(lines).toEqual([
			"POST /t/tasks/1:subscribe",
			"GET /t/tasks/1:subscribe",
			"POST /tasks/1:subscribe",
			"GET /tasks/1:subscribe",
		]);
	});

	it.each<[DescMethod, object, string]>([
		[m.getTask, {}, "id"],
		[m.getTask, { id: "" }, "id"],
		[m.getTask, { id: 5 }, "id"],
		[m.getTask, { id: null }, "id"],
		[m.createTaskPushNotificationConfig, { url: "x" }, "taskId"],
	])("names the field that a request lacks: $1", (method, request, field) => {
		expect(() => line(method, request)).toThrow(
			expect.objectContaining({ reason: "INVALID_PARAMS", message: expect.stringContaining(field) }),
		);
	});

	it("refuses what is not Unicode", () => {
		expect(() => line(m.getTask, { id: "\ud800" })).toThrow(expect.objectContaining({ reason: "INVALID_PARAMS" }));
	});

	it("served-only errata are not built", () => {
		const extra = routesOf(V1, [{ method: m.getTask, verb: "POST", path: "/get/{id}", body: "*" }]);
		expect(builder(extra)(m.getTask, { id: "1" })?.path).toBe("/tasks/1");
		expect(matcher(extra)("POST", "/get/1").kind).toBe("found");
	});

	it("v0.3: values that do not fit the pattern are refused", () => {
		const v03 = builder(routesOf(V03));
		expect(v03(V03.method.getTask, { name: "tasks/a b" })?.path).toBe("/v1/tasks/a%20b");
		expect(v03(V03.method.getTask, { name: "tasks/a%2Fb" })?.path).toBe("/v1/tasks/a%2Fb");
		for (const name of ["task/1", "tasks", "tasks/", "tasks/1/2", ""]) {
			expect(() => v03(V03.method.getTask, { name })).toThrow(expect.objectContaining({ reason: "INVALID_PARAMS" }));
		}
	});
});

describe("match is the inverse of build", () => {
	const id = fc.oneof(
		fc.string({ unit: "grapheme", minLength: 1 }),
		fc.string({
			unit: fc.constantFrom("/", ":", "%", ".", "a", "2", "F", "+", "?", "#", "é", " ", "\0", "\\"),
			minLength: 1,
		}),
		fc.constantFrom("tasks", "a:cancel", "..", "%2F", "message:send", "extendedAgentCard", ":subscribe"),
	);
	const build = builder(routes);

	it("for every v1.0 method and any ids", () => {
		fc.assert(
			fc.property(fc.constantFrom(...V1.methods), id, id, fc.option(id, { nil: "" }), (method, one, two, tenant) => {
				const request = { id: one, taskId: two, tenant };
				const built = build(method, request);
				if (!built) throw new Error("nothing built");
				expect(built.path).toMatch(/^[\w/:%.!~*'()-]+$/);
				const got = match(built.route.verb, built.path);
				// A tenant may be called like a fixed segment: then the path means the fixed one, by the specification.
				if (got.kind === "found" && got.route !== built.route) {
					expect(["tasks", "message:send", "extendedAgentCard"]).toContain(tenant);
					return;
				}
				expect(got.kind === "found" && got.variables).toEqual({
					...(built.bound.includes("id") && { id: one }),
					...(built.bound.includes("taskId") && { task_id: two }),
					...(built.bound.includes("tenant") && { tenant }),
				});
			}),
			{ numRuns: 1000 },
		);
	});

	it("for v0.3 names", () => {
		const [forth, back] = [builder(routesOf(V03)), matcher(routesOf(V03))];
		const segment = id.map((text) => text.replaceAll("/", "") || "x");
		fc.assert(
			fc.property(segment, segment, (task, config) => {
				for (const [method, name] of [
					[V03.method.getTask, `tasks/${task}`],
					[V03.method.getTaskPushNotificationConfig, `tasks/${task}/pushNotificationConfigs/${config}`],
				] as const) {
					const built = forth(method, { name });
					// `%2f` comes back as it went: it stands for a slash inside a segment.
					const got = back("GET", built?.path ?? "");
					expect(got.kind === "found" && got.route.method === method && got.variables).toEqual({ name });
				}
			}),
		);
	});
});
