/** The JSON-RPC binding (§9): JSON-RPC 2.0 over HTTP POST, streams as SSE. */
import type { Binding } from "../binding.ts";
import { attach } from "./attach.ts";
import { connect } from "./connect.ts";

export const jsonrpc: Binding = {
	name: "JSONRPC",
	attach,
	connect,
	publicUrl: (base) => base.href.replace(/\/$/, ""),
};
