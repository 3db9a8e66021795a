/** `health [URL]`: asks a running gateway whether it lives. For container health checks; not shown in the help. */
import { request as http } from "node:http";
import { request as https } from "node:https";
import { readArgs } from "../config/index.ts";
import type { Command } from "./command.ts";
import { out } from "./output.ts";

const TIMEOUT = 3_000;

export const health: Command = {
	help: () =>
		"Usage: a2a-gateway health [URL]\n\nExit code 0 when GET /healthz answers 200. Default: where A2A_GATEWAY_LISTEN says.",
	async run(argv) {
		const { positionals } = readArgs(argv, []);
		const status = await get(new URL("/healthz", positionals[0] ?? ownUrl(process.env)));
		if (status !== 200) throw new Error(`/healthz answered ${status}`);
		out("ok");
		return 0;
	},
};

/** The gateway in the same container: an address that means "all" is reached on loopback. */
export function ownUrl(env: NodeJS.ProcessEnv): string {
	const listen = env["A2A_GATEWAY_LISTEN"] || "127.0.0.1:8080";
	const scheme = env["A2A_GATEWAY_TLS_CERT"] ? "https" : "http";
	return `${scheme}://${listen.replace(/^0\.0\.0\.0:/, "127.0.0.1:").replace(/^\[::\]:/, "[::1]:")}`;
}

function get(url: URL): Promise<number> {
	return new Promise((resolve, reject) => {
		// Its own certificate need not name the loopback address; nothing secret is sent or believed.
		const options = { agent: false, timeout: TIMEOUT, rejectUnauthorized: false } as const;
		const request = (url.protocol === "https:" ? https : http)(url, options, (response) => {
			response.resume();
			resolve(response.statusCode ?? 0);
		});
		request.on("timeout", () => request.destroy(new Error(`no answer within ${TIMEOUT} ms`)));
		request.on("error", reject);
		request.end();
	});
}
