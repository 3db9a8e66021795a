/** Control: every client form straight at an agent of its own form. Proves the peers before they judge the gateway. */
import type { Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { startConnect } from "../peer/agents/connect.ts";
import { startScripted } from "../peer/agents/scripted.ts";
import { collect } from "../peer/clients/client.ts";
import { connectJsonClient, grpcWebClient } from "../peer/clients/connect.ts";
import { clientFor } from "../peer/clients/index.ts";
import { methods } from "../peer/protocol.ts";
import { arbitraryExchange, type Exchange, expectEqual, play } from "./exchange.ts";
import { describeLane, exchanges, failures, type Lane, type SuiteOptions } from "./suite.ts";

const nothing = (): never => {
	throw new Error("no script");
};
const options: SuiteOptions = { tenants: true, runs: 20, gateway: false };

describe("the comparison can fail", () => {
	const [method] = methods;
	if (!method) throw new Error("no operations");
	const [one, other] = fc.sample(arbitraryExchange(method, { tenants: false }), { numRuns: 2, seed: 7 }) as [
		Exchange,
		Exchange,
	];

	test("by a field, by the number of messages, by the order", () => {
		const { output } = method;
		expect(() => expectEqual(output, one.replies, one.replies, "same")).not.toThrow();
		expect(() => expectEqual(output, one.replies, other.replies, "other")).toThrow(/other/);
		expect(() => expectEqual(output, [], one.replies, "fewer")).toThrow(/fewer/);
		const [a, b] = [...one.replies, ...other.replies] as [Message, Message];
		expect(() => expectEqual(output, [a, b], [b, a], "order")).toThrow(/order/);
	});

	test("by an agent that lies", async () => {
		const agent = await startScripted({ bindings: ["JSONRPC"], script: play(other) });
		const client = clientFor("JSONRPC", agent.interfaces[0]?.url ?? "");
		try {
			const replies = await collect(client.call(method, one.request));
			expect(() => expectEqual(method.output, replies, one.replies, "lie")).toThrow(/lie/);
			expect(() => expectEqual(method.input, [agent.calls[0]?.request as Message], [other.request], "request")).toThrow(
				/request/,
			);
		} finally {
			await client.close();
			await agent.close();
		}
	});
});

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
