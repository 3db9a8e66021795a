/** gRPC methods of both packages, their messages told as ProtoJSON. */
import { type DescMethod, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { A2AService as Older } from "../../../gen/a2a/v1/a2a_pb.ts";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";

export const pathOf = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;
export const methods: ReadonlyMap<string, DescMethod> = new Map(
	[...A2AService.methods, ...Older.methods].map((method) => [pathOf(method), method]),
);
export function methodAt(path: string): DescMethod {
	const found = methods.get(path);
	if (!found) throw new Error(`no method ${path}`);
	return found;
}

export const bytesOf = (type: DescMethod["input"], json: JsonValue): Buffer =>
	Buffer.from(toBinary(type, fromJson(type, json)));
export const jsonOf = (type: DescMethod["input"], bytes: Uint8Array): JsonValue =>
	toJson(type, fromBinary(type, bytes));
