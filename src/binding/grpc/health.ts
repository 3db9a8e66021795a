/** The gRPC health service, v1 (grpc.io "health-checking"): Check and Watch. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
	Health,
	HealthCheckRequestSchema,
	HealthCheckResponseSchema,
	HealthCheckResponse_ServingStatus as Serving,
} from "../../../gen/grpc/health/v1/health_pb.ts";
import { A2AError, Status } from "../../call/error.ts";
import type { StreamHandler } from "../binding.ts";
import { Answer, ok } from "./answer.ts";
import { readOne, refused, wantsGzip } from "./request.ts";

/** Where the health service takes its answers from. */
export interface HealthSource {
	/** Is this service serving? "" asks for the server as a whole; undefined = no such service. Asked on each request. */
	status(service: string): boolean | undefined;
	/** Tells when any answer may have changed; returns the way to stop listening. */
	onChange(listener: () => void): () => void;
}

const MAX_REQUEST = 64 * 1024;
const PATIENCE = 30_000;

const encoded = (status: Serving) => toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status }));
const replies = {
	serving: encoded(Serving.SERVING),
	down: encoded(Serving.NOT_SERVING),
	unknown: encoded(Serving.SERVICE_UNKNOWN),
};

export function health(source: HealthSource): StreamHandler {
	const base = `/${Health.typeName}/`;
	const check = base + Health.method.check.name;
	const watch = base + Health.method.watch.name;

	return (stream, headers, target) => {
		if (!target.path.startsWith(base)) return false;
		const answer = new Answer(stream, target.id);
		if (refused(headers, answer)) return true;
		if (target.path !== check && target.path !== watch) {
			answer.finish({ code: Status.UNIMPLEMENTED, message: "Method not found" });
			return true;
		}
		receive()
			.then((service) => (target.path === check ? once(service) : follow(service)))
			.catch((thrown: unknown) => fail(answer, thrown));
		return true;

		async function receive(): Promise<string> {
			wantsGzip(headers);
			const bytes = await readOne(stream, headers, MAX_REQUEST, PATIENCE);
			try {
				return fromBinary(HealthCheckRequestSchema, bytes).service;
			} catch (cause) {
				throw new A2AError("INVALID_REQUEST", { cause });
			}
		}

		function once(service: string): void {
			const serving = source.status(service);
			if (serving === undefined) {
				answer.finish({ code: Status.NOT_FOUND, message: "Unknown service" });
				return;
			}
			answer.start({});
			answer.send(serving ? replies.serving : replies.down);
			answer.finish(ok);
		}

		/** Changes only, the latest when the client is slow; ends when the client goes. */
		async function follow(service: string): Promise<void> {
			let wake = () => {};
			let last: Uint8Array | undefined;
			const stop = source.onChange(() => wake());
			stream.on("close", () => wake());
			try {
				answer.start({});
				while (!answer.over && !stream.destroyed) {
					const changed = new Promise<void>((resolve) => {
						wake = resolve;
					});
					const serving = source.status(service);
					const now = serving === undefined ? replies.unknown : serving ? replies.serving : replies.down;
					if (now !== last) await answer.send(now);
					last = now;
					await changed;
				}
			} finally {
				stop();
			}
		}
	};
}

/** Ends the answer of a service that no dialect speaks for: status and message, no details. */
export function fail(answer: Answer, thrown: unknown): void {
	const error = A2AError.from(thrown);
	answer.finish({ code: Status[error.grpc], message: error.message });
}
