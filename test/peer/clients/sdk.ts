/** The official client, held to one of its three transports. */
import { type Client, ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";

const factories = {
	JSONRPC: () => new JsonRpcTransportFactory(),
	"HTTP+JSON": () => new RestTransportFactory(),
	GRPC: () => new GrpcTransportFactory(),
} as const;

export const sdkTransports = Object.keys(factories) as (keyof typeof factories)[];

/** Reads the card at `url` as the SDK does, then talks over the one transport. */
export function sdkClient(transport: keyof typeof factories, url: string): Promise<Client> {
	return new ClientFactory({ transports: [factories[transport]()] }).createFromUrl(url);
}
