/** What the core's policies see of an agent: facts read from its card once, when the card is taken into use. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Header } from "../call/call.ts";
import type { Traits } from "../dialect/dialect.ts";

/** What the card says the agent can do and demands. */
export interface Capabilities {
	readonly streaming: boolean;
	readonly pushNotifications: boolean;
	readonly extendedCard: boolean;
	/** URIs of the extensions every client must name. */
	readonly requiredExtensions: readonly string[];
}

export interface AgentView extends Capabilities {
	/** The agent's protocol version, `Major.Minor`. */
	readonly version: string;
	/** What the agent's version lacks or does otherwise. */
	readonly traits: Traits;
	/** `protocolBinding` of the connection in use. */
	readonly binding: string;
	/** Refuse what cannot be translated whole. */
	readonly strict: boolean;
	/** The agent's own routing key on the chosen interface; "" = it has none. */
	readonly tenant: string;
	/** The client's credentials that cross: headers (cookies among them) and query members. */
	credentials(header: Header, query: Header): { readonly header: Header; readonly query: Header };
	/** Replaces the agent's own addresses in a text that clients will see. */
	redact(text: string): string;
	/** An agent's card as the gateway serves it: its own interfaces instead of the agent's, signed. */
	project(card: JsonObject): Promise<JsonObject>;
}

/** The capability facts of a card (absent counts as false). */
export function capabilitiesOf(card: AgentCard): Capabilities {
	const { capabilities } = card;
	return {
		streaming: capabilities?.streaming === true,
		pushNotifications: capabilities?.pushNotifications === true,
		extendedCard: capabilities?.extendedAgentCard === true,
		requiredExtensions: (capabilities?.extensions ?? []).filter((e) => e.required && e.uri !== "").map((e) => e.uri),
	};
}
