/** The kind of option whose value is a mapping or a list: mistakes are told where they are inside it. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Kind, Schema } from "./kind.ts";
import { suggestion, TreeError } from "./problem.ts";

/** A mapping or a list, checked as a whole. */
export function tree<T>(schema: Schema, check: Check): Kind<T> {
	return {
		schema,
		tree: true,
		read(text) {
			const value = JSON.parse(text) as JsonValue;
			const mistakes = check(value).map(({ at, message, known }) => ({
				at,
				message: known ? message + suggestion(String(at.at(-1)), known) : message,
			}));
			if (mistakes.length > 0) throw new TreeError(mistakes);
			// The check has seen that it is one.
			return value as T;
		},
	};
}

type Check = (value: JsonValue) => readonly {
	readonly at: readonly (string | number)[];
	readonly message: string;
	readonly known?: readonly string[];
}[];
