/** What an option is: where it is given, what it means, how its value is read. */
import type { Kind } from "./kind.ts";

interface Common<T> {
	/** Field of the file, dotted; undefined where the file has another form for it. */
	readonly key: string | undefined;
	/** Command line flag without dashes; undefined = file and environment only. */
	readonly flag: string | undefined;
	/** What stands for the value in the help. */
	readonly arg: string;
	readonly kind: Kind<T>;
	/** The default as people read it. */
	readonly shown: string;
	readonly doc: string;
	/** Text when this value belongs to a feature that is not in this build. */
	later(value: T): string | undefined;
}

export interface One<T> extends Common<T> {
	readonly many: false;
	readonly fallback: T;
}

/** Repeatable as a flag, a list in the file, comma-separated in the environment. */
export interface Many<T> extends Common<T> {
	readonly many: true;
	readonly fallback: readonly T[];
}

export type Option = One<unknown> | Many<unknown>;

type Init<T> = Pick<Common<T>, "arg" | "kind" | "shown" | "doc"> & Partial<Common<T>>;

const NOW = () => undefined;
const COMMON = { flag: undefined, later: NOW };

export function one<T>(key: string, fallback: T, init: Init<T>): One<T> {
	return { ...COMMON, ...init, key, fallback, many: false };
}

export function many<T>(key: string | undefined, init: Init<T>): Many<T> {
	return { ...COMMON, ...init, key, fallback: [], many: true };
}
