/** One agent behind the gateway: its card kept fresh, its connection kept open, and what the core needs to know of both. */
import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import type { Interface, Upstream } from "./binding/binding.ts";
import { type Call, type Handler, isStream, type Reply } from "./call/call.ts";
import { A2AError } from "./call/error.ts";
import { open } from "./call/stream.ts";
import { explainChoice } from "./card/choose.ts";
import { credentialNames, selectCredentials } from "./card/credentials.ts";
import { type Keeper, type Kept, keeper } from "./card/keeper.ts";
import type { Pace } from "./card/pace.ts";
import { offers, project, redactor, type Serialised } from "./card/project.ts";
import type { CardSigner } from "./card/sign-serve.ts";
import { inlineSource, sourceOf } from "./card/source.ts";
import { trust, trustedSource } from "./card/trust.ts";
import type { CardForm, CardVariants } from "./card/variants.ts";
import type { AgentConfig, Config } from "./config/config.ts";
import type { Log } from "./config/log.ts";
import { extensionsTowardsAgent } from "./core/extension-header.ts";
import { Again, type Connection } from "./core/relay.ts";
import { type AgentView, capabilitiesOf } from "./core/view.ts";
import { bindingNamed, bindings, dialectOf, dialects } from "./registry.ts";

export interface Agent {
	readonly name: string;
	/** Takes gRPC calls that name no tenant, where there are several agents. */
	readonly isDefault: boolean;
	/** Begins to look for the agent. `base` is the public URL of its mount point, `tenant` the gateway's routing key where URLs cannot tell agents apart. */
	start(base: URL, tenant: string | undefined, signer: CardSigner): void;
	/** The signing keys have changed: the cards are signed again. */
	resign(): void;
	/** The first attempt to find it is over, whatever came of it. */
	readonly settled: Promise<void>;
	/** The connection in use. Throws UNAVAILABLE while there is none. */
	connection(): Connection;
	/** Protocol version in use; "" while there is no connection. */
	readonly version: string;
	/** The card as the gateway serves it, in each form; undefined while there is none. */
	card(form: CardForm): Serialised | undefined;
	/** Public URL of its mount point; undefined before `start`. */
	readonly base: URL | undefined;
	/** Is there an agent to call, as far as is known? */
	readonly ready: boolean;
	/** Why it is ready, or not. For the operator: may name internal URLs. */
	readonly reason: string;
	/** Looks at its card again, soon. Never rejects. */
	refresh(why: string): Promise<void>;
	/** A call found it. */
	reached(): void;
	/** A call found nobody there. */
	unreachable(call: Call, error: A2AError): void;
	close(): Promise<void>;
}

/** What is in use: made whole from one card, replaced whole by the next. */
interface Link {
	readonly connection: Connection;
	readonly upstream: Upstream;
	readonly iface: Interface;
}

/** How many calls in a row must find nobody before the card's next interface is tried (G7). */
const PATIENCE = 3;

/** `pace`: shared with the other agents, whose cards are not all loaded at once. A card whose `file` is "" is its text. */
export function createAgent(config: AgentConfig, general: Config, log: Log, changed: () => void, pace?: Pace): Agent {
	let link: Link | undefined;
	let base: URL | undefined;
	let routing: string | undefined;
	let signer: CardSigner | undefined;
	/** As served; of the card before while the next one is being signed. */
	let cards: CardVariants | undefined;
	let signings = 0;
	/** The card before it is signed. */
	let card: JsonObject | undefined;
	let misses = 0;
	/** What the agent said in the version its card names, while older ones are tried. */
	let refusal: A2AError | undefined;
	const settled = Promise.withResolvers<void>();
	const ca = general.upstream.ca?.text;
	const given =
		config.card?.file === ""
			? inlineSource(config.card.text, "the card given", config.url)
			: sourceOf(
					{ url: config.url, card: config.card?.file },
					{ connectTimeout: config.timeouts.connect, ...(ca !== undefined && { ca }) },
				);
	const about = { agent: config.name };
	const source = config.trust
		? trustedSource(given, trust({ ...config.trust, ...(ca !== undefined && { ca }) }), (text) => log.warn(text, about))
		: given;

	const found: Keeper = keeper({
		source,
		...(pace && { pace }),
		choose: {
			bindings: bindings.map((b) => b.name),
			versions: dialects.map((d) => d.version),
			prefer: config.prefer,
		},
		override: { grpc: config.url && /^grpcs?:/i.test(config.url) ? config.url : undefined },
		onChange: (kept) => {
			for (const warning of kept.reading.warnings) log.warn(`card: ${warning}`, about);
			log.info(`card read from ${kept.loaded.from}\n${explainChoice(kept.choice)}`, about);
			misses = 0;
			use(kept, kept.choice.chosen);
		},
		onState: (state) => {
			if (!state.ready) log.warn(`agent not ready: ${state.reason}`, about);
			else if (state.error) log.warn(`agent ready, but its card cannot be used: ${state.reason}`, about);
			else log.info("agent ready", about);
			changed();
		},
		report: (error) => {
			settled.resolve();
			log.debug("card not loaded", { ...about, error });
		},
	});

	function use(kept: Kept, iface: Interface): void {
		if (!base) throw new Error("the agent was not started");
		const before = link;
		const same = before && sameInterface(before.iface, iface);
		const upstream = same
			? before.upstream
			: bindingNamed(iface.binding).connect(iface, dialectOf(iface.version), {
					maxMessage: general.limits.maxMessage,
					maxDepth: general.limits.maxDepth,
					connectTimeout: config.timeouts.connect,
					idleTimeout: config.timeouts.streamIdle,
					connections: general.upstream.connections,
					ca,
				});
		const { view, plain } = viewOf(kept, iface, base, routing, signer, config, general);
		link = {
			connection: {
				view,
				handler: adapting(
					kept,
					iface,
					extensionsTowardsAgent(dialectOf(iface.version).extensionsHeader)(upstream.handler),
				),
			},
			upstream,
			iface,
		};
		void publish(plain, kept.changed);
		if (before && !same)
			void before.upstream.close().catch((error: unknown) => log.debug("connection not closed", { ...about, error }));
	}

	/** Signs the card and then serves it. A signing that is overtaken by another card's is forgotten. */
	async function publish(plain: JsonObject, when: number): Promise<void> {
		if (!signer || !base) return;
		signings += 1;
		const mine = signings;
		card = plain;
		try {
			const signed = await signer.variants(plain, bindingNamed("JSONRPC").publicUrl(base), when);
			if (mine === signings) cards = signed;
		} catch (error) {
			log.error("the card could not be signed; the one before stays", { ...about, error });
		}
		settled.resolve();
		changed();
	}

	/**
	 * A card that says 1.0 while the wire is older is a frequent fault. Until an interface has answered once, an
	 * answer that does not know the method lets the older versions be tried: nothing was done yet.
	 */
	function adapting(kept: Kept, iface: Interface, handler: Handler): Handler {
		let proven = false;
		return async (call) => {
			if (proven) return handler(call);
			try {
				const reply = await begun(call, await handler(call));
				proven = true;
				refusal = undefined;
				if (iface.version !== kept.choice.chosen.version) {
					log.warn(
						`the card says ${kept.choice.chosen.version}, the agent speaks ${iface.version}: worked around`,
						about,
					);
				}
				return reply;
			} catch (thrown) {
				const error = A2AError.from(thrown);
				if (!knowsNoMethod(error, iface)) {
					proven = error.reason !== "UNAVAILABLE";
					throw error;
				}
				refusal ??= error;
				const next = older(iface, call.method);
				log.warn(`the agent does not know the methods of ${iface.version} at ${iface.url}`, about);
				if (general.strict || !next) {
					const said = refusal;
					refusal = undefined;
					if (iface.version !== kept.choice.chosen.version) use(kept, kept.choice.chosen);
					throw said;
				}
				use(kept, next);
				throw new Again();
			}
		};
	}

	return {
		name: config.name,
		isDefault: config.default === true,
		get ready() {
			return link !== undefined && cards !== undefined && found.state.ready;
		},
		get base() {
			return base;
		},
		get reason() {
			return found.state.reason;
		},
		refresh: (why) => found.refresh(why),
		settled: settled.promise,
		resign() {
			if (card) void publish(card, Date.now());
		},
		start(publicBase, tenant, cardSigner) {
			base = publicBase;
			routing = tenant;
			signer = cardSigner;
			found.start();
		},
		connection() {
			if (!link) {
				throw new A2AError("UNAVAILABLE", {
					message: "The agent is not available yet: the gateway has not reached it",
					header: { "retry-after": "1" },
				});
			}
			return link.connection;
		},
		get version() {
			return link?.iface.version ?? "";
		},
		card: (form) => cards?.[form],
		reached() {
			misses = 0;
		},
		unreachable(call, error) {
			log.warn("agent unreachable", { ...about, id: call.id, error });
			void found.refresh("a call found nobody there");
			misses += 1;
			const kept = found.current();
			if (misses < PATIENCE || !kept || !link) return;
			misses = 0;
			const order = [kept.choice.chosen, ...kept.choice.fallbacks];
			const at = order.findIndex((i) => link && sameInterface(i, link.iface));
			const next = order[(at + 1) % order.length];
			if (!next || sameInterface(next, link.iface)) return;
			log.warn(`trying the card's interface ${next.binding} ${next.version} at ${next.url}`, about);
			use(kept, next);
		},
		async close() {
			await Promise.all([found.stop(), link?.upstream.close()]);
		},
	};
}

/** A stream's first event, or its refusal, before the reply counts as one. */
async function begun(call: Call, reply: Reply): Promise<Reply> {
	return isStream(call.method) ? { header: reply.header, messages: (await open(reply)).messages } : reply;
}

/** The agent answered, and what it said is that it has no such method or route. */
function knowsNoMethod(error: A2AError, iface: Interface): boolean {
	switch (error.reason) {
		case "METHOD_NOT_FOUND":
		case "METHOD_NOT_ALLOWED":
		case "UNIMPLEMENTED":
			return true;
		case "NOT_FOUND":
			// A bare 404; in gRPC the same word is about a task.
			return iface.binding === "HTTP+JSON";
		default:
			return false;
	}
}

/** The same interface under the next older version that has this binding and this operation. */
function older(iface: Interface, method: DescMethod): Interface | undefined {
	const at = dialects.findIndex((d) => d.version === iface.version);
	const next = dialects.slice(at + 1).find((d) => {
		const has = iface.binding === "JSONRPC" ? d.rpcName(method) : d.ownMethod(method);
		return d.served && d.bindings.includes(iface.binding) && has !== undefined;
	});
	return next && { ...iface, version: next.version };
}

function sameInterface(a: Interface, b: Interface): boolean {
	return a.url === b.url && a.binding === b.binding && a.version === b.version && a.tenant === b.tenant;
}

function viewOf(
	kept: Kept,
	iface: Interface,
	base: URL,
	tenant: string | undefined,
	signer: CardSigner | undefined,
	config: AgentConfig,
	general: Config,
): { readonly view: AgentView; readonly plain: JsonObject } {
	const { core, card, interfaces } = kept.reading;
	const names = credentialNames(core);
	const known = {
		interfaces: [...interfaces.map((i) => i.url), iface.url],
		origins: [kept.loaded.base, config.url].filter((url) => url !== undefined),
		base,
	};
	const offered = offers({
		bindings,
		// Clients that name their own tasks know no list of interfaces.
		dialects: dialects.filter((d) => d.served && !d.traits.clientIds),
		base,
		preferred: iface.binding,
		tenant,
	});
	const facts = capabilitiesOf(card);
	const { streaming, pushNotifications, extendedCard: extendedAgentCard } = facts;
	const serves = { streaming, pushNotifications, extendedAgentCard };
	const projected = (other: JsonObject, original = other) =>
		project(other, { ...known, offers: offered, serves, policy: config.project, original });
	const view: AgentView = {
		...facts,
		version: iface.version,
		traits: dialectOf(iface.version).traits,
		strict: general.strict,
		binding: iface.binding,
		tenant: iface.tenant,
		credentials: (header, query) => selectCredentials(header, query, names),
		redact: redactor(known),
		project: async (other) => signer?.sign(projected(other)) ?? projected(other),
	};
	return { view, plain: projected(core, kept.reading.json) };
}
