/** The pages of the port: agent cards (A2A v1.0 §8.2, v0.3 §5.3), liveness and readiness, carried by Hono. */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { getRequestListener, type Http2Bindings, type HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import type { HttpRequest, HttpResponse, Target } from "../binding/binding.ts";
import { isCurrent } from "./conditional.ts";
import { allowHeaders } from "./cors.ts";
import type { Report, Site } from "./options.ts";
import { type RefusalCode, refusal } from "./refuse.ts";

/** A card as it goes out. */
export interface CardPage {
	/** JSON text. */
	readonly body: string;
	/** With its quotes: `"…"` or `W/"…"`. */
	readonly etag: string;
	readonly lastModified: Date;
	/** Cache-Control value. */
	readonly cacheControl: string;
	/** What the choice of card depended on beside A2A-Version: further Vary names, comma-separated. */
	readonly vary?: string;
}

/** What a card may depend on. */
export interface CardRequest {
	readonly header: IncomingHttpHeaders;
	/** The authority asked for, `name[:port]`. */
	readonly authority: string | undefined;
	/** Did it come over TLS (to this port; a proxy in front has its own headers)? */
	readonly secure: boolean;
}

export interface SiteOptions {
	/**
	 * The card that `target.path` (`/.well-known/agent-card.json` or `/.well-known/agent.json`) means for
	 * `target.agent`. Undefined: no such agent (404). Unavailable: 503 with the message. A throw: 500, reported.
	 */
	readonly card: (
		target: Target,
		request: CardRequest,
	) => Answer<CardPage | { readonly unavailable: string } | undefined>;
	/** Why the gateway is not ready, in words for operators' eyes without internal URLs; none = ready. */
	/** The public signing keys. A new object for every change. */
	readonly jwks: () => object;
	readonly notReady: () => Answer<readonly string[]>;
	/** Further pages of the port, by path. */
	readonly pages?: ReadonlyMap<string, Get>;
	readonly report: Report;
}

type Answer<T> = T | Promise<T>;

export const CARD_PATHS: readonly string[] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];
export const JWKS_PATH = "/.well-known/jwks.json";
export const HEALTH_PATH = "/healthz";
export const READY_PATH = "/readyz";

/** What a page's code finds in `c.env`. */
export type SiteBindings = (HttpBindings | Http2Bindings) & { readonly target: Target };
export type SiteApp = Hono<{ Bindings: SiteBindings }>;

/** An app that routes by the path below the mount point. */
export function siteApp(): SiteApp {
	return new Hono<{ Bindings: SiteBindings }>({
		getPath: (_request, options) => options?.env?.target.path ?? "/",
	});
}

/** Makes a site of any app: `has` tells its paths. Errors are answered in the google.rpc.Status form and reported. */
export function mountApp(app: SiteApp, has: Site["has"], report: Report): Site {
	const targets = new WeakMap<object, Target>();
	const tell = (error: unknown, env: Pick<SiteBindings, "target"> | undefined, verb: string): void => {
		report(error, { id: env?.target.id ?? "", method: `${verb} ${env?.target.path ?? ""}` });
	};
	app.notFound(() => problem(404));
	app.onError((error, c) => {
		tell(error, c.env, c.req.method);
		return problem(500);
	});
	const listener = getRequestListener(
		(request, env) => app.fetch(request, { ...env, target: targets.get(env.incoming) }),
		{
			overrideGlobalObjects: false,
			hostname: "localhost",
			// What comes here did not get as far as the app: a Host that is none.
			errorHandler: () => problem(400),
		},
	);
	return {
		has,
		serve(req: HttpRequest, res: HttpResponse, target: Target) {
			targets.set(req, target);
			listener(req, res).catch((error) => {
				tell(error, { target }, req.method ?? "");
				res.destroy();
			});
		},
	};
}

export function createSite(options: SiteOptions): Site {
	const app = siteApp();
	page(app, HEALTH_PATH, () => json({ status: "ok" }));
	page(app, READY_PATH, async () => {
		const reasons = await options.notReady();
		return reasons.length === 0 ? json({ status: "ready" }) : json({ status: "not ready", reasons }, 503);
	});
	for (const path of CARD_PATHS) {
		page(app, path, async (c) => {
			const { incoming, target } = c.env;
			const header = incoming.headers;
			const authority = header[":authority"];
			const card = await options.card(target, {
				header,
				authority: typeof authority === "string" ? authority : header.host,
				secure: "encrypted" in incoming.socket && incoming.socket.encrypted === true,
			});
			if (card === undefined) return problem(404);
			return "unavailable" in card ? problem(503, card.unavailable, { "retry-after": "5" }) : cardPage(card, header);
		});
	}
	let keys: { readonly of: object; readonly page: CardPage } | undefined;
	page(app, JWKS_PATH, (c) => {
		const current = options.jwks();
		if (keys?.of !== current) keys = { of: current, page: keysPage(current) };
		return cardPage(keys.page, c.env.incoming.headers);
	});
	const pages = options.pages ?? new Map<string, Get>();
	for (const [path, get] of pages) page(app, path, get);
	const port = new Set([HEALTH_PATH, READY_PATH, JWKS_PATH, ...pages.keys()]);
	const agent = new Set(CARD_PATHS);
	return mountApp(app, (path, scope) => (scope === "port" ? port : agent).has(path), options.report);
}

/** Clients may keep the keys for as long as a new one is announced before it signs (card/keys.ts). */
function keysPage(keys: object): CardPage {
	const body = JSON.stringify(keys);
	const etag = `"${createHash("sha256").update(body).digest("base64url")}"`;
	return { body, etag, lastModified: new Date(), cacheControl: "public, max-age=300" };
}

export type Get = (c: Context<{ Bindings: SiteBindings }>) => Answer<Response>;

const ALLOW = "GET, HEAD, OPTIONS";

/** A page to be read: GET and HEAD (which Hono makes of GET), preflights, 405 for the rest. */
export function page(app: SiteApp, path: string, get: Get): void {
	app.get(path, get);
	app.options(path, (c) => {
		const header = {
			allow: ALLOW,
			"access-control-allow-origin": "*",
			"access-control-allow-methods": ALLOW,
			"access-control-allow-headers": allowHeaders(c.req.header("access-control-request-headers")),
			"access-control-max-age": "7200",
		};
		return new Response(null, { status: 204, headers: header });
	});
	app.all(path, () => problem(405, undefined, { allow: ALLOW }));
}

function cardPage(card: CardPage, request: IncomingHttpHeaders): Response {
	const header: Record<string, string> = {
		etag: card.etag,
		"last-modified": card.lastModified.toUTCString(),
		"cache-control": card.cacheControl,
		vary: card.vary ? `A2A-Version, ${card.vary}` : "A2A-Version",
		...readable,
	};
	if (isCurrent(request, card.etag, card.lastModified)) return new Response(null, { status: 304, headers: header });
	return new Response(card.body, { headers: withBody(card.body, header) });
}

const readable = {
	"access-control-allow-origin": "*",
	"access-control-expose-headers": "etag, last-modified, x-request-id, retry-after",
};

function json(value: unknown, status = 200): Response {
	const body = JSON.stringify(value);
	return new Response(body, { status, headers: withBody(body, { "cache-control": "no-store", ...readable }) });
}

function problem(code: RefusalCode, text?: string, header: Readonly<Record<string, string>> = {}): Response {
	const body = refusal(code, text);
	const headers = withBody(body, { "cache-control": "no-store", ...readable, ...header });
	return new Response(body, { status: code, headers });
}

function withBody(body: string, header: Readonly<Record<string, string>>): Record<string, string> {
	return { ...header, "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
}
