/**
 * Starts the gateway as users do and asks the demo agent through each binding with this program as the client,
 * then stops it with SIGTERM. Usage: node scripts/smoke.ts [COMMAND...]; default: npm start.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const bin = fileURLToPath(new URL("../bin/a2a-gateway.js", import.meta.url));
const given = process.argv.slice(2);
const command = given.length > 0 ? given : ["npm", "start", "--silent", "--"];
const [program = "npm", ...args] = command;
const limit = setTimeout(() => {
	console.error("smoke: no end after 90 s");
	process.exit(1);
}, 90_000);

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

async function ask(url: string, flags: readonly string[]): Promise<string> {
	const child = spawn(process.execPath, [bin, "call", url, "the quick brown fox", ...flags], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	const chunks: Buffer[] = [];
	child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
	const [code] = (await once(child, "close")) as [number | null];
	const text = Buffer.concat(chunks).toString("utf8");
	if (code !== 0) throw new Error(`call ${flags.join(" ")} ended with ${code}`);
	return text;
}

const gateway = spawn(program, [...args, "--listen", "127.0.0.1:0"], {
	cwd: root,
	stdio: ["ignore", "pipe", "inherit"],
});
gateway.on("error", (error) => {
	console.error(`smoke: ${error.message}`);
	process.exit(1);
});
try {
	const url = await listening(gateway);
	await ready(url);
	for (const binding of ["JSONRPC", "HTTP+JSON", "GRPC"]) {
		for (const more of [[], ["--stream"]]) {
			const answer = await ask(url, ["--binding", binding, ...more]);
			const fits = answer.includes("4 words, 19 characters") && answer.includes(": completed");
			if (!fits) throw new Error(`unexpected answer over ${binding}: ${answer}`);
			console.log(`smoke: ${[binding, ...more].join(" ")} ok`);
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
	gateway.kill("SIGKILL");
	process.exitCode = 1;
} finally {
	clearTimeout(limit);
	gateway.stdout?.destroy();
}
