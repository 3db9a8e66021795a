/** What `serve` prints with the demo agent: lines to paste, one for each way in. */
import { v0_1 } from "../dialect/v0_1/index.ts";
import { v0_3 } from "../dialect/v0_3/index.ts";
import { v1 } from "../dialect/v1/index.ts";
import { grpcPath, httpPath, sendMethod } from "./methods.ts";
import { fromSource } from "./version.ts";

const TEXT = "the quick brown fox";
/** The same message as v0.3 writes it in JSON-RPC, and in ProtoJSON, and as v0.1 does. */
const KIND = { message: { kind: "message", messageId: "m-1", role: "user", parts: [{ kind: "text", text: TEXT }] } };
const CONTENT = { message: { messageId: "m-1", role: "ROLE_USER", content: [{ text: TEXT }] } };
const TYPE = { id: "t-1", message: { role: "user", parts: [{ type: "text", text: TEXT }] } };

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
	const request = { message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text: TEXT }] } };
	const body = JSON.stringify(request);
	const rpc = (method: typeof send) =>
		JSON.stringify({ jsonrpc: "2.0", id: 1, method: v1.rpcName(method), params: request });
	const older = (method: string | undefined, params: object) =>
		JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
	const plain = (flags: string, path: string, type: string, data: string) =>
		`  curl -${flags}${secure ? "k" : ""} ${origin}${path} -H 'Content-Type: ${type}' -d '${data}'`;
	const curl = (...[flags, path, type, data]: Parameters<typeof plain>) =>
		plain(flags, path, `${type}' -H 'A2A-Version: 1.0`, data);
	const call = `  ${fromSource ? "npm exec a2a-gateway -- call" : "a2a-gateway call"} ${origin} '${TEXT}'`;
	return [
		"",
		"In front of the bundled demo agent, which speaks v0.3 over JSON-RPC only (give your own with --agent URL). Try:",
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
		"older clients: v0.3 over JSON-RPC and HTTP+JSON, v0.1",
		plain("s", "/", "application/json", older(v0_3.rpcName(send), KIND)),
		plain("s", httpPath(v0_3.ownMethod(send) ?? send), v0_3.mediaType, JSON.stringify(CONTENT)),
		plain("sN", "/", "application/json", older(v0_1.rpcName(stream), TYPE)),
		"this program as the client",
		`${call} --binding JSONRPC`,
		`${call} --binding HTTP+JSON --stream`,
		`${call} --binding GRPC --stream`,
		`${call} --protocol 0.3`,
		"",
	].join("\n");
}
