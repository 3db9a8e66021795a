/** Agents from a directory of card files (`DIR/NAME.json`): they come, change and go with their files (A2A v1.0 §8.2, direct configuration). */
import { type FSWatcher, watch } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { MAX_CARD, parseDocument } from "../card/document.ts";
import { CardError, describe } from "../card/error.ts";
import { read } from "../card/read.ts";

/** A card file that was read and found to be a card. */
export interface CardFile {
	/** Absolute path. */
	readonly file: string;
	readonly text: string;
}

export interface DirectoryOptions {
	readonly dir: string;
	/** A file is new or has changed. What it throws is reported, and tried again at the file's next change. */
	readonly put: (name: string, card: CardFile) => void | Promise<void>;
	/** A file has gone. */
	readonly remove: (name: string) => void | Promise<void>;
	/** For the operator, each problem once: an unreadable directory (`file` is it), a broken file, a name that is none. */
	readonly report: (file: string, error: unknown) => void;
	/** Quiet time after a change before the directory is read, milliseconds. Default: 100. */
	readonly debounce?: number;
	/** The directory is read so often whatever is heard of it, milliseconds. Default: 10 s. */
	readonly rescan?: number;
}

export interface Directory {
	/** The directory was read once, whatever came of it. */
	readonly ready: Promise<void>;
	/** Reads it now. Never rejects. */
	scan(): Promise<void>;
	/** No more changes after it resolves. The agents stay. */
	close(): Promise<void>;
}

/** What an agent can be called, and nothing that means a path. */
const NAME = /^([a-z0-9][a-z0-9-]*)\.json$/;

/**
 * Watches a directory. A broken file changes nothing: the agent it had before stays. When the directory
 * itself cannot be read (unmounted, being replaced), all agents stay.
 */
export function watchDirectory(options: DirectoryOptions): Directory {
	const { debounce = 100, rescan = 10_000 } = options;
	const dir = resolve(options.dir);
	/** Files seen, by name: the state last looked at, and whether an agent came of some state of it. */
	const seen = new Map<string, { stamp: string; served: boolean }>();
	/** Told already, by file. */
	const told = new Map<string, string>();
	let watcher: { readonly handle: FSWatcher; readonly inode: bigint } | undefined;
	let timer: NodeJS.Timeout | undefined;
	let running: Promise<void> | undefined;
	let again = false;
	let closed = false;

	function report(file: string, error: unknown): void {
		const text = error instanceof Error ? error.message : String(error);
		if (told.get(file) === text) return;
		told.set(file, text);
		try {
			options.report(file, error);
		} catch {
			// A broken log must not stop the watch.
		}
	}

	/** One file, if it is not as it was. */
	async function look(name: string): Promise<void> {
		const file = join(dir, `${name}.json`);
		const before = seen.get(name);
		let served = before?.served ?? false;
		let stamp = "";
		try {
			const { mtimeNs, size, ino } = await stat(file, { bigint: true });
			stamp = `${mtimeNs}/${size}/${ino}`;
			if (stamp === before?.stamp) return;
			if (size > MAX_CARD) throw new CardError("INVALID_AGENT_RESPONSE", `the file is larger than ${MAX_CARD} bytes`);
			const bytes = await readFile(file);
			const { json } = parseDocument(bytes, "the file");
			read(json, { from: "the file", base: undefined });
			if (closed) return;
			await options.put(name, { file, text: bytes.toString() });
			served = true;
			told.delete(file);
		} catch (error) {
			// Gone between the listing and the look: the next pass tells.
			if (stamp === "" && error instanceof Error && "code" in error && error.code === "ENOENT") return;
			report(file, error instanceof CardError ? error : new Error(describe(error), { cause: error }));
		}
		seen.set(name, { stamp, served });
	}

	async function pass(): Promise<void> {
		let files: string[];
		try {
			follow((await stat(dir, { bigint: true })).ino);
			files = await readdir(dir);
			told.delete(dir);
		} catch (error) {
			unfollow();
			report(dir, new Error(`cannot read the directory: ${describe(error)}`, { cause: error }));
			return;
		}
		const names = new Set<string>();
		for (const file of files) {
			const name = NAME.exec(file)?.[1];
			if (name !== undefined) names.add(name);
			// Hidden files are editors' and mounts'.
			else if (file.endsWith(".json") && !file.startsWith(".")) {
				report(join(dir, file), new Error("an agent's name is made of a-z, 0-9 and - and does not start with -"));
			}
		}
		for (const [name, { served }] of [...seen]) {
			if (closed || names.has(name)) continue;
			seen.delete(name);
			const file = join(dir, `${name}.json`);
			told.delete(file);
			try {
				if (served) await options.remove(name);
			} catch (error) {
				report(file, error);
			}
		}
		for (const name of [...names].sort()) {
			if (closed) return;
			await look(name);
		}
	}

	function scan(): Promise<void> {
		if (closed) return Promise.resolve();
		if (running) {
			again = true;
			return running;
		}
		running = (async () => {
			do {
				again = false;
				await pass();
			} while (again && !closed);
		})().finally(() => {
			running = undefined;
		});
		return running;
	}

	function soon(): void {
		if (closed) return;
		clearTimeout(timer);
		timer = setTimeout(() => void scan(), debounce).unref();
	}

	/** Watching is best effort: not every file system tells. The periodic scan finds what was not told. */
	function follow(inode: bigint): void {
		if (watcher?.inode === inode || closed) return;
		unfollow();
		try {
			const handle = watch(dir, { persistent: false }, soon);
			handle.on("error", unfollow);
			watcher = { handle, inode };
		} catch {
			// Too many watches, or none on this file system.
		}
	}

	function unfollow(): void {
		watcher?.handle.close();
		watcher = undefined;
	}

	const periodic = setInterval(() => void scan(), rescan).unref();
	const ready = scan();
	return {
		ready,
		scan,
		async close() {
			closed = true;
			clearInterval(periodic);
			clearTimeout(timer);
			unfollow();
			await running;
		},
	};
}
