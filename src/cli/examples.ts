/** What `serve` prints with the demo agent: lines to paste, one for each way in. */
import { v1 } from "../dialect/v1/index.ts";
import { grpcPath, httpPath, sendMethod } from "./methods.ts";
import { fromSource } from "./version.ts";

/** @param url where the gateway listens */
export function examples(url: string): string {
	const base = new URL(url);
	// What listens everywhere is reached by name.
	if (base.hostname === "0.0.0.0" || base.hostname === "[::]") base.hostname = "localhost";
	const secure = base.protocol === "https:";
	const origin = base.origin;
	const port = base.port || (secure ? "443" : "80");
	const send = sendMethod(false);
	const stream = sendMethod(true);
	const request = { message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "the quick brown fox" }] } };
	const body = JSON.stringify(request);
	const rpc = (method: typeof send) =>
		JSON.stringify({ jsonrpc: "2.0", id: 1, method: v1.rpcName(method), params: request });
	const curl = (flags: string, path: string, type: string, data: string) =>
		`  curl -${flags}${secure ? "k" : ""} ${origin}${path} -H 'A2A-Version: 1.0' -H 'Content-Type: ${type}' -d '${data}'`;
	const call = `  ${fromSource ? "npm exec a2a-gateway -- call" : "a2a-gateway call"} ${origin} 'the quick brown fox'`;
	return [
		"",
		"In front of the bundled demo agent (give your own with --agent URL). Try:",
		"",
		"agent card",
		`  curl -s${secure ? "k" : ""} ${origin}/.well-known/agent-card.json`,
		"JSON-RPC",
		curl("s", "/", "application/json", rpc(send)),
		"JSON-RPC, stream (SSE)",
		curl("sN", "/", "application/json", rpc(stream)),
		"HTTP+JSON",
		curl("s", httpPath(send), v1.mediaType, body),
		"HTTP+JSON, stream (SSE)",
		curl("sN", httpPath(stream), v1.mediaType, body),
		"gRPC",
		`  grpcurl ${secure ? "-insecure" : "-plaintext"} -H 'a2a-version: 1.0' -d '${body}' ${base.hostname}:${port} ${grpcPath(send)}`,
		"Connect",
		curl("s", `/${grpcPath(send)}`, "application/json", body),
		"this program as the client",
		`${call} --binding JSONRPC`,
		`${call} --binding HTTP+JSON --stream`,
		`${call} --binding GRPC --stream`,
		"",
	].join("\n");
}
