/** The version of this package, from its package.json, wherever the build has put this file. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The package's version; "unknown" when there is no package.json above. */
export function version(): string {
	for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
		const file = join(at, "package.json");
		if (existsSync(file)) {
			const content: unknown = JSON.parse(readFileSync(file, "utf8"));
			const found =
				typeof content === "object" && content !== null && "version" in content ? content.version : undefined;
			return typeof found === "string" ? found : "unknown";
		}
		if (at === dirname(at)) return "unknown";
	}
}

/** Running from a checkout's sources rather than from a build. */
export const fromSource = import.meta.url.endsWith(".ts");
