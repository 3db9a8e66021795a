/** The catalogue over HTTP, through the listener's own site. */
import type { IncomingHttpHeaders } from "node:http";
import { describe, expect, test } from "vitest";
import { A2AError } from "../../src/call/error.ts";
import { mirror } from "../../src/catalogue/mirror.ts";
import { type CataloguePagesOptions, cataloguePages } from "../../src/catalogue/pages.ts";
import { mountApp, page, siteApp } from "../../src/listener/site.ts";
import { start, versions } from "../listener/harness.ts";
import { agent, cardOf, only } from "./support.ts";

const SITE = "https://gw.example";

async function port(more: Partial<CataloguePagesOptions> = {}, agents = three()) {
	const catalogue = mirror(() => agents);
	const pages = cataloguePages({ catalogue, site: () => SITE, ...more });
	const app = siteApp();
	for (const [path, get] of pages) page(app, path, get);
	const site = mountApp(
		app,
		(path, scope) => scope === "port" && pages.has(path),
		() => {},
	);
	const opened = await start({
		site,
		resolve: (_host, path) => (path.startsWith("/agents/x") ? { agent: "x", path: path.slice(9) } : undefined),
	});
	return { port: opened.port, reports: opened.reports, catalogue, agents };
}

function three() {
	return [
		agent("one", { ...cardOf(0), name: "One", documentationUrl: "https://docs.example/one" }),
		agent("two", { ...cardOf(1), name: "Two", documentationUrl: "javascript:alert(1)" }),
		agent("three", { ...cardOf(2), name: "Three" }, "https://three.example/"),
	];
}

describe.each(Object.entries(versions))("%s", (_name, ask) => {
	test("GET /agents: full cards with their URLs", async () => {
		const { port: p } = await port();
		const answer = await ask(p, { path: "/agents" });
		expect(answer.status).toBe(200);
		expect(answer.headers).toMatchObject({
			"content-type": "application/json",
			"cache-control": "public, max-age=60",
			"access-control-allow-origin": "*",
			etag: expect.stringMatching(/^"[\w-]+"$/),
		});
		const body = JSON.parse(answer.body);
		expect(body).toMatchObject({ nextPageToken: "", totalSize: 3 });
		expect(body.agents.map((a: { name: string; url: string }) => [a.name, a.url])).toEqual([
			["one", "https://gw.example/agents/one/.well-known/agent-card.json"],
			["three", "https://three.example/.well-known/agent-card.json"],
			["two", "https://gw.example/agents/two/.well-known/agent-card.json"],
		]);
		expect(body.agents[2].card).toEqual({ ...cardOf(1), name: "Two", documentationUrl: "javascript:alert(1)" });
	});

	test("the ETag brings 304 until something changes", async () => {
		const { port: p, catalogue, agents } = await port();
		const { headers } = await ask(p, { path: "/agents?tag=t1" });
		const again = { path: "/agents?tag=t1", headers: { "if-none-match": `"x", W/${headers.etag}` } };
		const same = await ask(p, again);
		expect([same.status, same.body, same.headers.etag]).toEqual([304, "", headers.etag]);
		expect(same.headers["content-type"]).toBeUndefined();
		expect((await ask(p, { ...again, path: "/agents" })).status).toBe(200);
		agents[1] = agent("two", { ...cardOf(1), version: "9" });
		catalogue.touch();
		expect((await ask(p, again)).status).toBe(200);
		expect((await ask(p, { path: "/agents", headers: { "if-none-match": "*" } })).status).toBe(304);
	});

	test("HEAD, preflight, other verbs, and the agents' own tree beside it", async () => {
		const { port: p } = await port();
		const head = await ask(p, { verb: "HEAD", path: "/agents" });
		expect([head.status, head.body, Number(head.headers["content-length"]) > 1_000]).toEqual([200, "", true]);
		expect((await ask(p, { verb: "OPTIONS", path: "/agents" })).headers["access-control-allow-origin"]).toBe("*");
		expect((await ask(p, { verb: "POST", path: "/agents", body: "{}" })).status).toBe(405);
		expect(JSON.parse((await ask(p, { path: "/agents/x/agents" })).body)).toMatchObject({
			agent: "x",
			path: "/agents",
		});
		expect((await ask(p, { path: "/agents/" })).status).toBe(404);
	});

	test("bad parameters are told by name in the google.rpc.Status form", async () => {
		const { port: p, reports } = await port();
		const answer = await ask(p, { path: "/agents?pageSize=0&colour=red" });
		expect([answer.status, answer.headers["cache-control"]]).toEqual([400, "no-store"]);
		const { error } = JSON.parse(answer.body);
		expect(error).toMatchObject({ code: 400, status: "INVALID_ARGUMENT" });
		expect(error.message).toContain("pageSize");
		expect(error.details[1].fieldViolations.map((v: { field: string }) => v.field)).toEqual(["colour", "pageSize"]);
		expect(reports).toEqual([]);
	});

	test("pages follow each other", async () => {
		const { port: p } = await port();
		const names: string[] = [];
		let token = "";
		do {
			const body = JSON.parse((await ask(p, { path: `/agents?pageSize=1&pageToken=${token}` })).body);
			names.push(...body.agents.map((a: { name: string }) => a.name));
			token = body.nextPageToken;
		} while (token !== "");
		expect(names).toEqual(["one", "three", "two"]);
	});

	test("each caller sees what it may; no shared cache keeps it", async () => {
		const visible = (header: IncomingHttpHeaders) => {
			if (header.authorization === undefined)
				throw new A2AError("UNAUTHENTICATED", { header: { "www-authenticate": "Bearer" } });
			return only(header.authorization.slice(7));
		};
		const { port: p } = await port({ visible });
		for (const path of ["/agents", "/.well-known/api-catalog"]) {
			const answer = await ask(p, { path, headers: { authorization: "Bearer two" } });
			expect(answer.headers).toMatchObject({ "cache-control": "private, no-cache", vary: "Authorization, Cookie" });
			expect(answer.body).toContain("/agents/two");
			expect(answer.body).not.toMatch(/\/agents\/one|three/);
			const refused = await ask(p, { path });
			expect([refused.status, refused.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
		}
	});

	test("the api-catalog (RFC 9727)", async () => {
		const { port: p } = await port();
		const path = "/.well-known/api-catalog";
		const answer = await ask(p, { path });
		expect(answer.headers["content-type"]).toBe(
			'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
		);
		const link = '<https://gw.example/.well-known/api-catalog>; rel="api-catalog"; type="application/linkset+json"';
		expect(answer.headers.link).toBe(link);
		const { linkset } = JSON.parse(answer.body);
		expect(linkset[0]).toEqual({
			anchor: `${SITE}${path}`,
			item: [
				{ href: "https://gw.example/agents/one", title: "One" },
				{ href: "https://three.example", title: "Three" },
				{ href: "https://gw.example/agents/two", title: "Two" },
			],
			profile: [{ href: "https://www.rfc-editor.org/info/rfc9727" }],
		});
		expect(linkset[1]).toEqual({ anchor: SITE, status: [{ href: `${SITE}/readyz`, type: "application/json" }] });
		expect(linkset[2]).toEqual({
			anchor: "https://gw.example/agents/one",
			"service-desc": [
				{ href: "https://gw.example/agents/one/.well-known/agent-card.json", type: "application/json", title: "One" },
			],
			"service-doc": [{ href: "https://docs.example/one" }],
		});
		expect(linkset[4]).not.toHaveProperty("service-doc");
		const head = await ask(p, { verb: "HEAD", path });
		expect([head.status, head.body, head.headers.link, head.headers.etag]).toEqual([
			200,
			"",
			link,
			answer.headers.etag,
		]);
		const current = await ask(p, { path, headers: { "if-none-match": String(answer.headers.etag) } });
		expect([current.status, current.headers.link]).toEqual([304, link]);
	});

	test("the api-catalog of one agent at the root", async () => {
		const { port: p } = await port({}, [agent("one", cardOf(1), `${SITE}/`)]);
		const { linkset } = JSON.parse((await ask(p, { path: "/.well-known/api-catalog" })).body);
		expect(linkset.length).toBe(2);
		expect(linkset[1]).toMatchObject({ anchor: SITE, status: [{ href: `${SITE}/readyz` }] });
		expect(linkset[1]).toHaveProperty("service-desc");
	});
});
