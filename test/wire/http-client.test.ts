/** HTTP towards agents that break every rule: what the caller sees, and that nothing stays behind. */
import { afterEach, describe, expect, it } from "vitest";
import { A2AError } from "../../src/call/error.ts";
import { type HttpCall, type HttpClient, httpClient, readAll } from "../../src/wire/http-client.ts";
import {
	answer,
	chunk,
	chunkedHead,
	closeAll,
	deferred,
	headServer,
	httpServer,
	onClose,
	rawServer,
} from "./sockets.ts";

afterEach(closeAll);

function client(port: number, options: { idleTimeout?: number; connections?: number } = {}): HttpClient {
	const made = httpClient(new URL(`http://127.0.0.1:${port}/ignored`), {
		connectTimeout: 2000,
		idleTimeout: 0,
		connections: 4,
		ca: undefined,
		...options,
	});
	onClose(() => made.close());
	return made;
}

function call(extra: Partial<HttpCall> = {}): HttpCall {
	return { method: "GET", path: "/x", header: {}, signal: new AbortController().signal, stream: false, ...extra };
}

async function text(made: HttpClient, extra: Partial<HttpCall> = {}): Promise<string> {
	const { body } = await made.request(call(extra));
	return (await readAll(body, 1000)).toString();
}

/** Stops waiting for the answer where the call is only interesting for its error. */
async function failure(promise: Promise<unknown>): Promise<A2AError> {
	const error = await promise.then(
		() => undefined,
		(thrown: unknown) => thrown,
	);
	if (!(error instanceof A2AError)) throw new Error(`no A2AError: ${error}`);
	expect(error.message).not.toMatch(/127\.0\.0\.1|localhost|:\d/);
	return error;
}

describe("answers", () => {
	it("gives status, header and body, and sends what it is told", async () => {
		const heads: string[] = [];
		const port = await headServer((socket, head) => {
			heads.push(head);
			socket.write(
				answer("201 Created", "application/json; charset=utf-8", "{}", "X-A: 1\r\nX-A: 2\r\nKeep-Alive: 1\r\n"),
			);
		});
		const made = client(port);
		const got = await made.request(call({ method: "POST", path: "/p?q=1", header: { "x-b": "c" }, body: "hello" }));
		expect(got.status).toBe(201);
		expect(got.header).toEqual({ "x-a": "1, 2", "content-type": "application/json; charset=utf-8" });
		expect((await readAll(got.body, 100)).toString()).toBe("{}");
		expect(heads[0]).toMatch(/^POST \/p\?q=1 HTTP\/1\.1\r\n/);
		expect(heads[0]).toMatch(/x-b: c\r\n.*content-length: 5\r\n.*hello$/s);
	});

	it("reuses its connection", async () => {
		let connections = 0;
		const port = await httpServer((req, res) => {
			req.socket.listenerCount("marked") === 0 && connections++;
			req.socket.on("marked", () => {});
			res.end("ok");
		});
		const made = client(port);
		for (let i = 0; i < 5; i++) expect(await text(made)).toBe("ok");
		// The pool rests a connection for one turn of the event loop: a hurried caller needs a second one.
		expect(connections).toBeLessThanOrEqual(2);
	});

	it("skips informational answers", async () => {
		const port = await headServer((socket) =>
			socket.write(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${answer("200 OK", "text/plain", "ok")}`),
		);
		expect(await text(client(port))).toBe("ok");
	});

	it.each([
		["a redirect", answer("302 Found", "text/html", "", "location: http://127.0.0.1:1/\r\n")],
		["a content coding nobody asked for", answer("200 OK", "application/json", "xx", "content-encoding: gzip\r\n")],
		["no HTTP", "SSH-2.0-OpenSSH_9.6\r\n\r\n"],
	])("refuses %s", async (_, bytes) => {
		const port = await headServer((socket) => socket.write(bytes));
		expect((await failure(text(client(port)))).reason).toBe("INVALID_AGENT_RESPONSE");
	});

	it("bounds a body read whole, and closes the connection", async () => {
		const closed = deferred();
		const port = await headServer((socket) => {
			socket.on("close", () => closed.resolve());
			socket.write(chunkedHead("text/plain"));
			const more = () => {
				while (socket.writable && socket.write(chunk("x".repeat(500))));
			};
			socket.on("drain", more);
			more();
		});
		expect((await failure(text(client(port)))).reason).toBe("INVALID_AGENT_RESPONSE");
		await closed.promise;
	});
});

describe("broken connections", () => {
	it("nobody listens", async () => {
		const port = await rawServer(() => {});
		await closeAll();
		const error = await failure(text(client(port)));
		expect([error.reason, error.message]).toEqual(["UNAVAILABLE", "The agent refuses connections"]);
	});

	it("an unknown host", async () => {
		const made = httpClient(new URL("http://agent.invalid/"), {
			connectTimeout: 2000,
			idleTimeout: 0,
			connections: 1,
			ca: undefined,
		});
		const error = await failure(text(made));
		expect([error.reason, error.message.includes("invalid")]).toEqual(["UNAVAILABLE", false]);
		await made.close();
	});

	it.each<[string, string, boolean]>([
		["without an answer", "", false],
		["with a reset", "", true],
		["inside the status line", "HTTP/1.", false],
		["inside the header", "HTTP/1.1 200 OK\r\ncontent-ty", true],
	])("closed %s", async (_, bytes, reset) => {
		const port = await headServer((socket) => {
			if (bytes) socket.write(bytes);
			setTimeout(() => (reset ? socket.resetAndDestroy() : socket.end()), 20);
		});
		for (const method of ["GET", "POST"] as const) {
			expect((await failure(text(client(port), { method }))).reason).toMatch(/UNAVAILABLE|INVALID_AGENT_RESPONSE/);
		}
	});

	it.each<[string, string]>([
		["a length not kept", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"],
		["chunks not ended", `${chunkedHead("text/plain")}4\r\nhalf\r\n`],
		["a chunk cut", `${chunkedHead("text/plain")}8\r\nhalf`],
	])("closed inside the body: %s", async (_, bytes) => {
		const port = await headServer((socket) => socket.end(bytes));
		const { body } = await client(port).request(call({ method: "POST" }));
		expect((await failure(readAll(body, 100))).reason).toMatch(/UNAVAILABLE|INVALID_AGENT_RESPONSE/);
		const again = await client(port).request(call({ stream: true }));
		let got = "";
		const reading = (async () => {
			for await (const part of again.body) got += part;
		})();
		expect((await failure(reading)).reason).toMatch(/UNAVAILABLE|INVALID_AGENT_RESPONSE/);
		expect(got).toBe("half");
	});
});

describe("a kept-alive connection that dies as it is taken", () => {
	/** Answers the first request of every connection and resets the connection at the second. */
	async function flaky(): Promise<{ port: number; requests: () => number }> {
		let requests = 0;
		const port = await rawServer((socket) => {
			let own = 0;
			socket.on("data", () => {
				requests++;
				if (++own === 1) socket.write(answer("200 OK", "text/plain", "ok"));
				else socket.resetAndDestroy();
			});
		});
		return { port, requests: () => requests };
	}

	it.each<[string, Partial<HttpCall>]>([
		["GET", {}],
		["DELETE", { method: "DELETE" }],
		["POST that may be repeated", { method: "POST", body: "x", idempotent: true }],
	])("%s is sent again once", async (_, extra) => {
		const { port, requests } = await flaky();
		const made = client(port, { connections: 1 });
		expect(await text(made, extra)).toBe("ok");
		expect(await text(made, extra)).toBe("ok");
		expect(requests()).toBe(3);
	});

	it("POST is not", async () => {
		const { port, requests } = await flaky();
		const made = client(port, { connections: 1 });
		expect(await text(made, { method: "POST", body: "x" })).toBe("ok");
		expect((await failure(text(made, { method: "POST", body: "x" }))).reason).toBe("UNAVAILABLE");
		expect(requests()).toBe(2);
	});

	it("is not asked a third time", async () => {
		let requests = 0;
		const port = await headServer((socket) => {
			requests++;
			socket.resetAndDestroy();
		});
		expect((await failure(text(client(port)))).reason).toBe("UNAVAILABLE");
		expect(requests).toBe(2);
	});
});

describe("cancellation", () => {
	const reason = new A2AError("DEADLINE_EXCEEDED");

	it("before anything", async () => {
		const port = await headServer(() => {});
		expect(await failure(text(client(port), { signal: AbortSignal.abort(reason) }))).toBe(reason);
	});

	it.each([false, true])(
		"while the agent thinks (stream: %s): the socket is closed, a late answer does no harm",
		async (stream) => {
			const controller = new AbortController();
			const closed = deferred();
			const port = await headServer((socket) => {
				socket.on("close", () => closed.resolve());
				controller.abort(reason);
				setTimeout(() => socket.write(answer("200 OK", "text/plain", "late")), 50);
			});
			const made = client(port);
			expect(await failure(text(made, { signal: controller.signal, stream }))).toBe(reason);
			await closed.promise;
		},
	);

	it("while it waits for a free connection", async () => {
		const controller = new AbortController();
		const hung = deferred<void>();
		const port = await headServer(() => hung.resolve());
		const made = client(port, { connections: 1 });
		const first = new AbortController();
		const blocked = failure(text(made, { signal: first.signal }));
		await hung.promise;
		const waiting = failure(text(made, { signal: controller.signal }));
		controller.abort(reason);
		expect(await waiting).toBe(reason);
		first.abort(reason);
		await blocked;
	});

	it("inside a stream", async () => {
		const controller = new AbortController();
		const closed = deferred();
		const port = await headServer((socket) => {
			socket.on("close", () => closed.resolve());
			socket.write(Buffer.concat([Buffer.from(chunkedHead("text/plain")), chunk("one")]));
		});
		const { body } = await client(port).request(call({ signal: controller.signal, stream: true }));
		const reading = (async () => {
			for await (const _ of body) controller.abort(new Error("plain"));
		})();
		expect((await failure(reading)).reason).toBe("CANCELLED");
		await closed.promise;
	});

	it("by leaving the loop", async () => {
		const closed = deferred();
		const port = await headServer((socket) => {
			socket.on("close", () => closed.resolve());
			socket.write(Buffer.concat([Buffer.from(chunkedHead("text/plain")), chunk("one")]));
		});
		const { body } = await client(port).request(call({ stream: true }));
		for await (const _ of body) break;
		await closed.promise;
	});

	it("leaves no listener on the signal", async () => {
		const port = await httpServer((_, res) => res.end("ok"));
		const made = client(port);
		const { signal } = new AbortController();
		let listeners = 0;
		const add = signal.addEventListener.bind(signal);
		const remove = signal.removeEventListener.bind(signal);
		signal.addEventListener = (...args: Parameters<typeof add>) => {
			listeners++;
			add(...args);
		};
		signal.removeEventListener = (...args: Parameters<typeof remove>) => {
			listeners--;
			remove(...args);
		};
		for (let i = 0; i < 20; i++) await text(made, { signal });
		expect(listeners).toBe(0);
	});
});

describe("streams", () => {
	it("slow readers slow the agent", async () => {
		let written = 0;
		const port = await headServer((socket) => {
			socket.write(chunkedHead("text/plain"));
			const piece = chunk(Buffer.alloc(64 * 1024, "x"));
			const more = () => {
				while (socket.writable && written < 1e9) {
					written += piece.length;
					if (!socket.write(piece)) return;
				}
			};
			socket.on("drain", more);
			more();
		});
		const { body } = await client(port).request(call({ stream: true }));
		const iterator = body[Symbol.asyncIterator]();
		await iterator.next();
		let before = -1;
		while (before !== written) {
			before = written;
			await new Promise((resolve) => setTimeout(resolve, 100));
		}
		expect(written).toBeLessThan(50_000_000);
		// And it goes on when they read on.
		for (let got = 0; got < before + 1_000_000; ) {
			const { value } = await iterator.next();
			got += value?.length ?? 0;
		}
		expect(written).toBeGreaterThan(before);
		await iterator.return?.();
	});

	it("silence ends them, with an idle timeout only", async () => {
		const port = await headServer((socket) =>
			socket.write(Buffer.concat([Buffer.from(chunkedHead("text/plain")), chunk("one")])),
		);
		const made = client(port, { idleTimeout: 100 });
		const { body } = await made.request(call({ stream: true }));
		const reading = (async () => {
			for await (const _ of body);
		})();
		const error = await failure(reading);
		expect([error.reason, error.message]).toEqual(["UNAVAILABLE", "The agent's stream was silent for too long"]);
		// A unary call has its deadline instead.
		const controller = new AbortController();
		const { body: patient } = await made.request(call({ signal: controller.signal }));
		setTimeout(() => controller.abort(new A2AError("DEADLINE_EXCEEDED")), 600);
		expect((await failure(readAll(patient, 100))).reason).toBe("DEADLINE_EXCEEDED");
	});

	it("do not take connections from calls", async () => {
		const port = await httpServer((req, res) => {
			if (req.url === "/stream") res.write("x");
			else res.end("ok");
		});
		const made = client(port, { connections: 1 });
		const streams = await Promise.all(
			Array.from({ length: 20 }, () => made.request(call({ path: "/stream", stream: true }))),
		);
		expect(await text(made)).toBe("ok");
		for (const { body } of streams) body.cancel();
	});
});

it("a header that HTTP cannot carry is the caller's error", async () => {
	const port = await httpServer((_, res) => res.end("ok"));
	expect((await failure(text(client(port), { header: { "x-a": "a\nb" } }))).reason).toBe("INVALID_REQUEST");
});

it("close waits for calls under way", async () => {
	const asked = deferred();
	const go = deferred();
	const port = await httpServer(async (_, res) => {
		asked.resolve();
		await go.promise;
		res.end("ok");
	});
	const made = client(port);
	const running = text(made);
	await asked.promise;
	const closing = made.close();
	go.resolve();
	expect(await running).toBe("ok");
	await closing;
});
