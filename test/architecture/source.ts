/** Reads TypeScript source as text: code without comments, and what a file imports. No compiler needed. */
import { readdirSync, readFileSync } from "node:fs";

/** Path relative to the repository → text. */
export type Sources = ReadonlyMap<string, string>;

const root = new URL("../../", import.meta.url).pathname;

export function readSources(folder: string): Sources {
	const names = readdirSync(root + folder, { recursive: true, encoding: "utf8" });
	const files = names.filter((name) => name.endsWith(".ts")).sort();
	return new Map(files.map((name) => [`${folder}/${name}`, readFileSync(`${root}${folder}/${name}`, "utf8")]));
}

// Comment, string, template, or a regular expression where one may stand; templates may hold one level of braces.
const token =
	/\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`|(?<=(?:[(,=:[!&|?{};\n]|=>|return)\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[dgimsuvy]*/g;

/** The code with comments blanked out; strings stay, they are part of what the code says. */
export function withoutComments(text: string): string {
	return text.replace(token, (match) => (match.startsWith("//") || match.startsWith("/*") ? " " : match));
}

const importing =
	/(?:^|[;\n}])\s*(?:import|export)\s+(?:[\w*{}\s,$]+?\sfrom\s*)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/g;

/** Specifiers a file imports or re-exports from, types included, dynamic imports of a literal too. */
export function importsOf(text: string): string[] {
	return [...withoutComments(text).matchAll(importing)].map((match) => match[1] ?? match[2] ?? "");
}

/** A relative import as a path from the repository's root. */
export function resolveImport(from: string, specifier: string): string {
	const parts = from.split("/").slice(0, -1);
	for (const part of specifier.split("/")) {
		if (part === "..") parts.pop();
		else if (part !== ".") parts.push(part);
	}
	return parts.join("/");
}
