/** What is shipped: the image's steps name files that exist, the program refuses old Nodes, scripts are there. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const text = (name: string) => readFileSync(root(name), "utf8");

describe("Dockerfile", () => {
	const dockerfile = text("Dockerfile");
	const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, list = ""]) =>
		list.split(" ").slice(0, -1),
	);

	test("copies what exists and what .dockerignore lets in", () => {
		const allowed = text(".dockerignore")
			.split("\n")
			.filter((line) => line.startsWith("!"))
			.map((line) => line.slice(1));
		expect(copied.length).toBeGreaterThan(5);
		for (const name of copied.map((path) => path.replace(/^\.\//, ""))) {
			expect([name, existsSync(root(name))]).toEqual([name, true]);
			expect(allowed).toContain(name);
		}
	});

	test("is pinned to the Node of package.json, without rights, with a health check by the program itself", () => {
		const { devDependencies } = JSON.parse(text("package.json"));
		const major = devDependencies.node.split(".")[0];
		const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
		expect(new Set(bases)).toEqual(new Set([`node:${major}-slim`]));
		const last = dockerfile.slice(dockerfile.lastIndexOf("FROM "));
		for (const line of [
			/^USER 1000:1000$/m,
			/^EXPOSE 8080$/m,
			/^STOPSIGNAL SIGTERM$/m,
			/HEALTHCHECK .*"health"\]/,
			/A2A_GATEWAY_LISTEN=0\.0\.0\.0:8080/,
		]) {
			expect(last).toMatch(line);
		}
	});
});

test("the program and the CI script can be executed", () => {
	for (const name of ["bin/a2a-gateway.js", ".ci/run"]) expect(statSync(root(name)).mode & 0o111).toBe(0o111);
	expect(text("bin/a2a-gateway.js")).toMatch(/^#!\/usr\/bin\/env node\n/);
});

test("the licence is the one that package.json names, in full", () => {
	expect(JSON.parse(text("package.json")).license).toBe("Apache-2.0");
	expect(text("LICENSE")).toMatch(/Apache License\s+Version 2\.0, January 2004[\s\S]*END OF TERMS AND CONDITIONS/);
});

test.each(["README.md", "CONTRIBUTING.md", "docs/architecture.md"])("the links of %s lead somewhere", (file) => {
	const names = [...text(file).matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, name = ""]) => name);
	for (const name of names) {
		expect([name, existsSync(fileURLToPath(new URL(name, new URL(`../../${file}`, import.meta.url))))]).toEqual([
			name,
			true,
		]);
	}
});

test("docs/architecture.md names every room there is", () => {
	const told = text("docs/architecture.md");
	for (const entry of readdirSync(root("src"), { withFileTypes: true })) {
		const name = entry.isDirectory() ? `${entry.name}/` : entry.name;
		if (name !== "cli.ts") expect(told).toContain(`\`${name}\``);
	}
});
