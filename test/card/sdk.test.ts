/** Cards as the official JS SDK really serves them, and as its client reads ours. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { AgentCard } from "@a2a-js/sdk";
import { DefaultAgentCardResolver } from "@a2a-js/sdk/client";
import { agentCardHandler } from "@a2a-js/sdk/server/express";
import express from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { credentialNames } from "../../src/card/credentials.ts";
import { offers, project, serialise } from "../../src/card/project.ts";
import { read } from "../../src/card/read.ts";
import { httpSource } from "../../src/card/source.ts";
import { json, serve } from "./support.ts";

const app = express();
const server = createServer(app);
let url = "";

function sdkCard(): AgentCard {
	return {
		name: "SDK agent",
		description: `Lives at ${url}/a2a`,
		version: "1",
		supportedInterfaces: [
			{ url: `${url}/a2a`, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "" },
			{ url: `${url}/a2a`, protocolBinding: "JSONRPC", protocolVersion: "0.3.0", tenant: "" },
		],
		provider: undefined,
		capabilities: { streaming: true, pushNotifications: false, extensions: [] },
		securitySchemes: {
			key: {
				scheme: {
					$case: "apiKeySecurityScheme",
					value: { name: "X-Key", location: "header", description: "" },
				},
			},
		},
		securityRequirements: [],
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [],
		signatures: [],
	} as unknown as AgentCard;
}

beforeAll(async () => {
	app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: async () => sdkCard() }));
	app.use(
		"/hybrid/agent-card.json",
		agentCardHandler({ agentCardProvider: async () => sdkCard(), legacyCompat: { enabled: true } }),
	);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
	server.closeAllConnections();
	return new Promise((resolve) => server.close(resolve));
});

describe("the SDK's card", () => {
	it.each(["/.well-known/agent-card.json", "/hybrid/agent-card.json"])(
		"%s is read, renewed and projected",
		async (path) => {
			const source = httpSource(url + path);
			const loaded = await source.load();
			expect(loaded.freshFor).toBe(3_600_000);
			const again = await source.load(loaded);
			// A 304: the very same object.
			expect(again.json).toBe(loaded.json);
			await source.close();

			const reading = read(loaded.json, loaded);
			expect(reading.interfaces).toMatchObject([
				{ url: `${url}/a2a`, binding: "JSONRPC", version: "1.0", tenant: "" },
				{ version: "0.3" },
			]);
			expect(reading.card.capabilities?.streaming).toBe(true);
			expect(credentialNames(loaded.json).header).toEqual(["x-key"]);

			const base = new URL("https://gw.example/x");
			const bindings = [{ name: "JSONRPC", publicUrl: (b: URL) => b.href }];
			const projected = project(loaded.json, {
				base,
				offers: offers({ bindings, dialects: [{ version: "1.0", bindings: ["JSONRPC", "HTTP+JSON", "GRPC"] }], base }),
				interfaces: reading.interfaces.map((i) => i.url),
				origins: [loaded.from],
			});
			const { body } = serialise(projected, 0);
			expect(body.toString()).not.toContain(url.slice("http://".length));
			await using gateway = await serve({ "*": json(projected) });
			const theirs = await new DefaultAgentCardResolver().resolve(gateway.url);
			expect(theirs.description).toBe("Lives at https://gw.example/x");
			expect(theirs.supportedInterfaces[0]?.url).toBe("https://gw.example/x");
		},
	);
});
