/** The binding on a real server, with a handler the test plays. */

import type { AttachOptions, ConnectOptions } from "../../../src/binding/binding.ts";
import { httpJson } from "../../../src/binding/http-json/index.ts";
import type { Call, Handler, Reply } from "../../../src/call/call.ts";
import type { Payload } from "../../../src/call/payload.ts";
import { reply } from "../../../src/call/stream.ts";
import type { Dialect } from "../../../src/dialect/dialect.ts";
import { v1 } from "../../../src/dialect/v1/index.ts";
import { fromText } from "../../../src/schema/payload.ts";
import { httpServer } from "../../wire/sockets.ts";

export const attachOptions: AttachOptions = {
	maxMessage: 100_000,
	maxDepth: 50,
	keepAlive: 0,
	bodyTimeout: 2000,
	unaryTimeout: 5000,
	report: () => {},
	lost: () => {},
	recognise: async () => undefined,
};

export const connectOptions: ConnectOptions = {
	maxMessage: 20_000_000,
	maxDepth: 50,
	connectTimeout: 2000,
	idleTimeout: 0,
	connections: 8,
	ca: undefined,
};

/** Serves the handler; resolves with the base URL. What the binding leaves is answered 418. */
export async function serve(
	handler: Handler,
	options: Partial<AttachOptions> = {},
	dialects: readonly Dialect[] = [v1],
): Promise<string> {
	const { http } = httpJson.attach(handler, dialects, { ...attachOptions, ...options });
	const port = await httpServer((req, res) => {
		const [path = "", query = ""] = (req.url ?? "").split(/\?(.*)/s);
		if (!http?.(req, res, { agent: "a", path, query, id: "id-1" })) res.writeHead(418).end();
	});
	return `http://127.0.0.1:${port}`;
}

/** A reply of the method's type from ProtoJSON text. */
export function payload(call: Call, text: string): Payload {
	return fromText(call.method.output, text, JSON.parse(text));
}

/** Remembers calls and answers them all alike. */
export function recorder(answer: (call: Call) => Reply | Promise<Reply> = (call) => reply(payload(call, "{}"))): {
	handler: Handler;
	calls: Call[];
} {
	const calls: Call[] = [];
	return {
		calls,
		handler: async (call) => {
			calls.push(call);
			return answer(call);
		},
	};
}
