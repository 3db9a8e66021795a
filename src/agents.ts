/** The agents behind one gateway: who they are, where each is mounted, and whose a request is (design/contract.md "URLs"). */
import { type Agent, createAgent } from "./agent.ts";
import type { Call, Middleware } from "./call/call.ts";
import { A2AError } from "./call/error.ts";
import { createPace } from "./card/pace.ts";
import { type Listening, publicBase } from "./card/public-base.ts";
import type { CardSigner } from "./card/sign-serve.ts";
import type { AgentConfig, Config } from "./config/config.ts";
import type { Log } from "./config/log.ts";
import { stringField, withString } from "./schema/payload.ts";

/** An agent's mount point as the listener wants it. */
export interface Mount {
	readonly agent: string;
	readonly path: string;
}

export interface Agents {
	get(name: string): Agent | undefined;
	/** In order of configuration, later ones at the end. */
	list(): readonly Agent[];
	/** Mounts one more and begins to look for it. Throws TypeError when the name is taken. */
	add(config: AgentConfig): Agent;
	/** Unmounts it: no new calls; those under way go on. False when there is none of that name. */
	remove(name: string): Promise<boolean>;
	/** Whose is a request? Undefined: nobody's. */
	resolve(host: string | undefined, path: string): Mount | undefined;
	/** Whose are calls that name nobody: the configured default's, else the agent's at the root. */
	fallback(): Agent | undefined;
	/** Begins to look for all. `listening` is where the port is open; `signer` signs their cards. */
	start(listening: Listening, signer: CardSigner): void;
	/** Signs every card again. */
	resign(): void;
	/** Told after every change of an agent, its card or its readiness; returns the way to stop listening. */
	onChange(listener: () => void): () => void;
	close(): Promise<void>;
}

/** With several agents, each has its tree below this. */
const TREE = "/agents/";

export function createAgents(config: Config, log: Log): Agents {
	const agents = new Map<string, { readonly agent: Agent; readonly config: AgentConfig }>();
	const listeners = new Set<() => void>();
	const changed = () => {
		for (const listener of listeners) listener();
	};
	const pace = createPace();
	/** By host name, the first of several that claim it. Looked up with every request. */
	const hosts = new Map<string, string>();
	/** An agent that is alone in the configuration is at the root, and stays there when others come: clients have its card. */
	const rooted = config.agents.length === 1 ? config.agents[0]?.name : undefined;
	let listening: Listening | undefined;
	let signer: CardSigner | undefined;

	function begin(name: string, agent: Agent): void {
		if (!listening || !signer) return;
		const { hosts = [] } = agents.get(name)?.config ?? {};
		const [host] = hosts;
		const whole = publicBase(config.publicUrl, listening);
		if (host !== undefined) whole.host = host.includes(":") ? host : `${host}:${whole.port}`;
		const path = host !== undefined || name === rooted ? "" : TREE + name;
		agent.start(publicBase(whole.href, listening, path), path === "" ? undefined : name, signer);
	}

	function put(one: AgentConfig): Agent {
		if (agents.has(one.name)) throw new TypeError(`there is an agent named "${one.name}" already`);
		const agent = createAgent(one, config, log, changed, pace);
		agents.set(one.name, { agent, config: one });
		claim(one);
		return agent;
	}

	function claim(one: AgentConfig): void {
		for (const host of one.hosts ?? []) if (!hosts.has(host)) hosts.set(host, one.name);
	}

	for (const one of config.agents) put(one);

	return {
		get: (name) => agents.get(name)?.agent,
		list: () => [...agents.values()].map((a) => a.agent),
		add(one) {
			const agent = put(one);
			begin(one.name, agent);
			changed();
			return agent;
		},
		async remove(name) {
			const found = agents.get(name);
			if (!found) return false;
			agents.delete(name);
			hosts.clear();
			for (const { config } of agents.values()) claim(config);
			changed();
			await found.agent.close();
			return true;
		},
		resolve(host, path) {
			const named = host === undefined ? undefined : ofHost(hosts, host);
			if (named !== undefined) return { agent: named, path: path };
			if (path.startsWith(TREE)) {
				const end = path.indexOf("/", TREE.length);
				const name = end < 0 ? path.slice(TREE.length) : path.slice(TREE.length, end);
				if (agents.has(name)) return { agent: name, path: end < 0 ? "/" : path.slice(end) };
			}
			const grpc = isGrpcPath(path);
			if (rooted !== undefined && agents.has(rooted) && !(grpc && agents.size > 1))
				return { agent: rooted, path: path };
			// gRPC has no paths of its own: the tenant of the request tells (core: byTenant).
			return grpc ? { agent: "", path: path } : undefined;
		},
		fallback() {
			const chosen = [...agents.values()].find((a) => a.config.default) ?? agents.get(rooted ?? "");
			return chosen?.agent;
		},
		resign() {
			for (const { agent } of agents.values()) agent.resign();
		},
		start(where, cardSigner) {
			listening = where;
			signer = cardSigner;
			for (const [name, { agent }] of agents) begin(name, agent);
		},
		onChange(listener) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
		async close() {
			await Promise.all([...agents.values()].map((a) => a.agent.close()));
		},
	};
}

/** `/package.Service/Method`: the only paths with a dot in their first segment that are no files. */
function isGrpcPath(path: string): boolean {
	return /^\/[\w.]+\.[\w.]*\w\/\w+$/.test(path);
}

/** `name:port` as it was configured, else the name at any port. */
function ofHost(hosts: ReadonlyMap<string, string>, host: string): string | undefined {
	if (hosts.size === 0) return undefined;
	const name = host.toLowerCase();
	const exact = hosts.get(name);
	if (exact !== undefined) return exact;
	const bare = name.replace(/:\d+$/, "");
	return bare.includes(":") ? undefined : hosts.get(bare);
}

/**
 * Calls that came without an agent (gRPC among several) go to the one their tenant names, which is taken off: it is the
 * gateway's routing key, the agent's own is put back later. Without a tenant, the configured default takes the call.
 */
export function byTenant(agents: Agents): Middleware {
	return (next) => (call: Call) => {
		const tenant = stringField(call.request, "tenant");
		if (call.agent !== "") {
			// The routing key of the agent it came to anyway.
			return next(
				tenant !== "" && tenant === call.agent ? { ...call, request: withString(call.request, "tenant", "") } : call,
			);
		}
		if (tenant === "") {
			const only = agents.fallback();
			if (only) return next({ ...call, agent: only.name });
			throw new A2AError("INVALID_PARAMS", {
				message: "Invalid parameters: tenant: must name the agent; take it from the agent's card",
			});
		}
		if (!agents.get(tenant)) throw new A2AError("NOT_FOUND", { message: "There is no such agent here" });
		return next({ ...call, agent: tenant, request: withString(call.request, "tenant", "") });
	};
}
