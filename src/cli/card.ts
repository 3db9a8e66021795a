/** `card get|verify|sign`: fetches a card in any form, verifies its signatures, signs a file (§8.4). */
import { readFileSync } from "node:fs";
import type { JsonValue } from "@bufbuild/protobuf";
import { signable } from "../card/canonical.ts";
import { type Document, looksLikeCard, parseDocument } from "../card/document.ts";
import { CardError, describe } from "../card/error.ts";
import { candidates } from "../card/fetch.ts";
import { cardDispatcher, display, get } from "../card/http.ts";
import { loadKey } from "../card/keys.ts";
import { KeyError } from "../card/sign-jwk.ts";
import { signAndCheck, verify } from "../card/signature.ts";
import { keyFinder } from "../card/trust.ts";
import { ConfigError, columns, type FlagSpec, readArgs } from "../config/index.ts";
import type { Command, Exit } from "./command.ts";
import { clean, endWithReader, out, warn } from "./output.ts";

const TIMEOUT = 10_000;

const flag = (name: string, value = true, many = false): FlagSpec => ({ name, value, many });
const FETCH = [flag("protocol"), flag("header", true, true)];
const VERIFY = [...FETCH, flag("jwks", true, true), flag("key", true, true), flag("allow-jku", true, true)];

/** What to ask for: the forms of the gateway's card, by the version a client speaks (design/contract.md). */
const FORMS: Readonly<Record<string, { readonly version?: string; readonly old?: true }>> = {
	"1.0": { version: "1.0" },
	"0.3": { version: "0.3" },
	"0.2": { old: true },
	"0.1": { old: true },
	hybrid: {},
};

type Sub = (argv: readonly string[]) => Promise<Exit>;

export const card: Command = {
	help: () =>
		[
			"Usage: a2a-gateway card get URL [FLAGS]",
			"       a2a-gateway card verify URL|FILE [FLAGS]",
			"       a2a-gateway card sign FILE --key FILE [--jku URL]",
			"",
			"get prints a card. verify checks its signatures: exit code 0 when at least one is valid, 1 with the reason otherwise.",
			"sign prints the card of a file with signatures of ours in the place of any that it had.",
			"",
			columns([
				["--protocol FORM", `The card for clients of ${Object.keys(FORMS).join(", ")}. Default: 1.0.`],
				["--header 'NAME: VALUE'", "Sent along to URL, repeatable."],
				["--jwks FILE|URL", "verify: keys to trust, repeatable."],
				["--key FILE", "verify: a public key to trust (JWK or PEM); sign: the private key. Repeatable."],
				[
					"--allow-jku HOST",
					"verify: where a signature's jku may lead: HOST (https, public), ORIGIN or URL. Repeatable.",
				],
				["--strict", "verify: only a signature that covers everything counts."],
				["--allow-uncovered", "verify: a signature that leaves out the security schemes counts."],
				["--json", "verify: print JSON."],
				["--jku URL", "sign: where the public keys are."],
			]),
			"",
			"Without --jwks, --key and --allow-jku, keys come from the card's own origin (its jku there, /.well-known/jwks.json).",
		].join("\n"),
	async run(argv) {
		endWithReader();
		const [name, ...rest] = argv;
		const run = name !== undefined && Object.hasOwn(subs, name) ? subs[name] : undefined;
		if (!run) throw usage("card", `needs one of ${Object.keys(subs).join(", ")}`);
		return run(rest);
	},
};

const subs: Readonly<Record<string, Sub>> = {
	async get(argv) {
		const { positionals, flags } = readArgs(argv, FETCH);
		const url = httpUrl("card get", one("card get", "URL", positionals));
		const { json } = await fetchForm(url, flags.get("protocol")?.[0], flags.get("header") ?? []);
		out(printed(json));
		return 0;
	},
	async verify(argv) {
		const specs = [...VERIFY, flag("strict", false), flag("allow-uncovered", false), flag("json", false)];
		const { positionals, flags } = readArgs(argv, specs);
		const place = one("card verify", "URL or FILE", positionals);
		const url = /^[a-z][a-z\d+.-]*:\/\//i.test(place) ? httpUrl("card verify", place) : undefined;
		const jwks = flags.get("jwks") ?? [];
		const isUrl = (written: string) => /^https?:\/\//i.test(written);
		const given = {
			files: [...(flags.get("key") ?? []), ...jwks.filter((written) => !isUrl(written))],
			jwks: jwks.filter(isUrl),
			jku: flags.get("allow-jku") ?? [],
		};
		const own = url && { files: [], jwks: [`${url.origin}/.well-known/jwks.json`], jku: [url.origin] };
		const none = Object.values(given).every((list) => list.length === 0);
		const finder = usable(() => keyFinder(none && own ? own : given));
		try {
			const { json } = url
				? await fetchForm(url, flags.get("protocol")?.[0], flags.get("header") ?? [])
				: fromFile("card verify", place);
			const uncovered = flags.has("strict") ? "refuse" : flags.has("allow-uncovered") ? "allow" : "report";
			const verdict = await verify(json, finder.resolve, { uncovered });
			if (flags.has("json")) out(printed(JSON.parse(JSON.stringify(verdict)) as JsonValue));
			else if (verdict.valid) out(clean(`valid: ${verdict.reason}`));
			if (verdict.valid && !flags.has("json")) {
				for (const [i, { valid, reason }] of verdict.signatures.entries()) {
					if (!valid) warn(clean(`signature ${i} does not count: ${reason}`));
				}
			}
			if (!verdict.valid) warn(clean(`invalid: ${verdict.reason}`));
			return verdict.valid ? 0 : 1;
		} finally {
			await finder.close();
		}
	},
	async sign(argv) {
		const { positionals, flags } = readArgs(argv, [flag("key", true, true), flag("jku")]);
		const place = one("card sign", "FILE", positionals);
		const files = flags.get("key") ?? [];
		if (files.length === 0) throw usage("card sign", "needs --key FILE");
		const jku = flags.get("jku")?.[0];
		if (jku !== undefined) httpUrl("--jku", jku);
		const keys = files.map((file) => {
			const { key, warnings } = usable(() => loadKey(file));
			for (const warning of warnings) warn(`warning: ${clean(warning)}`);
			return key;
		});
		const { json } = fromFile("card sign", place);
		if (!Array.isArray(json["supportedInterfaces"]) && !Array.isArray(json["supported_interfaces"])) {
			throw new Error(`${place} is no v1.0 card: it has no supportedInterfaces`);
		}
		out(printed(await signAndCheck(signable(json), keys, { jku })));
		return 0;
	},
};

/** A mistake in how a key was given is one of usage. */
function usable<T>(make: () => T): T {
	try {
		return make();
	} catch (error) {
		throw error instanceof KeyError ? usage("", error.message) : error;
	}
}

function usage(where: string, message: string): ConfigError {
	return new ConfigError([{ where, field: "", message }]);
}

function one(where: string, what: string, [first, second]: readonly string[]): string {
	if (first === undefined || second !== undefined) throw usage(where, `needs one ${what}`);
	return first;
}

function httpUrl(where: string, written: string): URL {
	const url = URL.parse(written);
	if (!url || !/^https?:$/.test(url.protocol)) throw usage(where, "URL must start with http:// or https://");
	return url;
}

function fromFile(where: string, path: string): Document {
	let bytes: Buffer;
	try {
		bytes = readFileSync(path);
	} catch (error) {
		throw usage(where, `cannot read ${path}: ${describe(error)}`);
	}
	return parseDocument(bytes, path);
}

/** The card below `url` as clients of one version get it. */
async function fetchForm(url: URL, form = "1.0", headers: readonly string[] = []): Promise<Document> {
	const wanted = Object.hasOwn(FORMS, form) ? FORMS[form] : undefined;
	if (!wanted) throw usage("--protocol", `must be one of ${Object.keys(FORMS).join(", ")}`);
	const all = candidates(url);
	const old = all.filter(({ pathname }) => pathname.endsWith("/agent.json"));
	const dispatcher = cardDispatcher(5_000, undefined);
	const failures: string[] = [];
	try {
		for (const place of wanted.old && old.length > 0 ? old : all) {
			const { status, body } = await get(place, {
				dispatcher,
				signal: AbortSignal.timeout(TIMEOUT),
				headers: {
					accept: "application/json",
					"user-agent": "a2a-gateway",
					...(wanted.version !== undefined && { "a2a-version": wanted.version }),
					...Object.fromEntries(headers.map(header)),
				},
			});
			if (status === 200) {
				const document = parseDocument(body, `the document at ${display(place)}`);
				if (looksLikeCard(document.json) || all.length === 1) return document;
				failures.push(`${display(place)} is no card`);
			} else failures.push(`${display(place)} answered HTTP ${status}`);
		}
	} finally {
		await dispatcher.destroy();
	}
	throw new CardError("UNAVAILABLE", `no agent card found: ${failures.join("; ")}`);
}

function header(written: string): [string, string] {
	const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*)$/.exec(written);
	if (!match?.[1]) throw usage("--header", "must be 'NAME: VALUE'");
	return [match[1].toLowerCase(), match[2] ?? ""];
}

/** JSON that a terminal may show and that reads back as it was: nothing is replaced, only escaped. */
function printed(json: JsonValue): string {
	return JSON.stringify(json, undefined, 2).replace(
		/[\x7f-\x9f]/g,
		(c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}
