/** Everything a measurement stands on: the agent, the subjects by name, notes on progress, and what to do when one fails. */
import { mkdirSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Mode } from "./agent.ts";
import { type Child, cores, start } from "./child.ts";
import type { BindingName } from "./fixtures.ts";
import { client, type LoadClient } from "./load/client.ts";
import type { Plan } from "./options.ts";
import type { Finding } from "./report.ts";
import type { TargetName } from "./targets.ts";

/** A subject and the way through it. */
export interface Route {
	readonly kind: "plain" | "ours" | "sdk";
	/** The subject's name: passthrough, http-proxy, sse-relay, sdk-gateway, ours. */
	readonly name: string;
	readonly from: BindingName;
	readonly to: BindingName;
}

export const label = ({ name, kind, from, to }: Route) => (kind === "plain" ? name : `${name} ${from}→${to}`);
export const pair = ({ from, to }: Route) => `${from} → ${to}`;

/** Resolves with the status of GET /readyz, 0 when nothing answers. */
function readiness(port: number): Promise<number> {
	return new Promise((resolve) => {
		const request = get({ host: "127.0.0.1", port, path: "/readyz", agent: false }, (answer) => {
			answer.resume();
			resolve(answer.statusCode ?? 0);
		});
		request.on("error", () => resolve(0));
	});
}

export class Stage {
	readonly plan: Plan;
	readonly findings: Finding[] = [];
	/** Routes that broke, and how. */
	readonly broken = new Map<string, string>();
	readonly #logs: string;
	readonly #begun = performance.now();
	/** The shared processes by label, and every process ever started. */
	readonly #children = new Map<string, Child>();
	readonly #started: [label: string, child: Child][] = [];
	#agent: Child | undefined;

	readonly #standIn: boolean;

	/** `standIn`: the SDK's gateway plays ours, which shows what the harness says of another one. */
	constructor(plan: Plan, directory: string, standIn: boolean) {
		this.plan = plan;
		this.#standIn = standIn;
		this.#logs = directory;
	}

	note(text: string): void {
		const seconds = ((performance.now() - this.#begun) / 1000).toFixed(0).padStart(4);
		process.stderr.write(`${seconds} s  ${text}\n`);
	}

	record(target: TargetName, what: string, value: number, raw: string): void {
		this.findings.push({ target, what, value, raw });
	}

	async open(): Promise<void> {
		this.#agent = await start({ name: "agent", args: ["bench/agent.ts"], core: cores.load, logs: this.#logs });
	}

	get agent(): Child {
		if (this.#agent === undefined) throw new Error("the stage is not open");
		return this.#agent;
	}

	/** What the agent does from now on; what is not said is the default: 100 events, unpaced, 1 KB answers. */
	async mode(mode: Partial<Mode>): Promise<void> {
		await this.agent.ask("mode", { events: 100, gap: 0, hold: false, answer: 0, ...mode });
	}

	/** Starts a process of its own for the route and waits until it is ready. The caller stops it. */
	async fresh(route: Route): Promise<Child> {
		const child = await this.#start(route);
		this.#started.push([label(route), child]);
		if (route.kind !== "ours") return child;
		// The port is open before the agent is known.
		const listening = performance.now();
		while ((await readiness(child.ports["http"] as number)) === 503) await sleep(2);
		return { ...child, started: child.started + performance.now() - listening };
	}

	#start(route: Route): Promise<Child> {
		const url = `http://127.0.0.1:${this.agent.ports[route.to]}`;
		const common = { name: label(route), core: cores.subject, logs: this.#logs };
		const program = this.#isSdk(route) ? "sdk-gateway" : route.name;
		if (program !== "ours") return start({ ...common, args: [`bench/subjects/${program}.ts`, url] });
		// The real thing with its defaults; a later default state (a file) lands in the run's own directory.
		const state = join(this.#logs, `state-${this.#started.length}`);
		mkdirSync(state, { recursive: true });
		return start({
			...common,
			args: ["bin/a2a-gateway.js", "serve", "--agent", url, "--listen", "127.0.0.1:0"],
			env: { XDG_STATE_HOME: state },
			parse(line) {
				const port = /listening on https?:\/\/.*:(\d+)/.exec(line)?.[1];
				return port === undefined ? undefined : { http: Number(port), grpc: Number(port) };
			},
		});
	}

	#isSdk(route: Route): boolean {
		return route.kind === "sdk" || (route.kind === "ours" && this.#standIn);
	}

	/** The route's process, shared by the measurements and kept until the run ends. */
	async subject(route: Route): Promise<Child> {
		const known = this.#children.get(label(route));
		if (known !== undefined && !known.dead()) return known;
		const child = await this.fresh(route);
		this.#children.set(label(route), child);
		return child;
	}

	/** A client of the route's subject. */
	client(route: Route, child: Child): LoadClient {
		const prefix = this.#isSdk(route) && route.from === "HTTP+JSON" ? "/rest" : "";
		return client(route.from, { port: child.ports[route.from === "GRPC" ? "grpc" : "http"] as number, prefix });
	}

	/** A client straight to the agent in this binding: what the call costs without anyone between. */
	direct(binding: BindingName): LoadClient {
		return client(binding, { port: this.agent.ports[binding === "GRPC" ? "grpc" : binding] as number });
	}

	/**
	 * Runs one measurement of a route, at most `limit` ms. A failure is noted and ends the part in the run of the
	 * route's shared process, or of this measurement alone when it uses a fresh one; nothing else.
	 */
	async attempt<T>(
		route: Route,
		{ doing, limit, fresh = false }: { doing: string; limit: number; fresh?: boolean },
		work: () => Promise<T>,
	): Promise<T | undefined> {
		const who = fresh ? `${label(route)}, ${doing}` : label(route);
		if (this.broken.has(who)) return undefined;
		let timer: NodeJS.Timeout | undefined;
		const late = new Promise<never>((_, reject) => {
			timer = setTimeout(() => reject(new Error(`not done after ${limit / 1000} s`)), limit);
		});
		try {
			return await Promise.race([work(), late]);
		} catch (error) {
			const why = error instanceof Error ? error.message : String(error);
			this.broken.set(who, `${doing}: ${why}`);
			this.note(`BROKEN ${label(route)}, ${doing}: ${why}`);
			// Whatever still goes on in it must not disturb the others.
			for (const [name, child] of this.#started) if (name === label(route)) void child.stop();
			return undefined;
		} finally {
			clearTimeout(timer);
		}
	}

	/** Why a route has no numbers. */
	why(route: Route, doing?: string): string {
		const who = doing === undefined ? label(route) : `${label(route)}, ${doing}`;
		return (this.broken.get(who) ?? "not run").split("\n")[0] as string;
	}

	async close(): Promise<void> {
		await Promise.all([...this.#started.map(([, child]) => child), this.#agent].map((child) => child?.stop()));
	}

	/** Keeps what was printed by a broken subject where people can read it. */
	keepLogs(): string {
		writeFileSync(join(this.#logs, "broken.txt"), [...this.broken].map(([who, why]) => `${who}: ${why}\n`).join(""));
		return this.#logs;
	}
}
