/** The control: each form's client on the same form's agent, nothing in between. What fails here is no fault of a gateway. */
import { describe, expect, test } from "vitest";
import { codeFor, type Reason } from "../peer/older/fault.ts";
import { startAgent, startClient } from "../peer/older/index.ts";
import { forms, nameOf } from "../peer/older/model.ts";
import type { OlderAgent, OlderClient } from "../peer/older/peer.ts";
import { applies, outcomeOf } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";

/** What is refused by every version, and why. */
export const refused: Readonly<Record<string, Reason>> = {
	"send to a finished task": "UNSUPPORTED_OPERATION",
	"send to an unknown task": "TASK_NOT_FOUND",
	"get of an unknown task": "TASK_NOT_FOUND",
	"cancel of a finished task": "TASK_NOT_CANCELABLE",
	"resubscribe to an unknown task": "TASK_NOT_FOUND",
	"error: unsupported": "UNSUPPORTED_OPERATION",
	"error: content type": "CONTENT_TYPE_NOT_SUPPORTED",
	"error: invalid parameters": "INVALID_PARAMS",
	"error: internal": "INTERNAL_ERROR",
	"error before a stream": "CONTENT_TYPE_NOT_SUPPORTED",
	"a message without parts": "INVALID_PARAMS",
};

describe.each(forms.map((form) => [nameOf(form), form] as const))("%s", (_, form) => {
	let agent: OlderAgent;
	let client: OlderClient;
	test("opens", async () => {
		agent = await startAgent(form);
		client = startClient(form, agent.endpoint);
	});
	test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))("%s", async (name, scenario) => {
		if (!applies(scenario, client)) return;
		const outcome = await outcomeOf(scenario, { agent, client });
		const live = name === "resubscribe to a finished task" && form.version === "1.0";
		const reason = live ? "UNSUPPORTED_OPERATION" : refused[name];
		if (reason) expect(outcome).toMatch(/^refused/);
		if (reason && form.binding === "JSONRPC") expect(outcome).toBe(`refused ${codeFor(form, reason)}`);
		if (!reason) expect(outcome).toBe("equal");
	});
	test("closes", async () => {
		await client.close();
		await agent.close();
	});
});
