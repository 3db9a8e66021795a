/** `keys new`: makes a key that signs cards, the private half in a file that only its owner reads (rule G37). */
import { writeFileSync } from "node:fs";
import { describe } from "../card/error.ts";
import { generateKey, privateJwk } from "../card/keys.ts";
import { ALGORITHMS, isAlgorithm, type SigningKey } from "../card/sign-jwk.ts";
import { ConfigError, columns, readArgs } from "../config/index.ts";
import type { Command } from "./command.ts";
import { out, warn } from "./output.ts";

const FLAGS = [
	{ name: "alg", value: true, many: false },
	{ name: "out", value: true, many: false },
] as const;

const FILE = "signing-key.json";

export const keys: Command = {
	help: () =>
		[
			"Usage: a2a-gateway keys new [FLAGS]",
			"",
			"Makes a signing key for serve --signing-key and card sign. The private key goes to a new file (mode 0600), the",
			"public JWK is printed. Never overwrites a file.",
			"",
			columns([
				["--alg NAME", `One of ${ALGORITHMS.join(", ")}. Default: ES256.`],
				["--out FILE", `Default: ${FILE}. PKCS #8 when FILE ends in .pem, otherwise JWK.`],
			]),
		].join("\n"),
	async run(argv) {
		const { positionals, flags } = readArgs(argv, FLAGS);
		if (positionals.length !== 1 || positionals[0] !== "new") throw usage("keys", "needs the word new");
		const alg = flags.get("alg")?.[0] ?? "ES256";
		if (!isAlgorithm(alg)) throw usage("--alg", `must be one of ${ALGORITHMS.join(", ")}`);
		const path = flags.get("out")?.[0] ?? FILE;
		// PKCS #8 says RSA and no more: it would be read as a key for RS256.
		if (alg === "PS256" && /\.pem$/i.test(path)) throw usage("--out", "a key for PS256 needs a JWK file");
		const key = generateKey(alg);
		try {
			writeFileSync(path, text(key, path), { mode: 0o600, flag: "wx" });
		} catch (error) {
			const exists = error instanceof Error && "code" in error && error.code === "EEXIST";
			throw new Error(`${path}: ${exists ? "the file exists; keys are never overwritten" : describe(error)}`);
		}
		warn(`private key written to ${path}`);
		out(JSON.stringify(key.jwk));
		return 0;
	},
};

function text(key: SigningKey, path: string): string {
	if (/\.pem$/i.test(path)) return key.private.export({ type: "pkcs8", format: "pem" }).toString();
	return `${JSON.stringify(privateJwk(key), undefined, 2)}\n`;
}

function usage(where: string, message: string): ConfigError {
	return new ConfigError([{ where, field: "", message }]);
}
