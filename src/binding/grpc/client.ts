/** gRPC towards an agent (A2A v1.0 §10): a Call becomes metadata and bytes, bytes and a status become a Reply. */
import type { DescMethod } from "@bufbuild/protobuf";
import { type Call, type Handler, type Header, isStream, type Reply } from "../../call/call.ts";
import { A2AError, wouldLose } from "../../call/error.ts";
import type { Losses } from "../../call/loss.ts";
import { type Payload, PayloadError } from "../../call/payload.ts";
import { mapEach } from "../../call/stream.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import { isMetadata, writeMetadata, writeTimeout } from "../../wire/grpc-metadata.ts";
import type { ConnectOptions, Interface, Upstream } from "../binding.ts";
import { type GrpcChannel, GrpcFailure, type GrpcRequest, pickNamed, readTarget, rubbish } from "./channel.ts";
import { directChannel } from "./direct.ts";

/** The gRPC half of `connect`. Throws TypeError when the interface's URL is no gRPC target. */
export function connectGrpc(iface: Interface, dialect: Dialect, options: ConnectOptions): Upstream {
	const target = readTarget(iface.url);
	const channel =
		target.kind === "direct"
			? directChannel(target.authority, target.prefix, options)
			: later(async () => (await import("./resolved.ts")).resolvedChannel(target.target, target.tls, options));
	return { handler: handlerOver(channel, dialect), close: () => channel.close() };
}

/** A channel whose library is loaded when it is first used: most targets need none. */
function later(load: () => Promise<GrpcChannel>): GrpcChannel {
	let channel: Promise<GrpcChannel> | undefined;
	const loaded = () => {
		channel ??= load();
		return channel;
	};
	return {
		unary: async (request) => (await loaded()).unary(request),
		stream: async (request) => (await loaded()).stream(request),
		close: async () => (await channel)?.close(),
	};
}

/** The handler over any channel. */
export function handlerOver(channel: GrpcChannel, dialect: Dialect): Handler {
	const paths = new Map(
		dialect.service.methods.map((own): [DescMethod, string] => [
			dialect.coreMethod(own),
			`/${dialect.service.typeName}/${own.name}`,
		]),
	);

	return async (call) => {
		const { method, losses } = call;
		const path = paths.get(method);
		if (path === undefined) throw new A2AError("UNSUPPORTED_OPERATION");
		const message = dialect.binary.writeRequest(method, call.request, losses.add);
		losses.check(wouldLose);
		const request: GrpcRequest = {
			path,
			header: requestHeader(call, dialect),
			message,
			signal: call.signal,
			...(call.deadline !== undefined && { deadline: call.deadline }),
		};
		try {
			if (!isStream(method)) {
				const { header, message: bytes } = await channel.unary(request);
				return { header: pickNamed(header), messages: [lift(dialect, method, bytes, losses)] };
			}
			const { header, messages } = await channel.stream(request);
			return { header: pickNamed(header), messages: liftEach(dialect, method, messages, losses) } satisfies Reply;
		} catch (error) {
			throw convert(error, dialect);
		}
	};
}

/** The call's own fields, then the dialect's, then the deadline. Query members that can be metadata come first. */
function requestHeader(call: Call, dialect: Dialect): Header {
	const header: Record<string, string> = {};
	for (const name in call.query) {
		const key = name.toLowerCase();
		const value = call.query[name] ?? "";
		if (isMetadata(key, value)) header[key] = value;
	}
	writeMetadata(call.header, header);
	writeMetadata(dialect.requestHeader, header);
	if (call.deadline !== undefined) {
		const left = call.deadline - Date.now();
		if (left <= 0) throw new A2AError("DEADLINE_EXCEEDED");
		header["grpc-timeout"] = writeTimeout(left);
	}
	return header;
}

/** A reply's message, decoded once so that rubbish is found here and not on its way out. */
function lift(dialect: Dialect, method: DescMethod, bytes: Uint8Array, losses: Losses): Payload {
	try {
		const payload = dialect.binary.readReply(method, bytes, losses.add);
		payload.check();
		return payload;
	} catch (error) {
		if (error instanceof PayloadError) throw rubbish("The agent's message does not fit its type", error);
		throw error;
	}
}

/** Not a generator: `return` must reach the source even while `next` waits, and bursts pass without a turn per event. */
function liftEach(
	dialect: Dialect,
	method: DescMethod,
	source: AsyncIterableIterator<Uint8Array>,
	losses: Losses,
): AsyncIterable<Payload> {
	return mapEach(
		source,
		(bytes) => lift(dialect, method, bytes, losses),
		(error) => convert(error, dialect),
	);
}

/** A status is the dialect's to read; its trailers' named set goes with it. */
function convert(error: unknown, dialect: Dialect): A2AError {
	if (!(error instanceof GrpcFailure)) return A2AError.from(error);
	const read = dialect.errors.grpc.read(error.status);
	const header = pickNamed(error.header);
	if (Object.keys(header).length === 0) return read;
	const { reason, message, details, wire, cause } = read;
	return new A2AError(reason, { message, details, wire, cause, header: { ...read.header, ...header } });
}
