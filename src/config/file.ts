/** The configuration file: YAML read into raw values that know their line, references to secrets replaced. */
import { dirname, resolve } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type YAMLMap } from "yaml";
import { readText } from "./kind.ts";
import { agentTable, type Option, table } from "./options.ts";
import { type Problem, suggestion, ValueError } from "./problem.ts";

/** A value as text, not yet read by its option's kind. */
export interface Raw {
	readonly text: string;
	readonly where: string;
	/** The field as a person would write it: `agents[0].url`. */
	readonly field: string;
	/** Directory for relative paths. */
	readonly base: string;
	/** Places inside the value, where it is a mapping or a list. */
	inside?(at: readonly (string | number)[]): { readonly where: string; readonly field: string };
}

export type RawValues = ReadonlyMap<Option, readonly Raw[]>;

export interface RawFile {
	readonly values: RawValues;
	/** Undefined when the file has no `agents`. */
	readonly agents: readonly { readonly where: string; readonly values: RawValues }[] | undefined;
	readonly problems: readonly Problem[];
}

const AGENTS = "agents";

/**
 * Reads a document. Mistakes are collected, never thrown: each with file, line and column.
 * @param name the file as errors name it; its directory is the base of relative paths
 */
export function readFile(name: string, text: string, env: NodeJS.ProcessEnv): RawFile {
	const base = dirname(resolve(name));
	const lines = new LineCounter();
	const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, strict: true });
	const problems: Problem[] = [];
	const at = (offset: number | undefined) => {
		const { line, col } = lines.linePos(offset ?? 0);
		return `${name}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
	};
	const wrong = (node: Node | undefined, field: string, message: string) => {
		problems.push({ where: at(node?.range?.[0]), field, message });
	};
	// The first only: those after it mostly follow from it.
	for (const error of document.errors.slice(0, 1)) {
		problems.push({ where: at(error.pos[0]), field: "", message: error.message.replace(/\s+/g, " ") });
	}
	const values = new Map<Option, readonly Raw[]>();
	if (problems.length > 0) return { values, agents: undefined, problems };

	/** Follows aliases; undefined for an empty value. */
	const follow = (value: unknown): Node | undefined => {
		const node = isAlias(value) ? value.resolve(document) : value;
		if (isMap(node) || isSeq(node)) return node;
		return isScalar(node) && node.value !== null ? node : undefined;
	};

	/** One scalar's text with its references replaced; undefined after telling the problem. */
	const scalar = (node: Node | undefined, field: string, option: Option): Raw | undefined => {
		if (!isScalar(node)) {
			wrong(node, field, "must be a single value");
			return undefined;
		}
		try {
			const written = typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
			const text = dereference(written, env, base, option.kind.path === true);
			return { text, where: at(node.range?.[0]), field, base };
		} catch (error) {
			if (!(error instanceof ValueError)) throw error;
			wrong(node, field, error.message);
			return undefined;
		}
	};

	/** A mapping or a list as JSON, references replaced; undefined after telling the problem. */
	const plain = (node: Node | undefined, field: string, option: Option): JsonValue | undefined => {
		if (isSeq(node)) {
			const items = node.items.map((item, i) => plain(follow(item), `${field}[${i}]`, option));
			return items.every((item) => item !== undefined) ? items : undefined;
		}
		if (isMap(node)) {
			const members = (node.items as Pair<Node, Node | null>[]).map((pair) => {
				const name = isScalar(pair.key) ? String(pair.key.value) : "";
				return [name, plain(follow(pair.value) ?? pair.key, `${field}.${name}`, option)] as const;
			});
			if (!members.every((pair): pair is readonly [string, JsonValue] => pair[1] !== undefined)) return undefined;
			return Object.fromEntries(members);
		}
		if (isScalar(node) && (typeof node.value === "number" || typeof node.value === "boolean")) return node.value;
		return scalar(node, field, option)?.text;
	};

	/** Where a place inside a mapping or a list is: a member's name, a list's item. */
	const placeIn = (root: Node, field: string, path: readonly (string | number)[]) => {
		let node: Node | undefined = root;
		let place: Node = root;
		let name = field;
		for (const step of path) {
			if (isMap(node)) {
				const pair = (node.items as Pair<Node, Node | null>[]).find(
					({ key }) => isScalar(key) && String(key.value) === step,
				);
				if (!pair) break;
				place = pair.key;
				node = follow(pair.value);
				name += `.${step}`;
			} else if (isSeq(node) && typeof step === "number") {
				node = follow(node.items[step]);
				if (!node) break;
				place = node;
				name += `[${step}]`;
			} else break;
		}
		return { where: at(place.range?.[0]), field: name };
	};

	const leaf = (option: Option, key: Node, value: Node | undefined, field: string): Raw[] => {
		if (value === undefined) wrong(key, field, "has no value");
		else if (option.kind.tree) {
			const json = plain(value, field, option);
			if (json === undefined) return [];
			const where = at(value.range?.[0]);
			const inside = (path: readonly (string | number)[]) => placeIn(value, field, path);
			return [{ text: JSON.stringify(json), where, field, base, inside }];
		} else if (!option.many) {
			const raw = scalar(value, field, option);
			if (raw) return [raw];
		} else if (!isSeq(value)) wrong(value, field, "must be a list");
		else {
			return value.items.flatMap((item, i) => {
				const raw = scalar(follow(item), `${field}[${i}]`, option);
				return raw ? [raw] : [];
			});
		}
		return [];
	};

	/** Walks a map along the dotted keys of a table. */
	const walk = (
		map: YAMLMap,
		options: readonly Option[],
		path: string,
		prefix: string,
		into: Map<Option, readonly Raw[]>,
	) => {
		const keys = options.flatMap((option) =>
			option.key?.startsWith(prefix) ? [option.key.slice(prefix.length).split(".")[0] ?? ""] : [],
		);
		if (path === "") keys.push(AGENTS, "$schema");
		for (const pair of map.items as Pair<Node, Node | null>[]) {
			const name = isScalar(pair.key) ? String(pair.key.value) : "";
			const field = path + name;
			const value = follow(pair.value);
			const option = options.find((candidate) => candidate.key === prefix + name);
			if (!keys.includes(name)) wrong(pair.key, field, `unknown field${suggestion(name, keys)}`);
			else if (option) into.set(option, leaf(option, pair.key, value, field));
			else if (field === AGENTS || field === "$schema" || value === undefined) continue;
			else if (!isMap(value)) wrong(value, field, "must be a mapping");
			else walk(value, options, `${field}.`, `${prefix}${name}.`, into);
		}
	};

	const root = follow(document.contents);
	if (root === undefined) return { values, agents: undefined, problems };
	if (!isMap(root)) {
		wrong(root, "", "must be a mapping of fields");
		return { values, agents: undefined, problems };
	}
	walk(root, table, "", "", values);
	const list = follow(root.get(AGENTS, true));
	if (list !== undefined && !isSeq(list)) wrong(list, AGENTS, "must be a list");
	const agents = isSeq(list)
		? list.items.flatMap((item, i) => {
				const entry = follow(item);
				const own = new Map<Option, readonly Raw[]>();
				if (!isMap(entry)) {
					wrong(entry ?? list, `${AGENTS}[${i}]`, "must be a mapping");
					return [];
				}
				walk(entry, agentTable, `${AGENTS}[${i}].`, "", own);
				return [{ where: at(entry.range?.[0]), values: own }];
			})
		: undefined;
	return { values, agents, problems };
}

/**
 * `${NAME}` and `${NAME:-otherwise}` from the environment (`$${` is a plain `${`), and `file:PATH`, the
 * content of a file without its last line break. Throws ValueError.
 */
function dereference(written: string, env: NodeJS.ProcessEnv, base: string, isPath: boolean): string {
	const text = written.replace(/\$?\$\{([^}]*)\}/g, (whole, inside: string) => {
		if (whole.startsWith("$$")) return whole.slice(1);
		const match = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(inside);
		if (!match) throw new ValueError(`\${${inside}} is not a reference; write \${NAME} or \${NAME:-default}`);
		const value = env[match[1] ?? ""];
		if (value !== undefined && value !== "") return value;
		if (match[2] !== undefined) return match[2];
		throw new ValueError(`environment variable ${match[1]} is not set`);
	});
	if (!written.startsWith("file:")) return text;
	const file = text.slice("file:".length);
	return isPath ? file : readText(resolve(base, file)).replace(/\r?\n$/, "");
}
