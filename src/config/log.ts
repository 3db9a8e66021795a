/** The log: structured, levelled, on standard error, with credentials blacked out. */

export interface Log {
	debug(message: string, fields?: Record<string, unknown>): void;
	info(message: string, fields?: Record<string, unknown>): void;
	warn(message: string, fields?: Record<string, unknown>): void;
	error(message: string, fields?: Record<string, unknown>): void;
}

export const levels = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof levels)[number];
export type LogFormat = "json" | "pretty";

export interface LogOptions {
	readonly level: Level;
	readonly format: LogFormat;
	/** Takes one line, newline included. Default: standard error. */
	readonly write?: (line: string) => void;
	/** Colours in the pretty form. Default: false. */
	readonly color?: boolean;
}

/** A log that says nothing. */
export const silent: Log = Object.freeze({ debug() {}, info() {}, warn() {}, error() {} });

/** Never throws: a field that cannot be shown is shown as what it is not. */
export function createLog(options: LogOptions): Log {
	const write = options.write ?? ((line: string) => void process.stderr.write(line));
	const threshold = levels.indexOf(options.level);
	const stacks = options.level === "debug";
	const render = options.format === "json" ? json : pretty(options.color ?? false);
	const at = (level: Level) => {
		if (levels.indexOf(level) < threshold) return () => {};
		return (message: string, fields: Record<string, unknown> = {}) => {
			write(`${render(new Date().toISOString(), level, clean(message), redact(fields, stacks))}\n`);
		};
	};
	return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

type Fields = Record<string, unknown>;

function json(time: string, level: Level, message: string, fields: Fields): string {
	return JSON.stringify({ ...fields, time, level, message });
}

const COLORS: Readonly<Record<Level, string>> = {
	debug: "\x1b[90m",
	info: "\x1b[36m",
	warn: "\x1b[33m",
	error: "\x1b[31m",
};

function pretty(color: boolean): typeof json {
	return (time, level, message, fields) => {
		const label = color ? `${COLORS[level]}${level.padEnd(5)}\x1b[0m` : level.padEnd(5);
		let line = `${time.slice(11, 23)} ${label} ${printable(message)}`;
		for (const [name, value] of Object.entries(fields)) {
			if (value === undefined) continue;
			const text = typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
			line += ` ${printable(name)}=${printable(text)}`;
		}
		return line;
	};
}

/** Control characters could forge lines or drive the terminal. */
function printable(text: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
	return text.replace(/[\x00-\x1f\x7f-\x9f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

const SECRET = /authorization|cookie|token|secret|passw|passphrase|credential|key$/i;
const DEPTH = 6;

/** A copy with the values of credential-like fields replaced, errors and odd values made plain. */
export function redact(fields: Fields, stacks = false): Fields {
	const seen: object[] = [];
	const walk = (value: unknown): unknown => {
		if (typeof value === "string") return clean(value);
		if (typeof value === "bigint" || typeof value === "symbol") return String(value);
		if (typeof value === "function") return "[function]";
		if (typeof value !== "object" || value === null) return value;
		if (seen.includes(value) || seen.length >= DEPTH) return "[...]";
		seen.push(value);
		try {
			if (value instanceof Error) return describe(value);
			if (value instanceof Date) return Number.isNaN(value.getTime()) ? "[invalid date]" : value.toISOString();
			if (value instanceof URL) return clean(value.href);
			if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
			if (Array.isArray(value)) return value.map(walk);
			return members(value);
		} catch {
			return "[unreadable]";
		} finally {
			seen.pop();
		}
	};
	const describe = (error: Error): unknown => {
		const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
		const plain: Fields = { name: error.name, message: clean(error.message) };
		if (code !== undefined) plain["code"] = code;
		if ("reason" in error && typeof error.reason === "string") plain["reason"] = error.reason;
		if (error.cause !== undefined) plain["cause"] = walk(error.cause);
		if (stacks && error.stack !== undefined) plain["stack"] = clean(error.stack);
		return plain;
	};
	const members = (value: object): Fields => {
		const copy: Fields = {};
		for (const [name, member] of Object.entries(value)) {
			copy[name] = SECRET.test(name) && typeof member !== "boolean" && member != null ? "[redacted]" : walk(member);
		}
		return copy;
	};
	const copy = walk(fields);
	return typeof copy === "object" && copy !== null ? { ...copy } : {};
}

/** Credentials inside texts: `scheme://user:password@`, `Bearer ...`, `Basic ...`. */
function clean(text: string): string {
	return text
		.replace(/(\b[a-z][a-z0-9+.-]*:\/\/)[^/?#\s@]*@/gi, "$1[redacted]@")
		.replace(/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{4,}/gi, "$1 [redacted]");
}
