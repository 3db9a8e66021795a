/** Fails when gen/ is not what buf makes of proto/, or when the README and the schema are not what the options say. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const bin = join(root, "node_modules", ".bin");
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` };

/** Content by path below a directory. */
function contents(directory: string): Map<string, string> {
	const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
	return new Map(
		entries.map((entry) => {
			const file = join(entry.parentPath, entry.name);
			return [file.slice(directory.length + 1), readFileSync(file, "utf8")];
		}),
	);
}

const scratch = mkdtempSync(join(tmpdir(), "a2a-gateway-gen-"));
try {
	execFileSync(join(bin, "buf"), ["generate", "--output", scratch], { cwd: root, env, stdio: "inherit" });
	const fresh = contents(join(scratch, "gen"));
	const committed = contents(join(root, "gen"));
	const stale = [...new Set([...fresh.keys(), ...committed.keys()])].filter(
		(name) => fresh.get(name) !== committed.get(name),
	);
	for (const name of stale) console.error(`gen/${name} is not what proto/ says: run npm run generate`);
	execFileSync(process.execPath, [join(root, "scripts", "generate-docs.ts"), "--check"], { stdio: "inherit" });
	if (stale.length > 0) process.exitCode = 1;
	else console.log("generated files are fresh");
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
} finally {
	rmSync(scratch, { recursive: true, force: true });
}
