/** An agent reached as the gateway reaches it, for commands: its binding and version, and what makes an older version look like v1.0. */
import type { Interface, Upstream } from "../binding/binding.ts";
import { chain } from "../call/call.ts";
import { agentIds } from "../core/agent-ids.ts";
import { continuity } from "../core/continuity.ts";
import { operationsOf } from "../core/types.ts";
import type { AgentView } from "../core/view.ts";
import { core, v1 } from "../dialect/v1/index.ts";
import { bindingNamed, dialectOf } from "../registry.ts";
import { memoryStore } from "../state/store.ts";

/** Calls to it are v1.0's, whatever it speaks. Throws Error when that version has no such binding. */
export function reach(iface: Interface): Upstream {
	const dialect = dialectOf(iface.version);
	if (!dialect.bindings.includes(iface.binding)) {
		throw new Error(
			`protocol version ${iface.version} is not spoken over ${iface.binding}, only ${dialect.bindings.join(", ")}`,
		);
	}
	const upstream = bindingNamed(iface.binding).connect(iface, dialect, {
		maxMessage: 64 * 2 ** 20,
		maxDepth: 200,
		connectTimeout: 5_000,
		idleTimeout: 0,
		connections: 1,
		ca: undefined,
	});
	if (dialect === v1) return upstream;
	const view = viewOf(iface);
	const operations = operationsOf(core);
	const client = () => v1.traits;
	const agent = () => dialect.traits;
	const bridges = [continuity(client, () => view, operations), agentIds(client, agent, memoryStore(), operations)];
	return { handler: chain(bridges, upstream.handler), close: () => upstream.close() };
}

/** One who calls an agent directly hides nothing from itself and finds out by asking what the agent can do. */
function viewOf({ binding, version, tenant }: Interface): AgentView {
	return {
		streaming: true,
		pushNotifications: true,
		extendedCard: true,
		requiredExtensions: [],
		version,
		traits: dialectOf(version).traits,
		binding,
		strict: false,
		tenant,
		credentials: (header, query) => ({ header, query }),
		redact: (text) => text,
		project: async (card) => card,
	};
}
