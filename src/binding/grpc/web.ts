/** gRPC-Web and Connect towards clients, on the gRPC routes: connect-node speaks the protocols, the core answers. */
import type { Handler, Header } from "../../call/call.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import type { AttachOptions, HttpHandler, HttpRequest, HttpResponse, Target } from "../binding.ts";
import { isGone } from "../serve.ts";
import { none, type Route, routesOf } from "./server.ts";
import type { Serve } from "./web-connect.ts";

/** What these protocols look like. Anything else on a gRPC route is none of them. */
const CONTENT_TYPE = /^application\/(grpc-web|connect\+|json|proto)/i;

/** The HTTP half of `attach`. */
export function serveWeb(handler: Handler, dialects: readonly Dialect[], options: AttachOptions): HttpHandler {
	const routes = routesOf(dialects);
	const serving = new Map<Route, Serve>();
	// A third of the gateway's memory, and of its start: loaded when somebody speaks these protocols.
	const load = async (route: Route): Promise<Serve> => {
		const { serveRoute } = await import("./web-connect.ts");
		const serve = serving.get(route) ?? serveRoute(route, handler, options);
		serving.set(route, serve);
		return serve;
	};
	return (req, res, target) => {
		const route = routes.get(target.path);
		if (!route || (route.own.methodKind !== "unary" && route.own.methodKind !== "server_streaming")) return false;
		if (req.method !== "POST") {
			refuse(req, res, 405, { allow: "POST" });
			return true;
		}
		if (!CONTENT_TYPE.test(req.headers["content-type"] ?? "")) {
			refuse(req, res, 415, { "accept-post": "application/grpc-web+proto, application/json, application/proto" });
			return true;
		}
		// connect makes a URL of it, and of one that is none a fault of ours.
		const authority = "authority" in req ? req.authority : req.headers.host;
		if (!authority || !URL.canParse(req.url ?? "", `http://${authority}`)) {
			refuse(req, res, 400);
			return true;
		}
		run(serving.get(route) ?? load(route), req, res, target, options.bodyTimeout).catch((error: unknown) => {
			// The client has gone, or it is a fault of ours: both end the response, only one is told.
			if (!isGone(res) && !req.aborted) options.report(error, { id: target.id, method: route.own.name });
			res.destroy();
		});
		return true;
	};
}

async function run(
	serve: Serve | Promise<Serve>,
	req: HttpRequest,
	res: HttpResponse,
	target: Target,
	bodyTimeout: number,
): Promise<void> {
	req.on("error", ignore);
	res.on("error", ignore);
	if (bodyTimeout > 0) {
		const timer = setTimeout(() => {
			if (res.headersSent) return;
			// After the answer the connection goes too: the rest of the body is not wanted.
			res.once("finish", () => res.destroy());
			refuse(req, res, 408);
		}, bodyTimeout);
		const clear = () => clearTimeout(timer);
		req.once("end", clear);
		res.once("close", clear);
	}
	const loaded = typeof serve === "function" ? serve : await serve;
	if (!isGone(res)) await loaded(req, res, target);
}

function refuse(req: HttpRequest, res: HttpResponse, status: number, header: Header = none): void {
	req.on("error", ignore);
	res.on("error", ignore);
	req.resume();
	res.statusCode = status;
	for (const name in header) res.setHeader(name, header[name] ?? "");
	res.end();
}

function ignore(): void {}
