/** The JSON-RPC binding on a real server, with a handler the test plays. */
import type { AttachOptions } from "../../../src/binding/binding.ts";
import { jsonrpc } from "../../../src/binding/jsonrpc/index.ts";
import type { Handler } from "../../../src/call/call.ts";
import type { Dialect } from "../../../src/dialect/dialect.ts";
import { v1 } from "../../../src/dialect/v1/index.ts";
import { httpServer } from "../../wire/sockets.ts";
import { attachOptions } from "../http-json/harness.ts";

/** Serves the handler; resolves with the base URL. What the binding leaves is answered 418. */
export async function serve(
	handler: Handler,
	options: Partial<AttachOptions> = {},
	dialects: readonly Dialect[] = [v1],
): Promise<string> {
	const { http } = jsonrpc.attach(handler, dialects, { ...attachOptions, ...options });
	const port = await httpServer((req, res) => {
		const [path = "", query = ""] = (req.url ?? "").split(/\?(.*)/s);
		if (!http?.(req, res, { agent: "a", path, query, id: "id-1" })) res.writeHead(418).end();
	});
	return `http://127.0.0.1:${port}`;
}

export const JSON_TYPE = { "content-type": "application/json" };

export interface Answered {
	readonly status: number;
	readonly type: string | null;
	readonly header: Headers;
	readonly text: string;
}

/** One POST on the root, or what `init` says. */
export async function ask(base: string, body: RequestInit["body"], init: RequestInit = {}): Promise<Answered> {
	const response = await fetch(base, { method: "POST", headers: JSON_TYPE, ...(body != null && { body }), ...init });
	const text = await response.text();
	return { status: response.status, type: response.headers.get("content-type"), header: response.headers, text };
}

/** A request envelope around raw params. */
export const envelope = (method: string, params = "{}", id = "1"): string =>
	`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;

/** The data of each event of an SSE body. */
export const eventsOf = (text: string): string[] =>
	text
		.split("\n\n")
		.filter((event) => event.startsWith("data: "))
		.map((event) => event.slice(6).replaceAll("\ndata: ", "\n"));
