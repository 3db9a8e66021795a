/** The parent's half of the measuring protocol: starts a process pinned to a core, waits until it serves, asks it things. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { Usage } from "./probe.ts";

/** Cores: the subject's and everyone else's. */
export const cores = { subject: 0, load: 1 } as const;

export interface Child {
	readonly name: string;
	readonly ports: Readonly<Record<string, number>>;
	/** Milliseconds from spawn to the line that says it serves (and, for ours, to readiness). */
	readonly started: number;
	ask<T>(question: string, value?: unknown): Promise<T>;
	usage(): Promise<Usage>;
	/** Usage after full garbage collections. */
	collect(): Promise<Usage>;
	/** Has it ended, wanted or not? */
	dead(): boolean;
	stop(): Promise<void>;
}

export interface SpawnOptions {
	readonly name: string;
	/** Arguments of node: the program and its own. */
	readonly args: readonly string[];
	readonly core: number;
	/** Where its standard error goes, one file per child. */
	readonly logs: string;
	readonly env?: Readonly<Record<string, string>>;
	/** Reads ports from a line of standard output; undefined = not the line. */
	readonly parse?: (line: string) => Record<string, number> | undefined;
}

const probe = join(import.meta.dirname, "probe.ts");
const root = join(import.meta.dirname, "..");
const alive = new Set<ChildProcess>();
process.on("exit", () => {
	for (const child of alive) child.kill("SIGKILL");
});

let pins: boolean | undefined;

/** Can processes be pinned to two cores here? */
export function canPin(): boolean {
	if (pins === undefined) {
		try {
			for (const core of Object.values(cores)) execFileSync("taskset", ["-c", `${core}`, "true"], { stdio: "ignore" });
			pins = true;
		} catch {
			pins = false;
		}
	}
	return pins;
}

/** Pins this process, all its threads. */
export function pinSelf(): void {
	if (canPin()) execFileSync("taskset", ["-acp", `${cores.load}`, `${process.pid}`], { stdio: "ignore" });
}

function jsonPorts(line: string): Record<string, number> | undefined {
	return line.startsWith("{") ? (JSON.parse(line) as Record<string, number>) : undefined;
}

let serial = 0;

/** Starts a child and resolves when it serves. Rejects, with the end of its standard error, when it does not within 20 s. */
export function start(options: SpawnOptions): Promise<Child> {
	const log = join(options.logs, `${++serial}-${options.name.replace(/[^\w]+/g, "-")}.log`);
	const node = [process.execPath, "--import", probe, ...options.args];
	const command = canPin() ? ["taskset", "-c", `${options.core}`, ...node] : node;
	const begun = performance.now();
	const child = spawn(command[0] as string, command.slice(1), {
		cwd: root,
		stdio: ["ignore", "pipe", openSync(log, "a"), "ipc"],
		env: { ...process.env, NO_COLOR: "1", ...options.env },
	});
	alive.add(child);
	const parse = options.parse ?? jsonPorts;
	const asked = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
	let id = 0;
	let ended = false;

	const ask = <T>(ask: string, value?: unknown): Promise<T> =>
		new Promise<T>((resolve, reject) => {
			if (ended) return reject(new Error(`${options.name} has ended`));
			id += 1;
			asked.set(id, { resolve: resolve as (value: unknown) => void, reject });
			child.send({ id, ask, value });
		});

	child.on("message", (message: { id: number; value: unknown }) => {
		asked.get(message.id)?.resolve(message.value);
		asked.delete(message.id);
	});

	return new Promise<Child>((resolve, reject) => {
		const fail = (why: string) => {
			const tail = readFileSync(log, "utf8").trim().split("\n").slice(-12).join("\n");
			reject(new Error(`${options.name}: ${why}${tail && `\n${tail}`}`));
			child.kill("SIGKILL");
		};
		const timer = setTimeout(() => fail("does not serve after 20 s"), 20_000);
		child.on("error", (error) => fail(error.message));
		child.on("exit", (code, signal) => {
			ended = true;
			alive.delete(child);
			clearTimeout(timer);
			for (const { reject } of asked.values()) reject(new Error(`${options.name} ended (${code ?? signal})`));
			fail(`ended (${code ?? signal})`);
		});
		let text = "";
		child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
			text += chunk;
			const lines = text.split("\n");
			text = lines.pop() ?? "";
			for (const line of lines) {
				const ports = parse(line);
				if (ports === undefined) continue;
				clearTimeout(timer);
				resolve({
					name: options.name,
					ports,
					started: performance.now() - begun,
					ask,
					usage: () => ask<Usage>("usage"),
					collect: () => ask<Usage>("collect"),
					dead: () => ended,
					stop: () => stop(child),
				});
			}
		});
	});
}

function stop(child: ChildProcess): Promise<void> {
	return new Promise((resolve) => {
		if (!alive.has(child)) return resolve();
		const timer = setTimeout(() => child.kill("SIGKILL"), 1500);
		child.on("exit", () => {
			clearTimeout(timer);
			resolve();
		});
		child.kill("SIGTERM");
	});
}
