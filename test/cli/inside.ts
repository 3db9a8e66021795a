/** Runs one command in this process, as src/cli.ts does it. */
import { vi } from "vitest";
import type { Command } from "../../src/cli/command.ts";
import { fail } from "../../src/cli/output.ts";
import type { Outcome } from "./run.ts";

export async function inside(command: Command, argv: readonly string[]): Promise<Outcome> {
	const texts = { stdout: "", stderr: "" };
	const spies = (["stdout", "stderr"] as const).map((name) =>
		vi.spyOn(process[name], "write").mockImplementation((text) => {
			texts[name] += String(text);
			return true;
		}),
	);
	try {
		const code = await command.run(argv).catch(fail);
		return { code, ...texts };
	} finally {
		for (const spy of spies) spy.mockRestore();
	}
}
