/** gRPC streams beside everything else on the port. */
import { describe, expect, test } from "vitest";
import { ask1, ask2, jsonOf, session, start } from "./harness.ts";

describe("gRPC", () => {
	const grpc = { "content-type": "application/grpc", te: "trailers" };
	const call = (path: string, more: Record<string, string> = {}) => ({
		verb: "POST",
		path,
		headers: { ...grpc, ...more },
		body: Buffer.from([0, 0, 0, 0, 0]),
	});

	test.each([["application/grpc"], ["application/grpc+proto"], ["application/grpc;charset=x"]])(
		"%s goes to the gRPC handlers; trailers come once",
		async (type) => {
			const { url } = await start();
			const answer = await ask2(session(url), call("/known.Service/Do", { "content-type": type }));
			expect(answer).toMatchObject({ status: 200, trailers: { "grpc-status": "0", "x-agent": "a" } });
			expect(answer.body).toHaveLength(5);
		},
	);

	test("grpc-web goes to the HTTP handlers", async () => {
		const { url } = await start();
		const answer = await ask2(
			session(url),
			call("/known.Service/Do", { "content-type": "application/grpc-web+proto" }),
		);
		expect(jsonOf(answer)).toMatchObject({ path: "/known.Service/Do", length: 5 });
	});

	test("unknown services: trailers-only UNIMPLEMENTED with the request id", async () => {
		const { url } = await start();
		const answer = await ask2(session(url), call("/unknown.Service/Do", { "x-request-id": "r1" }));
		expect(answer.headers).toMatchObject({
			":status": 200,
			"content-type": "application/grpc",
			"grpc-status": "12",
			"x-request-id": "r1",
		});
	});

	test("unmounted paths still reach the gRPC handlers, for no agent in particular", async () => {
		const { url } = await start({ resolve: () => undefined });
		expect((await ask2(session(url), call("/known.Service/Do"))).trailers).toMatchObject({ "x-agent": "" });
	});

	test("a throwing handler: INTERNAL, reported, and the session lives on", async () => {
		const { url, reports } = await start();
		const client = session(url);
		const answer = await ask2(client, call("/known.Service/Throw"));
		expect(answer.headers["grpc-status"]).toBe("13");
		expect(JSON.stringify(answer)).not.toContain("secret");
		expect(reports).toHaveLength(1);
		expect((await ask2(client, call("/known.Service/Do"))).trailers).toMatchObject({ "grpc-status": "0" });
	});

	test("over HTTP/1.1: 505; as GET: 405", async () => {
		const { port, url } = await start();
		expect((await ask1(port, call("/known.Service/Do"))).status).toBe(505);
		expect((await ask2(session(url), { path: "/known.Service/Do", headers: grpc })).status).toBe(405);
	});
});
