/** The rules of the house as functions from sources to violations, so that each can be shown to fail. */
import { builtinModules } from "node:module";
import { importsOf, resolveImport, type Sources, withoutComments } from "./source.ts";

/** A folder, or a file of src itself, may import from itself and from those before it. */
export const layers = [
	"call",
	"wire",
	"schema",
	"dialect",
	"card",
	"catalogue",
	"state",
	"core",
	"binding",
	"listener",
	"demo",
	"config",
	// The composition root, in the order it builds.
	"registry.ts",
	"agent.ts",
	"agents.ts",
	"added.ts",
	"admin.ts",
	"gateway.ts",
	"cli",
	"cli.ts",
	"index.ts",
] as const;

/** The two ports: contracts that stand beside the vocabulary. Everything may import them; they import only downwards. */
export const ports: ReadonlyMap<string, readonly string[]> = new Map([
	["src/dialect/dialect.ts", ["call"]],
	["src/binding/binding.ts", ["call", "dialect"]],
]);

/** Folders that may see less than the layers before them. */
const narrow: Readonly<Record<string, readonly string[]>> = {
	binding: ["call", "wire", "schema", "dialect", "binding"],
};

const layerOf = (path: string): string => path.split("/")[1] ?? "";

function relativeImports(path: string, text: string): string[] {
	return importsOf(text)
		.filter((specifier) => specifier.startsWith("."))
		.map((specifier) => resolveImport(path, specifier));
}

/** `src/core/x.ts → src/binding/y.ts`: an import of a layer that comes later. */
export function layerViolations(sources: Sources): string[] {
	const found: string[] = [];
	for (const [path, text] of sources) {
		const from = layerOf(path);
		const rank = layers.indexOf(from as never);
		if (rank < 0) found.push(`${path} is in no layer`);
		for (const target of relativeImports(path, text)) {
			if (target.startsWith("gen/")) continue;
			if (!target.startsWith("src/")) {
				found.push(`${path} → ${target}`);
				continue;
			}
			const to = layerOf(target);
			const own = ports.get(path);
			const allowed = own
				? own.includes(to)
				: ports.has(target) || (narrow[from]?.includes(to) ?? layers.indexOf(to as never) <= rank);
			if (!allowed) found.push(`${path} → ${target}`);
		}
	}
	return found;
}

/** Import cycles, each as the list of its files. Types count: a cycle of types is one design in two files. */
export function cycles(sources: Sources): string[] {
	const graph = new Map([...sources].map(([path, text]) => [path, relativeImports(path, text)]));
	const found = new Set<string>();
	const state = new Map<string, "open" | "done">();
	const visit = (path: string, trail: readonly string[]): void => {
		if (state.get(path) === "done" || !graph.has(path)) return;
		if (state.get(path) === "open") {
			found.add([...trail.slice(trail.indexOf(path)), path].join(" → "));
			return;
		}
		state.set(path, "open");
		for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
		state.set(path, "done");
	};
	for (const path of graph.keys()) visit(path, []);
	return [...found];
}

/** Places that name an operation, in code or in a string: `file: name`. Comments do not count. */
export function operationNames(sources: Sources, rpcs: readonly string[]): string[] {
	const names = rpcs.flatMap((rpc) => [rpc, rpc.charAt(0).toLowerCase() + rpc.slice(1)]);
	const pattern = new RegExp(`(?<![\\w$])(?:${names.join("|")})(?![\\w$])`, "g");
	return [...sources]
		.filter(([path]) => !path.startsWith("src/dialect/") && !path.startsWith("src/demo/"))
		.flatMap(([path, text]) => [...withoutComments(text).matchAll(pattern)].map(([name]) => `${path}: ${name}`));
}

/** Imports of anything that is neither ours, nor Node's, nor a run-time dependency. */
export function foreignImports(sources: Sources, dependencies: readonly string[]): string[] {
	const builtin = new Set(builtinModules.map((name) => `node:${name.replace(/^node:/, "")}`));
	return [...sources].flatMap(([path, text]) =>
		importsOf(text)
			.filter((specifier) => !specifier.startsWith("."))
			.filter((specifier) => !builtin.has(specifier))
			.filter((specifier) => !dependencies.some((name) => specifier === name || specifier.startsWith(`${name}/`)))
			.map((specifier) => `${path}: ${specifier}`),
	);
}

/** Files of more than `most` lines. */
export function longFiles(sources: Sources, most: number): string[] {
	return [...sources]
		.map(([path, text]) => ({ path, lines: text.replace(/\n$/, "").split("\n").length }))
		.filter(({ lines }) => lines > most)
		.map(({ path, lines }) => `${path}: ${lines} lines`);
}
