/** The cards of reference/examples.md §5 as agents' cards: found by a gateway, shown to clients of every version, and taken at their word. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Gateway, startGatewayFor } from "../../peer/gateway.ts";
import { type Form, forms, nameOf, object, type Version } from "../../peer/older/model.ts";
import { type CorpusAgent, startCorpusAgent } from "./agent.ts";
import { startCorpusClient } from "./client.ts";
import { conversationOf, readJson } from "./worked.ts";

const cards = readJson("cards");
const example = (version: Version): JsonObject => structuredClone(object(cards[`v${version}`]));

/** What every card says of the gateway instead of the agent (docs/dialects.md: "interfaces | those of 0.3 …"). */
function endpoints(url: string) {
	const { host } = new URL(url);
	const at = { JSONRPC: url, "HTTP+JSON": url, GRPC: host };
	const bindings = Object.entries(at);
	return {
		newer: {
			supportedInterfaces: ["1.0", "0.3"].flatMap((protocolVersion) =>
				bindings.map(([protocolBinding, where]) => ({ url: where, protocolBinding, protocolVersion })),
			),
		},
		older: {
			url,
			preferredTransport: "JSONRPC",
			additionalInterfaces: bindings.map(([transport, where]) => ({ url: where, transport })),
			protocolVersion: "0.3.0",
		},
	};
}

interface Shown {
	readonly newer: JsonObject;
	readonly older: JsonObject;
	/** v0.1's `authentication`, in agent.json. */
	readonly authentication: JsonObject;
	/** Both styles of a scheme in one, in the hybrid. */
	readonly schemes: JsonObject;
}

const merged = (a: JsonValue | undefined, b: JsonValue | undefined): JsonObject =>
	Object.fromEntries(
		Object.keys(object(a)).map((name) => [name, { ...object(object(a)[name]), ...object(object(b)[name]) }]),
	);

/** §5's v1.0 and v0.3 cards say the same: whichever the agent has, clients see the other's words too. */
function fromLater(): Shown {
	const newer = example("1.0");
	// docs/cards.md: a served card says nothing that its absence says too, so that official verifiers agree on it.
	newer["securityRequirements"] = [{ schemes: { oidc: { list: ["read"] } } }, { schemes: { key: {} } }];
	const older = example("0.3");
	return {
		newer,
		older,
		// docs/dialects.md: "names only: http schemes come back, all else lost".
		authentication: { schemes: ["OpenIdConnect", "ApiKey"] },
		schemes: merged(older["securitySchemes"], newer["securitySchemes"]),
	};
}
/** docs/dialects.md: "http schemes come back"; "missing description, tags, modes | filled". */
function fromFirst(): Shown {
	const { url: _url, authentication, ...common } = example("0.1");
	const filled = { ...common, defaultOutputModes: ["text/plain"] };
	const newer = {
		...filled,
		securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "bearer" } } },
		securityRequirements: [{ schemes: { bearer: {} } }],
	};
	const older = {
		...filled,
		securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
		security: [{ bearer: [] }],
	};
	const schemes = merged(older.securitySchemes, newer.securitySchemes);
	return { newer, older, authentication: object(authentication), schemes };
}

const shownOf: Readonly<Partial<Record<Version, () => Shown>>> = {
	"1.0": fromLater,
	"0.3": fromLater,
	"0.1": fromFirst,
};

describe.each(Object.entries(shownOf))("an agent with the card of v%s", (version, shown) => {
	const form = { binding: "JSONRPC", version } as Form;
	let agent: CorpusAgent;
	let gateway: Gateway;
	beforeAll(async () => {
		// gh.example is where the agent is; nothing else of the card changes.
		agent = await startCorpusAgent(form, (endpoint) => {
			const text = JSON.stringify(example(form.version));
			return JSON.parse(text.replaceAll("https://gh.example", new URL(endpoint).origin)) as JsonObject;
		});
		gateway = await startGatewayFor(agent.url);
	});
	afterAll(async () => {
		await gateway.close();
		await agent.close();
	});
	async function card(path: string, asked?: string): Promise<JsonObject> {
		const headers = asked === undefined ? {} : { "a2a-version": asked };
		const response = await fetch(`${gateway.url}/.well-known/${path}`, { headers });
		expect(response.status).toBe(200);
		// Signed by the gateway: test/card and docs/cards.md.
		const { signatures: _, ...rest } = (await response.json()) as JsonObject;
		return rest;
	}

	test("v1.0 clients", async () => {
		expect(await card("agent-card.json", "1.0")).toEqual({ ...shown().newer, ...endpoints(gateway.url).newer });
	});
	test("v0.3 clients", async () => {
		expect(await card("agent-card.json", "0.3")).toEqual({ ...shown().older, ...endpoints(gateway.url).older });
	});
	test.each([undefined, "0.2", "0.1"])("v0.2 and v0.1 clients, at agent.json (A2A-Version: %s)", async (asked) => {
		const { older, authentication } = shown();
		expect(await card("agent.json", asked)).toEqual({ ...older, ...endpoints(gateway.url).older, authentication });
	});
	test("clients that do not say: both in one", async () => {
		const { newer, older, schemes } = shown();
		const at = endpoints(gateway.url);
		const both = { ...older, ...newer, securitySchemes: schemes, ...at.older, ...at.newer };
		expect(await card("agent-card.json")).toEqual(both);
	});
	test("nothing of the agent's address is told", async () => {
		const { host } = new URL(agent.url);
		for (const path of ["agent-card.json", "agent.json"]) expect(JSON.stringify(await card(path))).not.toContain(host);
	});
	test.each(forms.map((each) => [nameOf(each), each] as const))(
		"is called where it says, by a client over %s",
		async (_, each) => {
			const client = startCorpusClient(each, gateway.url);
			agent.arrived.length = 0;
			try {
				const asked = conversationOf(each).send?.asked;
				if (!asked) throw new Error("no send");
				const { answers } = await client.ask(asked, false);
				expect(JSON.stringify(answers)).toMatch(/submitted/i);
				expect(agent.arrived.map(({ name }) => name)).toEqual([conversationOf(form).send?.asked.name]);
			} finally {
				await client.close();
			}
		},
	);
});

test.each(Object.keys(shownOf))(
	"the card of v%s word for word: a gateway for an agent that cannot be reached shows it",
	async (version) => {
		const agent = await startCorpusAgent({ binding: "JSONRPC", version } as Form, () => example(version as Version));
		const gateway = await startGatewayFor(agent.url);
		try {
			const response = await fetch(`${gateway.url}/.well-known/agent-card.json`);
			const text = await response.text();
			expect(object(JSON.parse(text) as JsonValue)["name"]).toBe("Bed Sensor Agent");
			expect(text).not.toContain("gh.example");
		} finally {
			await gateway.close();
			await agent.close();
		}
	},
);
