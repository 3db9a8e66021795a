/** Kinds of values an option can have: how a text is read, and how an editor is told (JSON Schema). */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { homedir } from "node:os";
import { isAbsolute, resolve } from "node:path";
import { ValueError } from "./problem.ts";

export type Schema = { readonly [member: string]: unknown };

export interface Kind<T> {
	/** Reads one value. `base` is the directory that relative paths start from. Throws ValueError. */
	read(text: string, base: string): T;
	/** JSON Schema of a literal value in the file. */
	readonly schema: Schema;
	/** The value is a file's path, so `file:PATH` means that path and not the file's content. */
	readonly path?: true;
	/** The value is a mapping or a list; what is read is its JSON. Throws TreeError. */
	readonly tree?: true;
}

/** An address to listen on. Port 0 picks a free one. */
export interface Address {
	/** Host name or IP address, without brackets. */
	readonly host: string;
	readonly port: number;
}

/** A file's content, read once when the configuration is. */
export interface TextFile {
	/** Absolute path. */
	readonly file: string;
	readonly text: string;
}

/** `NAME=value`; the name is `default` when there is none. */
export interface Named<T> {
	readonly name: string;
	readonly value: T;
}

function fail(message: string): never {
	throw new ValueError(message);
}

const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/;

export const address: Kind<Address> = {
	schema: { type: "string", pattern: "^(\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9._-]+):\\d{1,5}$" },
	read(text) {
		const match = ADDRESS.exec(text);
		const host = match?.[1] ?? match?.[2];
		const port = Number(match?.[3]);
		if (host === undefined || port > 65535 || (match?.[1] !== undefined && isIP(host) !== 6)) {
			return fail("must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080");
		}
		return { host, port };
	},
};

/** An address, or `off`. */
export const addressOrOff: Kind<Address | undefined> = {
	schema: { anyOf: [{ const: "off" }, address.schema] },
	read(text, base) {
		if (text === "off") return undefined;
		try {
			return address.read(text, base);
		} catch {
			return fail('must be HOST:PORT, such as 127.0.0.1:9090, or "off"');
		}
	},
};

interface UrlOptions {
	/** May have a query. */
	readonly query: boolean;
	/** May hold user and password. */
	readonly credentials: boolean;
}

/** An absolute URL with one of these schemes and no fragment. */
export function url(schemes: readonly string[], options: UrlOptions): Kind<string> {
	const list = schemes.map((scheme) => `${scheme}://`).join(", ");
	return {
		schema: { type: "string", pattern: `^(${schemes.join("|")})://[^\\s#]+$` },
		read(text) {
			let parsed: URL;
			try {
				parsed = new URL(text);
			} catch {
				return fail(`must be an absolute URL (${list})`);
			}
			if (!schemes.includes(parsed.protocol.slice(0, -1)) || parsed.hostname === "") {
				return fail(`must be an absolute URL (${list})`);
			}
			if (!options.credentials && (parsed.username !== "" || parsed.password !== "")) {
				return fail("must not hold credentials");
			}
			if (parsed.hash !== "") return fail("must not have a fragment (#...)");
			if (parsed.search !== "" && !options.query) return fail("must not have a query (?...)");
			return parsed.href;
		},
	};
}

/** A path, made absolute; `~/` is the home directory. */
export const path: Kind<string> = {
	schema: { type: "string", minLength: 1 },
	path: true,
	read(text, base) {
		if (text === "") return fail("must be a file's path");
		if (text.startsWith("~/")) return resolve(homedir(), text.slice(2));
		return isAbsolute(text) ? text : resolve(base, text);
	},
};

/** A text file that exists; `verify` throws ValueError when the content is not what it should be. */
export function textFile(verify: (text: string) => void): Kind<TextFile> {
	return {
		schema: path.schema,
		path: true,
		read(text, base) {
			const file = path.read(text, base);
			const content = readText(file);
			try {
				verify(content);
			} catch (error) {
				return fail(`${file}: ${error instanceof Error ? error.message : "is not valid"}`);
			}
			return { file, text: content };
		},
	};
}

const REASONS: Readonly<Record<string, string>> = {
	ENOENT: "no such file",
	EACCES: "permission denied",
	EISDIR: "is a directory",
};

/** A file's content as UTF-8. Throws ValueError. */
export function readText(file: string): string {
	try {
		return readFileSync(file, "utf8");
	} catch (error) {
		const code = error instanceof Error && "code" in error ? String(error.code) : "error";
		return fail(`cannot read ${file}: ${REASONS[code] ?? code}`);
	}
}

export function pem(label: string): Kind<TextFile> {
	return textFile((text) => {
		if (!new RegExp(`-----BEGIN [A-Z ]*${label}-----`).test(text)) fail(`holds no PEM ${label.toLowerCase()}`);
	});
}

export const jsonObject: Kind<TextFile> = textFile((text) => {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch (error) {
		fail(`is not JSON: ${error instanceof Error ? error.message : "parse error"}`);
	}
	if (typeof value !== "object" || value === null || Array.isArray(value)) fail("must hold a JSON object");
});

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds, written with a unit. `least` is the smallest value allowed; 0 allows "0", meaning never. */
export function duration(least: number): Kind<number> {
	const zero = least === 0 ? ", or 0 for none" : "";
	return {
		schema: {
			anyOf: [{ type: "string", pattern: "^\\d+(\\.\\d+)?(ms|s|m|h)$" }, ...(least === 0 ? [{ enum: [0, "0"] }] : [])],
		},
		read(text) {
			if (least === 0 && text === "0") return 0;
			const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
			const value = match ? Math.round(Number(match[1]) * (UNITS[match[2] ?? ""] ?? 0)) : Number.NaN;
			// setTimeout's longest: beyond it a timer fires at once.
			if (!(value >= least && value < 2 ** 31)) {
				return fail(`must be a duration with a unit, such as 500ms, 30s, 10m or 1h${zero}`);
			}
			return value;
		},
	};
}

const SIZES: Readonly<Record<string, number>> = {
	"": 1,
	B: 1,
	KB: 1e3,
	MB: 1e6,
	GB: 1e9,
	KiB: 2 ** 10,
	MiB: 2 ** 20,
	GiB: 2 ** 30,
};

/** Bytes, a number or with a unit. */
export function bytes(least: number, most: number): Kind<number> {
	return {
		schema: {
			anyOf: [
				{ type: "integer", minimum: least, maximum: most },
				{ type: "string", pattern: "^\\d+(\\.\\d+)? ?(B|KB|MB|GB|KiB|MiB|GiB)?$" },
			],
		},
		read(text) {
			const match = /^(\d+(?:\.\d+)?) ?(B|KB|MB|GB|KiB|MiB|GiB)?$/.exec(text);
			const value = match ? Math.round(Number(match[1]) * (SIZES[match[2] ?? ""] ?? 0)) : Number.NaN;
			if (!(value >= least && value <= most)) {
				return fail(`must be a size from ${size(least)} to ${size(most)}, such as 32MiB`);
			}
			return value;
		},
	};
}

/** A size as people write it. The inverse of `bytes` for round numbers. */
export function size(value: number): string {
	for (const unit of ["GiB", "MiB", "KiB"]) {
		const one = SIZES[unit] ?? 1;
		if (value >= one && value % one === 0) return `${value / one}${unit}`;
	}
	return String(value);
}

export function integer(least: number, most: number): Kind<number> {
	return {
		schema: { type: "integer", minimum: least, maximum: most },
		read(text) {
			const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
			return value >= least && value <= most ? value : fail(`must be a whole number from ${least} to ${most}`);
		},
	};
}

export function oneOf<const T extends string>(...values: readonly T[]): Kind<T> {
	// What YAML takes for a number counts by how it is written; an editor's schema sees the number.
	const forms = values.flatMap((value) => (/^\d+(\.\d+)?$/.test(value) ? [value, Number(value)] : [value]));
	return {
		schema: { enum: forms },
		read: (text) => values.find((value) => value === text) ?? fail(`must be one of ${values.join(", ")}`),
	};
}

export const yesNo: Kind<boolean> = {
	schema: { type: "boolean" },
	read: (text) => (text === "true" || text === "false" ? text === "true" : fail("must be true or false")),
};

export const text: Kind<string> = {
	schema: { type: "string", minLength: 1 },
	read: (value) => (value.trim() === "" ? fail("must not be empty") : value.trim()),
};

const MEDIA = /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*;.*)?$/;

/** A media type, with or without parameters. */
export const mediaType: Kind<string> = {
	schema: { type: "string", minLength: 3 },
	read: (value) => (MEDIA.test(value) ? value : fail("must be a media type, such as text/plain")),
};

const HOST = /^(?:[a-z0-9_](?:[a-z0-9._-]{0,251}[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** `name` or `name:port`, lower case. */
export const hostName: Kind<string> = {
	schema: { type: "string", pattern: HOST.source },
	read: (value) => (HOST.test(value) ? value : fail("must be a host name in lower case, with or without :PORT")),
};

export const NAME = /^[a-z0-9][a-z0-9-]*$/;
const NAME_HINT = "an agent's name is made of a-z, 0-9 and - and does not start with -";

export const agentName: Kind<string> = {
	schema: { type: "string", pattern: NAME.source },
	read: (text) => (NAME.test(text) ? text : fail(NAME_HINT)),
};

/** `[NAME=]VALUE`. */
export function named<T>(kind: Kind<T>): Kind<Named<T>> {
	return {
		schema: kind.schema,
		read(text, base) {
			const match = /^([^=:/?.]*)=(.*)$/s.exec(text);
			if (!match) return { name: "default", value: kind.read(text, base) };
			return { name: agentName.read(match[1] ?? "", base), value: kind.read(match[2] ?? "", base) };
		},
	};
}

/** A store: `memory:`, `sqlite:PATH` or `postgres://...`. */
export const stateUrl: Kind<string> = {
	schema: { type: "string", pattern: "^(memory:$|sqlite:.+|postgres(ql)?://.+)" },
	read: (text) =>
		/^(memory:$|sqlite:.+|postgres(ql)?:\/\/.+)/s.test(text)
			? text
			: fail("must be memory:, sqlite:PATH or postgres://..."),
};

/** An origin as browsers send it (RFC 6454), or `*`. */
export const origin: Kind<string> = {
	schema: { type: "string", pattern: "^(\\*|[a-z][a-z0-9+.-]*://[^/\\s]+)$" },
	read(text) {
		if (text === "*") return text;
		const parsed = URL.canParse(text) ? new URL(text) : undefined;
		if (!parsed || !/^[a-z][a-z0-9+.-]*:\/\/[^/?#\s@]+$/i.test(text)) {
			return fail("must be an origin, such as https://app.example, or *");
		}
		// Extension schemes have the opaque origin "null"; browsers send scheme and host as they are.
		return parsed.origin === "null" ? text : parsed.origin;
	},
};

export const cidr: Kind<string> = {
	schema: { type: "string", pattern: "^[0-9a-fA-F:.]+/\\d{1,3}$" },
	read(text) {
		const match = /^([^/]+)\/(\d{1,3})$/.exec(text);
		const family = isIP(match?.[1] ?? "");
		if (!match || family === 0 || Number(match[2]) > (family === 4 ? 32 : 128)) {
			return fail("must be an address range, such as 10.0.0.0/8 or fd00::/8");
		}
		return text;
	},
};
