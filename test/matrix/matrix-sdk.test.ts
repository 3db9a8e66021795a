/** The matrix with @a2a-js/sdk agents over their own three bindings (their limits: sdk-limits.ts). */
import { afterAll, beforeAll, describe, vi } from "vitest";
import { sdkReasons, startSdkScripted } from "../peer/agents/sdk.ts";
import { sdkOverride, sdkRequest } from "./sdk-limits.ts";
import { describeLane, exchanges, failures } from "./suite.ts";
import { noScript, through } from "./through.ts";

// The SDK logs every stream error it relays.
beforeAll(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterAll(() => void vi.restoreAllMocks());

describe("matrix, SDK agent", () => {
	for (const binding of ["JSONRPC", "HTTP+JSON", "GRPC"]) {
		const open = async () => through(await startSdkScripted(binding, noScript));
		describeLane(`over ${binding}`, open, (lane) => {
			const options = {
				tenants: false,
				runs: 10,
				gateway: true,
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
