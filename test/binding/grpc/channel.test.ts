/** The own channel's trade: reconnecting, GOAWAY, refused streams, stream limits, keep-alive, TLS, targets. */
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { SendMessageResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { readTarget } from "../../../src/binding/grpc/channel.ts";
import { Connection } from "../../../src/binding/grpc/connection.ts";
import { grpc } from "../../../src/binding/grpc/index.ts";
import type { Handler } from "../../../src/call/call.ts";
import { A2AError } from "../../../src/call/error.ts";
import { iterate, single } from "../../../src/call/stream.ts";
import { v1 } from "../../../src/dialect/v1/index.ts";
import { frame } from "../../../src/wire/grpc-frame.ts";
import { steadyPort } from "../../peer/port.ts";
import {
	answerWith,
	call,
	cleanUp,
	collect,
	connectOptions,
	event,
	onCleanUp,
	request,
	sendMessage,
	sendStreamingMessage,
	serveStreams,
	until,
	upstream,
} from "./harness.ts";
import {
	dataFrame,
	goawayFrame,
	headersFrame,
	maxStreams,
	type RawAgent,
	rawAgent,
	rstFrame,
	trailersFrame,
} from "./raw-agent.ts";

afterEach(cleanUp);

const reply = toBinary(
	SendMessageResponseSchema,
	create(SendMessageResponseSchema, { payload: { case: "message", value: { messageId: "r" } } }),
);
const fine = (agent: RawAgent, id: number) =>
	agent.send(headersFrame(id), dataFrame(id, frame(reply)), trailersFrame(id));
const send = async (handler: Handler) => single(await handler(call(sendMessage, request())));
async function reasonOf(promise: Promise<unknown>): Promise<string> {
	return promise.then(
		() => "none",
		(error: unknown) => A2AError.from(error).reason,
	);
}

describe("connections", () => {
	it("one for many calls, made on first use", async () => {
		const { port, agents } = await rawAgent({ onRequest: fine });
		const handler = upstream(`127.0.0.1:${port}`);
		expect(agents).toHaveLength(0);
		await Promise.all(Array.from({ length: 50 }, () => send(handler)));
		expect(agents).toHaveLength(1);
	});

	it("a new one after the agent restarts", async () => {
		const answer = (stream: Parameters<typeof answerWith>[0]) => answerWith(stream, [reply], { "grpc-status": "0" });
		const first = await serveStreams(answer, { port: await steadyPort() });
		const handler = upstream(`127.0.0.1:${first.port}`);
		await send(handler);
		await first.stop();
		expect(await reasonOf(send(handler))).toBe("UNAVAILABLE");
		await serveStreams(answer, { port: first.port });
		// Within the back-off calls fail at once; after it the first one connects.
		let reason = "";
		for (let i = 0; i < 200 && reason !== "none"; i++) {
			reason = await reasonOf(send(handler));
			if (reason !== "none") await new Promise((resolve) => setTimeout(resolve, 20));
		}
		expect(reason).toBe("none");
	});

	it("leaves an agent that is down alone between tries", async () => {
		let tries = 0;
		const { port, agents } = await rawAgent({
			onRequest: fine,
			onConnect: (agent) => {
				tries++;
				agent.socket.destroy();
			},
		});
		const handler = upstream(`127.0.0.1:${port}`);
		for (let i = 0; i < 50; i++) expect(await reasonOf(send(handler))).toBe("UNAVAILABLE");
		expect(tries).toBeLessThan(15);
		expect(agents.length).toBe(tries);
	});

	it("fails calls under way when the connection breaks, and connects again at once", async () => {
		const { port } = await rawAgent({
			onRequest: (agent, id) => (agent.number === 1 ? agent.socket.destroy() : fine(agent, id)),
		});
		const handler = upstream(`127.0.0.1:${port}`);
		expect(await reasonOf(send(handler))).toBe("UNAVAILABLE");
		expect(await reasonOf(send(handler))).toBe("none");
	});

	it("does not call on for ever where every connection ends at once", async () => {
		const { port, agents } = await rawAgent({
			onRequest: fine,
			onConnect: (agent) => agent.send(goawayFrame(0, 0)),
		});
		expect(await reasonOf(send(upstream(`127.0.0.1:${port}`)))).toBe("UNAVAILABLE");
		expect(agents.length).toBeLessThan(6);
	});

	it("a caller who leaves does not wait for the connection", async () => {
		const { port } = await rawAgent({ onRequest: fine, settings: Buffer.alloc(0) });
		const controller = new AbortController();
		const handler = upstream(`127.0.0.1:${port}`);
		const pending = handler(call(sendMessage, request(), { signal: controller.signal }));
		controller.abort(new A2AError("CANCELLED"));
		expect(await reasonOf(pending)).toBe("CANCELLED");
	});

	it("close ends what is idle at once and what is busy later", async () => {
		let busy: [RawAgent, number] | undefined;
		const { port } = await rawAgent({
			onRequest: (agent, id) => {
				busy = [agent, id];
			},
		});
		const made = grpc.connect(
			{ url: `127.0.0.1:${port}`, binding: "GRPC", version: "1.0", tenant: "" },
			v1,
			connectOptions,
		);
		const pending = send(made.handler);
		await until(() => busy !== undefined);
		const closed = made.close();
		if (busy) fine(...busy);
		await pending;
		await closed;
		expect(await reasonOf(send(made.handler))).toBe("UNAVAILABLE");
	});
});

describe("GOAWAY and refusals", () => {
	it("old streams finish on the old connection, new calls go to a new one", async () => {
		let old: [RawAgent, number] | undefined;
		const { port, agents } = await rawAgent({
			onRequest: (agent, id) => {
				if (agent.number > 1) return fine(agent, id);
				old = [agent, id];
				agent.send(headersFrame(id), dataFrame(id, frame(event("0").binary())), goawayFrame(id, 0));
			},
		});
		const handler = upstream(`127.0.0.1:${port}`);
		const messages = iterate(await handler(call(sendStreamingMessage, request())))[Symbol.asyncIterator]();
		await messages.next();
		expect(await reasonOf(send(handler))).toBe("none");
		expect(agents).toHaveLength(2);
		if (old) old[0].send(dataFrame(old[1], frame(event("1").binary())), trailersFrame(old[1]));
		expect((await messages.next()).value?.json()).toMatchObject({ message: { messageId: "1" } });
		expect((await messages.next()).done).toBe(true);
	});

	it.each([
		["REFUSED_STREAM", (agent: RawAgent, id: number) => agent.send(rstFrame(id, 7))],
		["GOAWAY, not processed", (agent: RawAgent) => agent.send(goawayFrame(0, 0))],
		["GOAWAY with an error, not processed", (agent: RawAgent) => agent.send(goawayFrame(0, 11))],
	])("%s: sent once more, elsewhere", async (_name, refuse) => {
		const { port, agents } = await rawAgent({
			onRequest: (agent, id) => (agent.number === 1 ? refuse(agent, id) : fine(agent, id)),
		});
		expect(await reasonOf(send(upstream(`127.0.0.1:${port}`)))).toBe("none");
		expect(agents).toHaveLength(2);
	});

	it("but only once", async () => {
		let requests = 0;
		const { port } = await rawAgent({
			onRequest: (agent, id) => {
				requests++;
				agent.send(rstFrame(id, 7));
			},
		});
		expect(await reasonOf(send(upstream(`127.0.0.1:${port}`)))).toBe("UNAVAILABLE");
		expect(requests).toBe(2);
	});

	it("and never what may have been processed", async () => {
		let requests = 0;
		const { port } = await rawAgent({
			onRequest: (agent, id) => {
				requests++;
				agent.send(goawayFrame(id, 2));
			},
		});
		expect(await reasonOf(send(upstream(`127.0.0.1:${port}`)))).toBe("UNAVAILABLE");
		expect(requests).toBe(1);
	});
});

describe("stream limits", () => {
	it("opens further connections, and no more than allowed", async () => {
		const open: [RawAgent, number][] = [];
		const { port, agents } = await rawAgent({
			settings: maxStreams(2),
			onRequest: (agent, id) => void open.push([agent, id]),
		});
		const handler = upstream(`127.0.0.1:${port}`, { connections: 3 });
		const calls = Array.from({ length: 8 }, () => send(handler));
		// Two on each of three connections; the other two wait their turn.
		await until(() => open.length === 6);
		await new Promise((resolve) => setTimeout(resolve, 50));
		expect(agents).toHaveLength(3);
		expect(open).toHaveLength(6);
		let n = 0;
		while (n < 8) {
			await until(() => open.length > n);
			const next = open[n++];
			if (next) fine(...next);
		}
		await Promise.all(calls);
		expect(agents).toHaveLength(3);
	});
});

describe("keep-alive", () => {
	it("pings when calls wait in silence, soon at first and then sparingly", async () => {
		const { port, pings } = await rawAgent({ onRequest: fine });
		const connection = new Connection({ authority: `http://127.0.0.1:${port}`, timeout: 1000, ca: undefined });
		onCleanUp(() => connection.session.destroy());
		await connection.ready;
		const turns = async (count: number) => {
			const before = pings.length;
			for (let i = 0; i < count; i++) connection.keepAlive();
			// A ping of our own behind them: when its answer is there, theirs are counted.
			await new Promise<void>((resolve) => connection.session.ping(() => resolve()));
			return pings.length - before - 1;
		};
		expect(await turns(5)).toBe(0);
		connection.take();
		expect(await turns(2)).toBe(2);
		expect(await turns(7)).toBe(0);
		expect(await turns(11)).toBe(2);
		connection.hear();
		expect(await turns(1)).toBe(0);
		expect(await turns(2)).toBe(2);
	});

	it("ends a connection that does not answer", async () => {
		const { port } = await rawAgent({ onRequest: fine, pong: false });
		const init = {
			authority: `http://127.0.0.1:${port}`,
			timeout: 1000,
			ca: undefined,
			pingInterval: 10,
			pingTimeout: 20,
		};
		const connection = new Connection(init);
		await connection.ready;
		connection.take();
		await connection.closed;
		expect(connection.usable).toBe(false);
	});
});

describe("targets", () => {
	it.each([
		["127.0.0.1:50051", { kind: "direct", authority: "http://127.0.0.1:50051", prefix: "" }],
		["agent.example:443", { kind: "direct", authority: "https://agent.example", prefix: "" }],
		["agent.example", { kind: "direct", authority: "https://agent.example", prefix: "" }],
		["[::1]:50051", { kind: "direct", authority: "http://[::1]:50051", prefix: "" }],
		["grpc://localhost:9000", { kind: "direct", authority: "http://localhost:9000", prefix: "" }],
		["grpcs://localhost:9000", { kind: "direct", authority: "https://localhost:9000", prefix: "" }],
		["https://h.example/a/b/", { kind: "direct", authority: "https://h.example", prefix: "/a/b" }],
		["http://h.example", { kind: "direct", authority: "http://h.example", prefix: "" }],
		["dns:///h.example:443", { kind: "resolved", target: "dns:///h.example:443", tls: true }],
		["unix:/tmp/x.sock", { kind: "resolved", target: "unix:/tmp/x.sock", tls: false }],
		["ipv4:1.2.3.4:80,1.2.3.5:80", { kind: "resolved", target: "ipv4:1.2.3.4:80,1.2.3.5:80", tls: false }],
		["dns:50051", { kind: "direct", authority: "http://dns:50051", prefix: "" }],
	])("%s", (url, target) => {
		expect(readTarget(url)).toEqual(target);
	});

	it.each(["", "ftp://x:1", "http://", "a b:1", "host:99999", "host:port"])("rejects %j", (url) => {
		expect(() => readTarget(url)).toThrow(TypeError);
	});

	it.each([
		["http://gw.example", "gw.example:80"],
		["https://gw.example/agents/a", "gw.example:443"],
		["http://127.0.0.1:8080/", "127.0.0.1:8080"],
		["http://[::1]:8080", "[::1]:8080"],
	])("publicUrl of %s", (base, url) => {
		expect(grpc.publicUrl(new URL(base))).toBe(url);
	});
});

it("streams of many calls share one connection without holding each other up", async () => {
	const { port } = await serveStreams((stream, headers) => {
		const messages = Array.from({ length: 2000 }, (_, i) => event(`${i} ${"x".repeat(500)}`).binary());
		answerWith(stream, headers[":path"]?.endsWith("SendMessage") ? [reply] : messages, { "grpc-status": "0" });
	});
	const handler = upstream(`127.0.0.1:${port}`);
	// Eight that nobody reads, each with 1 MB waiting, and one that is read.
	const stalled = await Promise.all(
		Array.from({ length: 8 }, async () => {
			const iterator = iterate(await handler(call(sendStreamingMessage, request())))[Symbol.asyncIterator]();
			await iterator.next();
			return iterator;
		}),
	);
	expect(await collect(iterate(await handler(call(sendStreamingMessage, request()))))).toHaveLength(2000);
	expect(await reasonOf(send(handler))).toBe("none");
	for (const iterator of stalled) await iterator.return?.();
});
