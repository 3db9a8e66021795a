/** Control: every client form straight at an agent of its own form. Proves the peers before they judge the gateway. */
import { describe } from "vitest";
import { startConnect } from "../peer/agents/connect.ts";
import { startScripted } from "../peer/agents/scripted.ts";
import { connectJsonClient, grpcWebClient } from "../peer/clients/connect.ts";
import { clientFor } from "../peer/clients/index.ts";
import { describeLane, exchanges, failures, type Lane, type SuiteOptions } from "./suite.ts";

const nothing = (): never => {
	throw new Error("no script");
};
const options: SuiteOptions = { tenants: true, runs: 30, gateway: false };

describe("control", () => {
	for (const binding of ["JSONRPC", "HTTP+JSON", "GRPC"]) {
		const open = async (): Promise<Lane> => {
			const agent = await startScripted({ bindings: [binding], script: nothing });
			const clients = agent.interfaces.map((each) => clientFor(each.binding, each.url));
			const close = async (): Promise<void> => {
				await Promise.all(clients.map((client) => client.close()));
				await agent.close();
			};
			return { agent, clients, close };
		};
		describeLane(`${binding} to ${binding}`, open, (lane) => {
			exchanges(lane, options);
			failures(lane, options);
		});
	}

	const openConnect = async (): Promise<Lane> => {
		const agent = await startConnect(nothing);
		const clients = [grpcWebClient(agent.url), connectJsonClient(agent.url), connectJsonClient(agent.url, true)];
		return { agent, clients, close: () => agent.close() };
	};
	describeLane("GRPC-WEB and CONNECT to connect-node", openConnect, (lane) => {
		exchanges(lane, options);
		failures(lane, options);
	});
});
