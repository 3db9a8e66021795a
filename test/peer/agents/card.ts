/** The AgentCard JSON every test agent shows: all capabilities on, the interfaces given. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type AgentInterfaceOf, VERSION } from "../protocol.ts";

export function cardJson(interfaces: readonly AgentInterfaceOf[], extra: JsonObject = {}): JsonObject {
	return {
		name: "Test agent",
		description: "Answers what the test scripted",
		version: "1.2.3",
		supportedInterfaces: interfaces.map(({ binding, url, tenant }) => ({
			url,
			protocolBinding: binding,
			protocolVersion: VERSION,
			...(tenant !== undefined && { tenant }),
		})),
		capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
		defaultInputModes: ["text/plain", "application/json"],
		defaultOutputModes: ["text/plain"],
		skills: [{ id: "echo", name: "Echo", description: "Says it again", tags: ["test"] }],
		...extra,
	};
}
