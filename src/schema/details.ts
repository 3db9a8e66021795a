/** google.rpc error details between their two forms: JSON with `@type` and google.protobuf.Any (errors.md §3). */
import {
	create,
	createRegistry,
	fromBinary,
	fromJson,
	type JsonObject,
	type JsonValue,
	type Registry,
	toBinary,
	toJson,
} from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import type { Detail } from "../call/error.ts";

const known: Registry = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema);
const PREFIX = "type.googleapis.com/";

/** Packs one detail. A type nobody here knows keeps its bytes (`value`, base64) or its JSON. */
export function packDetail(detail: Detail): Any | undefined {
	const { "@type": typeUrl, ...rest } = detail;
	const type = known.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
	if (type) {
		try {
			const value = toBinary(type, fromJson(type, rest, { ignoreUnknownFields: true }));
			return create(AnySchema, { typeUrl, value });
		} catch {
			return undefined;
		}
	}
	const raw = rest["value"];
	if (typeof raw === "string" && Object.keys(rest).length === 1) {
		return create(AnySchema, { typeUrl, value: Buffer.from(raw, "base64") });
	}
	return undefined;
}

/** Unpacks one detail: the inverse of packDetail. */
export function unpackDetail(any: Any): Detail {
	const typeUrl = any.typeUrl.includes("/") ? any.typeUrl : PREFIX + any.typeUrl;
	const type = known.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
	if (type) {
		try {
			return { "@type": typeUrl, ...(toJson(type, fromBinary(type, any.value)) as JsonObject) };
		} catch {
			// Not what its type says: kept as bytes below.
		}
	}
	return { "@type": typeUrl, value: Buffer.from(any.value).toString("base64") };
}

/** The content of `grpc-status-details-bin`. */
export function packStatus(code: number, message: string, details: readonly Detail[]): Uint8Array {
	const packed = details.map(packDetail).filter((any) => any !== undefined);
	return toBinary(StatusSchema, create(StatusSchema, { code, message, details: packed }));
}

/** The inverse of packStatus; undefined when the bytes are no google.rpc.Status. */
export function unpackStatus(bytes: Uint8Array): { code: number; message: string; details: Detail[] } | undefined {
	try {
		const status = fromBinary(StatusSchema, bytes);
		return { code: status.code, message: status.message, details: status.details.map(unpackDetail) };
	} catch {
		return undefined;
	}
}

/** The members of a JSON array that are details; the rest is dropped. */
export function detailsIn(value: JsonValue | undefined): Detail[] {
	if (!Array.isArray(value)) return [];
	return value.filter(
		(d): d is Detail => typeof d === "object" && d !== null && !Array.isArray(d) && typeof d["@type"] === "string",
	);
}
