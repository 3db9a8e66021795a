/** The gateway between one agent of any form and clients of every form. */
import { type Gateway, startGatewayFor } from "../peer/gateway.ts";
import type { AgentOptions } from "../peer/older/http.ts";
import { endpointAt, startAgent, startClient } from "../peer/older/index.ts";
import { type Form, forms, nameOf } from "../peer/older/model.ts";
import type { OlderAgent, OlderClient } from "../peer/older/peer.ts";

export interface Through {
	readonly agent: OlderAgent;
	readonly gateway: Gateway;
	/** By the name of their form. */
	readonly clients: ReadonlyMap<string, OlderClient>;
	client(form: Form): OlderClient;
	close(): Promise<void>;
}

/** `agent` is taken over: closed with the rest. */
export async function through(agent: OlderAgent, flags: readonly string[] = []): Promise<Through> {
	let gateway: Gateway;
	try {
		gateway = await startGatewayFor(agent.url, flags);
	} catch (error) {
		await agent.close();
		throw error;
	}
	const clients = new Map(
		forms.map((form) => [nameOf(form), startClient(form, endpointAt(form, gateway.url))] as const),
	);
	return {
		agent,
		gateway,
		clients,
		client(form) {
			const found = clients.get(nameOf(form));
			if (!found) throw new Error(`no client ${nameOf(form)}`);
			return found;
		},
		async close() {
			await Promise.all([...clients.values()].map((client) => client.close()));
			await gateway.close();
			await agent.close();
		},
	};
}

export const throughTo = async (form: Form, flags?: readonly string[], options?: AgentOptions): Promise<Through> =>
	through(await startAgent(form, options), flags);
