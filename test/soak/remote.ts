/** Starts gateway-process.ts and asks it things. */
import { type ChildProcess, fork } from "node:child_process";

export interface Memory {
	/** Heap in use plus buffers, bytes, after a collection. */
	readonly live: number;
	readonly rss: number;
	/** Open sockets, timers and the like. */
	readonly resources: number;
}

export interface RemoteGateway {
	readonly url: string;
	memory(): Promise<Memory>;
	close(): Promise<void>;
}

export async function startRemote(agentUrl: string): Promise<RemoteGateway> {
	const script = new URL("./gateway-process.ts", import.meta.url).pathname;
	// A worker of vitest has loaders of its own; the gateway runs as users run it.
	const child: ChildProcess = fork(script, [agentUrl], {
		execArgv: ["--expose-gc"],
		env: { PATH: process.env["PATH"] ?? "" },
		stdio: ["ignore", "inherit", "inherit", "ipc"],
	});
	const next = <T>(): Promise<T> =>
		new Promise((resolve, reject) => {
			const exited = (code: number | null): void => reject(new Error(`the gateway process ended with ${code}`));
			child.once("exit", exited);
			child.once("message", (message) => {
				child.off("exit", exited);
				resolve(message as T);
			});
		});
	const { url } = await next<{ url: string }>();
	return {
		url,
		memory: () => {
			const answer = next<Memory>();
			child.send("memory");
			return answer;
		},
		close: () =>
			new Promise((resolve) => {
				const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
				child.once("exit", () => {
					clearTimeout(timer);
					resolve();
				});
				if (child.exitCode !== null) resolve();
				else child.send("close");
			}),
	};
}
