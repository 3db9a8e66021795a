/** The gateway under test, in this process, through its public entry: `startGateway(config, { log })`. */
import { existsSync } from "node:fs";
import { loadConfig, silent } from "../../src/config/index.ts";

const entry = new URL("../../src/gateway.ts", import.meta.url);

export interface Gateway {
	readonly url: string;
	close(): Promise<void>;
}

interface Entry {
	startGateway(config: ReturnType<typeof loadConfig>, deps: { log: typeof silent }): Promise<Gateway>;
}

/** Serves the agent at `agentUrl` on a port of its own. Throws while there is no gateway: nothing is skipped. */
export async function startGatewayFor(agentUrl: string, flags: readonly string[] = []): Promise<Gateway> {
	if (!existsSync(entry)) throw new Error("src/gateway.ts does not exist yet");
	const { startGateway } = (await import(/* @vite-ignore */ entry.href)) as Entry;
	const argv = ["--agent", agentUrl, "--listen", "127.0.0.1:0", ...flags];
	const config = loadConfig(argv, { env: {}, cwd: process.cwd(), terminal: false });
	const gateway = await startGateway(config, { log: silent });
	try {
		await ready(gateway.url);
	} catch (error) {
		await gateway.close();
		throw error;
	}
	return gateway;
}

/** A gateway opens its port before it knows the agent: waits until it says it is ready. */
export async function ready(url: string): Promise<void> {
	for (const deadline = Date.now() + 15_000; ; await new Promise((resolve) => setTimeout(resolve, 10))) {
		const response = await fetch(`${url}/readyz`);
		const text = await response.text();
		if (response.ok) return;
		if (Date.now() > deadline) throw new Error(`not ready: ${response.status} ${text}`);
	}
}
