/** A seeded fuzzer in the agent's place: answers mutated on every level. Every client is answered, and nothing breaks. */

import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { afterAll, describe, expect, it } from "vitest";
import { StreamResponseSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { cardJson } from "../peer/agents/card.ts";
import { startRawHttp } from "../peer/agents/raw-http.ts";
import { byPath, closeAll, type Gate, later, message, openGate, rawAgent, streaming, tight, until } from "./harness.ts";
import { block, generator, h2, mutate, ROUNDS, SEED } from "./random.ts";
import { ask, forms, frame, http1 } from "./raw.ts";

const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);
process.on("unhandledRejection", note);
process.on("uncaughtException", note);
afterAll(async () => {
	await closeAll();
	process.off("unhandledRejection", note);
	process.off("uncaughtException", note);
});

const task = '{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}';
const event = `{"task":${task}}`;
const random = generator(SEED);

/** Calls in small batches, each form and kind in turn, until all rounds are done. */
async function campaign(gate: Gate, hostPort: string): Promise<void> {
	const batch = 20;
	for (let done = 0; done < ROUNDS; done += batch) {
		await Promise.all(
			Array.from({ length: batch }, async (_, i) => {
				const form = forms[(done + i) % forms.length] ?? "GRPC";
				const answer = await (random.below(2) === 0
					? ask(gate.url, form, byPath, { id: "t" })
					: ask(gate.url, form, streaming, message));
				expect(answer.all).not.toMatch(/\.(ts|js|mjs):\d|node_modules|node:internal|\/work\//);
				expect(answer.all).not.toContain(hostPort);
				if (answer.code !== undefined) expect(answer.message).toMatch(/\S/);
			}),
		);
		expect((await http1(gate.url, { verb: "GET", path: "/healthz" })).http).toBe(200);
	}
	expect(unhandled).toEqual([]);
	const faults = gate.lines.filter((line) => line.includes('"level":"error"'));
	expect(faults).toEqual([]);
}

const impatient = (config: Parameters<typeof tight>[0]) => {
	const short = tight(config);
	return { ...short, timeouts: { ...short.timeouts, unary: 500 } };
};

describe.each(["JSONRPC", "HTTP+JSON"])("an agent over %s", (binding) => {
	it("whose answers are mutated", async () => {
		let kind = true;
		const agent = await rawAgent(binding, (socket: Socket, head) => {
			const stream = head.includes(streaming.name) || head.includes(":stream");
			const wrap = (text: string) => (binding === "JSONRPC" ? `{"jsonrpc":"2.0","id":1,"result":${text}}` : text);
			const body = Buffer.from(stream ? `data: ${wrap(event)}\n\ndata: ${wrap(event)}\n\n` : wrap(task));
			const type = stream ? "text/event-stream" : "application/json";
			const answer = (bytes: Buffer) =>
				Buffer.concat([
					Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${bytes.length}\r\n\r\n`),
					bytes,
				]);
			if (kind) socket.end(answer(body));
			else socket.end(random.below(2) === 0 ? answer(mutate(body, random)) : mutate(answer(body), random));
		});
		const gate = await openGate(agent.url, { config: impatient });
		kind = false;
		await campaign(gate, agent.hostPort);
		kind = true;
		await until(async () => (await ask(gate.url, "JSONRPC", byPath, { id: "t" })).code === undefined, "good again");
	});
});

describe("an agent over GRPC", () => {
	it("whose frames are mutated", async () => {
		let kind = true;
		const taskBytes = toBinary(TaskSchema, fromJson(TaskSchema, JSON.parse(task)));
		const eventBytes = toBinary(StreamResponseSchema, fromJson(StreamResponseSchema, JSON.parse(event)));
		const server = createServer((socket) => {
			socket.on("error", () => {});
			later(() => socket.destroy());
			let rest = Buffer.alloc(0);
			let greeted = false;
			const streams = new Map<number, boolean>();
			socket.write(h2(4, 0, 0));
			socket.on("data", (part: Buffer) => {
				rest = Buffer.concat([rest, part]);
				if (!greeted && rest.length >= 24) {
					greeted = true;
					rest = rest.subarray(24);
				}
				while (greeted && rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
					const length = rest.readUIntBE(0, 3);
					const [type, flags, id] = [rest[3] ?? 0, rest[4] ?? 0, rest.readUInt32BE(5)];
					const payload = rest.subarray(9, 9 + length);
					rest = rest.subarray(9 + length);
					if (type === 4 && !(flags & 1)) socket.write(h2(4, 1, 0));
					if (type === 6 && !(flags & 1)) socket.write(h2(6, 1, 0, payload));
					if (type === 1) streams.set(id, payload.includes(streaming.name));
					if ((type === 0 || type === 1) && flags & 1) {
						// The path is Huffman-coded, so the kind of call is a guess: a task is no event, which is one more fault.
						const bytes = kind ? taskBytes : random.below(2) === 0 ? taskBytes : eventBytes;
						const frames = [
							h2(1, 4, id, block({ ":status": "200", "content-type": "application/grpc" })),
							h2(0, 0, id, frame(bytes)),
							h2(1, 5, id, block({ "grpc-status": "0" })),
						];
						const level = kind ? -1 : random.below(3);
						if (level === 0) frames[1] = h2(0, 0, id, frame(mutate(Buffer.from(bytes), random)));
						if (level === 1) frames[1] = h2(0, 0, id, mutate(frame(bytes), random));
						if (level === 2 && random.below(3) === 0) {
							const at = random.below(frames.length);
							frames[at] = mutate(frames[at] ?? Buffer.alloc(0), random);
						}
						socket.write(Buffer.concat(frames));
					}
				}
			});
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		later(() => new Promise<void>((resolve) => server.close(() => resolve())));
		const hostPort = `127.0.0.1:${(server.address() as AddressInfo).port}`;
		const site = await startRawHttp(() => ({
			header: { "content-type": "application/json" },
			body: JSON.stringify(cardJson([{ binding: "GRPC", url: hostPort }])),
		}));
		later(() => site.close());
		const gate = await openGate(site.url, { config: impatient });
		kind = false;
		await campaign(gate, hostPort);
		kind = true;
		await until(async () => (await ask(gate.url, "JSONRPC", byPath, { id: "t" })).code === undefined, "good again");
	});
});
