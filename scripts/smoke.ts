/**
 * Starts the gateway as users do, runs every line it prints, asks the demo agent in every version and binding with
 * this program as the client, then stops it with SIGTERM. Usage: node scripts/smoke.ts [COMMAND...]; default: npm start.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const bin = fileURLToPath(new URL("../bin/a2a-gateway.js", import.meta.url));
const given = process.argv.slice(2);
const command = given.length > 0 ? given : ["npm", "start", "--silent", "--"];
const [program = "npm", ...args] = command;
const SECONDS = 180;
const limit = setTimeout(() => {
	console.error(`smoke: no end after ${SECONDS} s`);
	endAll();
	process.exit(1);
}, SECONDS * 1000);

/** The URL of the line on standard output. */
async function listening(child: ChildProcess): Promise<string> {
	if (!child.stdout) throw new Error("no standard output");
	for await (const line of createInterface({ input: child.stdout })) {
		const url = /^a2a-gateway listening on (\S+)$/.exec(line)?.[1];
		if (url !== undefined) return url;
	}
	throw new Error("the gateway ended without saying where it listens");
}

/** Until the agent's card is known, and not for ever. */
async function ready(url: string): Promise<void> {
	for (let tries = 0; tries < 100; tries++) {
		if ((await fetch(`${url}/readyz`)).status === 200) return;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	throw new Error("/readyz stays red");
}

/** Runs a program to its end; what it wrote to standard output. */
function run(file: string, argv: readonly string[]): Promise<string> {
	return new Promise((resolve, reject) => {
		execFile(file, [...argv], { timeout: 30_000 }, (error, stdout, stderr) => {
			if (error) reject(new Error(`${file} ${argv.join(" ")}: ${stderr || error.message}`));
			else resolve(stdout);
		});
	});
}

const has = (tool: string): Promise<boolean> =>
	run("sh", ["-c", `command -v ${tool}`]).then(
		() => true,
		() => false,
	);

function expectReport(what: string, answer: string): void {
	if (!answer.includes("4 words, 19 characters")) throw new Error(`unexpected answer to ${what}: ${answer}`);
	console.log(`smoke: ${what} ok`);
}

/** The lines that are meant to be pasted, once they are all there: they come by another pipe than the one that says ready. */
async function pasteable(): Promise<readonly string[]> {
	for (let tries = 0; tries < 100; tries++) {
		const lines = printed.split("\n").flatMap((line) => (line.startsWith("  ") ? [line.trim()] : []));
		if (lines.length >= 14) return lines;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	throw new Error("the lines to paste are not all there");
}

/** Pastes one line into a shell. */
async function paste(line: string, tools: ReadonlyMap<string, boolean>): Promise<void> {
	const [tool = ""] = line.split(" ");
	if (tools.get(tool) === false) {
		console.log(`smoke: SKIPPED, there is no ${tool} on this machine: ${line}`);
		return;
	}
	// The program itself runs on the Node that is being tried.
	const text = line.replace(/^npm exec a2a-gateway -- /, () => `'${process.execPath}' '${bin}' `);
	const answer = await run("sh", ["-c", text]);
	if (/agent-card\.json/.test(line)) {
		if (!("skills" in JSON.parse(answer))) throw new Error(`not a card: ${answer}`);
		console.log(`smoke: ${line} ok`);
		return;
	}
	const streamed = /^curl -sNk? /.test(line);
	if (streamed !== answer.startsWith("data: ")) throw new Error(`${streamed ? "no" : "a"} stream: ${answer}`);
	expectReport(line, answer);
}

const gateway = spawn(program, [...args, "--listen", "127.0.0.1:0"], {
	cwd: root,
	stdio: ["ignore", "pipe", "pipe"],
	// A group of its own: npm killed outright would leave behind what it started.
	detached: true,
});
function endAll(): void {
	try {
		if (gateway.pid !== undefined) process.kill(-gateway.pid, "SIGKILL");
	} catch {
		// Nothing of it is left.
	}
}
for (const signal of ["SIGINT", "SIGTERM"] as const) {
	process.once(signal, () => {
		endAll();
		process.exit(1);
	});
}
gateway.on("error", (error) => {
	console.error(`smoke: ${error.message}`);
	process.exit(1);
});
let printed = "";
gateway.stderr.setEncoding("utf8").on("data", (text: string) => {
	printed += text;
});
try {
	const url = await listening(gateway);
	await ready(url);
	const lines = await pasteable();
	const tools = new Map<string, boolean>();
	for (const tool of ["curl", "grpcurl"]) tools.set(tool, await has(tool));
	for (const line of lines) await paste(line, tools);

	const ways = [
		...["JSONRPC", "HTTP+JSON", "GRPC"].flatMap((binding) => ["1.0", "0.3"].map((version) => [binding, version])),
		["JSONRPC", "0.2"],
		["JSONRPC", "0.1"],
	] as const;
	for (const [binding = "", version = ""] of ways) {
		for (const more of [[], ["--stream"]]) {
			const flags = ["--binding", binding, "--protocol", version, ...more];
			const answer = await run(process.execPath, [bin, "call", url, "the quick brown fox", ...flags]);
			if (!/: completed$/m.test(answer)) throw new Error(`unexpected answer to call ${flags.join(" ")}: ${answer}`);
			expectReport(`call ${flags.join(" ")}`, answer);
		}
	}
	const ended = once(gateway, "exit");
	gateway.kill("SIGTERM");
	const [code, signal] = (await ended) as [number | null, string | null];
	if (code !== 0) throw new Error(`after SIGTERM the gateway ended with ${code ?? signal}`);
	// npm may end and leave behind what it started.
	const answers = await fetch(`${url}/healthz`).then(
		() => true,
		() => false,
	);
	if (answers) throw new Error("SIGTERM did not reach the gateway: it still answers");
	console.log("smoke: stopped cleanly");
} catch (error) {
	console.error(`smoke: ${error instanceof Error ? error.message : error}`);
	console.error(printed);
	endAll();
	process.exitCode = 1;
} finally {
	clearTimeout(limit);
	gateway.stdout.destroy();
	gateway.stderr.destroy();
}
