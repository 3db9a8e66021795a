/** The client half of every binding in common: one call's life from its first byte to its last. */
import type { DescMethod } from "@bufbuild/protobuf";
import { anonymous, type Call, type Header, isStream, type Origin } from "../call/call.ts";
import { A2AError, wouldLose } from "../call/error.ts";
import { LOSS_HEADER, type Losses } from "../call/loss.ts";
import type { Payload } from "../call/payload.ts";
import type { AttachOptions, HttpResponse, Target } from "./binding.ts";

/** A call under way. */
export interface Session {
	readonly call: Call;
	/** The client has gone: cancels everything upstream. Harmless when repeated or late. */
	abandon(): void;
	/** The answer is out: releases the timer. Must be called exactly when nothing more will happen. */
	finish(): void;
	/** Converts what was thrown into what the client gets, and reports what it does not get. */
	fail(thrown: unknown): A2AError;
}

export interface Incoming {
	readonly method: DescMethod;
	readonly request: Payload;
	readonly target: Target;
	readonly header: Header;
	readonly query: Header;
	readonly origin: Origin;
	/** The client's own deadline: milliseconds from now (grpc-timeout, connect-timeout-ms). */
	readonly timeout?: number;
	/** What reading the request lost. */
	readonly losses: Losses;
}

/** Opens a session. The deadline is the sooner of the client's and, for unary calls, the configured one. */
export function begin(incoming: Incoming, options: AttachOptions): Session {
	const controller = new AbortController();
	const limits = [incoming.timeout ?? 0, isStream(incoming.method) ? 0 : options.unaryTimeout].filter((ms) => ms > 0);
	const timeout = limits.length > 0 ? Math.min(...limits) : undefined;
	const timer =
		timeout === undefined
			? undefined
			: setTimeout(() => controller.abort(new A2AError("DEADLINE_EXCEEDED")), Math.min(timeout, 2 ** 31 - 1));
	const call: Call = {
		method: incoming.method,
		request: incoming.request,
		agent: incoming.target.agent,
		header: incoming.header,
		query: incoming.query,
		principal: anonymous,
		origin: incoming.origin,
		losses: incoming.losses,
		id: incoming.target.id,
		signal: controller.signal,
		...(timeout !== undefined && { deadline: Date.now() + timeout }),
	};
	return {
		call,
		abandon: () => controller.abort(new A2AError("CANCELLED")),
		finish() {
			clearTimeout(timer);
			if (call.losses.entries.length > 0) options.lost(call);
		},
		fail(thrown) {
			// Whatever broke because the call was over is the call's end, not a fault of its own.
			const reason = controller.signal.aborted ? controller.signal.reason : thrown;
			const error = A2AError.from(reason);
			if (error.reason !== "CANCELLED") options.report(error, { id: call.id, method: call.method.name });
			return error;
		},
	};
}

/** Has the client gone? An HTTP/2 response does not say `destroyed`. */
export function isGone(res: HttpResponse): boolean {
	return "stream" in res ? res.stream.destroyed : res.destroyed;
}

/** An error's header fields for the client, what was lost on the way to the error among them. */
export function errorHeader(error: A2AError, losses: Losses | undefined): Header {
	if (!losses || losses.entries.length === 0) return error.header;
	return { ...error.header, [LOSS_HEADER]: losses.header() ?? "" };
}

/** The reply's header fields for the client, the losses so far among them. In strict mode, losses are refused here. */
export function replyHeader(header: Header, losses: Losses): Header {
	if (losses.entries.length === 0) return header;
	losses.check(wouldLose);
	return { ...header, [LOSS_HEADER]: losses.header() ?? "" };
}
