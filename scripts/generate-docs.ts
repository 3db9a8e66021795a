/** Writes what the option table says into README.md and schema/config.schema.json; --check only compares. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { jsonSchema, markdown } from "../src/config/index.ts";

const ROOT = new URL("../", import.meta.url);
const BEGIN = "<!-- options: written by npm run generate -->";
const END = "<!-- /options -->";

function read(name: string): string {
	try {
		return readFileSync(new URL(name, ROOT), "utf8");
	} catch {
		return "";
	}
}

function readme(): string {
	const text = read("README.md");
	const from = text.indexOf(BEGIN);
	const to = text.indexOf(END);
	if (from < 0 || to < from) throw new Error(`README.md lacks "${BEGIN}" ... "${END}"`);
	return `${text.slice(0, from)}${BEGIN}\n${markdown()}\n${text.slice(to)}`;
}

/** As the formatter wants it, so that both checks can be met. */
function formatted(name: string, text: string): string {
	const biome = fileURLToPath(new URL("node_modules/.bin/biome", ROOT));
	return execFileSync(biome, ["format", `--stdin-file-path=${name}`], {
		cwd: fileURLToPath(ROOT),
		input: text,
		encoding: "utf8",
	});
}

const SCHEMA = "schema/config.schema.json";
const wanted = new Map([
	["README.md", readme()],
	[SCHEMA, formatted(SCHEMA, JSON.stringify(jsonSchema(), undefined, "\t"))],
]);
const stale = [...wanted].filter(([name, text]) => read(name) !== text);
if (process.argv.includes("--check")) {
	for (const [name] of stale) console.error(`${name} is not what the option table says: run npm run generate`);
	process.exitCode = stale.length > 0 ? 1 : 0;
} else {
	mkdirSync(new URL("schema/", ROOT), { recursive: true });
	for (const [name, text] of stale) writeFileSync(new URL(name, ROOT), text);
	console.log(stale.length > 0 ? `written: ${stale.map(([name]) => name).join(", ")}` : "already fresh");
}
