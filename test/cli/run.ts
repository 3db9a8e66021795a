/** Runs the program as users do: a process of its own, on the Node that runs the tests. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import { main } from "../../src/cli.ts";

const BIN = fileURLToPath(new URL("../../bin/a2a-gateway.js", import.meta.url));

export interface Outcome {
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** Starts the program. Variables of ours in the surroundings do not count. */
function start(argv: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
	const clean = Object.entries(process.env).filter(([name]) => !name.startsWith("A2A_GATEWAY_"));
	return spawn(process.execPath, [BIN, ...argv], {
		env: { ...Object.fromEntries(clean), ...env },
		stdio: ["ignore", "pipe", "pipe"],
	});
}

/** Runs it to its end. */
export function run(argv: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
	return ended(start(argv, env));
}

/** Runs `serve` without waiting for anything. */
export function launch(argv: readonly string[]): { readonly child: ChildProcess; readonly outcome: Promise<Outcome> } {
	const child = start(["serve", "--listen", "127.0.0.1:0", ...argv], {});
	return { child, outcome: ended(child) };
}

async function ended(child: ChildProcess): Promise<Outcome> {
	const texts = { stdout: "", stderr: "" };
	child.stdout?.setEncoding("utf8").on("data", (text: string) => {
		texts.stdout += text;
	});
	child.stderr?.setEncoding("utf8").on("data", (text: string) => {
		texts.stderr += text;
	});
	const [code] = (await once(child, "close")) as [number | null];
	return { code, ...texts };
}

/** The same as a process does, in this one: nearly all of a start is loading. */
export async function inside(argv: readonly string[]): Promise<Outcome> {
	const texts = { stdout: "", stderr: "" };
	const spies = (["stdout", "stderr"] as const).map((name) =>
		vi.spyOn(process[name], "write").mockImplementation((text) => {
			texts[name] += String(text);
			return true;
		}),
	);
	try {
		return { code: await main(argv), ...texts };
	} finally {
		for (const spy of spies) spy.mockRestore();
	}
}

export interface Served {
	readonly url: string;
	readonly child: ChildProcess;
	/** What it has written so far. */
	output(): { readonly stdout: string; readonly stderr: string };
	/** Sends SIGTERM (again, if called again) and waits for the end. */
	stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Runs `serve` until it says where it listens and is ready. */
export async function serve(argv: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Served> {
	const child = start(["serve", "--listen", "127.0.0.1:0", ...argv], env);
	const texts = { stdout: "", stderr: "" };
	const closed = once(child, "close") as Promise<[number | null]>;
	child.stderr?.setEncoding("utf8").on("data", (text: string) => {
		texts.stderr += text;
	});
	if (!child.stdout) throw new Error("no standard output");
	const url = await new Promise<string>((resolve, reject) => {
		createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
			texts.stdout += `${line}\n`;
			const found = /^a2a-gateway listening on (\S+)$/.exec(line)?.[1];
			if (found !== undefined) resolve(found);
		});
		closed.then(([code]) => reject(new Error(`serve ended with ${code}: ${texts.stderr}`)), reject);
	});
	return {
		url,
		child,
		output: () => texts,
		async stop(signal = "SIGTERM") {
			child.kill(signal);
			const [code] = await closed;
			return code;
		},
	};
}

/** Asks until the answer is as wanted; the test's own time limit is the bound. */
export async function until(url: string, wanted: number): Promise<void> {
	for (;;) {
		const response = await fetch(url);
		await response.arrayBuffer();
		if (response.status === wanted) return;
		await new Promise((resolve) => setTimeout(resolve, 25));
	}
}
