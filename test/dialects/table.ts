/** The matrix as the table of docs/dialects.md, made from what a test run saw. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Reason } from "../peer/older/fault.ts";
import { type Form, forms, nameOf } from "../peer/older/model.ts";
import { labelFor, outcomeFor } from "./expected.ts";
import type { Outcome } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";

export const DOCS = new URL("../../docs/dialects.md", import.meta.url);
const BEGIN = "<!-- matrix: begin (generated: UPDATE_DOCS=1 npx vitest run test/dialects/matrix.test.ts) -->";
const END = "<!-- matrix: end -->";

/** What was seen, by scenario, client and agent. */
export class Seen {
	readonly #outcomes = new Map<string, Outcome | string>();
	static #key(scenario: string, client: Form, agent: Form): string {
		return JSON.stringify([scenario, nameOf(client), nameOf(agent)]);
	}
	set(scenario: string, client: Form, agent: Form, outcome: string): void {
		this.#outcomes.set(Seen.#key(scenario, client, agent), outcome);
	}
	get(scenario: string, client: Form, agent: Form): string | undefined {
		return this.#outcomes.get(Seen.#key(scenario, client, agent));
	}
	get size(): number {
		return this.#outcomes.size;
	}
}

/** What was seen, in words that do not depend on the client's binding. */
function words(seen: Seen, scenario: string, client: Form, agent: Form): string {
	const outcome = seen.get(scenario, client, agent) ?? "not run";
	const label = labelFor(scenario, client, agent);
	if (outcome !== outcomeFor(scenario, client, agent) || !label.startsWith("refused")) return outcome;
	return `refused: ${label.slice("refused ".length) as Reason}`;
}

/** One cell: what every client sees of this agent, told apart by version where they differ. */
function cell(seen: Seen, scenario: string, agent: Form): string {
	const byWords = new Map<string, Form[]>();
	for (const client of forms) {
		const said = words(seen, scenario, client, agent);
		if (said === "–") continue;
		byWords.set(said, [...(byWords.get(said) ?? []), client]);
	}
	if (byWords.size === 1) return [...byWords.keys()][0] ?? "";
	const versions = (of: readonly Form[]): string =>
		[...new Set(forms.map(({ version }) => version))]
			.flatMap((version) => {
				const those = of.filter((form) => form.version === version);
				const every = forms.filter((form) => form.version === version && seenBy(seen, scenario, form, agent));
				return those.length === 0 ? [] : those.length === every.length ? [version] : those.map(nameOf);
			})
			.join(", ");
	return [...byWords].map(([said, of]) => `${said} (${versions(of)})`).join("<br>");
}
const seenBy = (seen: Seen, scenario: string, client: Form, agent: Form): boolean =>
	seen.get(scenario, client, agent) !== "–";

/** Agents that look alike in every row share a column. */
export function renderTable(seen: Seen): string {
	const column = (agent: Form): string[] => scenarios.map(({ name }) => cell(seen, name, agent));
	const columns: { title: string[]; cells: string[] }[] = [];
	for (const agent of forms) {
		const cells = column(agent);
		const same = columns.find((each) => each.cells.join("\n") === cells.join("\n"));
		if (same) same.title.push(nameOf(agent));
		else columns.push({ title: [nameOf(agent)], cells });
	}
	const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
	return [
		"Rows: what a client does. Columns: the agent behind the gateway. Versions in brackets: the client's, where they differ.",
		"",
		"- **equal**: the agent hears the same operation, the client exactly what the agent said.",
		"- **emulated**: the client gets what its version promises, by other means or under other names.",
		"- **lossy**: something has no counterpart; `A2A-Gateway-Loss` names it (`strict` refuses instead).",
		"- **refused**: the error of the client's version and binding for this reason.",
		"",
		row(["", ...columns.map(({ title }) => title.join("<br>"))]),
		row(["---", ...columns.map(() => "---")]),
		...scenarios.map(({ name }, i) => row([name, ...columns.map(({ cells }) => cells[i] ?? "")])),
	].join("\n");
}

/** What docs/dialects.md shows now; undefined when it has no table. */
export function tableInDocs(): string | undefined {
	if (!existsSync(DOCS)) return undefined;
	const text = readFileSync(DOCS, "utf8");
	const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
	return begin < 0 || end < begin ? undefined : text.slice(begin + BEGIN.length, end).trim();
}

/** Puts the table between the markers; they are made at the end when they are missing. */
export function updateDocs(table: string): void {
	const text = existsSync(DOCS) ? readFileSync(DOCS, "utf8") : "# Dialects\n";
	const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
	const part = `${BEGIN}\n\n${table}\n\n${END}`;
	const next =
		begin < 0 || end < begin
			? `${text.trimEnd()}\n\n## The matrix\n\n${part}\n`
			: text.slice(0, begin) + part + text.slice(end + END.length);
	if (next !== text) writeFileSync(DOCS, next);
}
