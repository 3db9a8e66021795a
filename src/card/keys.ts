/** The gateway's signing keys: read from files, kept up to date, rotated so that nobody ever meets a signature without its key (rules G30, G41). */
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { JsonObject } from "@bufbuild/protobuf";
import { describe } from "./error.ts";
import { type Algorithm, KeyError, readPrivate, type SigningKey, signingKey, thumbprint } from "./sign-jwk.ts";

const MAX_FILE = 64 * 1024;

export interface LoadedKey {
	readonly key: SigningKey;
	readonly warnings: readonly string[];
}

/**
 * Reads a private key. A file that others may read or anyone else may write is refused; `lax` makes that a warning.
 * Throws KeyError, whose message never holds any of the key.
 */
export function loadKey(path: string, lax = false): LoadedKey {
	const warnings: string[] = [];
	const { text, mode } = readKeyFile(path);
	if (process.platform !== "win32") {
		const open = (mode & 0o004) !== 0 ? "everybody may read it" : (mode & 0o022) !== 0 ? "others may write it" : "";
		const remark = `${path}: ${open || "its group may read it"}; chmod 600 ${path}`;
		if (open !== "" && !lax) throw new KeyError(remark);
		if ((mode & 0o077) !== 0) warnings.push(remark);
	}
	return { key: readPrivate(text, path), warnings };
}

function readKeyFile(path: string): { readonly text: string; readonly mode: number } {
	try {
		const { mode, size } = statSync(path);
		if (size > MAX_FILE) throw new KeyError(`${path}: it is larger than ${MAX_FILE} bytes, no key is`);
		return { text: readFileSync(path, "utf8"), mode };
	} catch (error) {
		if (error instanceof KeyError) throw error;
		throw new KeyError(`${path}: cannot read it: ${describe(error)}`);
	}
}

/** A new key, named by its thumbprint. */
export function generateKey(alg: Algorithm = "ES256"): SigningKey {
	const { privateKey } =
		alg === "ES256"
			? generateKeyPairSync("ec", { namedCurve: "P-256" })
			: alg === "EdDSA"
				? generateKeyPairSync("ed25519")
				: generateKeyPairSync("rsa", { modulusLength: 3072 });
	return signingKey(privateKey, { kid: thumbprint(privateKey), alg });
}

/** The private key as a JWK, for a file that only its owner reads. */
export function privateJwk(key: SigningKey): JsonObject {
	return { ...(key.private.export({ format: "jwk" }) as JsonObject), kid: key.kid, alg: key.alg, use: "sig" };
}

export interface KeyRingOptions {
	/** Files, the first signs. None: a key of this process's own, which nobody knows after a restart. */
	readonly files: readonly string[];
	/** See `loadKey`. */
	readonly lax?: boolean;
	/** How long a removed key stays published, milliseconds. Default: 24 h. */
	readonly overlap?: number;
	/**
	 * How long a new key is published before it signs, milliseconds: as long as clients may keep the JWKS (5 min), and a minute for
	 * its way there, which clients that count from its arrival add to that. Default: 6 min.
	 * Until then the key that signed before goes on, even when its file is gone.
	 */
	readonly announce?: number;
	/** Told what is wrong with the files: the keys in use stay. */
	readonly report?: (error: unknown) => void;
	readonly now?: () => number;
}

export interface KeyRing {
	readonly ephemeral: boolean;
	/** About the files: modes. */
	readonly warnings: readonly string[];
	/** The key that signs now. */
	readonly signing: SigningKey;
	/** What the JWKS endpoint serves: every configured key, and those removed not long ago. A new object for every change. */
	readonly jwks: { readonly keys: readonly JsonObject[] };
	/**
	 * Looks whether a file has changed or a time has come (synchronous, cheap: a stat per file). True when
	 * `signing` or `jwks` is another now. Never throws.
	 */
	refresh(): boolean;
	/** Calls `refresh` now and then, and `changed` when it made a difference. Returns how to end it. Keeps no process alive. */
	watch(changed: () => void, every?: number): () => void;
}

interface Entry {
	readonly key: SigningKey;
	/** Epoch milliseconds from which every client has it. */
	readonly known: number;
	/** Epoch milliseconds at which it was removed from the files. */
	removed: number | undefined;
}

/** Reads the files. Throws KeyError when one cannot be used. */
export function keyRing(options: KeyRingOptions): KeyRing {
	const { files, lax = false, overlap = 86_400_000, announce = 360_000, report, now = Date.now } = options;
	const ephemeral = files.length === 0;
	let stamps = files.map(stamp);
	let warnings: readonly string[] = [];
	/** In order; removed ones last. */
	let entries: Entry[] = [];
	let signing: SigningKey;
	let jwks: KeyRing["jwks"] = { keys: [] };

	const read = (): readonly SigningKey[] => {
		const loaded = files.map((file) => loadKey(file, lax));
		const keys = loaded.map(({ key }) => key);
		keys.forEach((key, i) => {
			const same = keys.findIndex((other) => other.kid === key.kid);
			if (same !== i) throw new KeyError(`${files[i]}: it has the same kid as ${files[same]}`);
		});
		warnings = loaded.flatMap((key) => key.warnings);
		return keys;
	};
	const take = (keys: readonly SigningKey[], known: number) => {
		const before = new Map(entries.map((entry) => [entry.key.kid, entry]));
		const present = keys.map((key): Entry => {
			const entry = before.get(key.kid);
			if (entry && thumbprint(entry.key.key) !== thumbprint(key.key)) {
				throw new KeyError(`another key has the kid ${key.kid} already; a new key needs a new kid`);
			}
			before.delete(key.kid);
			return { key, known: entry?.known ?? known, removed: undefined };
		});
		const gone = [...before.values()].map((entry) => ({ ...entry, removed: entry.removed ?? now() }));
		entries = [...present, ...gone];
	};
	const settle = () => {
		const time = now();
		const due = entries.find((entry) => entry.removed === undefined && entry.known <= time);
		// Nothing is announced for long enough: who signed before goes on.
		const next = due?.key ?? signing ?? entries[0]?.key;
		// The overlap begins when a key signs no more.
		const retired = next !== signing && entries.find((e) => e.key === signing && e.removed !== undefined);
		if (retired) retired.removed = time;
		entries = entries.filter((e) => e.removed === undefined || e.key === next || e.removed + overlap > time);
		const changed = next !== signing || entries.some((e, i) => e.key.jwk !== jwks.keys[i]);
		const fewer = entries.length !== jwks.keys.length;
		signing = next;
		if (changed || fewer) jwks = { keys: entries.map((e) => e.key.jwk) };
		return changed || fewer;
	};

	const first = ephemeral ? [generateKey()] : read();
	signing = first[0] as SigningKey;
	// Who has an older set asks again when it meets these: there is nothing that could sign instead.
	take(first, Number.NEGATIVE_INFINITY);
	settle();

	const ring: KeyRing = {
		ephemeral,
		get warnings() {
			return warnings;
		},
		get signing() {
			return signing;
		},
		get jwks() {
			return jwks;
		},
		refresh() {
			const found = files.map(stamp);
			if (found.some((s, i) => s !== stamps[i])) {
				stamps = found;
				try {
					take(read(), now() + announce);
				} catch (error) {
					report?.(error);
				}
			}
			return settle();
		},
		watch(changed, every = 10_000) {
			const timer = setInterval(() => {
				try {
					if (ring.refresh()) changed();
				} catch (error) {
					report?.(error);
				}
			}, every).unref();
			return () => clearInterval(timer);
		},
	};
	return ring;
}

/** What tells one state of a file from another. */
function stamp(path: string): string {
	try {
		const { mtimeMs, size, ino, mode } = statSync(path);
		return `${mtimeMs}/${size}/${ino}/${mode}`;
	} catch {
		return "";
	}
}
