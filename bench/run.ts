/** `npm run bench`: the ratios of the performance targets, in one interleaved run on this machine (docs/performance.md). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { canPin, pinSelf } from "./child.ts";
import { sizes } from "./fixtures.ts";
import { growth } from "./groups/growth.ts";
import { idle } from "./groups/idle.ts";
import { large } from "./groups/large.ts";
import { start } from "./groups/start.ts";
import { stream } from "./groups/stream.ts";
import { unary } from "./groups/unary.ts";
import { type Group, type Options, readOptions, usage } from "./options.ts";
import { renderJson, renderTable, summary, verdict } from "./report.ts";
import { Stage } from "./stage.ts";

const runs: Record<Group, (stage: Stage) => Promise<void>> = { unary, stream, growth, idle, large, start };

async function run(options: Options): Promise<number> {
	const directory = mkdtempSync(join(tmpdir(), "a2a-gateway-bench-"));
	const stage = new Stage(options.plan, directory, options.sdk);
	const watchdog = setTimeout(() => {
		process.stderr.write(`given up after ${options.plan.limit / 60_000} minutes; logs in ${directory}\n`);
		process.exit(1);
	}, options.plan.limit);
	const { request, answer, event } = sizes();
	const facts = {
		date: new Date().toISOString(),
		node: process.version,
		cpu: `${availableParallelism()} × ${cpus()[0]?.model ?? "unknown"}`,
		pinned: canPin(),
		mode: options.quick ? "quick" : "full",
		subject: options.sdk ? "sdk-gateway" : "ours",
		bytes: { request, answer, event },
		loadBefore: loadavg()[0],
	};
	stage.note(
		`node ${facts.node}, ${facts.cpu}, ${facts.mode} run, JSON/protobuf bytes: request ${request.join("/")}, answer ${answer.join("/")}, event ${event.join("/")}`,
	);
	if (!facts.pinned)
		stage.note("ATTENTION: no taskset or one core only: subject and load share cores, ratios are rough");
	const busy = (loadavg()[0] ?? 0).toFixed(1);
	if (Number(busy) > 0.5)
		stage.note(`ATTENTION: others use this machine (load ${busy}): rates and times will be off, CPU per call less`);
	pinSelf();
	try {
		await stage.open();
		for (const group of options.only) await runs[group](stage);
	} finally {
		await stage.close();
		clearTimeout(watchdog);
	}
	process.stdout.write(`\n${renderTable(stage.findings)}\n\n${summary(stage.findings)}\n`);
	// The run itself keeps two processes busy.
	const load = loadavg()[0] ?? 0;
	if (load > 3)
		process.stdout.write(`The machine was shared (load ${load.toFixed(1)}): rates and times are not to be trusted.\n`);
	if (options.quick) process.stdout.write("Quick run: under-heated and short. Judge by the full one.\n");
	if (options.json !== undefined)
		writeFileSync(options.json, renderJson(stage.findings, { ...facts, loadAfter: load }));
	if (stage.broken.size > 0) process.stdout.write(`What broke printed to ${stage.keepLogs()}\n`);
	else rmSync(directory, { recursive: true, force: true });
	const met = stage.findings.every((finding) => ["pass", "–"].includes(verdict(finding)));
	return options.assert && !met ? 1 : 0;
}

let options: Options | "help" | undefined;
try {
	options = readOptions(process.argv.slice(2));
} catch (error) {
	process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${usage}`);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));
if (options === "help") process.stdout.write(usage);
else process.exit(options === undefined ? 2 : await run(options));
