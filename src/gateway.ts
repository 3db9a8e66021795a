/** The composition root: listener, bindings, core and agents put together from one configuration. */
import { agentsFromDirectory } from "./added.ts";
import { type Admin, startAdmin } from "./admin.ts";
import type { Agent } from "./agent.ts";
import { type Agents, byTenant, createAgents } from "./agents.ts";
import type { AttachOptions } from "./binding/binding.ts";
import { Health, health, reflection } from "./binding/grpc/index.ts";
import { anonymous, type Call, chain, type Handler } from "./call/call.ts";
import { A2AError } from "./call/error.ts";
import { keyRing } from "./card/keys.ts";
import { publicBase } from "./card/public-base.ts";
import { cardSigner } from "./card/sign-serve.ts";
import type { CardForm } from "./card/variants.ts";
import { mirror } from "./catalogue/mirror.ts";
import { cataloguePages } from "./catalogue/pages.ts";
import type { Config } from "./config/config.ts";
import type { Log } from "./config/log.ts";
import { agentIds } from "./core/agent-ids.ts";
import { answer } from "./core/answer.ts";
import { checkCapabilities } from "./core/capability.ts";
import { clientIds, clientTaskKey } from "./core/client-ids.ts";
import { continuity } from "./core/continuity.ts";
import { type Count, createCounters } from "./core/counters.ts";
import { extensionsTowardsClient } from "./core/extension-header.ts";
import { forward } from "./core/forward.ts";
import { checkExtensions, checkVersion, normaliseVersion } from "./core/negotiate.ts";
import { Again, relay } from "./core/relay.ts";
import { strict } from "./core/strict.ts";
import { operationsOf } from "./core/types.ts";
import { validate } from "./core/validate.ts";
import type { AgentView } from "./core/view.ts";
import { core } from "./dialect/v1/index.ts";
import { listen } from "./listener/listen.ts";
import { createSite, JWKS_PATH } from "./listener/site.ts";
import { bindingNamed, bindings, dialectOf, dialects, servedOn } from "./registry.ts";
import { memoryStore, type Store } from "./state/store.ts";

export interface Gateway {
	/** Where it listens: `http://host:port`. */
	readonly url: string;
	/** What cards advertise: the base URL clients are told. */
	readonly publicUrl: string;
	/** Where the admin listener is; undefined = off. */
	readonly adminUrl: string | undefined;
	/** What has happened since the start. */
	counters(): readonly Count[];
	/** Drains, then stops. Resolves when nothing is left. */
	close(): Promise<void>;
}

/**
 * Starts serving. Resolves when the port is open, which may be before the agent is there: readiness
 * tells. Rejects when the port cannot be opened or the configuration cannot be used.
 */
export async function startGateway(
	config: Config,
	{ log, version = "unknown" }: { readonly log: Log; readonly version?: string },
): Promise<Gateway> {
	if (config.agents.length === 0 && config.agentsDir === undefined) throw new TypeError("there is no agent to serve");
	const ring = keyRing({
		files: config.signingKeys,
		report: (error) => log.error("signing keys not read; those in use stay", { error }),
	});
	for (const warning of ring.warnings) log.warn(warning);
	if (ring.ephemeral)
		log.info("cards are signed with a key of this process only; give one with --signing-key", {
			kid: ring.signing.kid,
		});
	const agents = createAgents(config, log);
	let draining = false;
	const watchers = new Set<() => void>();
	const changed = () => {
		for (const watcher of watchers) watcher();
	};
	agents.onChange(changed);
	const catalogue = mirror(() => agents.list());
	agents.onChange(catalogue.touch);

	const report: AttachOptions["report"] = (thrown, context) => {
		const error = A2AError.from(thrown);
		const fields = { ...context, reason: error.reason, error: error.cause ?? error };
		if (error.reason === "INTERNAL_ERROR" && error.cause !== undefined) log.error("call failed", fields);
		else log.debug("call refused", fields);
	};
	const counters = createCounters();
	const store = memoryStore();
	const handler = createCore(agents, store);
	const recognise: AttachOptions["recognise"] = async (agent, taskId, versions) => {
		const own = versions.find((v) => dialectOf(v).traits.clientIds);
		// Only a client that names its tasks can have named this one.
		return own && (await store.get(clientTaskKey(agent, anonymous.id, taskId))) ? own : undefined;
	};
	const attachments = bindings.map((binding) =>
		binding.attach(handler, servedOn(binding), {
			maxMessage: config.limits.maxMessage,
			maxDepth: config.limits.maxDepth,
			keepAlive: config.sse.keepAlive,
			bodyTimeout: config.timeouts.body,
			unaryTimeout: config.timeouts.unary,
			report,
			lost: (call) => {
				const { origin, losses } = call;
				const agent = agents.get(call.agent)?.version ?? "";
				counters.add("losses", { agent: call.agent, from: origin.version, to: agent }, losses.entries.length);
				log.info("translation lost something", {
					id: call.id,
					agent: call.agent,
					method: call.method.name,
					...origin,
					losses: losses.entries,
				});
			},
			recognise,
		}),
	);
	const services = [...new Set(servedOn(bindingNamed("GRPC")).map((d) => d.service))];
	const notReady = () => [
		...(draining ? ["the gateway is stopping"] : []),
		...agents
			.list()
			.filter((a) => !a.ready)
			.map((a) => `agent ${a.name} is not available`),
	];
	const ready = () => notReady().length === 0;
	let publicUrl = config.publicUrl ?? "";

	/** Which form of the card a request is for (design/contract.md). */
	const formOf = (path: string, version: string | string[] | undefined): CardForm => {
		if (path === "/.well-known/agent.json") return "legacy";
		const asked = normaliseVersion(String(version ?? ""));
		return asked === "1.0" || asked === "0.3" ? asked : config.cardForm;
	};
	const listener = await listen({
		host: config.listen.host,
		port: config.listen.port,
		...(config.tls && { tls: { cert: config.tls.cert.text, key: config.tls.key.text } }),
		prefix: config.publicUrl === undefined ? "" : new URL(config.publicUrl).pathname.replace(/\/+$/, ""),
		resolve: (host, path) => agents.resolve(host, path),
		http: attachments.flatMap((a) => a.http ?? []),
		grpc: [
			...attachments.flatMap((a) => a.grpc ?? []),
			health({
				status: (service) => (service === "" || services.some((s) => s.typeName === service) ? ready() : undefined),
				onChange: (notify) => {
					watchers.add(notify);
					return () => watchers.delete(notify);
				},
			}),
			reflection([...services, Health]),
		],
		site: createSite({
			card: (target, { header }) => {
				const card = agents.get(target.agent)?.card(formOf(target.path, header["a2a-version"]));
				if (!card) return { unavailable: "The agent's card is not available yet" };
				return {
					body: card.body.toString(),
					etag: card.etag,
					lastModified: new Date(card.lastModified),
					cacheControl: "public, max-age=60",
				};
			},
			jwks: () => ring.jwks,
			notReady,
			pages: cataloguePages({ catalogue, site: () => publicUrl }),
			report,
		}),
		cors: config.cors,
		report,
	});

	const listening = { host: listener.host, port: listener.port, tls: config.tls !== undefined };
	const base = publicBase(config.publicUrl, listening);
	publicUrl = base.href.replace(/\/$/, "");
	const jku = `${publicUrl}${JWKS_PATH}`;
	agents.start(listening, cardSigner(ring, { jku }));
	const unwatch = ring.watch(() => {
		log.info("signing keys changed", { kid: ring.signing.kid });
		agents.resign();
	});
	let admin: Admin | undefined;
	try {
		admin =
			config.admin &&
			(await startAdmin({
				address: config.admin,
				agents,
				timeouts: config.timeouts,
				notReady,
				counters: () => counters.read(),
				version,
				protocols: dialects.filter((d) => d.served).map((d) => d.version),
				log,
				report,
			}));
	} catch (error) {
		if (!config.adminGiven)
			log.warn("no admin listener: its default address cannot be had; give another with --admin", { error });
		else {
			// Its address is taken: nothing may be left running.
			unwatch();
			await listener.close(0);
			await agents.close();
			throw error;
		}
	}
	if (admin) log.info(`admin listener on ${admin.url}`);
	const directory =
		config.agentsDir === undefined
			? undefined
			: agentsFromDirectory({ dir: config.agentsDir, agents, timeouts: config.timeouts, log });
	await directory?.ready;
	// The first look for the agents decides whether calls can be served at once; an absent one is not waited for long.
	await Promise.race([Promise.all(agents.list().map((a) => a.settled)), delay(PATIENCE)]);

	let closed: Promise<void> | undefined;
	return {
		url: listener.url,
		publicUrl,
		adminUrl: admin?.url,
		counters: () => counters.read(),
		close() {
			closed ??= (async () => {
				draining = true;
				unwatch();
				changed();
				await directory?.close();
				await listener.close(config.timeouts.drain);
				await agents.close();
				await admin?.close(0);
			})();
			return closed;
		},
	};
}

/** Longest wait for agents before the gateway says that it listens, milliseconds. */
const PATIENCE = 5_000;

function delay(ms: number): Promise<void> {
	return new Promise((resolve) => {
		setTimeout(resolve, ms).unref();
	});
}

/** The one chain every call goes through, whatever binding it came by and whatever its agent speaks. */
function createCore(agents: Agents, store: Store): Handler {
	const agentOf = (call: Call): Agent => {
		const agent = agents.get(call.agent);
		if (!agent) throw new A2AError("NOT_FOUND", { message: "There is no such agent here" });
		return agent;
	};
	const view = (call: Call): AgentView => agentOf(call).connection().view;
	const client = (call: Call) => dialectOf(call.origin.version).traits;
	const agent = (call: Call) => view(call).traits;
	const operations = operationsOf(core);
	const chained = chain(
		[
			extensionsTowardsClient((call) => dialectOf(call.origin.version).extensionsHeader),
			byTenant(agents),
			checkVersion(dialects.filter((d) => d.served).map((d) => d.version)),
			continuity(client, view, operations),
			validate(client),
			checkExtensions(view),
			checkCapabilities(view),
			strict(view),
			answer(view),
			clientIds(client, agent, store, operations),
			agentIds(client, agent, store, operations),
			forward(view),
		],
		relay(
			(call) => agentOf(call).connection(),
			(call, error) => agentOf(call).unreachable(call, error),
			(call) => agentOf(call).reached(),
		),
	);
	return async (call) => {
		for (let tries = 0; ; tries++) {
			try {
				return await chained(call);
			} catch (error) {
				if (!(error instanceof Again) || tries >= dialects.length) throw error;
			}
		}
	};
}
