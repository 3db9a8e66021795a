/** Misbehaving agents, of every binding, as clients of every form see them: the right error, promptly, and the next call works. */
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { create, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Reason } from "../../src/call/error.ts";
import { cardJson } from "../peer/agents/card.ts";
import { startRawHttp } from "../peer/agents/raw-http.ts";
import {
	byPath,
	closeAll,
	expectAlive,
	expectClean,
	expectReason,
	type Gate,
	later,
	message,
	openGate,
	rawAgent,
	streaming,
	tight,
	until,
} from "./harness.ts";
import { ask, forms, frame } from "./raw.ts";

afterAll(closeAll);

const task = '{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}';
const event = '{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}';
const huge = "x".repeat(3_000_000);

/** What the agent does to a call: `id` is the request's, `stream` whether it asked for one. */
interface Scene<T> {
	readonly target: T;
	readonly id: string;
	readonly stream: boolean;
	readonly hostPort: string;
}

/** One way to misbehave, what unary calls are told and what streams are; undefined = not for that kind. */
interface Fault<T> {
	readonly name: string;
	readonly act: (scene: Scene<T>) => void;
	readonly unary: Reason | undefined;
	readonly stream: Reason | undefined;
	/** Events that get through first. */
	readonly before?: number;
}

const http = (status: string, type: string, body: string, extra = ""): string =>
	`HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${extra}\r\n${body}`;
const sseHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const chunk = (data: string): string => `${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n`;
const JSON_TYPE = "application/json";

/** Faults of HTTP agents; `wrap` puts a message into the binding's envelope. */
function httpFaults(wrap: (message: string, id: string) => string): Fault<Socket>[] {
	const page = (s: Scene<Socket>) => `<html><body>Error at http://${s.hostPort}/agent (app.js:10)</body></html>`;
	const answers = (name: string, reason: Reason, text: (s: Scene<Socket>) => string): Fault<Socket> => ({
		name,
		unary: reason,
		stream: reason,
		act: (s) => s.target.write(text(s)),
	});
	const ok = (s: Scene<Socket>) => wrap(s.stream ? event : task, s.id);
	const late = (
		name: string,
		reason: Reason,
		text: (s: Scene<Socket>) => string,
		end?: "end" | "reset",
	): Fault<Socket> => ({
		name,
		unary: undefined,
		stream: reason,
		before: 1,
		act(s) {
			s.target.write(sseHead + chunk(`data: ${wrap(event, s.id)}\n\n`) + text(s));
			if (end === "end") s.target.end();
			if (end === "reset") setTimeout(() => s.target.resetAndDestroy(), 50);
		},
	});
	return [
		answers("an HTML page", "INVALID_AGENT_RESPONSE", (s) => http("200 OK", "text/html", page(s))),
		answers("an HTML page as 404", "NOT_FOUND", (s) => http("404 Not Found", "text/html", page(s))),
		answers("an HTML page as 500", "INTERNAL_ERROR", (s) => http("500 Internal Server Error", "text/html", page(s))),
		answers("an HTML page as 502", "UNAVAILABLE", (s) => http("502 Bad Gateway", "text/html", page(s))),
		answers("an HTML page as 504", "DEADLINE_EXCEEDED", (s) => http("504 Gateway Timeout", "text/html", page(s))),
		answers("a redirect", "INVALID_AGENT_RESPONSE", (s) =>
			http("302 Found", "text/html", "", `location: http://${s.hostPort}/x\r\n`),
		),
		answers("nothing", "INVALID_AGENT_RESPONSE", () => http("200 OK", JSON_TYPE, "")),
		answers("204", "INVALID_AGENT_RESPONSE", () => "HTTP/1.1 204 No Content\r\n\r\n"),
		answers("no JSON", "INVALID_AGENT_RESPONSE", () => http("200 OK", JSON_TYPE, "{oops")),
		answers("the wrong JSON", "INVALID_AGENT_RESPONSE", () => http("200 OK", JSON_TYPE, "[1,2]")),
		answers("a message of the wrong type", "INVALID_AGENT_RESPONSE", (s) =>
			http("200 OK", JSON_TYPE, wrap('{"id":5,"task":5}', s.id)),
		),
		answers("deep nesting", "INVALID_AGENT_RESPONSE", (s) =>
			http("200 OK", JSON_TYPE, wrap(`{"x":${"[".repeat(80)}${"]".repeat(80)}}`, s.id)),
		),
		answers("one line larger than allowed", "INVALID_AGENT_RESPONSE", (s) =>
			http("200 OK", JSON_TYPE, wrap(`{"id":"${huge.slice(0, 1_000_000)}"}`, s.id)),
		),
		answers("a coding nobody asked for", "INVALID_AGENT_RESPONSE", (s) =>
			http("200 OK", JSON_TYPE, ok(s), "content-encoding: gzip\r\n"),
		),
		answers("no HTTP", "INVALID_AGENT_RESPONSE", () => "220 smtp.example ESMTP\r\n"),
		answers("a huge header", "INVALID_AGENT_RESPONSE", (s) =>
			http("200 OK", JSON_TYPE, ok(s), `x: ${"y".repeat(100_000)}\r\n`),
		),
		{ name: "a closed connection", unary: "UNAVAILABLE", stream: "UNAVAILABLE", act: (s) => s.target.end() },
		{ name: "a reset", unary: "UNAVAILABLE", stream: "UNAVAILABLE", act: (s) => s.target.resetAndDestroy() },
		{
			name: "an end inside the answer",
			unary: "UNAVAILABLE",
			stream: "UNAVAILABLE",
			act: (s) => s.target.end(http("200 OK", JSON_TYPE, ok(s)).slice(0, -5)),
		},
		{
			name: "a stream for a unary call",
			unary: "INVALID_AGENT_RESPONSE",
			stream: undefined,
			act: (s) => s.target.write(`${sseHead}${chunk(": hi\n\n")}0\r\n\r\n`),
		},
		{ name: "silence", unary: undefined, stream: "UNAVAILABLE", act: () => {} },
		{
			name: "a stream that never starts",
			unary: undefined,
			stream: "UNAVAILABLE",
			act: (s) => s.target.write(sseHead),
		},
		late("silence after an event", "UNAVAILABLE", () => ""),
		late("an end inside an event", "INVALID_AGENT_RESPONSE", () => `${chunk('data: {"x')}0\r\n\r\n`),
		late("a connection closed inside an event", "UNAVAILABLE", () => chunk('data: {"x'), "end"),
		late("a connection reset inside an event", "UNAVAILABLE", () => chunk('data: {"x'), "reset"),
		late("an event that is no JSON", "INVALID_AGENT_RESPONSE", () => chunk("data: {oops\n\n")),
		late("an event of the wrong type", "INVALID_AGENT_RESPONSE", (s) => chunk(`data: ${wrap('{"task":5}', s.id)}\n\n`)),
		late("an event far larger than allowed", "INVALID_AGENT_RESPONSE", (s) =>
			chunk(`data: ${wrap(`{"x":"${huge}"}`, s.id)}\n\n`),
		),
		late("an event that is not UTF-8", "INVALID_AGENT_RESPONSE", () => "7\r\ndata: \xff\r\n2\r\n\n\n\r\n"),
		late("a broken chunk", "INVALID_AGENT_RESPONSE", () => "zz\r\n"),
	];
}

const info = {
	"@type": "type.googleapis.com/google.rpc.ErrorInfo",
	reason: "TASK_NOT_FOUND",
	domain: "a2a-protocol.org",
};

const rpcFaults: Fault<Socket>[] = [
	{
		name: "an error that is none",
		unary: "INVALID_AGENT_RESPONSE",
		stream: "INVALID_AGENT_RESPONSE",
		act: (s) => s.target.write(http("200 OK", JSON_TYPE, `{"jsonrpc":"2.0","id":${s.id},"error":"oops"}`)),
	},
	{
		name: "neither result nor error",
		unary: "INVALID_AGENT_RESPONSE",
		stream: "INVALID_AGENT_RESPONSE",
		act: (s) => s.target.write(http("200 OK", JSON_TYPE, `{"jsonrpc":"2.0","id":${s.id}}`)),
	},
	{
		name: "an event without an envelope",
		unary: undefined,
		stream: "INVALID_AGENT_RESPONSE",
		act: (s) => s.target.write(sseHead + chunk(`data: ${event}\n\n`)),
	},
	{
		name: "an error that tells its address",
		unary: "TASK_NOT_FOUND",
		stream: "TASK_NOT_FOUND",
		act: (s) => {
			const error = {
				code: -32001,
				message: `Nothing at http://${s.hostPort}/agent/x`,
				data: [{ ...info, metadata: { at: s.hostPort } }],
			};
			s.target.write(http("200 OK", JSON_TYPE, JSON.stringify({ jsonrpc: "2.0", id: 1, error })));
		},
	},
];

const restFaults: Fault<Socket>[] = [
	{
		name: "an error that tells its address",
		unary: "TASK_NOT_FOUND",
		stream: "TASK_NOT_FOUND",
		act: (s) => {
			const details = [{ ...info, metadata: { at: s.hostPort } }];
			const error = { code: 404, status: "NOT_FOUND", message: `Nothing at http://${s.hostPort}/agent/x`, details };
			s.target.write(http("404 Not Found", JSON_TYPE, JSON.stringify({ error })));
		},
	},
];

/** Runs every fault before every client form, the calls of one fault all at once; then a good call. */
function suite<T>(
	faults: readonly Fault<T>[],
	open: () => Promise<{ url: string; hostPort: string; play(fault: Fault<T> | undefined): void }>,
): void {
	let agent: Awaited<ReturnType<typeof open>>;
	let gate: Gate;
	beforeAll(async () => {
		agent = await open();
		gate = await openGate(agent.url, { config: tight });
	});
	it.each(faults.map((fault) => [fault.name, fault] as const))("%s", async (_, fault) => {
		agent.play(fault);
		const calls = forms.flatMap((form) => [
			...(fault.unary
				? [{ form, reason: fault.unary, before: 0, answer: ask(gate.url, form, byPath, { id: "t" }) }]
				: []),
			...(fault.stream
				? [{ form, reason: fault.stream, before: fault.before ?? 0, answer: ask(gate.url, form, streaming, message) }]
				: []),
		]);
		for (const { form, reason, before, answer } of calls) {
			const got = await answer;
			expect([form, got.reason, got.message.slice(0, 200), got.messages]).toEqual([
				form,
				reason,
				expect.stringMatching(/\S/),
				before,
			]);
			// In a stream under way the code is in the last event; before it, everything is as for a unary call.
			if (!/5\d\d|404|502/.test(fault.name)) expectReason(got, reason);
			expectClean(got, [agent.hostPort, "<html", "app.js", huge.slice(0, 1000)]);
		}
		agent.play(undefined);
		// After broken connections an agent may be left alone for a moment.
		await until(async () => (await ask(gate.url, "JSONRPC", byPath, { id: "t" })).code === undefined, "served again");
		for (const form of forms) await expectAlive(gate.url, form);
		expect(gate.lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
	});
}

describe.each(["JSONRPC", "HTTP+JSON"])("an agent over %s", (binding) => {
	const wrap = (text: string, id: string) =>
		binding === "JSONRPC" ? `{"jsonrpc":"2.0","id":${id},"result":${text}}` : text;
	suite([...httpFaults(wrap), ...(binding === "JSONRPC" ? rpcFaults : restFaults)], async () => {
		let fault: Fault<Socket> | undefined;
		const agent = await rawAgent(binding, (target, head) => {
			const id = /"id":(\d+)/.exec(head)?.[1] ?? "1";
			const stream = head.includes(streaming.name) || head.includes(":stream");
			if (fault) fault.act({ target, id, stream, hostPort: agent.hostPort });
			else target.write(http("200 OK", JSON_TYPE, wrap(stream ? event : task, id)));
		});
		return {
			...agent,
			play: (next) => {
				fault = next;
			},
		};
	});
});

const taskBytes = toBinary(TaskSchema, fromJson(TaskSchema, JSON.parse(task)));
const eventBytes = toBinary(StreamResponseSchema, fromJson(StreamResponseSchema, JSON.parse(event)));
const head = { ":status": 200, "content-type": "application/grpc" };

const both = (
	name: string,
	reason: Reason,
	act: (stream: ServerHttp2Stream, scene: Scene<ServerHttp2Stream>) => void,
): Fault<ServerHttp2Stream> => ({
	name,
	unary: reason,
	stream: reason,
	act: (scene) => act(scene.target, scene),
});
const frames = (stream: ServerHttp2Stream, bytes: Buffer, status = "0"): void => {
	stream.respond(head, { waitForTrailers: true });
	stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
	stream.end(bytes);
};
const after = (name: string, reason: Reason, act: (stream: ServerHttp2Stream) => void): Fault<ServerHttp2Stream> => ({
	name,
	unary: undefined,
	stream: reason,
	before: 1,
	act({ target }) {
		target.respond(head, { waitForTrailers: true });
		target.write(frame(eventBytes));
		setTimeout(() => act(target), 50);
	},
});

/** Resets every connection to the gRPC agent. */
let cutAll = (): void => {};

const grpcFaults: Fault<ServerHttp2Stream>[] = [
	both("an HTML page", "INVALID_AGENT_RESPONSE", (s) => {
		s.respond({ ":status": 200, "content-type": "text/html" });
		s.end("<html>app.js");
	}),
	both("an HTML page as 502", "UNAVAILABLE", (s, { hostPort }) => {
		s.respond({ ":status": 502, "content-type": "text/html" });
		s.end(`<html>${hostPort}`);
	}),
	both("an HTML page as 404", "UNIMPLEMENTED", (s) => {
		s.respond({ ":status": 404, "content-type": "text/html" });
		s.end("<html>");
	}),
	both("401 without a status", "UNAUTHENTICATED", (s) => s.respond({ ":status": 401 }, { endStream: true })),
	both("invalid protobuf", "INVALID_AGENT_RESPONSE", (s) => frames(s, frame(Buffer.from([0x0a, 0xff, 1])))),
	both("compression nobody asked for", "INVALID_AGENT_RESPONSE", (s) => frames(s, frame(taskBytes, 1))),
	both("a message larger than allowed", "INVALID_AGENT_RESPONSE", (s) => frames(s, frame(Buffer.alloc(1_000_000)))),
	both("a reset", "INVALID_AGENT_RESPONSE", (s) => s.close(2)),
	both("a refused stream", "UNAVAILABLE", (s) => s.close(7)),
	both("a reset connection", "UNAVAILABLE", () => cutAll()),
	{
		name: "no message",
		unary: "INVALID_AGENT_RESPONSE",
		stream: undefined,
		act: ({ target }) => frames(target, Buffer.alloc(0)),
	},
	{
		name: "two messages",
		unary: "INVALID_AGENT_RESPONSE",
		stream: undefined,
		act: ({ target }) => frames(target, Buffer.concat([frame(taskBytes), frame(taskBytes)])),
	},
	{ name: "silence", unary: undefined, stream: "UNAVAILABLE", act: () => {} },
	{ name: "a header and silence", unary: undefined, stream: "UNAVAILABLE", act: ({ target }) => target.respond(head) },
	both("an error that tells its address", "TASK_NOT_FOUND", (s, { hostPort }) =>
		s.respond(
			{
				...head,
				"grpc-status": "5",
				"grpc-message": encodeURIComponent(`Nothing at ${hostPort}`),
				"grpc-status-details-bin": notFound,
			},
			{ endStream: true },
		),
	),
	after("silence after an event", "UNAVAILABLE", () => {}),
	after("a reset after an event", "INVALID_AGENT_RESPONSE", (s) => s.close(2)),
	after("a connection reset after an event", "UNAVAILABLE", () => cutAll()),
	after("invalid protobuf after an event", "INVALID_AGENT_RESPONSE", (s) =>
		s.write(frame(Buffer.from([0x0a, 0xff, 1]))),
	),
];

// google.rpc.Status { code: 5, details: [ErrorInfo TASK_NOT_FOUND] } (errors.md §3).
const notFound =
	"CAUSDE5vIHN1Y2ggdGFzaxpfCih0eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5ycGMuRXJyb3JJbmZvEjMKDlRBU0tfTk9UX0ZPVU5EEhBhMmEtcHJvdG9jb2wub3JnGg8KBnRhc2tJZBIFdC00MDQ";

describe("an agent over GRPC", () => {
	suite(grpcFaults, async () => {
		let fault: Fault<ServerHttp2Stream> | undefined;
		const sessions = new Set<ServerHttp2Session>();
		const server = createServer({ maxSessionMemory: 200 });
		const sockets = new Set<Socket>();
		server.on("connection", (socket: Socket) => {
			sockets.add(socket);
			socket.on("close", () => sockets.delete(socket));
		});
		cutAll = () => {
			for (const socket of sockets) socket.resetAndDestroy();
		};
		server.on("session", (session) => {
			sessions.add(session);
			session.on("error", () => {}).on("close", () => sessions.delete(session));
		});
		server.on("stream", (target: ServerHttp2Stream, header) => {
			target.on("error", () => {});
			target.resume();
			target.on("end", () => {
				if (target.destroyed) return;
				const stream = String(header[":path"]).endsWith(streaming.name);
				if (fault) fault.act({ target, id: "", stream, hostPort });
				else frames(target, frame(stream ? eventBytes : taskBytes));
			});
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		const hostPort = `127.0.0.1:${(server.address() as AddressInfo).port}`;
		const site = await startRawHttp(() => ({
			header: { "content-type": JSON_TYPE },
			body: JSON.stringify(cardJson([{ binding: "GRPC", url: hostPort }])),
		}));
		later(async () => {
			for (const session of sessions) session.destroy();
			await new Promise<void>((resolve) => server.close(() => resolve()));
			await site.close();
		});
		return {
			url: site.url,
			hostPort,
			play: (next) => {
				fault = next;
			},
		};
	});
});

it("the good answers of this file are good", () => {
	expect(toJson(TaskSchema, create(TaskSchema, fromJson(TaskSchema, JSON.parse(task))))).toEqual(JSON.parse(task));
});
