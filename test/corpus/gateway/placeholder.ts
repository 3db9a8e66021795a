/** `«name»` in an expected message: a value that is made up on the way, of a known shape, and the same ever after. */
import type { JsonValue } from "@bufbuild/protobuf";

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const shapes: Readonly<Record<string, string>> = {
	task: UUID,
	context: UUID,
	message: UUID,
	said: "[0-9a-f]{32}",
};
/** What each name stands for, as far as it is known. */
export type Bound = Map<string, string>;

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/** `expected` with its names replaced by what `got` has in their places; a name stays where the shape or an earlier value differs. */
export function settled(expected: JsonValue, got: JsonValue | undefined, bound: Bound): JsonValue {
	if (typeof expected === "string") return settledText(expected, got, bound);
	if (typeof expected !== "object" || expected === null) return expected;
	if (Array.isArray(expected))
		return expected.map((item, i) => settled(item, Array.isArray(got) ? got[i] : undefined, bound));
	const other = typeof got === "object" && got !== null && !Array.isArray(got) ? got : {};
	return Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, settled(value, other[key], bound)]));
}

function settledText(expected: string, got: JsonValue | undefined, bound: Bound): JsonValue {
	// Any id will do for a call, if it has one.
	if (expected === "«call»") return typeof got === "number" || typeof got === "string" ? got : expected;
	if (!expected.includes("«") || typeof got !== "string") return expected;
	const names = [...expected.matchAll(/«(\w+)»/g)].map(([, name]) => name ?? "");
	const pattern = expected
		.split(/«\w+»/)
		.map(escaped)
		.reduce((before, after, i) => {
			const name = names[i - 1] ?? "";
			const value = bound.get(name);
			return `${before}(${value === undefined ? shapes[name] : escaped(value)})${after}`;
		});
	const found = new RegExp(`^${pattern}$`).exec(got);
	if (!found) return expected;
	for (const [i, name] of names.entries()) bound.set(name, found[i + 1] ?? "");
	return got;
}

/** What a client that was told other names says, where the examples have `t-7f3a` and `c-19`. */
export function spoken<T>(value: T, bound: Bound): T {
	if (value === undefined) return value;
	let told = JSON.stringify(value);
	const names = { "t-7f3a": bound.get("task"), "c-19": bound.get("context") };
	for (const [from, to] of Object.entries(names)) if (to !== undefined) told = told.replaceAll(from, to);
	return JSON.parse(told) as T;
}
