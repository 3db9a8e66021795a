/** The shared body of the matrix: what every client must see of every agent, whatever lies between. */
import type { DescField, DescMethod, Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { errors, Status } from "../../src/call/error.ts";
import { type Client, collect, failure } from "../peer/clients/client.ts";
import {
	type Detail,
	errorInfo,
	isStream,
	methods,
	PeerError,
	type Received,
	reasonOf,
	type Script,
} from "../peer/protocol.ts";
import { arbitraryExchange, type Exchange, expectEqual, forgetOwnMembers, play } from "./exchange.ts";

/** Clients on one side, an agent on the other; the agent's calls are emptied before each use. */
export interface Lane {
	readonly agent: { readonly calls: Received[]; script: Script };
	readonly clients: readonly Client[];
	close(): Promise<void>;
}

export interface SuiteOptions {
	readonly tenants: boolean;
	readonly runs: number;
	/** Something in between shows its own card members. */
	readonly gateway: boolean;
	/** What a peer cannot carry, and why (see sdk-limits.ts). */
	readonly override?: (method: DescMethod) => (field: DescField) => fc.Arbitrary<unknown> | undefined;
	/** What a peer changes on the way, applied to the expected request. */
	readonly expectedRequest?: (method: DescMethod, request: Message) => Message;
	/** Reasons the agent can express. Default: every one. */
	readonly reasons?: readonly string[];
	/** Codes the clients may see instead, when the agent's own were lost. */
	readonly details?: boolean;
}

// FC_SEED repeats a failure (fast-check prints seed and path); FC_RUNS goes deeper than a test run has time for.
const seed = Number(process.env["FC_SEED"] ?? Date.now() & 0x7fff_ffff);
const numRuns = process.env["FC_RUNS"];
const parameters = (runs: number): fc.Parameters<[Exchange]> => ({ numRuns: Number(numRuns ?? runs), seed });

/** Every operation, over generated messages, from every client of the lane. */
export function exchanges(lane: () => Lane, options: SuiteOptions): void {
	test.each(methods.map((method) => [method.name, method] as const))("%s", async (_, method) => {
		const { agent, clients } = lane();
		const clean = options.gateway ? forgetOwnMembers : (message: Message): Message => message;
		const override = options.override?.(method);
		const exchange = arbitraryExchange(method, { tenants: options.tenants, ...(override && { override }) });
		await fc.assert(
			fc.asyncProperty(exchange, async (each) => {
				agent.script = play(each);
				const expectedRequest = options.expectedRequest?.(method, each.request) ?? each.request;
				for (const client of clients) {
					agent.calls.length = 0;
					const where = `${client.form}: ${method.name}`;
					const replies = await collect(client.call(method, each.request));
					expectEqual(method.output, replies.map(clean), each.replies.map(clean), `${where}, the answer`);
					expect(
						agent.calls.map((call) => call.method.name),
						`${where}, calls that arrived`,
					).toEqual([method.name]);
					const [arrived] = agent.calls;
					expectEqual(method.input, [arrived?.request as Message], [expectedRequest], `${where}, the request`);
					expect(arrived?.header["a2a-version"], `${where}, A2A-Version`).toBe("1.0");
				}
			}),
			parameters(options.runs),
		);
	});
}

/** The error an agent throws for a row of the table: its codes in every binding, with details. */
export function peerError(reason: keyof typeof errors, details: readonly Detail[] = []): PeerError {
	const row = errors[reason];
	return new PeerError({
		message: `${row.text} – “${reason}” 100 %`,
		rpc: row.rpc,
		grpc: Status[row.grpc],
		http: row.http,
		status: row.grpc,
		details: [errorInfo(reason, { taskId: "t-404", note: "ä" }), ...details],
	});
}

const badRequest: Detail = {
	"@type": "type.googleapis.com/google.rpc.BadRequest",
	fieldViolations: [{ field: "message.parts[0].text", description: "too long" }],
};

/** The code a client of this form must be told. */
function expectedCode(form: string, reason: keyof typeof errors): number {
	const row = errors[reason];
	if (form === "JSONRPC") return row.rpc;
	if (form === "HTTP+JSON") return row.http;
	return Status[row.grpc];
}

/** Every error reason, as the answer of a unary call, before a stream and inside one. */
export function failures(lane: () => Lane, options: SuiteOptions): void {
	const reasons = (Object.keys(errors) as (keyof typeof errors)[]).filter(
		(reason) => options.reasons?.includes(reason) ?? true,
	);
	const unary = methods.filter((method) => !isStream(method));
	const streams = methods.filter(isStream);
	const sample = (method: DescMethod, seed: number): Exchange => {
		const override = options.override?.(method);
		const exchange = arbitraryExchange(method, { tenants: false, ...(override && { override }) });
		return fc.sample(exchange, { numRuns: 1, seed })[0] as Exchange;
	};
	const check = (client: Client, reason: keyof typeof errors, error: Awaited<ReturnType<typeof failure>>["error"]) => {
		const where = `${client.form}: ${reason}`;
		const thrown = peerError(reason, options.details === false ? [] : [badRequest]);
		expect({ code: error.code, message: error.message, details: error.details }, where).toEqual({
			code: expectedCode(client.form, reason),
			message: thrown.message,
			details: thrown.details,
		});
		expect(reasonOf(error.details), where).toBe(reason);
	};

	test("there are errors to tell apart", () => {
		expect(reasons.length).toBeGreaterThanOrEqual(9);
		expect(unary.length + streams.length).toBe(methods.length);
	});

	test.each(reasons.map((reason, i) => [reason, i] as const))("%s", async (reason, i) => {
		const { agent, clients } = lane();
		const error = (): PeerError => peerError(reason, options.details === false ? [] : [badRequest]);
		// Every operation meets some of the errors, every error some of the operations.
		const method = unary[i % unary.length] as DescMethod;
		const stream = streams[i % streams.length] as DescMethod;
		const unaryRequest = sample(method, i).request;
		const { request, replies } = sample(stream, i + 1000);
		for (const client of clients) {
			agent.script = () => Promise.reject(error());
			check(client, reason, (await failure(client.call(method, unaryRequest))).error);

			// biome-ignore lint/correctness/useYield: it fails before the first event
			agent.script = async function* () {
				throw error();
			};
			const early = await failure(client.call(stream, request));
			expect(early.before).toEqual([]);
			check(client, reason, early.error);

			agent.script = async function* () {
				yield* replies;
				throw error();
			};
			const late = await failure(client.call(stream, request));
			expectEqual(stream.output, late.before, replies, `${client.form}: events before ${reason}`);
			check(client, reason, late.error);
		}
	});
}

/** One describe per agent binding, with a lane that lives as long as it. */
export function describeLane(title: string, open: () => Promise<Lane>, body: (lane: () => Lane) => void): void {
	describe(title, () => {
		let lane: Lane | undefined;
		const current = (): Lane => {
			if (!lane) throw new Error("the lane is not open");
			return lane;
		};
		// Opened by a test of its own: a failure here has a name, and the rest fail by it.
		test("opens", async () => {
			lane = await open();
			expect(lane.clients.length).toBeGreaterThan(0);
		});
		body(current);
		test("closes", async () => {
			await lane?.close();
		});
	});
}
