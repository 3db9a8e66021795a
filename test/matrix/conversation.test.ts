/** Conversations of the official client with the official agent: direct for control, then through the gateway, 3 × 3. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startConversation } from "../peer/agents/sdk-conversation.ts";
import { sdkClient, sdkTransports } from "../peer/clients/sdk.ts";
import { startGatewayFor } from "../peer/gateway.ts";
import { conversation, type Talk } from "./conversation.ts";

// The SDK logs webhooks it cannot reach and every stream error.
beforeAll(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterAll(() => void vi.restoreAllMocks());

function describeTalk(title: string, open: () => Promise<Talk & { close(): Promise<void> }>): void {
	describe(title, () => {
		let talk: (Talk & { close(): Promise<void> }) | undefined;
		test("opens", async () => {
			talk = await open();
			expect(talk.client).toBeDefined();
		});
		conversation(() => {
			if (!talk) throw new Error("the talk is not open");
			return talk;
		});
		test("closes", async () => {
			await talk?.close();
		});
	});
}

for (const binding of sdkTransports) {
	describeTalk(`control: SDK client and agent over ${binding}`, async () => {
		const agent = await startConversation([binding]);
		return { agent, client: await sdkClient(binding, agent.url), gateway: "", close: () => agent.close() };
	});
}

for (const binding of sdkTransports) {
	for (const transport of sdkTransports) {
		describeTalk(`SDK client over ${transport}, gateway, SDK agent over ${binding}`, async () => {
			const agent = await startConversation([binding]);
			try {
				const gateway = await startGatewayFor(agent.url);
				const client = await sdkClient(transport, gateway.url);
				const close = async (): Promise<void> => {
					await gateway.close();
					await agent.close();
				};
				return { agent, client, gateway: gateway.url, close };
			} catch (error) {
				await agent.close();
				throw error;
			}
		});
	}
}
