/** Every client form, aimed at the interfaces a card shows. */
import type { Client } from "./client.ts";
import { connectJsonClient, grpcWebClient } from "./connect.ts";
import { grpcClient } from "./grpc.ts";
import { httpJsonClient, jsonRpcClient } from "./http.ts";

interface Card {
	readonly supportedInterfaces: readonly { url: string; protocolBinding: string }[];
}

const byBinding: Readonly<Record<string, (url: string) => Client>> = {
	JSONRPC: jsonRpcClient,
	"HTTP+JSON": httpJsonClient,
	GRPC: grpcClient,
};

export async function fetchCard(base: string): Promise<Card> {
	const response = await fetch(`${base}/.well-known/agent-card.json`, { headers: { "a2a-version": "1.0" } });
	if (!response.ok) throw new Error(`card: ${response.status} ${await response.text()}`);
	return (await response.json()) as Card;
}

/** One client per interface of the card at `base`, plus gRPC-Web and Connect at `base` itself. */
export async function allClients(base: string): Promise<Client[]> {
	const card = await fetchCard(base);
	const clients = Object.entries(byBinding).map(([binding, make]) => {
		const found = card.supportedInterfaces.find((candidate) => candidate.protocolBinding === binding);
		if (!found) throw new Error(`the card at ${base} shows no ${binding} interface`);
		return make(found.url);
	});
	return [...clients, grpcWebClient(base), connectJsonClient(base)];
}

/** The client that speaks a binding directly. */
export function clientFor(binding: string, url: string): Client {
	const make = byBinding[binding];
	if (!make) throw new Error(`no client for ${binding}`);
	return make(url);
}
