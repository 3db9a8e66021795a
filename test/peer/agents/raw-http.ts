/** A bare HTTP agent on node:http: answers with exactly the bytes it is told, records exactly what arrived. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface RawRequest {
	readonly verb: string;
	/** Request target as sent: path and query, still encoded. */
	readonly target: string;
	readonly header: Readonly<Record<string, string>>;
	/** Names and values as they came, alternating. */
	readonly rawHeader: readonly string[];
	readonly body: Buffer;
	/** Aborts when the caller has gone before the answer was complete. */
	readonly signal: AbortSignal;
}

export interface RawReply {
	readonly status?: number;
	readonly header?: Readonly<Record<string, string>>;
	/** Chunks are written one by one, each when the one before has been taken. One that throws cuts the connection. */
	readonly body?: string | Uint8Array | AsyncIterable<string | Uint8Array>;
}

export type RawAnswer = (request: RawRequest) => RawReply | Promise<RawReply>;

export interface RawHttp {
	/** `http://127.0.0.1:port` */
	readonly url: string;
	readonly requests: RawRequest[];
	/** Connections open now. */
	connections(): Promise<number>;
	close(): Promise<void>;
}

export async function startRawHttp(answer: RawAnswer, options: { record?: boolean } = {}): Promise<RawHttp> {
	const requests: RawRequest[] = [];
	const server = createServer((req, res) => {
		res.on("error", () => {});
		serve(req, res).catch(() => res.destroy());
	});
	server.keepAliveTimeout = 60_000;
	async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
		const chunks: Buffer[] = [];
		for await (const chunk of req) chunks.push(chunk as Buffer);
		const controller = new AbortController();
		res.on("close", () => {
			if (!res.writableFinished) controller.abort();
		});
		const request: RawRequest = {
			verb: req.method ?? "",
			target: req.url ?? "",
			header: Object.fromEntries(Object.entries(req.headers).map(([name, value]) => [name, String(value)])),
			rawHeader: req.rawHeaders,
			body: Buffer.concat(chunks),
			signal: controller.signal,
		};
		if (options.record !== false) requests.push(request);
		const reply = await answer(request);
		if (typeof reply.body === "object" && Symbol.asyncIterator in reply.body) {
			res.writeHead(reply.status ?? 200, reply.header);
			res.flushHeaders();
			for await (const chunk of reply.body) {
				if (controller.signal.aborted) return;
				if (!res.write(chunk)) await drained(res);
			}
			res.end();
			return;
		}
		const body = typeof reply.body === "string" ? Buffer.from(reply.body) : (reply.body ?? Buffer.alloc(0));
		res.writeHead(reply.status ?? 200, { "content-length": body.length, ...reply.header });
		res.end(body);
	}
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", 4096, resolve));
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}`,
		requests,
		connections: () =>
			new Promise((resolve, reject) =>
				server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
			),
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

/** Resolves when the response can take more, or is gone. */
function drained(res: ServerResponse): Promise<void> {
	if (res.destroyed) return Promise.resolve();
	return new Promise((resolve) => {
		const done = (): void => {
			res.off("drain", done);
			res.off("close", done);
			resolve();
		};
		res.on("drain", done);
		res.on("close", done);
	});
}
