import { writeFileSync } from "node:fs";
import { test } from "vitest";
import { throughTo } from "/work/main/test/dialects/gateway.ts";
import { scenarios, outcomeOf } from "/work/main/test/dialects/scenarios.ts";
import { forms, nameOf } from "/work/main/test/peer/older/model.ts";
const results: Record<string, Record<string, Record<string,string>>> = {};
for (const form of forms) test(nameOf(form), async () => {
	const t = await throughTo(form);
	for (const s of scenarios) for (const c of forms) {
		let o: string;
		const gone = new Promise<never>((_, reject) => setTimeout(() => reject(new Error("timeout")), 4000).unref());
		try { o = await Promise.race([outcomeOf(s, { agent: t.agent, client: t.client(c) }), gone]); } catch (e) { o = "FAIL " + String((e as Error).message).replaceAll("\n"," ").slice(0, 400); }
		((results[s.name] ??= {})[nameOf(c)] ??= {})[nameOf(form)] = o;
	}
	await t.close();
	writeFileSync("/tmp/outcomes.json", JSON.stringify(results, null, 1));
}, 120000);
