/** The gRPC binding (A2A v1.0 §10): gRPC proper both ways; gRPC-Web and Connect on the same routes towards clients. */
import type { Binding } from "../binding.ts";
import { connectGrpc } from "./client.ts";
import { serveGrpc } from "./server.ts";
import { serveWeb } from "./web.ts";

export { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
export { type HealthSource, health } from "./health.ts";
export { reflection } from "./reflection.ts";

export const grpc: Binding = {
	name: "GRPC",
	attach: (handler, dialects, options) => ({
		grpc: serveGrpc(handler, dialects, options),
		http: serveWeb(handler, dialects, options),
	}),
	connect: connectGrpc,
	/** `host:port`: a gRPC target has no scheme and no path. */
	publicUrl: (base) => `${base.hostname}:${base.port || (base.protocol === "https:" ? "443" : "80")}`,
};
