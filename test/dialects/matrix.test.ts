/** The matrix: eight client forms, eight agent forms, everything both ends know; each cell as expected.ts says. */
import { describe, expect, test } from "vitest";
import { forms, nameOf } from "../peer/older/model.ts";
import { outcomeFor } from "./expected.ts";
import { type Through, throughTo } from "./gateway.ts";
import { applies, outcomeOf, type Scenario } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { renderTable, Seen, tableInDocs, updateDocs } from "./table.ts";

const seen = new Seen();
let allAsExpected = true;

/** A scenario that hangs is a failed one. */
async function outcomeInTime(...[scenario, lane]: Parameters<typeof outcomeOf>): Promise<string> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<string>((resolve) => {
		timer = setTimeout(() => resolve("failed: no end"), 10_000);
	});
	const run = outcomeOf(scenario, lane).catch((error: Error) => `failed: ${error.message}`);
	try {
		return await Promise.race([run, late]);
	} finally {
		clearTimeout(timer);
	}
}

describe.each(forms.map((form) => [nameOf(form), form] as const))("to an agent over %s", (_, form) => {
	let lane: Through;
	test("opens", async () => {
		lane = await throughTo(form);
	});
	test.each(forms.map((each) => [nameOf(each), each] as const))("from %s", async (__, from) => {
		const client = lane.client(from);
		const want: Record<string, string> = {};
		const got: Record<string, string> = {};
		for (const scenario of scenarios) {
			const { name }: Scenario = scenario;
			want[name] = applies(scenario, client) ? outcomeFor(name, from, form) : "–";
			const outcome = await outcomeInTime(scenario, { agent: lane.agent, client });
			got[name] = outcome;
			seen.set(name, from, form, outcome);
		}
		allAsExpected &&= JSON.stringify(got) === JSON.stringify(want);
		expect(got).toEqual(want);
	});
	test("closes", async () => {
		await lane.close();
	});
});

test("docs/dialects.md shows the table of this run (UPDATE_DOCS=1 writes it)", () => {
	expect(seen.size).toBe(forms.length * forms.length * scenarios.length);
	const table = renderTable(seen);
	// A table of failures is none: the cells must hold before it is written.
	if (process.env["UPDATE_DOCS"] && allAsExpected) updateDocs(table);
	expect(tableInDocs()).toBe(table);
});
