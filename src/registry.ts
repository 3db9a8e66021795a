/** The bindings and dialects there are: adding one is a folder and a line here. */
import type { Binding } from "./binding/binding.ts";
import { grpc } from "./binding/grpc/index.ts";
import { httpJson } from "./binding/http-json/index.ts";
import { jsonrpc } from "./binding/jsonrpc/index.ts";
import type { Dialect } from "./dialect/dialect.ts";
import { v0_1 } from "./dialect/v0_1/index.ts";
import { v0_2, v0_3 } from "./dialect/v0_3/index.ts";
import { v1 } from "./dialect/v1/index.ts";

export const bindings: readonly Binding[] = [jsonrpc, httpJson, grpc];

/** Newest first. */
export const dialects: readonly Dialect[] = [v1, v0_3, v0_2, v0_1];

/** The dialects that clients of a binding are served in, newest first. */
export function servedOn(binding: Binding): readonly Dialect[] {
	return dialects.filter((d) => d.served && d.bindings.includes(binding.name));
}

/** The binding of that `protocolBinding` name. Throws TypeError: names are checked before. */
export function bindingNamed(name: string): Binding {
	const found = bindings.find((b) => b.name === name);
	if (!found) throw new TypeError(`no binding ${name}`);
	return found;
}

/** The dialect of that version. Throws TypeError: versions are checked before. */
export function dialectOf(version: string): Dialect {
	const found = dialects.find((d) => d.version === version);
	if (!found) throw new TypeError(`no dialect ${version}`);
	return found;
}
