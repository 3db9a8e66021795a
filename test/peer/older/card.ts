/** The same agent's card in each version, straight from dialects.md §14 and examples.md §5. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Form } from "./model.ts";

const common = {
	name: "Bed Sensor Agent",
	description: "Reads moisture probes",
	version: "2.1.0",
	defaultInputModes: ["text/plain"],
	defaultOutputModes: ["text/plain", "application/json"],
	skills: [{ id: "moisture", name: "Soil moisture", description: "Average per bed", tags: ["garden"] }],
};
const capabilities = { streaming: true, pushNotifications: true };

/** Where cards of that version are looked for. */
export const cardPath = (form: Form): string =>
	form.version === "0.1" || form.version === "0.2" ? "/.well-known/agent.json" : "/.well-known/agent-card.json";

export function cardOf({ binding, version }: Form, url: string, extra: JsonObject = {}): JsonObject {
	switch (version) {
		case "1.0":
			return {
				...common,
				supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: "1.0" }],
				capabilities: { ...capabilities, extendedAgentCard: true },
				...extra,
			};
		case "0.3":
			return {
				...common,
				protocolVersion: "0.3.0",
				url,
				preferredTransport: binding,
				capabilities: { ...capabilities, stateTransitionHistory: true },
				supportsAuthenticatedExtendedCard: true,
				...extra,
			};
		case "0.2":
			return {
				...common,
				protocolVersion: "0.2.5",
				url,
				capabilities: { ...capabilities, stateTransitionHistory: true },
				supportsAuthenticatedExtendedCard: true,
				...extra,
			};
		default:
			return {
				name: common.name,
				description: common.description,
				version: common.version,
				url,
				capabilities,
				authentication: { schemes: ["Bearer"] },
				defaultInputModes: ["text/plain"],
				skills: common.skills,
				...extra,
			};
	}
}

/** What the extended card says that the public one does not. */
export const EXTENDED = "Only for those who ask";
export const extendedCardOf = (form: Form, url: string): JsonObject => cardOf(form, url, { description: EXTENDED });
