/** One interface for every client form, and the one shape of errors. */
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { type Detail, reasonOf } from "../protocol.ts";

export interface CallOptions {
	/** Further header fields or metadata, lower-case names. */
	readonly header?: Readonly<Record<string, string>>;
	readonly signal?: AbortSignal;
	/** Milliseconds. */
	readonly timeout?: number;
}

export interface Client {
	/** JSONRPC, HTTP+JSON, GRPC, GRPC-WEB, CONNECT. */
	readonly form: string;
	/** Unary: exactly one message. Ending the iteration early cancels the call. Throws ClientError. */
	call(method: DescMethod, request: Message, options?: CallOptions): AsyncIterable<Message>;
	close(): Promise<void>;
}

/** What a client was told, in its own binding's terms. */
export class ClientError extends Error {
	override readonly name = "ClientError";
	/** ErrorInfo.reason; undefined when there was no ErrorInfo. */
	readonly reason: string | undefined;
	/** JSON-RPC code, HTTP status, or gRPC status number. */
	readonly code: number;
	readonly details: readonly Detail[];
	constructor(code: number, message: string, details: readonly Detail[], cause?: unknown) {
		super(message, { cause });
		this.code = code;
		this.details = details;
		this.reason = reasonOf(details);
	}
}

/** Everything a call yields. */
export async function collect(messages: AsyncIterable<Message>): Promise<Message[]> {
	const all: Message[] = [];
	for await (const message of messages) all.push(message);
	return all;
}

/** What a call throws; fails when it does not throw a ClientError. `before` counts the messages that came first. */
export async function failure(messages: AsyncIterable<Message>): Promise<{ error: ClientError; before: Message[] }> {
	const before: Message[] = [];
	try {
		for await (const message of messages) before.push(message);
	} catch (error) {
		if (error instanceof ClientError) return { error, before };
		throw error;
	}
	throw new Error(`no error, but ${before.length} messages`);
}
