/** The gateway's own gRPC channel on node:http2, for targets that name one authority (docs: design/performance.md). */
import type { OutgoingHttpHeaders } from "node:http2";
import { ENCODINGS } from "../../wire/grpc-frame.ts";
import {
	type ChannelOptions,
	type GrpcChannel,
	type GrpcReply,
	type GrpcRequest,
	type GrpcStream,
	rubbish,
} from "./channel.ts";
import { Exchange } from "./exchange.ts";
import { Pool } from "./pool.ts";

/** A channel to `http://host:port` or `https://host:port`; `prefix` goes before every path. */
export function directChannel(authority: string, prefix: string, options: ChannelOptions): GrpcChannel {
	const pool = new Pool(authority, options);
	const fixed = {
		":method": "POST",
		te: "trailers",
		"content-type": "application/grpc",
		"grpc-accept-encoding": ENCODINGS,
		"user-agent": "grpc-node-a2a-gateway",
	};

	/** Starts a call; one that was certainly not processed is sent once more. */
	async function start(request: GrpcRequest, idleTimeout: number): Promise<Exchange> {
		const headers: OutgoingHttpHeaders = { ...fixed, ":path": prefix + request.path, ...request.header };
		let connection = await pool.acquire(request.signal);
		for (let attempt = 0; ; attempt++) {
			let exchange: Exchange | undefined;
			try {
				exchange = new Exchange(connection, headers, request.message, request.signal, options, idleTimeout);
				await exchange.started();
				return exchange;
			} catch (error) {
				if (!exchange) connection.release();
				if (attempt > 0 || request.signal.aborted || (exchange && !exchange.refused)) throw error;
				connection = await pool.acquire(request.signal, connection);
			}
		}
	}

	return {
		async unary(request): Promise<GrpcReply> {
			const exchange = await start(request, 0);
			const first = await exchange.next();
			if (first.done) throw rubbish("The agent sent no reply");
			const second = await exchange.next();
			if (!second.done) {
				await exchange.return();
				throw rubbish("The agent sent more than one reply");
			}
			const { header, trailers } = exchange;
			return { header: trailers ? { ...header, ...trailers } : header, message: first.value };
		},
		async stream(request): Promise<GrpcStream> {
			const exchange = await start(request, options.idleTimeout);
			return { header: exchange.header, messages: exchange };
		},
		close: () => pool.close(),
	};
}
