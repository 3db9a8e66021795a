/** What of a client's header reaches the agent, and of the agent's the client: every client form × every agent binding. */
import type { JsonObject } from "@bufbuild/protobuf";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cardJson } from "../peer/agents/card.ts";
import { RawGrpcStatus, startRawGrpc } from "../peer/agents/raw-grpc.ts";
import { startRawHttp } from "../peer/agents/raw-http.ts";
import {
	agentBindings,
	byPath,
	closeAll,
	expectClean,
	expectReason,
	type Gate,
	later,
	message,
	openGate,
	streaming,
} from "./harness.ts";
import { ask, type FormName, forms } from "./raw.ts";

interface Seen {
	readonly header: Readonly<Record<string, string>>;
	readonly query: Readonly<Record<string, string>>;
}

/** How the agent answers next: undefined = with a task. */
interface Refusal {
	readonly http: number;
	readonly grpc: number;
	readonly header: Readonly<Record<string, string>>;
}

interface Spy {
	readonly url: string;
	readonly seen: Seen[];
	refusal: Refusal | undefined;
}

const schemes: JsonObject = {
	securitySchemes: {
		bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } },
		header: { apiKeySecurityScheme: { location: "header", name: "X-Api-Key" } },
		cookie: { apiKeySecurityScheme: { location: "cookie", name: "sid" } },
		query: { apiKeySecurityScheme: { location: "query", name: "api_key" } },
	},
};
const task = { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } };

/** An agent that remembers header and query, whatever its binding. */
async function spy(binding: string, card: JsonObject): Promise<Spy> {
	const self: { -readonly [K in keyof Spy]: Spy[K] } = { url: "", seen: [], refusal: undefined };
	const grpc =
		binding !== "GRPC"
			? undefined
			: await startRawGrpc((raw) => {
					self.seen.push({ header: raw.header, query: {} });
					const { refusal } = self;
					const end = () => {
						if (refusal) throw new RawGrpcStatus(refusal.grpc, "Refused", refusal.header);
					};
					if (raw.path.endsWith(streaming.name)) {
						return (async function* () {
							end();
							yield* [];
						})();
					}
					end();
					return toBinary(byPath.output, create(byPath.output, { id: "t" } as never));
				});
	const http = await startRawHttp((raw) => {
		const type = { "content-type": "application/json" };
		if (raw.target === "/.well-known/agent-card.json") {
			const url = grpc ? grpc.target : `${http.url}/in`;
			return { header: type, body: JSON.stringify(cardJson([{ binding, url }], card)) };
		}
		self.seen.push({
			header: raw.header,
			query: Object.fromEntries(new URL(raw.target, http.url).searchParams),
		});
		const { refusal } = self;
		if (refusal) return { status: refusal.http, header: { ...type, ...refusal.header }, body: '{"error":"refused"}' };
		const body =
			binding === "JSONRPC" ? { jsonrpc: "2.0", id: JSON.parse(raw.body.toString()).id, result: task } : task;
		return {
			header: { ...type, "set-cookie": "own=1", server: "secret-server", "a2a-extensions": "urn:used" },
			body: JSON.stringify(body),
		};
	});
	later(() => Promise.all([http.close(), grpc?.close()]));
	self.url = http.url;
	return self;
}

const crossing = {
	authorization: "Bearer sekret-token",
	"x-api-key": "sekret-key",
	traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	tracestate: "a=1,b=2",
	"a2a-extensions": "urn:one, urn:two",
};
/** Whatever these hold stays at the gateway. */
const staying = {
	"x-forwarded-for": "undeclared-1",
	"x-real-ip": "undeclared-2",
	forwarded: "for=undeclared-3",
	via: "1.1 undeclared-4",
	referer: "https://undeclared-5.example",
	"x-other-key": "undeclared-6",
	"user-agent": "undeclared-7",
	"accept-language": "undeclared-8",
	"proxy-authorization": "Basic undeclared-9",
	"x-request-id": "undeclared-10",
	"x-forwarded-host": "undeclared-11",
	baggage: "undeclared-12",
};
const cookie = "other=undeclared-13; sid=sekret-sid; sid2=undeclared-14";
const query = "undeclared=undeclared-15&api_key=sekret%26q";
const grpcMetadata = { sid: "sekret-sid", api_key: "sekret&q" };

describe.each(agentBindings)("agent over %s", (binding) => {
	let agent: Spy;
	let plain: Spy;
	let gate: Gate;
	let plainGate: Gate;
	beforeAll(async () => {
		[agent, plain] = await Promise.all([spy(binding, schemes), spy(binding, {})]);
		[gate, plainGate] = await Promise.all([openGate(agent.url), openGate(plain.url)]);
	});
	afterAll(closeAll);

	const call = (to: Gate, form: FormName) =>
		ask(
			to.url,
			form,
			byPath,
			{ id: "t" },
			{
				header: {
					...crossing,
					...staying,
					...(form === "GRPC" ? grpcMetadata : { cookie, host: "undeclared-16.example" }),
				},
				...(form !== "GRPC" && { query }),
			},
		);

	it.each(forms)("%s: declared credentials and the named set cross, nothing else", async (form) => {
		const answer = await call(gate, form);
		expect([answer.code, answer.messages]).toEqual([undefined, 1]);
		const { header, query: members } = agent.seen.at(-1) as Seen;
		expect(header).toMatchObject({ ...crossing, "a2a-version": "1.0" });
		if (binding === "GRPC") {
			expect(header["api_key"]).toBe("sekret&q");
		} else {
			expect(header["cookie"]).toBe("sid=sekret-sid");
			expect(members).toEqual({ api_key: "sekret&q" });
		}
		expect(JSON.stringify({ header, members })).not.toContain("undeclared");
		const protocol = [
			"a2a-version",
			"accept",
			"connection",
			"content-length",
			"content-type",
			"cookie",
			"host",
			"api_key",
			"user-agent",
		];
		const extra = Object.keys(header).filter(
			(n) => !(n in crossing) && !protocol.includes(n) && !n.startsWith("grpc-"),
		);
		expect(extra).toEqual([]);
	});

	it.each(forms)("%s: without a declaration only Authorization and the named set cross", async (form) => {
		expect((await call(plainGate, form)).code).toBeUndefined();
		const { header, query: members } = plain.seen.at(-1) as Seen;
		const { "x-api-key": _, ...others } = crossing;
		expect(header).toMatchObject(others);
		expect(members).toEqual({});
		for (const name of ["x-api-key", "cookie", "api_key", "sid"]) expect(header).not.toHaveProperty(name);
		expect(JSON.stringify(header)).not.toMatch(/undeclared|sekret-key|sekret-sid|sekret&q/);
	});

	it.each(forms)("%s: without credentials none are made up", async (form) => {
		await ask(gate.url, form, byPath, { id: "t" });
		const { header, query: members } = agent.seen.at(-1) as Seen;
		for (const name of ["authorization", "x-api-key", "cookie", "api_key", "traceparent", "a2a-extensions"])
			expect(header).not.toHaveProperty(name);
		expect(members).toEqual({});
	});

	if (binding !== "GRPC") {
		it.each(forms)("%s: of the answer's header the named set comes back", async (form) => {
			const { header } = await ask(gate.url, form, byPath, { id: "t" });
			expect(header["a2a-extensions"]).toBe("urn:used");
			expect(header).not.toHaveProperty("set-cookie");
			expect(header["server"]).not.toBe("secret-server");
		});
	}

	const challenge = 'Bearer realm="x", error="invalid_token"';
	const refusals = [
		["UNAUTHENTICATED", { http: 401, grpc: 16, header: { "www-authenticate": challenge } }],
		["PERMISSION_DENIED", { http: 403, grpc: 7, header: { "www-authenticate": challenge } }],
		["UNAVAILABLE", { http: 503, grpc: 14, header: { "retry-after": "7" } }],
		["RESOURCE_EXHAUSTED", { http: 429, grpc: 8, header: { "retry-after": "9" } }],
	] as const;
	describe.each(refusals)("%s", (reason, refusal) => {
		it.each(forms)("comes back to %s with its header", async (form) => {
			agent.refusal = refusal;
			try {
				for (const method of [byPath, streaming]) {
					const request = method === byPath ? { id: "t" } : message;
					const answer = await ask(gate.url, form, method, request, { header: crossing });
					expectReason(answer, reason);
					expect(answer.messages).toBe(0);
					expect(answer.header).toMatchObject(refusal.header);
					expectClean(answer, ["sekret", new URL(agent.url).host]);
					const authentic = reason === "UNAUTHENTICATED" || reason === "PERMISSION_DENIED";
					if (form === "JSONRPC") expect(answer.http).toBe(authentic ? refusal.http : 200);
				}
			} finally {
				agent.refusal = undefined;
			}
		});
	});

	it("the log knows no credentials", () => {
		expect(gate.lines.length).toBeGreaterThan(0);
		expect(gate.lines.join("")).not.toMatch(/sekret/);
	});
});
