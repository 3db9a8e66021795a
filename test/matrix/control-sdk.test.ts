/** Control: our clients straight at @a2a-js/sdk agents. Proves the SDK peers and the list of their limits. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { sdkReasons, startSdkScripted } from "../peer/agents/sdk.ts";
import { jsonRpcClient } from "../peer/clients/http.ts";
import { clientFor } from "../peer/clients/index.ts";
import { limits, sdkOverride, sdkRequest } from "./sdk-limits.ts";
import { describeLane, exchanges, failures, type Lane } from "./suite.ts";

const nothing = (): never => {
	throw new Error("no script");
};

// The SDK logs every stream error it relays.
beforeAll(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterAll(() => void vi.restoreAllMocks());

test("every limit says why", () => {
	for (const limit of limits) expect(limit.because.length).toBeGreaterThan(20);
});

describe("control, SDK agent", () => {
	for (const binding of ["JSONRPC", "HTTP+JSON", "GRPC"]) {
		const open = async (): Promise<Lane> => {
			const agent = await startSdkScripted(binding, nothing);
			// The SDK's JSON-RPC answers a deletion with `result: null`.
			const clients = agent.interfaces.map(({ binding: form, url }) =>
				form === "JSONRPC" ? jsonRpcClient(url, true) : clientFor(form, url),
			);
			const close = async (): Promise<void> => {
				await Promise.all(clients.map((client) => client.close()));
				await agent.close();
			};
			return { agent, clients, close };
		};
		describeLane(`${binding} to ${binding}`, open, (lane) => {
			const options = {
				tenants: false,
				runs: 20,
				gateway: false,
				override: sdkOverride(binding),
				expectedRequest: sdkRequest(binding),
				reasons: sdkReasons,
				details: false,
			};
			exchanges(lane, options);
			failures(lane, options);
		});
	}
});
