/** The admin listener (design/contract.md `--admin`): health, status, and agents added and removed while the gateway runs. */
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Context } from "hono";
import { addAgent, describeAgent, readAgent } from "./added.ts";
import type { Agents } from "./agents.ts";
import { A2AError } from "./call/error.ts";
import { MAX_CARD, parseDocument } from "./card/document.ts";
import { CardError } from "./card/error.ts";
import { problem } from "./catalogue/pages.ts";
import type { Address, AgentTimeouts } from "./config/config.ts";
import type { Log } from "./config/log.ts";
import type { Count } from "./core/counters.ts";
import { listen } from "./listener/listen.ts";
import type { Report } from "./listener/options.ts";
import { HEALTH_PATH, mountApp, READY_PATH, type SiteBindings, siteApp } from "./listener/site.ts";
import { readBody } from "./wire/body.ts";

export interface AdminOptions {
	readonly address: Address;
	readonly agents: Pick<Agents, "get" | "list" | "add" | "remove">;
	/** Of agents that are added. */
	readonly timeouts: AgentTimeouts;
	/** Why the gateway is not ready; none = ready. */
	readonly notReady: () => readonly string[];
	readonly counters: () => readonly Count[];
	/** The package's version. */
	readonly version: string;
	/** Versions of the protocol served, newest first. */
	readonly protocols: readonly string[];
	readonly log: Log;
	readonly report: Report;
}

export interface Admin {
	/** `http://host:port`. */
	readonly url: string;
	close(deadlineMs: number): Promise<void>;
}

type Env = { Bindings: SiteBindings };
type Handle = (c: Context<Env>) => Response | Promise<Response>;

/** A card with its description. */
const MAX_BODY = MAX_CARD + 64 * 1024;
const BODY_TIME = 10_000;

/**
 * Starts the listener. Rejects when the address cannot be bound. There is no authentication: whoever reaches the
 * address may use it, except web pages, which a browser on the same machine would carry there.
 */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
	const { agents, address, notReady, log } = options;
	const started = Date.now();
	const local = isLoopback(address.host);
	if (!local) log.warn("the admin listener is not on a loopback address and has no authentication", { ...address });

	const status = () => {
		const reasons = notReady();
		return {
			version: options.version,
			node: process.versions.node,
			protocols: options.protocols,
			startTime: new Date(started).toISOString(),
			uptimeSeconds: Math.floor((Date.now() - started) / 1000),
			ready: reasons.length === 0,
			reasons,
			memory: { rssBytes: process.memoryUsage.rss() },
			agents: agents.list().map(describeAgent),
			counters: options.counters(),
		};
	};

	const routes: Readonly<Record<string, Readonly<Record<string, Handle>>>> = {
		[HEALTH_PATH]: { GET: () => json({ status: "ok" }) },
		[READY_PATH]: {
			GET() {
				const reasons = notReady();
				return reasons.length === 0 ? json({ status: "ready" }) : json({ status: "not ready", reasons }, 503);
			},
		},
		"/status": { GET: () => json(status()) },
		"/agents": {
			GET: () => json({ agents: agents.list().map(describeAgent) }),
			async POST(c) {
				const config = readAgent(await bodyOf(c), options.timeouts);
				const agent = addAgent(agents, config);
				log.info("agent added by the admin API", { agent: config.name });
				return json(describeAgent(agent), 201, { location: `/agents/${config.name}` });
			},
		},
		"/agents/:name": {
			GET(c) {
				const agent = agents.get(c.req.param("name") ?? "");
				if (!agent) throw noSuchAgent();
				return json(describeAgent(agent));
			},
			DELETE(c) {
				const name = c.req.param("name") ?? "";
				if (!agents.get(name)) throw noSuchAgent();
				// It is gone at once; calls under way end in their own time.
				agents.remove(name).catch((error: unknown) => log.debug("agent not closed", { agent: name, error }));
				log.info("agent removed by the admin API", { agent: name });
				return new Response(null, { status: 204 });
			},
		},
	};

	const app = siteApp();
	const guarded =
		(handle: Handle): Handle =>
		async (c) => {
			try {
				refuseBrowsers(c.env.incoming.headers, local);
				return await handle(c);
			} catch (error) {
				if (error instanceof A2AError) return problem(error, {});
				throw error;
			}
		};
	for (const [path, verbs] of Object.entries(routes)) {
		for (const [verb, handle] of Object.entries(verbs)) app.on(verb, path, guarded(handle));
		const allow = Object.keys(verbs)
			.flatMap((verb) => (verb === "GET" ? [verb, "HEAD"] : [verb]))
			.join(", ");
		app.all(path, () => problem(new A2AError("METHOD_NOT_ALLOWED", { header: { allow } }), {}));
	}
	app.all("*", () => problem(new A2AError("NOT_FOUND", { message: "Nothing is served at this path" }), {}));

	const listener = await listen({
		host: address.host,
		port: address.port,
		resolve: () => undefined,
		http: [],
		grpc: [],
		site: mountApp(app, () => true, options.report),
		report: options.report,
	});
	return { url: listener.url, close: (deadlineMs) => listener.close(deadlineMs) };
}

function noSuchAgent(): A2AError {
	return new A2AError("NOT_FOUND", { message: "There is no such agent here" });
}

/** The body as JSON. Only as JSON: what a page may send elsewhere without asking first is refused. */
async function bodyOf(c: Context<Env>): Promise<JsonObject> {
	const { incoming } = c.env;
	if (!/^application\/json\s*(;|$)/i.test(incoming.headers["content-type"] ?? "")) {
		throw new A2AError("UNSUPPORTED_MEDIA_TYPE", { message: "The body must be application/json" });
	}
	const bytes = await readBody(incoming, { max: MAX_BODY, timeout: BODY_TIME });
	try {
		return parseDocument(bytes, "the body").json;
	} catch (error) {
		if (!(error instanceof CardError)) throw error;
		throw new A2AError("PARSE_ERROR", { message: error.operator, cause: error });
	}
}

/**
 * A web page must not administer the gateway through its visitor's browser: neither across origins (the browser
 * says so), nor by a name of its own that resolves to this machine (the Host says so).
 */
function refuseBrowsers(header: IncomingHttpHeaders, local: boolean): void {
	const authority = header[":authority"] ?? header.host;
	const host = typeof authority === "string" ? authority : "";
	const site = header["sec-fetch-site"];
	const foreign = site !== undefined && site !== "same-origin" && site !== "none";
	const { origin } = header;
	if (foreign || (origin !== undefined && origin !== `http://${host}`) || (local && !isLoopback(nameOf(host)))) {
		throw new A2AError("PERMISSION_DENIED", { message: "The admin listener is not for other sites' pages" });
	}
}

function nameOf(authority: string): string {
	return authority.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
}

function isLoopback(host: string): boolean {
	const name = host.toLowerCase();
	return name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."));
}

function json(value: unknown, status = 200, header: Readonly<Record<string, string>> = {}): Response {
	const body = JSON.stringify(value);
	return new Response(body, {
		status,
		headers: {
			"cache-control": "no-store",
			"content-type": "application/json",
			"content-length": String(Buffer.byteLength(body)),
			...header,
		},
	});
}
