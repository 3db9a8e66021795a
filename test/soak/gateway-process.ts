/** A gateway in a process of its own, which tells its memory: heap and buffers after a collection, no noise of the tests. */
import { startGatewayFor } from "../peer/gateway.ts";

const [agentUrl] = process.argv.slice(2);
const gc = globalThis.gc;
if (!agentUrl || !process.send || !gc) throw new Error("run by fork with --expose-gc and an agent's URL");
const send = (message: unknown): void => void process.send?.(message);

const gateway = await startGatewayFor(agentUrl);
send({ url: gateway.url });

process.on("message", async (message) => {
	if (message === "close") {
		void gateway.close().finally(() => process.disconnect?.());
		return;
	}
	// Buffers are freed by finalizers, which run after a collection.
	for (let i = 0; i < 3; i++) {
		gc();
		await new Promise((resolve) => setImmediate(resolve));
	}
	const { heapUsed, external, rss } = process.memoryUsage();
	send({ live: heapUsed + external, rss, resources: process.getActiveResourcesInfo().length });
});
process.on("disconnect", () => process.exit(0));
