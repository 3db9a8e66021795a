/** The agent's own tenant: restored towards it on every operation, whatever binding the client speaks (§8.3.2, G6). */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { startScripted } from "../peer/agents/scripted.ts";
import { collect } from "../peer/clients/client.ts";
import { methods } from "../peer/protocol.ts";
import { arbitraryExchange, type Exchange, play } from "./exchange.ts";
import { describeLane } from "./suite.ts";
import { noScript, through } from "./through.ts";

const TENANT = "acme/é 1";

describe("an agent with a tenant", () => {
	for (const binding of ["JSONRPC", "HTTP+JSON", "GRPC"]) {
		const open = async () => through(await startScripted({ bindings: [binding], script: noScript, tenant: TENANT }));
		describeLane(`over ${binding}`, open, (lane) => {
			test.each(methods.map((method) => [method.name, method] as const))("%s", async (_, method) => {
				const { agent, clients } = lane();
				const exchange = fc.sample(arbitraryExchange(method, { tenants: false }), {
					numRuns: 1,
					seed: 3,
				})[0] as Exchange;
				agent.script = play(exchange);
				for (const client of clients) {
					agent.calls.length = 0;
					await collect(client.call(method, exchange.request));
					const tenants = agent.calls.map((call) => (call.request as { tenant?: string }).tenant);
					expect(tenants, client.form).toEqual([TENANT]);
				}
			});
		});
	}
});
