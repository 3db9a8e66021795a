/** 1,000 streams at once: each gets its first event while all are open, then each gets its end. */
import { expect, test } from "vitest";
import { collect } from "../peer/clients/client.ts";
import { grpcClient } from "../peer/clients/grpc.ts";
import { fetchCard } from "../peer/clients/index.ts";
import { event, openBench, streamMethod, streamRequest, until } from "./scripts.ts";

const STREAMS = 1_000;

const cells = [
	["JSONRPC", "GRPC"],
	["GRPC", "JSONRPC"],
	...(process.env["A2A_SOAK"] === "full" ? ([["HTTP+JSON", "HTTP+JSON"]] as const) : []),
] as const;

test.each(cells)("%s clients, an agent over %s", async (form, binding) => {
	let open = 0;
	const { promise: released, resolve: release } = Promise.withResolvers<void>();
	const bench = await openBench(binding, async function* (call) {
		open++;
		try {
			yield event(1);
			await Promise.race([released, new Promise((resolve) => call.signal.addEventListener("abort", resolve))]);
			yield event(2);
		} finally {
			open--;
		}
	});
	// gRPC multiplexes, but no client opens a thousand streams on one connection: ten channels.
	const target = (await fetchCard(bench.gateway.url)).supportedInterfaces.find(
		(i) => i.protocolBinding === "GRPC",
	)?.url;
	const channels =
		form === "GRPC"
			? Array.from({ length: 10 }, () => grpcClient(target ?? "", { "grpc.use_local_subchannel_pool": 1 }))
			: [bench.client(form)];
	try {
		let first = 0;
		const streams = Array.from({ length: STREAMS }, async (_, i) => {
			const client = channels[i % channels.length];
			if (!client) throw new Error("no client");
			const stream = client.call(streamMethod, streamRequest)[Symbol.asyncIterator]();
			expect((await stream.next()).done).toBe(false);
			first++;
			return (await collect({ [Symbol.asyncIterator]: () => stream })).length;
		});
		const ends = Promise.all(streams);
		const allOpen = until(() => first === STREAMS, `${STREAMS} first events`).catch(() => {
			throw new Error(`${first} streams had their first event, ${open} are open at the agent`);
		});
		await Promise.race([ends, allOpen]);
		expect(open).toBe(STREAMS);
		release();
		expect(await ends).toEqual(Array.from({ length: STREAMS }, () => 1));
		await until(() => open === 0, "every stream of the agent is over");
	} finally {
		release();
		await Promise.all(channels.map((client) => client.close()));
		await bench.close();
	}
});
