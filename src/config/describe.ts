/** What the option table says to people and editors: help, the README's table, the JSON Schema. */
import { agentTable, envName, type Option, table } from "./options.ts";

/** Flags of `serve` as help text. */
export function flagHelp(): string {
	const rows = table.flatMap((option) =>
		option.flag === undefined ? [] : [[`--${option.flag} ${option.arg}`, `${option.doc} Default: ${option.shown}.`]],
	);
	rows.push(["--config FILE", "YAML configuration file; flags and variables come before it. Default: none."]);
	rows.push(["-h, --help", "This text."]);
	return columns(rows);
}

/** Two columns, the second wrapped at 100. */
export function columns(rows: readonly (readonly string[])[]): string {
	const indent = 26;
	return rows
		.map(([left = "", right = ""]) => {
			const lines: string[] = [];
			for (const word of right.split(" ")) {
				const last = lines.at(-1);
				if (last !== undefined && last.length + word.length + 1 <= 100 - indent)
					lines[lines.length - 1] = `${last} ${word}`;
				else lines.push(word);
			}
			const body = lines.join(`\n${" ".repeat(indent)}`);
			return left.length + 4 > indent
				? `  ${left}\n${" ".repeat(indent)}${body}`
				: `  ${left.padEnd(indent - 2)}${body}`;
		})
		.join("\n");
}

/** The table of the README. */
export function markdown(): string {
	const code = (text: string) => `\`${text.replaceAll("|", "\\|")}\``;
	const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
	const notYet = (option: Option) => (LATER.has(option.flag ?? "") ? " *(not in this build yet)*" : "");
	return [
		row(["flag", "file", "environment", "default", "meaning"]),
		row(["---", "---", "---", "---", "---"]),
		...table.map((option) =>
			row([
				option.flag ? code(`--${option.flag} ${option.arg}`) : "",
				option.key ? code(option.key) : code("agents"),
				code(envName(option)),
				option.shown,
				option.doc + notYet(option),
			]),
		),
		row([code("--config FILE"), "", code("A2A_GATEWAY_CONFIG"), "none", "The configuration file (YAML)."]),
		...agentTable.map((option) => row(["", code(`agents[].${option.key}`), "", option.shown, option.doc])),
	].join("\n");
}

/** Flags whose every value but the default ends with exit code 2 in this build. */
const LATER = new Set(["webhook-allow"]);

/** JSON Schema (2020-12) of the configuration file. */
export function jsonSchema(): object {
	return {
		$schema: "https://json-schema.org/draft/2020-12/schema",
		title: "a2a-gateway configuration",
		type: "object",
		properties: {
			$schema: { type: "string", description: "This schema, for editors." },
			agents: {
				description: "The agents served. Default: the bundled demo agent.",
				type: "array",
				items: { type: "object", additionalProperties: false, properties: properties(agentTable) },
			},
			...properties(table),
		},
		additionalProperties: false,
		$defs: {
			reference: {
				description: `A reference: \${NAME} from the environment, or file:PATH for a file's content.`,
				type: "string",
				pattern: "^file:.+|\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}",
			},
		},
	};
}

interface Section {
	type: "object";
	additionalProperties: false;
	properties: Record<string, unknown>;
}

function properties(options: readonly Option[]): Record<string, unknown> {
	const root: Record<string, unknown> = {};
	const sections = new Map<string, Section>();
	for (const option of options) {
		if (option.key === undefined) continue;
		const [head = "", name] = option.key.split(".");
		const value = option.kind.tree
			? option.kind.schema
			: { anyOf: [option.kind.schema, { $ref: "#/$defs/reference" }] };
		const described = {
			description: `${option.doc} Default: ${option.shown}.`,
			...(option.many ? { type: "array", items: value } : value),
		};
		if (name === undefined) {
			root[head] = described;
			continue;
		}
		const section = sections.get(head) ?? { type: "object", additionalProperties: false, properties: {} };
		section.properties[name] = described;
		sections.set(head, section);
		root[head] = section;
	}
	return root;
}
