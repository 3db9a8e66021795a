/** `call` and `explain` with agents of every version over every binding they have, asked directly. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startAgent } from "../peer/older/index.ts";
import { forms, nameOf } from "../peer/older/model.ts";
import type { OlderAgent } from "../peer/older/peer.ts";
import { inside } from "./run.ts";

describe.each(forms.map((form) => [nameOf(form), form] as const))("an agent of %s", (_name, form) => {
	let agent: OlderAgent;
	beforeAll(async () => {
		agent = await startAgent(form);
	});
	afterAll(() => agent.close());

	test("call prints its answer", async () => {
		const got = await inside(["call", agent.url, "task"]);
		expect([got.code, got.stderr]).toEqual([0, ""]);
		expect(got.stdout).toMatch(/^task \S+ \(context \S+\): completed$/m);
	});

	test("call --stream prints the events, the task first", async () => {
		const got = await inside(["call", agent.url, "task", "--stream", "--json"]);
		expect([got.code, got.stderr]).toEqual([0, ""]);
		const kinds = got.stdout
			.trim()
			.split("\n")
			.map((line) => Object.keys(JSON.parse(line))[0]);
		expect(kinds[0]).toBe("task");
		expect(kinds).toContain("statusUpdate");
		expect(kinds.filter((kind) => kind === "task")).toHaveLength(1);
	});

	test("call --task: a task that is not there stays so", async () => {
		const got = await inside(["call", agent.url, "task", "--task", "nope"]);
		expect([got.code, got.stdout]).toEqual([1, ""]);
		expect(got.stderr).toMatch(/^error: TASK_NOT_FOUND/);
	});

	test("explain says what is served, emulated and lost", async () => {
		const got = await inside(["explain", agent.url, "--json"]);
		const { chosen, considered } = JSON.parse(got.stdout);
		expect(chosen).toMatchObject(form);
		const [{ served, refused, emulated, lost }] = considered;
		const names = (entries: { operation: string }[]) => new Set(entries.map(({ operation }) => operation));
		expect(served.length + refused.length).toBe(11);
		if (form.version === "1.0") return expect([emulated, lost]).toEqual([[], []]);
		expect(names(refused)).toContain("ListTasks");
		expect(names(emulated)).toContain("SubscribeToTask");
		expect(lost).toContainEqual(expect.objectContaining({ operation: "SendMessage", pointer: "/tenant" }));
		const text = await inside(["explain", agent.url]);
		expect(text.stdout).toMatch(new RegExp(`^\\* ${form.binding.replace("+", "\\+")} ${form.version} .*: chosen`, "m"));
		expect(text.stdout).toMatch(/^ {4}no: .*ListTasks.*\n {4}emulated: /m);
		expect(text.stdout).toMatch(/^ {4}lost: \/tenant /m);
	});
});
