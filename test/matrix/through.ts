/** A lane through the gateway: all five client forms before it, one agent behind it. */
import type { Client } from "../peer/clients/client.ts";
import { allClients } from "../peer/clients/index.ts";
import { startGatewayFor } from "../peer/gateway.ts";
import type { Agent } from "../peer/protocol.ts";
import type { Lane } from "./suite.ts";

export async function through(agent: Agent): Promise<Lane> {
	try {
		const gateway = await startGatewayFor(agent.url);
		let clients: readonly Client[];
		try {
			clients = await allClients(gateway.url);
		} catch (error) {
			await gateway.close();
			throw error;
		}
		return {
			agent,
			clients,
			close: async () => {
				await Promise.all(clients.map((client) => client.close()));
				await gateway.close();
				await agent.close();
			},
		};
	} catch (error) {
		await agent.close();
		throw error;
	}
}

/** The scripts of a lane are set by each test; a call without one is a fault of the test. */
export const noScript = (): never => {
	throw new Error("no script");
};
