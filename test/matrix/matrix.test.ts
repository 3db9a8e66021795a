/** The matrix: five client forms, three agent bindings, every operation and every error, over generated messages. */
import { describe } from "vitest";
import { startScripted } from "../peer/agents/scripted.ts";
import { describeLane, exchanges, failures } from "./suite.ts";
import { noScript, through } from "./through.ts";

describe("matrix", () => {
	for (const binding of ["JSONRPC", "HTTP+JSON", "GRPC"]) {
		const open = async () => through(await startScripted({ bindings: [binding], script: noScript }));
		describeLane(`to an agent over ${binding}`, open, (lane) => {
			exchanges(lane, { tenants: false, runs: 20, gateway: true });
			failures(lane, { tenants: false, runs: 0, gateway: true });
		});
	}
});
