/** The official SDKs 0.2 and 0.3, as agents and as clients, over every transport they have. */
import { describe, expect, test } from "vitest";
import { startConversation } from "../peer/agents/sdk-conversation.ts";
import { startGatewayFor } from "../peer/gateway.ts";
import { endpointAt, startAgent, startClient } from "../peer/older/index.ts";
import { type Form, forms, nameOf, type Operation } from "../peer/older/model.ts";
import type { OlderClient } from "../peer/older/peer.ts";
import { type SdkAgent, startSdk02, startSdk03 } from "../peer/older/sdk-agents.ts";
import { sdk02Client, sdk03Client } from "../peer/older/sdk-clients.ts";
import { converse } from "./conversation.ts";
import { throughTo } from "./gateway.ts";
import { outcomeOf } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";

const bindings = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;

const agents: readonly (readonly [string, () => Promise<SdkAgent>])[] = [
	...bindings.map((binding) => [`SDK 0.3 ${binding}`, () => startSdk03(binding)] as const),
	["SDK 0.2 JSONRPC", startSdk02],
];
/** What 0.2.5 never had. */
const lacking = (agent: SdkAgent): readonly Operation[] =>
	agent.form.version === "0.2" ? ["pushList", "pushDelete", "card"] : [];

/** Every SDK client, aimed at a base URL where it finds its card. */
const clients: readonly (readonly [string, (url: string) => OlderClient | Promise<OlderClient>])[] = [
	...bindings.map((binding) => [`SDK 0.3 ${binding}`, (url: string) => sdk03Client(binding, url)] as const),
	["SDK 0.2 JSONRPC", sdk02Client],
];

describe.each(agents)("agent: %s", (_, start) => {
	test("directly, with the raw client of its form", async () => {
		const agent = await start();
		const client = startClient(agent.form, agent.endpoint);
		try {
			await converse(client, lacking(agent));
		} finally {
			await client.close();
			await agent.close();
		}
	});

	test.each(forms.map((form) => [nameOf(form), form] as const))("through the gateway, from %s", async (__, form) => {
		const agent = await start();
		try {
			const gateway = await startGatewayFor(agent.url);
			const client = startClient(form, endpointAt(form, gateway.url));
			try {
				await converse(client, lacking(agent));
			} finally {
				await client.close();
				await gateway.close();
			}
		} finally {
			await agent.close();
		}
	});
});

/** What the SDKs answer themselves, or whose proof is a header that they keep from their users. */
const apart = new Set(["extended card", "webhook: get without an id", "a message without parts", "send, not waiting"]);
/** What the SDK 0.3's own converters to and from its proto drop: file names, part metadata, `append`. */
const protoFaults = new Set(["file name", "part metadata", "stream in chunks"]);

describe.each(clients)("client: %s", (name, make) => {
	test.each(agents)("through the gateway, to %s", async (to, start) => {
		const agent = await start();
		try {
			const gateway = await startGatewayFor(agent.url);
			try {
				const client = await make(gateway.url);
				// The one pair that has nothing to say to each other about webhooks: see below.
				const webhooks = !(name === to && name === "SDK 0.3 HTTP+JSON");
				await converse(client, lacking(agent), webhooks);
			} finally {
				await gateway.close();
			}
		} finally {
			await agent.close();
		}
	});

	test.each(bindings)("through the gateway, to SDK 1.x %s", async (binding) => {
		const agent = await startConversation([binding]);
		try {
			const gateway = await startGatewayFor(agent.cardUrl);
			try {
				const client = await make(gateway.url);
				const sent = await client.ask({
					op: "send",
					message: { role: "user", id: "m-1", parts: [{ text: "count 2" }] },
				});
				expect(sent.task?.status.state).toBe("completed");
				expect(sent.task?.artifacts).toHaveLength(2);
			} finally {
				await gateway.close();
			}
		} finally {
			await agent.close();
		}
	});

	const some: readonly Form[] = forms.filter(({ version }) => version === "1.0" || version === "0.1");
	test.each(some.map((form) => [nameOf(form), form] as const))("every scenario, to %s", async (__, form) => {
		const lane = await throughTo(form);
		try {
			const client = await make(lane.gateway.url);
			for (const scenario of scenarios) {
				if (apart.has(scenario.name) || (!name.endsWith("JSONRPC") && protoFaults.has(scenario.name))) continue;
				const outcome = await outcomeOf(scenario, { agent: lane.agent, client });
				expect(outcome, scenario.name).toBeTypeOf("string");
			}
		} finally {
			await lane.close();
		}
	});
});

/** The SDKs read an error only from the stream they asked for: their own agents answer with an SSE error event. */
describe.each([
	["SDK 0.3", (url: string) => sdk03Client("JSONRPC", url), () => startSdk03("JSONRPC")],
	["SDK 0.2", sdk02Client, startSdk02],
] as const)("a %s client learns why a stream did not begin", (_, make, start) => {
	const why = async (url: string): Promise<string> => {
		const client = await make(url);
		try {
			for await (const __ of client.listen({ op: "subscribe", taskId: "nobody-knows" }));
		} catch (error) {
			return (error as Error).message;
		}
		throw new Error("no error");
	};
	test("from its own agent, with nothing between", async () => {
		const agent = await start();
		try {
			expect(await why(agent.url)).toContain("-32001");
		} finally {
			await agent.close();
		}
	});
	test("through the gateway", async () => {
		const lane = await throughTo({ binding: "JSONRPC", version: "1.0" });
		try {
			expect(await why(lane.gateway.url)).toContain("-32001");
		} finally {
			await lane.close();
		}
	});
});

test.each(["HTTP+JSON", "GRPC"] as const)("the SDK 0.3's own faults over %s, with nothing between", async (binding) => {
	const agent = await startAgent({ binding, version: "0.3" });
	try {
		const client = await sdk03Client(binding, agent.url);
		for (const scenario of scenarios)
			if (protoFaults.has(scenario.name)) await expect(outcomeOf(scenario, { agent, client })).rejects.toThrow();
	} finally {
		await agent.close();
	}
});

test("the SDK 0.3's HTTP+JSON client and agent do not agree on the body of a webhook, with nothing between", async () => {
	const agent = await startSdk03("HTTP+JSON");
	try {
		await expect(converse(await sdk03Client("HTTP+JSON", agent.url))).rejects.toThrow("`config` object");
	} finally {
		await agent.close();
	}
});

test("every SDK client against the raw agent of its own form, as the control", async () => {
	for (const [name, make] of clients) {
		const binding = bindings.find((each) => name.endsWith(each)) ?? "JSONRPC";
		const form: Form = { binding, version: name.includes("0.2") ? "0.2" : "0.3" };
		const agent = await startAgent(form);
		try {
			await converse(await make(agent.url));
		} finally {
			await agent.close();
		}
	}
});
