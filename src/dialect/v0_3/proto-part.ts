/** v0.3 ProtoJSON parts: `{file: {fileWithUri}}`, `{data: {data}}` ↔ v1.0 parts; reads the `kind` shape too. */
import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, type Lens, misfit } from "../lens.ts";
import { CARRIED, part as kindPart, takeMetadata } from "../older.ts";

const rpcPart = kindPart("kind");

export const part: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		if ("kind" in value) return rpcPart.lift(value, at);
		const { file, data, ...rest } = value;
		if (isObject(file)) {
			const { fileWithUri, file_with_uri, fileWithBytes, file_with_bytes, mimeType, mime_type, name } = file;
			const uri = fileWithUri ?? file_with_uri;
			const content = uri === undefined ? { raw: fileWithBytes ?? file_with_bytes ?? "" } : { url: uri };
			const mediaType = mimeType ?? mime_type;
			return { ...rest, ...content, ...(mediaType && { mediaType }), ...(name && { filename: name }) };
		}
		if (data !== undefined) {
			const part: JsonObject = { ...rest, data: (isObject(data) && data["data"]) || {} };
			const { [CARRIED.dataWrapped]: wrapped } = takeMetadata(part, CARRIED.dataWrapped);
			const inner = part["data"];
			if (wrapped === true && isObject(inner) && "value" in inner) part["data"] = inner["value"] ?? null;
			return unfold(part);
		}
		return unfold({ ...rest });
	},
	lower(value, at) {
		// The kind-shape has the same members; only the nesting differs.
		const { kind, file, data, ...rest } = rpcPart.lower(value, at) as JsonObject;
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

function unfold(part: JsonObject): JsonObject {
	const { [CARRIED.mediaType]: mediaType, [CARRIED.filename]: filename } = takeMetadata(
		part,
		CARRIED.mediaType,
		CARRIED.filename,
	);
	return {
		...part,
		...(typeof filename === "string" && { filename }),
		...(typeof mediaType === "string" && { mediaType }),
	};
}
