/** CORS for the operations: who may call, what they may send and read. */
import { describe, expect, test } from "vitest";
import { compileCors } from "../../src/listener/cors.ts";
import { start, versions } from "./harness.ts";

const ORIGIN = "access-control-allow-origin";
const A = "https://a.example";

/** configured, asked for, allowed as, Vary */
const table: readonly (readonly [readonly string[], string | undefined, string | undefined, string | undefined])[] = [
	[[], A, undefined, undefined],
	[[A], A, A, "Origin"],
	[["https://A.example:443/"], A, A, "Origin"],
	[[A], undefined, undefined, "Origin"],
	[[A], "https://b.example", undefined, "Origin"],
	[[A], "http://a.example", undefined, "Origin"],
	[[A], "https://a.example.evil", undefined, "Origin"],
	[[A, "http://localhost:3000"], "http://localhost:3000", "http://localhost:3000", "Origin"],
	[[A], "null", undefined, "Origin"],
	[["null"], "null", "null", "Origin"],
	[["*"], A, "*", undefined],
	[["*"], undefined, undefined, undefined],
	[["*", A], "https://b.example", "*", undefined],
];

describe.each(Object.entries(versions))("%s", (_name, ask) => {
	test.each(table)("%j asked from %s", async (cors, origin, allowed, vary) => {
		const { port } = await start({ cors });
		const headers = origin === undefined ? {} : { origin };
		const call = await ask(port, { verb: "POST", headers, body: "{}" });
		expect(call.status).toBe(200);
		expect([call.headers[ORIGIN], call.headers.vary]).toEqual([allowed, vary]);
		expect(call.headers["access-control-expose-headers"] !== undefined).toBe(allowed !== undefined);

		const preflight = await ask(port, {
			verb: "OPTIONS",
			headers: { ...headers, "access-control-request-method": "POST" },
		});
		// Not allowed: the handlers see it like any other request.
		expect(preflight.status).toBe(allowed === undefined ? 200 : 204);
		expect(preflight.headers[ORIGIN]).toBe(allowed);
		expect(preflight.headers["access-control-max-age"] !== undefined).toBe(allowed !== undefined);
	});

	test("a preflight names methods and headers, those asked for among them, rubbish not", async () => {
		const { port } = await start({ cors: ["*"] });
		const answer = await ask(port, {
			verb: "OPTIONS",
			path: "/lf.a2a.v1.A2AService/SendMessage",
			headers: {
				origin: A,
				"access-control-request-method": "POST",
				"access-control-request-headers": "X-Api-Key, content-type, bad name, <script>,,",
			},
		});
		const names = String(answer.headers["access-control-allow-headers"]).split(", ");
		expect(names).toEqual(expect.arrayContaining(["x-api-key", "authorization", "a2a-version", "x-grpc-web"]));
		expect(names.join()).not.toMatch(/bad|script/);
		expect(names.filter((n) => n === "content-type")).toHaveLength(1);
		expect(answer.headers["access-control-allow-methods"]).toContain("POST");
		expect(answer.headers["x-request-id"]).toBeDefined();
		expect(answer.body).toBe("");
	});

	test("errors are readable too, with what a client of any binding reads", async () => {
		const { port } = await start({ cors: [A] });
		const answer = await ask(port, { path: "/nobody", headers: { origin: A } });
		expect([answer.status, answer.headers[ORIGIN]]).toEqual([404, A]);
		const exposed = String(answer.headers["access-control-expose-headers"]).split(", ");
		expect(exposed).toEqual(expect.arrayContaining(["grpc-status", "grpc-message", "x-request-id", "retry-after"]));
	});

	test("OPTIONS without access-control-request-method is no preflight", async () => {
		const { port } = await start({ cors: [A] });
		expect((await ask(port, { verb: "OPTIONS", headers: { origin: A } })).status).toBe(200);
	});
});

test.each([["example.com"], ["https://a.example/path"], ["https://u:p@a.example"], [""], ["https://a.example?x"]])(
	"%j is no origin",
	(origin) => {
		expect(() => compileCors([origin])).toThrow("not an origin");
	},
);
