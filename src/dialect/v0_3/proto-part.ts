/** v0.3 ProtoJSON parts: `{file: {fileWithUri}}`, `{data: {data}}` ↔ v1.0 parts; reads the `kind` shape too. */
import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, type Lens, lost, misfit, step } from "../lens.ts";
import { part as kindPart, ownMembers, unfold, unwrapData } from "../older.ts";

const rpcPart = kindPart("kind");
const FILE = new Set(["fileWithUri", "fileWithBytes", "mimeType", "name"]);

export const part: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		if (typeof value["kind"] === "string") return rpcPart.lift(value, at);
		const { text, file, data } = value;
		if (isObject(file)) {
			const { fileWithUri, fileWithBytes, mimeType, name, uri, bytes } = file;
			// JSON-RPC's names for the same, without its `kind`.
			if (fileWithUri === undefined && fileWithBytes === undefined && (uri ?? bytes) !== undefined)
				return rpcPart.lift(value, at);
			const inner = step(at, "file");
			const content = fileWithUri === undefined ? { raw: fileWithBytes } : { url: fileWithUri };
			if (typeof (fileWithUri ?? fileWithBytes) !== "string")
				throw misfit(inner, "must have one of fileWithUri, fileWithBytes");
			for (const key of Object.keys(file)) if (!FILE.has(key)) lost(file, inner, "has no counterpart", key);
			return {
				...content,
				...ownMembers(value, at, "file"),
				...(mimeType && { mediaType: mimeType }),
				...(name && { filename: name }),
			} as JsonObject;
		}
		if (isObject(data)) {
			// Struct members directly under `data` are JSON-RPC's form without its `kind`.
			const wrapped = "data" in data || Object.keys(data).length === 0;
			return unwrapData({ ...ownMembers(value, at, "data"), data: wrapped ? (data["data"] ?? {}) : data });
		}
		return unfold({ ...(text !== undefined && { text }), ...ownMembers(value, at, "text") });
	},
	lower(value, at) {
		// The kind-shape has the same members; only the nesting differs.
		const lowered = rpcPart.lower(value, at);
		if (!isObject(lowered)) return undefined;
		const { kind, file, data, ...rest } = lowered;
		if (isObject(file)) {
			const { bytes, uri, name, mimeType } = file;
			return {
				...rest,
				file: {
					...(uri === undefined ? { fileWithBytes: bytes ?? "" } : { fileWithUri: uri }),
					...(mimeType !== undefined && { mimeType }),
					...(name !== undefined && { name }),
				},
			};
		}
		return kind === "data" ? { ...rest, data: { data: data ?? {} } } : rest;
	},
};
