#!/usr/bin/env node
// The executable: a build where there is one to use, else the sources, which Node runs as they are.
// Plain JavaScript that old versions parse too, so that they can be told that they are too old.
import { existsSync } from "node:fs";

const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
	console.error(`a2a-gateway needs Node.js 24 or later; this is ${process.version}`);
	process.exit(1);
}

// In a checkout the sources count: a build there may be old. A published package has the build only.
const source = new URL("../src/cli.ts", import.meta.url);
const built = new URL("../dist/src/cli.js", import.meta.url);
const { main } = await import(existsSync(source) ? source.href : built.href);
// Whatever a command did not foresee is one line, never a stack trace. (serve logs it first.)
for (const event of ["uncaughtException", "unhandledRejection"]) {
	process.on(event, (error) => {
		console.error(`error: ${error instanceof Error ? error.message : error}`);
		process.exit(1);
	});
}
process.exitCode = await main(process.argv.slice(2));
// Nothing is left to do once the output is out: a socket that lingers must not keep the process.
process.stdout.write("", () => process.stderr.write("", () => setTimeout(() => process.exit(), 100).unref()));
