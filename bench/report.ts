/** The findings of a run, as the table people read and the JSON that scripts read. */
import { type Bound, met, type TargetName, targets } from "./targets.ts";

/** One measured row. NaN as value = it could not be measured, `raw` says why. */
export interface Finding {
	readonly target: TargetName;
	/** What exactly: a pair of bindings, a direction. */
	readonly what: string;
	readonly value: number;
	/** The medians behind the value, for people. */
	readonly raw: string;
}

export type Verdict = "pass" | "FAIL" | "missing" | "–";

export function verdict({ target, value }: Finding): Verdict {
	const { first } = targets[target];
	if (first === undefined) return "–";
	if (Number.isNaN(value)) return "missing";
	return met(first, value) ? "pass" : "FAIL";
}

const round = (value: number) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2));
const bound = (one: Bound | undefined) => (one === undefined ? "–" : `${one.op} ${one.value}`);

/** Columns wide enough for their content. */
function columns(rows: readonly (readonly string[])[]): string {
	const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
	return rows
		.map((row) =>
			row
				.map((cell, i) => cell.padEnd(widths[i] ?? 0))
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
}

export function renderTable(findings: readonly Finding[]): string {
	const header = ["work", "measure", "which", "measured", "first issue", "verdict", "wanted", "medians behind it"];
	const rows = findings.map((finding) => {
		const { work, measure, unit, first, wanted } = targets[finding.target];
		const value = Number.isNaN(finding.value) ? "–" : `${round(finding.value)} ${unit}`.trim();
		const reached = wanted !== undefined && met(wanted, finding.value) ? " ✓" : "";
		return [work, measure, finding.what, value, bound(first), verdict(finding), bound(wanted) + reached, finding.raw];
	});
	return columns([header, ...rows]);
}

/** How many of each verdict, in one line. */
export function summary(findings: readonly Finding[]): string {
	const count = (wanted: Verdict) => findings.filter((finding) => verdict(finding) === wanted).length;
	return `${count("pass")} pass, ${count("FAIL")} fail, ${count("missing")} not measured, ${count("–")} without a target yet`;
}

/** Every number, with the targets it was judged by. NaN becomes null. */
export function renderJson(findings: readonly Finding[], facts: Record<string, unknown>): string {
	const rows = findings.map((finding) => ({ ...finding, ...targets[finding.target], verdict: verdict(finding) }));
	return `${JSON.stringify({ ...facts, rows }, undefined, "\t")}\n`;
}
