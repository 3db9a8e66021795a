/** Card files that appear, change, break and vanish, in a real directory. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type DirectoryOptions, watchDirectory } from "../../src/catalogue/directory.ts";
import { cardOf } from "./support.ts";

let dir: string;
const later: (() => unknown)[] = [];
beforeEach(async () => {
	dir = await mkdtemp(join(tmpdir(), "agents-"));
});
afterEach(async () => {
	for (const end of later.splice(0)) await end();
	await rm(dir, { recursive: true, force: true });
});

const never = 2 ** 30;

function watching(more: Partial<DirectoryOptions> = {}) {
	const agents = new Map<string, string>();
	const events: string[] = [];
	const problems: string[] = [];
	const directory = watchDirectory({
		dir,
		debounce: 10,
		rescan: never,
		put(name, { text }) {
			events.push(`put ${name}`);
			agents.set(name, (JSON.parse(text) as { version: string }).version);
		},
		remove(name) {
			events.push(`remove ${name}`);
			agents.delete(name);
		},
		report: (file, error) =>
			problems.push(`${file.slice(dir.length)}: ${error instanceof Error ? error.message : error}`),
		...more,
	});
	later.push(() => directory.close());
	return { directory, agents, events, problems };
}

const card = (version: string) => JSON.stringify({ ...cardOf(1), version });
const put = (file: string, text: string) => writeFile(join(dir, file), text);
const soon = (check: () => void) => vi.waitFor(check, { timeout: 5_000, interval: 10 });

test("files become agents, and are followed", async () => {
	await put("one.json", card("1"));
	const { directory, agents, events, problems } = watching();
	await directory.ready;
	expect([...agents]).toEqual([["one", "1"]]);
	await put("two.json", card("2"));
	await soon(() => expect([...agents.keys()]).toEqual(["one", "two"]));
	// Written elsewhere and moved into place, as careful writers do.
	await put(".one.json.tmp", card("10"));
	await rename(join(dir, ".one.json.tmp"), join(dir, "one.json"));
	await soon(() => expect(agents.get("one")).toBe("10"));
	await rm(join(dir, "two.json"));
	await soon(() => expect([...agents.keys()]).toEqual(["one"]));
	await directory.scan();
	expect(events.filter((e) => e.endsWith("two"))).toEqual(["put two", "remove two"]);
	expect(problems).toEqual([]);
});

test("what was not told is found by the periodic scan", async () => {
	const { directory, agents } = watching({ debounce: never, rescan: 20 });
	await directory.ready;
	await put("late.json", card("1"));
	await soon(() => expect(agents.has("late")).toBe(true));
});

/** content → why it is not used */
const broken: readonly (readonly [string, RegExp])[] = [
	['{"name":', /not JSON/],
	["", /is empty/],
	["[]", /not a JSON object/],
	["<html></html>", /HTML/],
	["{}", /not an agent card/],
	['{"name":"x","supportedInterfaces":[]}', /no endpoint/],
	[`{"a":${"[".repeat(100)}${"]".repeat(100)}}`, /nested deeper/],
	[`"${"x".repeat(1 << 20)}"`, /larger than/],
];

test.each(broken)("broken %#", async (text, why) => {
	await put("one.json", card("1"));
	const { directory, agents, events, problems } = watching();
	await directory.ready;
	await put("one.json", text);
	await soon(() => expect(problems.at(-1)).toMatch(why));
	await directory.scan();
	// Told once, and the agent stays as it was.
	expect(problems.filter((p) => why.test(p)).length).toBe(1);
	expect(problems.at(-1)).toMatch(/^\/one\.json: /);
	expect([agents.get("one"), events]).toEqual(["1", ["put one"]]);
	await put("one.json", card("2"));
	await soon(() => expect(agents.get("one")).toBe("2"));
});

test("a file that never was good is no agent to be removed", async () => {
	await put("bad.json", "{");
	const { directory, events, problems } = watching();
	await directory.ready;
	expect(problems.length).toBe(1);
	await rm(join(dir, "bad.json"));
	await directory.scan();
	expect(events).toEqual([]);
});

test("names: what can be none is reported, what is not ours is left alone", async () => {
	for (const file of [
		"UPPER.json",
		"a b.json",
		"-x.json",
		"ok.json",
		"readme.md",
		".hidden.json",
		"x.json.swp",
		"y.json~",
	]) {
		await put(file, card("1"));
	}
	await mkdir(join(dir, "folder.json"));
	const { directory, agents, problems } = watching();
	await directory.ready;
	await directory.scan();
	expect([...agents.keys()]).toEqual(["ok"]);
	expect(problems.map((p) => p.split(":")[0]).sort()).toEqual(["/-x.json", "/UPPER.json", "/a b.json", "/folder.json"]);
});

test("the directory comes late, goes, and comes back; agents stay while it cannot be read", async () => {
	const whole = dir;
	await rm(dir, { recursive: true });
	const { directory, agents, events, problems } = watching({ rescan: 20 });
	await directory.ready;
	expect(problems).toEqual([": cannot read the directory: no such file (ENOENT)"]);
	await mkdir(whole);
	await put("one.json", card("1"));
	await soon(() => expect(agents.has("one")).toBe(true));
	await rm(whole, { recursive: true });
	await soon(() => expect(problems.length).toBe(2));
	await mkdir(whole);
	await put("one.json", card("2"));
	await soon(() => expect(agents.get("one")).toBe("2"));
	expect(events.filter((e) => e.startsWith("remove")).length).toBeLessThanOrEqual(1);
});

test("files behind links that are exchanged, as Kubernetes mounts them", async () => {
	for (const version of ["1", "2"]) {
		await mkdir(join(dir, `..${version}`));
		await writeFile(join(dir, `..${version}`, "one.json"), card(version));
	}
	await symlink("..1", join(dir, "..data"));
	await symlink(join("..data", "one.json"), join(dir, "one.json"));
	const { directory, agents } = watching();
	await directory.ready;
	expect(agents.get("one")).toBe("1");
	await symlink("..2", join(dir, "..tmp"));
	await rename(join(dir, "..tmp"), join(dir, "..data"));
	await soon(() => expect(agents.get("one")).toBe("2"));
});

test("who puts may fail: it is told, and tried at the next change", async () => {
	let fail = true;
	const done: string[] = [];
	const { directory, problems } = watching({
		put(name) {
			if (fail) throw new Error(`${name} is taken`);
			done.push(name);
		},
	});
	await put("one.json", card("1"));
	await soon(() => expect(problems).toEqual(["/one.json: one is taken"]));
	fail = false;
	await directory.scan();
	expect(done).toEqual([]);
	await put("one.json", card("2"));
	await soon(() => expect(done).toEqual(["one"]));
});

test("after close nothing happens", async () => {
	const { directory, events } = watching({ rescan: 10 });
	await directory.ready;
	await directory.close();
	await put("one.json", card("1"));
	await directory.scan();
	await new Promise((resolve) => setTimeout(resolve, 60));
	expect(events).toEqual([]);
});
