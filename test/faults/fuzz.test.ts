/** A seeded fuzzer on the one port: rubbish, mutated requests, mutated HTTP/2 frames. The next good request is always answered. */
import { once } from "node:events";
import net from "node:net";
import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startScripted } from "../peer/agents/scripted.ts";
import {
	byPath,
	closeAll,
	expectAlive,
	type Gate,
	later,
	message,
	openGate,
	polite,
	streaming,
	tight,
	unary,
} from "./harness.ts";
import { block, generator, h2, mutate, type Random, ROUNDS, SEED } from "./random.ts";
import { exchange, forms, frame, type Init, requestOf } from "./raw.ts";

let gate: Gate;
const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);
beforeAll(async () => {
	process.on("unhandledRejection", note);
	process.on("uncaughtException", note);
	const agent = await startScripted({ bindings: ["JSONRPC"], script: polite, record: false });
	later(() => agent.close());
	gate = await openGate(agent.url, { config: tight });
});
afterAll(async () => {
	await closeAll();
	process.off("unhandledRejection", note);
	process.off("uncaughtException", note);
	expect(unhandled).toEqual([]);
});

/** Sends bytes, hangs up soon, and tells what came. */
async function throwAt(bytes: Buffer, linger: number): Promise<string> {
	const socket = net.connect(Number(new URL(gate.url).port), "127.0.0.1");
	let text = "";
	socket.on("error", () => {});
	socket.on("data", (chunk) => {
		if (text.length < 10_000) text += chunk.toString("latin1");
	});
	socket.write(bytes);
	const timer = setTimeout(() => socket.destroy(), linger);
	await once(socket, "close");
	clearTimeout(timer);
	return text;
}

const http1Text = ({ verb = "POST", path = "/", header = {}, body = "" }: Init): Buffer => {
	const bytes = Buffer.from(body as Uint8Array);
	const fields = Object.entries(header).map(([name, value]) => `${name}: ${value}\r\n`);
	return Buffer.concat([
		Buffer.from(
			`${verb} ${path} HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-length: ${bytes.length}\r\n${fields.join("")}\r\n`,
		),
		bytes,
	]);
};

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const http2Frames = ({ verb = "POST", path = "/", header = {}, body = "" }: Init): Buffer[] => [
	h2(4, 0, 0),
	h2(1, 4, 1, block({ ":method": verb, ":scheme": "http", ":path": path, ":authority": "x", ...header })),
	h2(0, 1, 1, Buffer.from(body as Uint8Array)),
	h2(8, 0, 0, Buffer.from([0, 1, 0, 0])),
];

const samples: readonly Init[] = forms.flatMap((form) => [
	requestOf(form, byPath, { id: "t" }),
	requestOf(form, unary, message),
	requestOf(form, streaming, message),
]);

/** Runs a round many times, in small batches, a good request after each batch. */
async function campaign(name: string, round: (random: Random) => Promise<void>): Promise<void> {
	const random = generator(SEED + name.length * 7919);
	const batch = 25;
	for (let done = 0; done < ROUNDS; done += batch) {
		await Promise.all(Array.from({ length: batch }, () => round(random)));
		await expectAlive(gate.url, forms[(done / batch) % forms.length]);
	}
	expect(unhandled).toEqual([]);
}

const clean = (text: string): void =>
	expect(text).not.toMatch(/\.(ts|js|mjs):\d|\bat [\w.<>]+ \(|node_modules|node:internal|\/work\//);

it("random bytes", () =>
	campaign("random", async (random) => clean(await throwAt(random.bytes(1 + random.below(600)), 30))));

it("mutated HTTP/1.1 requests", () =>
	campaign("http1", async (random) => clean(await throwAt(mutate(http1Text(random.pick(samples)), random), 30))));

it("mutated HTTP/2 frames", () =>
	campaign("http2", async (random) => {
		const frames = http2Frames(random.pick(samples));
		const at = random.below(frames.length);
		const injured = frames.map((each, i) => (i === at || random.below(4) === 0 ? mutate(each, random) : each));
		if (random.below(4) === 0) injured.push(...injured);
		clean(await throwAt(Buffer.concat([PREFACE, ...injured]), 30));
	}));

it("mutated bodies in sound requests, in every form: always an answer of that form", () =>
	campaign("bodies", async (random) => {
		const form = random.pick(forms);
		const method = random.pick([byPath, unary]);
		const init = requestOf(form, method, method === byPath ? { id: "t" } : message);
		if (init.body === undefined) return;
		const plain = Buffer.from(init.body as Uint8Array);
		// Half of the time the frame stays right, so that the message is what is wrong.
		const framed = form === "GRPC" || form === "GRPC-WEB";
		const body = framed && random.below(2) === 0 ? frame(mutate(plain.subarray(5), random)) : mutate(plain, random);
		const answer = await exchange(gate.url, form, { ...init, header: { "a2a-version": "1.0", ...init.header }, body });
		clean(answer.all);
		if (answer.code === undefined) expect(answer.messages).toBe(1);
		else expect(answer.message + String(answer.code)).toMatch(/\S/);
	}));

it("memory does not run away", async () => {
	const collect = globalThis.gc ?? (() => {});
	const random = generator(SEED);
	const wave = async () => {
		for (let i = 0; i < 8; i++) {
			await Promise.all(Array.from({ length: 25 }, () => throwAt(mutate(http1Text(random.pick(samples)), random), 10)));
		}
		collect();
		return process.memoryUsage().heapUsed;
	};
	await wave();
	const before = await wave();
	const after = await wave();
	// Without an exposed collector the heap is what it is: 64 MB would be 300 KB per bad request.
	expect(after - before).toBeLessThan(64 * 2 ** 20);
	await expectAlive(gate.url);
});

it("nothing of that is taken for a fault of the gateway", () => {
	expect(gate.lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
});

it("the samples are good before they are injured", async () => {
	expect(() => fromBinary(byPath.input, Buffer.from([0x0a, 0x01, 0x74]))).not.toThrow();
	for (const form of forms) await expectAlive(gate.url, form);
});
