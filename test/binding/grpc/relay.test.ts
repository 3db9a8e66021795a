/** Both halves joined, attach(connect()), between a grpc-js client and an agent: what must hold end to end. */

import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Metadata } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { SendMessageResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { single } from "../../../src/call/stream.ts";
import { frame } from "../../../src/wire/grpc-frame.ts";
import {
	answerWith,
	call,
	cleanUp,
	event,
	grpcJs,
	onCleanUp,
	request,
	SEND,
	STREAM,
	sendMessage,
	serveCore,
	serveStreams,
	stream,
	textRequest,
	unary,
	until,
	upstream,
} from "./harness.ts";

afterEach(cleanUp);

const reply = toBinary(
	SendMessageResponseSchema,
	create(SendMessageResponseSchema, { payload: { case: "message", value: { messageId: "r" } } }),
);

/** A gateway of nothing but this binding, in front of an agent by hand. */
async function relay(onStream: Parameters<typeof serveStreams>[0]) {
	const agent = await serveStreams(onStream);
	const gateway = await serveCore(upstream(`127.0.0.1:${agent.port}`));
	return { agent, client: grpcJs(gateway.port) };
}

describe("relay", () => {
	it("changes no byte, unknown fields included, and passes the deadline on", async () => {
		const got: Buffer[] = [];
		let timeout = "";
		const unknown = Buffer.from([0xfa, 0x3f, 0x01, 0x78]);
		const { client } = await relay((s, headers) => {
			timeout = String(headers["grpc-timeout"]);
			s.on("data", (chunk: Buffer) => got.push(chunk));
			s.on("end", () => answerWith(s, [Buffer.concat([reply, unknown])], { "grpc-status": "0" }));
		});
		const sent = Buffer.concat([request().binary(), unknown]);
		const { bytes } = await unary(client, SEND, sent, {}, { deadline: Date.now() + 5000 });
		expect(Buffer.concat(got).subarray(5)).toEqual(sent);
		expect(bytes).toEqual(Buffer.concat([reply, unknown]));
		expect(timeout).toMatch(/^\d{1,4}m$/);
		expect(Number.parseInt(timeout, 10)).toBeLessThanOrEqual(5000);
	});

	it("passes details on, unknown ones included", async () => {
		const value = { reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org", metadata: { taskId: "t-404" } };
		const info = anyPack(ErrorInfoSchema, create(ErrorInfoSchema, value));
		const other = { typeUrl: "x.y/no.Such", value: new Uint8Array([1, 2, 3]) };
		const status = create(StatusSchema, { code: 5, message: "No such task", details: [info, other] });
		const details = Buffer.from(toBinary(StatusSchema, status));
		const { client } = await relay((s) => {
			const trailers = { "grpc-status": "5", "grpc-message": "No such task" };
			const all = { ...trailers, "grpc-status-details-bin": details.toString("base64") };
			s.respond({ ":status": 200, "content-type": "application/grpc", ...all }, { endStream: true });
		});
		const { error, trailer } = await unary(client, SEND, request().binary());
		expect(error).toMatchObject({ code: 5, details: "No such task" });
		expect(trailer?.get("grpc-status-details-bin")).toEqual([details]);
	});

	it("carries 10 MB both ways", async () => {
		const { client } = await relay((s) => {
			const chunks: Buffer[] = [];
			s.on("data", (chunk: Buffer) => chunks.push(chunk));
			s.on("end", () => answerWith(s, [Buffer.concat(chunks).subarray(5)], { "grpc-status": "0" }));
		});
		const sent = Buffer.from(textRequest("z".repeat(10 * 1024 * 1024)).binary());
		const { bytes, error } = await unary(client, SEND, sent);
		expect(error).toBeNull();
		expect(bytes?.equals(sent)).toBe(true);
	});

	it("slows the agent for a slow client, and delivers everything", async () => {
		const total = 10_000;
		let produced = 0;
		const { client } = await relay(async (s) => {
			s.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
			s.on("wantTrailers", () => s.sendTrailers({ "grpc-status": "0" }));
			for (; produced < total; produced++) {
				if (!s.write(frame(event(`${produced} ${"x".repeat(1000)}`).binary()))) {
					await new Promise((resolve) => s.once("drain", resolve));
				}
			}
			s.end();
		});
		const iterator = stream(client, STREAM, request().binary())[Symbol.asyncIterator]();
		await iterator.next();
		let last = -1;
		while (last !== produced) {
			last = produced;
			await new Promise((resolve) => setTimeout(resolve, 100));
		}
		expect(produced).toBeLessThan(1500);
		let n = 1;
		for (let next = await iterator.next(); !next.done; next = await iterator.next()) n++;
		expect(n).toBe(total);
	});

	it("1,000 streams at once, and none of the agent's left when the clients leave", async () => {
		const open = new Set<object>();
		const { client, agent } = await relay((s) => {
			open.add(s);
			s.on("close", () => open.delete(s));
			s.respond({ ":status": 200, "content-type": "application/grpc" });
			s.write(frame(event("0").binary()));
		});
		const calls = Array.from({ length: 1000 }, () => stream(client, STREAM, request().binary()));
		let first = 0;
		for (const c of calls) {
			c.once("data", () => first++);
			c.on("error", () => {});
		}
		await until(() => first === 1000);
		expect(agent.streams).toHaveLength(1000);
		expect(open.size).toBe(1000);
		for (const c of calls) c.cancel();
		await until(() => open.size === 0);
	});

	it("a deadline that passes ends both sides", async () => {
		let cancelled = false;
		const { client } = await relay((s) => {
			s.on("close", () => {
				cancelled = s.rstCode === 8;
			});
		});
		const { error } = await unary(client, SEND, request().binary(), {}, { deadline: Date.now() + 150 });
		expect(error?.code).toBe(4);
		await until(() => cancelled);
	});

	it("an agent that goes away is UNAVAILABLE in the client's form", async () => {
		const { client, agent } = await relay((s) => s.session?.destroy());
		expect((await unary(client, SEND, request().binary())).error?.code).toBe(14);
		await agent.stop();
		const { error, trailer } = await unary(client, SEND, request().binary());
		expect(error?.code).toBe(14);
		expect(error?.details).not.toContain("127.0.0.1");
		expect(trailer).toBeInstanceOf(Metadata);
	});
});

describe("TLS", () => {
	const fixture = (name: string) => readFileSync(new URL(`../../listener/fixtures/${name}`, import.meta.url), "utf8");

	it("reaches an agent whose authority is trusted by `ca`, and no other", async () => {
		const server = createSecureServer({ cert: fixture("cert.pem"), key: fixture("key.pem") });
		server.on("sessionError", () => {});
		server.on("session", (session) => onCleanUp(() => session.destroy()));
		server.on("stream", (s: Parameters<typeof answerWith>[0]) => answerWith(s, [reply], { "grpc-status": "0" }));
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		onCleanUp(() => void server.close());
		const url = `grpcs://localhost:${(server.address() as AddressInfo).port}`;
		const trusted = upstream(url, { ca: fixture("cert.pem") });
		expect((await single(await trusted(call(sendMessage, request())))).binary()).toHaveLength(reply.length);
		const error = await upstream(url)(call(sendMessage, request())).catch((e: unknown) => e);
		expect(error).toMatchObject({ reason: "UNAVAILABLE" });
	});
});
