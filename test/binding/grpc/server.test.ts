/** The server half of gRPC against grpc-js and raw HTTP/2 clients. */
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { status as Code, Metadata } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { MessageSchema, SendMessageResponseSchema, StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Call, Handler, Reply } from "../../../src/call/call.ts";
import { A2AError } from "../../../src/call/error.ts";
import type { Payload } from "../../../src/call/payload.ts";
import { fromMessage } from "../../../src/schema/payload.ts";
import { frame, prefix } from "../../../src/wire/grpc-frame.ts";
import {
	cleanUp,
	event,
	grpcJs,
	raw,
	reports,
	request,
	SEND,
	STREAM,
	serveCore,
	stream,
	textRequest,
	unary,
	until,
} from "./harness.ts";

afterEach(cleanUp);

/** Answers with the request's message, and keeps the call. */
function echo(seen: Call[] = [], header: Reply["header"] = {}): Handler {
	return async (call) => {
		seen.push(call);
		const { message } = call.request.message() as unknown as {
			message: ReturnType<typeof create<typeof MessageSchema>>;
		};
		const value = create(SendMessageResponseSchema, { payload: { case: "message", value: message } });
		return { header, messages: [fromMessage(SendMessageResponseSchema, value)] };
	};
}

const failing =
	(error: unknown): Handler =>
	async () => {
		throw error;
	};

function textOf(bytes: Buffer | undefined): string {
	const reply = fromBinary(SendMessageResponseSchema, bytes ?? Buffer.alloc(0));
	const part = reply.payload.case === "message" ? reply.payload.value.parts[0] : undefined;
	return part?.content.case === "text" ? part.content.value : "";
}

const VECTOR =
	"CAUSDE5vIHN1Y2ggdGFzaxpfCih0eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5ycGMuRXJyb3JJbmZvEjMKDlRBU0tfTk9UX0ZPVU5EEhBhMmEtcHJvdG9jb2wub3JnGg8KBnRhc2tJZBIFdC00MDQ";

describe("unary", () => {
	it("carries message and metadata both ways", async () => {
		const seen: Call[] = [];
		const { port } = await serveCore(echo(seen, { "a2a-extensions": "x", etag: '"1"' }));
		const client = grpcJs(port);
		const header = { "a2a-version": "1.0", "X-Key": "k", "trace-bin": Buffer.from([1, 255]).toString("base64") };
		const { error, bytes, metadata } = await unary(client, SEND, request().binary(), header);
		expect(error).toBeNull();
		expect(textOf(bytes)).toBe("hello");
		expect(metadata?.get("a2a-extensions")).toEqual(["x"]);
		expect(metadata?.get("etag")).toEqual(['"1"']);
		expect(metadata?.get("x-request-id")).toEqual(["id-1"]);
		expect(seen[0]).toMatchObject({ agent: "a", origin: { binding: "GRPC", version: "1.0" }, id: "id-1" });
		expect(seen[0]?.header).toMatchObject({ "a2a-version": "1.0", "x-key": "k" });
		expect(Buffer.from(seen[0]?.header["trace-bin"] ?? "", "base64")).toEqual(Buffer.from([1, 255]));
		expect(Object.keys(seen[0]?.header ?? {}).some((name) => name.startsWith(":"))).toBe(false);
	});

	it("joins duplicate metadata", async () => {
		const seen: Call[] = [];
		const { port } = await serveCore(echo(seen));
		const metadata = new Metadata();
		metadata.add("a2a-extensions", "a");
		metadata.add("a2a-extensions", "b");
		await new Promise<void>((resolve) => {
			const same = (b: Buffer) => b;
			grpcJs(port).makeUnaryRequest(SEND, same, same, Buffer.from(request().binary()), metadata, () => resolve());
		});
		expect(seen[0]?.header["a2a-extensions"]?.replace(/\s/g, "")).toBe("a,b");
	});

	it("carries 10 MB", async () => {
		const { port } = await serveCore(echo());
		const text = "x".repeat(10 * 1024 * 1024);
		const { error, bytes } = await unary(grpcJs(port), SEND, textRequest(text).binary());
		expect(error).toBeNull();
		expect(textOf(bytes) === text).toBe(true);
	});

	it("sends a reply with its details as in errors.md", async () => {
		const error = new A2AError("TASK_NOT_FOUND", {
			message: "No such task",
			metadata: { taskId: "t-404" },
			header: { "www-authenticate": "Bearer", "retry-after": "7" },
		});
		const { port } = await serveCore(failing(error));
		const answer = await raw(port, {}, [frame(request().binary())]);
		expect(answer.headers).toMatchObject({
			":status": 200,
			"grpc-status": "5",
			"grpc-message": "No such task",
			"grpc-status-details-bin": VECTOR,
			"www-authenticate": "Bearer",
			"retry-after": "7",
		});
		const outcome = await unary(grpcJs(port), SEND, request().binary());
		expect(outcome.error?.code).toBe(Code.NOT_FOUND);
		expect(outcome.error?.details).toBe("No such task");
		expect(outcome.trailer?.get("grpc-status-details-bin")).toEqual([Buffer.from(VECTOR, "base64")]);
	});

	const BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest";
	const fieldViolations = [{ field: "x", description: "y".repeat(13 * 1024) }];
	it.each([
		["the others are too large", { taskId: "t-404" }, [{ "@type": BAD_REQUEST, fieldViolations }], { taskId: "t-404" }],
		["its own metadata is", { taskId: "z".repeat(13 * 1024) }, [], {}],
	])("keeps the ErrorInfo where %s", async (_, metadata, details, kept) => {
		const { port } = await serveCore(failing(new A2AError("TASK_NOT_FOUND", { metadata, details })));
		const outcome = await unary(grpcJs(port), SEND, request().binary());
		expect(outcome.error?.code).toBe(Code.NOT_FOUND);
		const [bytes] = outcome.trailer?.get("grpc-status-details-bin") ?? [];
		const status = fromBinary(StatusSchema, bytes as Buffer);
		expect(status).toMatchObject({ code: Code.NOT_FOUND, message: "Task not found" });
		expect(status.details.map((any) => anyUnpack(any, ErrorInfoSchema))).toMatchObject([
			{ reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" },
		]);
		expect(status.details.map((any) => anyUnpack(any, ErrorInfoSchema)?.metadata)).toEqual([kept]);
	});

	it("tells with an error what was lost before it", async () => {
		const { port } = await serveCore(async (call) => {
			call.losses.add("/configuration/x", "gone");
			throw new A2AError("TASK_NOT_FOUND");
		});
		const answer = await raw(port, {}, [frame(request().binary())]);
		expect(answer.headers).toMatchObject({ "grpc-status": "5", "a2a-gateway-loss": "/configuration/x" });
	});

	it("percent-encodes messages", async () => {
		const { port } = await serveCore(failing(new A2AError("NOT_FOUND", { message: "50 % für\n日本" })));
		const { error } = await unary(grpcJs(port), SEND, request().binary());
		expect(error?.details).toBe("50 % für\n日本");
	});

	it("tells nothing of foreign errors, and reports them", async () => {
		reports.length = 0;
		const { port } = await serveCore(failing(new Error("secret at 10.0.0.1")));
		const { error } = await unary(grpcJs(port), SEND, request().binary());
		expect(error?.code).toBe(Code.INTERNAL);
		expect(error?.details).not.toContain("secret");
		expect(reports).toHaveLength(1);
	});

	it("answers unknown methods of its services and leaves other services alone", async () => {
		const { port } = await serveCore(echo());
		const known = await raw(port, { ":path": "/lf.a2a.v1.A2AService/Nope" }, [frame(request().binary())]);
		expect(known.headers["grpc-status"]).toBe("12");
		expect(known.headers["x-request-id"]).toBe("id-1");
		const other = await raw(port, { ":path": "/other.Service/Nope" }, [frame(request().binary())]);
		expect(other.headers["x-request-id"]).toBeUndefined();
	});
});

describe("bad requests", () => {
	const good = frame(request().binary());
	const zipped = frame(gzipSync(request().binary()), true);
	const bomb = frame(gzipSync(Buffer.alloc(50_000)), true);
	const cases: [name: string, headers: Record<string, string>, chunks: Uint8Array[], status: string][] = [
		["compressed without an encoding", {}, [zipped], "3"],
		["not gzip though it says so", { "grpc-encoding": "gzip" }, [frame(Buffer.from("nonsense"), true)], "3"],
		["a gzip bomb", { "grpc-encoding": "gzip" }, [bomb], "8"],
		["an unknown encoding", { "grpc-encoding": "snappy" }, [good], "12"],
		["unknown flags", {}, [Buffer.from([7, 0, 0, 0, 0])], "3"],
		["a truncated prefix", {}, [good.subarray(0, 3)], "3"],
		["a truncated message", {}, [good.subarray(0, good.length - 1)], "3"],
		["no message", {}, [], "12"],
		["two messages", {}, [good, good], "12"],
		["a malformed timeout", { "grpc-timeout": "1x" }, [good], "3"],
		["a timeout of nine digits", { "grpc-timeout": "123456789m" }, [good], "3"],
		["bytes that are no message", {}, [frame(Buffer.from([0x0a, 0xff]))], "3"],
	];
	it.each(cases)("%s", async (_name, headers, chunks, status) => {
		const { port } = await serveCore(echo(), { maxMessage: 10_000 });
		const answer = await raw(port, headers, chunks);
		expect(answer.headers["grpc-status"]).toBe(status);
		if (headers["grpc-encoding"] === "snappy") expect(answer.headers["grpc-accept-encoding"]).toBe("identity,gzip");
	});

	it("refuses an oversized frame at its prefix, while the client is still sending", async () => {
		const { port } = await serveCore(echo(), { maxMessage: 10_000 });
		const answer = await raw(port, {}, [prefix(10_001)], false);
		expect(answer.headers["grpc-status"]).toBe("8");
	});

	it("does not wait for ever for a request", async () => {
		const { port } = await serveCore(echo(), { bodyTimeout: 50 });
		const answer = await raw(port, {}, [good.subarray(0, 8)], false);
		expect(answer.headers["grpc-status"]).toBe("4");
	});

	it("refuses what is not gRPC", async () => {
		const { port } = await serveCore(echo());
		expect((await raw(port, { "content-type": "application/grpc+json" }, [good])).headers[":status"]).toBe(415);
		expect((await raw(port, { "content-type": "text/html" }, [good])).headers[":status"]).toBe(415);
		const got = await raw(port, { ":method": "GET" }, [], true);
		expect(got.headers[":status"]).toBe(405);
		expect(got.headers["allow"]).toBe("POST");
	});

	it("tolerates a missing te, +proto, and a message in single bytes", async () => {
		const { port } = await serveCore(echo());
		const bytes = [...good].map((byte) => Buffer.from([byte]));
		const answer = await raw(port, { te: undefined, "content-type": "application/grpc+proto" } as never, bytes);
		expect(answer.trailers["grpc-status"]).toBe("0");
		expect(textOf(answer.data.subarray(5))).toBe("hello");
	});

	it("speaks gzip with those who do", async () => {
		const { port } = await serveCore(echo());
		const text = "x".repeat(100_000);
		const headers = { "grpc-encoding": "gzip", "grpc-accept-encoding": "identity,gzip" };
		const answer = await raw(port, headers, [frame(gzipSync(textRequest(text).binary()), true)]);
		expect(answer.headers["grpc-encoding"]).toBe("gzip");
		expect(answer.trailers["grpc-status"]).toBe("0");
		expect(answer.data[0]).toBe(1);
		expect(answer.data.length).toBeLessThan(2000);
		const { bytes } = await unary(grpcJs(port), SEND, textRequest(text).binary(), {}, {});
		expect(textOf(bytes)).toBe(text);
	});
});

describe("deadlines and cancellation", () => {
	/** Never answers and does not listen to its signal. */
	const deaf = (seen: Call[]): Handler => {
		return (call) => {
			seen.push(call);
			return new Promise(() => {});
		};
	};

	it.each(["50m", "50000u", "1n"])("keeps a deadline of %s even where the core does not", async (timeout) => {
		const seen: Call[] = [];
		const { port } = await serveCore(deaf(seen));
		const answer = await raw(port, { "grpc-timeout": timeout }, [frame(request().binary())]);
		expect(answer.headers["grpc-status"]).toBe("4");
		if (seen[0]) {
			expect(seen[0].deadline).toBeGreaterThan(0);
			expect(seen[0].signal.aborted).toBe(true);
		}
	});

	it("bounds unary calls by its own limit", async () => {
		const { port } = await serveCore(deaf([]), { unaryTimeout: 50 });
		expect((await unary(grpcJs(port), SEND, request().binary())).error?.code).toBe(Code.DEADLINE_EXCEEDED);
	});

	it("ends a stream under way at its deadline", async () => {
		const { port } = await serveCore(async () => ({
			header: {},
			messages: (async function* () {
				yield event("0");
				await new Promise(() => {});
			})(),
		}));
		const answer = await raw(port, { ":path": STREAM, "grpc-timeout": "200m" }, [frame(request().binary())]);
		expect(answer.data.length).toBeGreaterThan(5);
		expect(answer.trailers["grpc-status"]).toBe("4");
	});

	it("tells the core at once when the client cancels", async () => {
		const seen: Call[] = [];
		const { port } = await serveCore(deaf(seen));
		const call = stream(grpcJs(port), SEND, request().binary());
		call.on("error", () => {});
		await until(() => seen.length === 1);
		call.cancel();
		await until(() => seen[0]?.signal.aborted === true);
		expect(A2AError.from(seen[0]?.signal.reason).reason).toBe("CANCELLED");
	});

	it("ends the source when the client leaves a stream", async () => {
		let returned = false;
		const { port } = await serveCore(async () => ({
			header: {},
			messages: (async function* () {
				try {
					for (let i = 0; ; i++) {
						yield event(String(i));
						await new Promise((resolve) => setTimeout(resolve, 1));
					}
				} finally {
					returned = true;
				}
			})(),
		}));
		const call = stream(grpcJs(port), STREAM, request().binary());
		call.on("error", () => {});
		await new Promise((resolve) => call.once("data", resolve));
		call.cancel();
		await until(() => returned);
	});
});

describe("streams", () => {
	function counting(count: number, produced: { n: number }): Handler {
		return async () => ({
			header: { "a2a-extensions": "e" },
			messages: (async function* (): AsyncGenerator<Payload> {
				for (; produced.n < count; produced.n++) yield event(`${produced.n} ${"x".repeat(1000)}`);
			})(),
		});
	}

	it("delivers every event in order", async () => {
		const { port } = await serveCore(counting(1000, { n: 0 }));
		const call = stream(grpcJs(port), STREAM, request().binary());
		let metadata: Metadata | undefined;
		call.on("metadata", (m) => {
			metadata = m;
		});
		let n = 0;
		for await (const bytes of call) {
			const { payload } = fromBinary(StreamResponseSchema, bytes as Buffer);
			expect(payload.case === "message" && payload.value.messageId.startsWith(`${n++} `)).toBe(true);
		}
		expect(n).toBe(1000);
		expect(metadata?.get("a2a-extensions")).toEqual(["e"]);
	});

	it("lets a slow reader slow the source, with little in between", async () => {
		const produced = { n: 0 };
		const { port } = await serveCore(counting(10_000, produced));
		const call = stream(grpcJs(port), STREAM, request().binary());
		const iterator = call[Symbol.asyncIterator]();
		await iterator.next();
		let last = -1;
		// Until nothing moves any more: the reader has stopped, so must the source.
		while (last !== produced.n) {
			last = produced.n;
			await new Promise((resolve) => setTimeout(resolve, 100));
		}
		expect(produced.n).toBeLessThan(1000);
		let n = 1;
		for (let next = await iterator.next(); !next.done; next = await iterator.next()) n++;
		expect(n).toBe(10_000);
	});

	it("makes an early error trailers only, and a late one trailers", async () => {
		const { port } = await serveCore(async (call) => ({
			header: {},
			messages: (async function* () {
				if (call.header["late"]) yield event("0");
				throw new A2AError("UNSUPPORTED_OPERATION");
			})(),
		}));
		const early = await raw(port, { ":path": STREAM }, [frame(request().binary())]);
		expect(early.headers["grpc-status"]).toBe("9");
		const late = await raw(port, { ":path": STREAM, late: "1" }, [frame(request().binary())]);
		expect(late.headers["grpc-status"]).toBeUndefined();
		expect(late.trailers["grpc-status"]).toBe("9");
		expect(late.data.length).toBeGreaterThan(5);
	});

	it("ends an empty stream with OK", async () => {
		const { port } = await serveCore(async () => ({ header: {}, messages: (async function* () {})() }));
		const answer = await raw(port, { ":path": STREAM }, [frame(request().binary())]);
		expect(answer.trailers["grpc-status"]).toBe("0");
	});

	it("blames the agent for a reply that does not fit", async () => {
		const broken = { ...event("x") } as Payload;
		const { PayloadError } = await import("../../../src/call/payload.ts");
		broken.binary = () => {
			throw new PayloadError([{ field: "a", description: "b" }]);
		};
		const { port } = await serveCore(async () => ({ header: {}, messages: [broken] }));
		expect((await unary(grpcJs(port), SEND, request().binary())).error?.code).toBe(Code.INTERNAL);
		expect(toBinary(MessageSchema, create(MessageSchema))).toHaveLength(0);
	});
});
