/** Packs the package, installs it elsewhere, and checks that it runs there and exports what src/index.ts says. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

interface Package {
	readonly name: string;
	readonly version: string;
	readonly exports?: Readonly<Record<string, unknown>>;
}

const root = fileURLToPath(new URL("../", import.meta.url));
const { name, version, exports = {} }: Package = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const scratch = mkdtempSync(join(tmpdir(), "a2a-gateway-pack-"));

function run(command: string, args: readonly string[], cwd: string): string {
	return execFileSync(command, [...args], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

function equal(what: string, got: unknown, wanted: unknown): void {
	const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
	if (a !== b) throw new Error(`${what}: ${a}, but wanted ${b}`);
	console.log(`${what}: ok`);
}

/** Names a module exports, in a process of its own. */
function names(specifier: string, cwd: string): unknown {
	const script = `console.log(JSON.stringify(Object.keys(await import(${JSON.stringify(specifier)})).sort()))`;
	return JSON.parse(run(process.execPath, ["--input-type=module", "-e", script], cwd));
}

try {
	run("npm", ["pack", "--pack-destination", scratch], root);
	const tarball = join(scratch, `${name}-${version}.tgz`);
	const files = run("tar", ["-tzf", tarball], root).split("\n");
	const stray = files.filter((file) => /^package\/(src|test|bench|scripts|node_modules)\//.test(file));
	equal("stray files in the package", stray, []);
	writeFileSync(join(scratch, "package.json"), '{ "private": true, "type": "module" }\n');
	run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", "--omit=dev", tarball], scratch);
	equal(
		"version of the installed program",
		run(join(scratch, "node_modules", ".bin", name), ["--version"], scratch).trim(),
		version,
	);
	equal("exports", names(name, scratch), names(new URL("../src/index.ts", import.meta.url).href, root));
	for (const path of Object.keys(exports)) {
		// Each entry of the map must lead somewhere.
		const specifier = join(name, path);
		const options = path.endsWith(".json") ? ', { with: { type: "json" } }' : "";
		run(
			process.execPath,
			["--input-type=module", "-e", `await import(${JSON.stringify(specifier)}${options})`],
			scratch,
		);
		console.log(`${specifier}: ok`);
	}
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
} finally {
	rmSync(scratch, { recursive: true, force: true });
}
