/** What v0.1, v0.2 and v0.3 JSON have in common: parts told apart by a discriminator, states, roles, times, webhooks (dialects.md §9, §10, §13). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { pointer } from "../call/loss.ts";
import { type At, isObject, type Lens, lost, lostBut, misfit, names, record, same, step } from "./lens.ts";

/** Metadata keys under which a member without counterpart rides (dialects.md §16). */
export const CARRIED = {
	/** The official SDKs' flag: `data` was no object and sits under `value`. */
	dataWrapped: "data_part_compat",
	mediaType: "a2a-gateway/mediaType",
	filename: "a2a-gateway/filename",
	referenceTaskIds: "a2a-gateway/referenceTaskIds",
} as const;

export const role: Lens = names(
	{ ROLE_USER: "user", ROLE_AGENT: "agent" },
	{ lifted: "ROLE_UNSPECIFIED", lowered: "agent" },
);

/** v0.2 and v0.3 task states. */
export const STATES = {
	TASK_STATE_UNSPECIFIED: "unknown",
	TASK_STATE_SUBMITTED: "submitted",
	TASK_STATE_WORKING: "working",
	TASK_STATE_COMPLETED: "completed",
	TASK_STATE_FAILED: "failed",
	TASK_STATE_CANCELED: "canceled",
	TASK_STATE_INPUT_REQUIRED: "input-required",
	TASK_STATE_REJECTED: "rejected",
	TASK_STATE_AUTH_REQUIRED: "auth-required",
} as const;

export const state: Lens = names(STATES, { lifted: "TASK_STATE_UNSPECIFIED", lowered: "unknown" });

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** ISO 8601 as older peers write it (lower case, blank for T, no zone, offsets) into RFC 3339 in UTC; without a zone it is UTC. */
export const timestamp: Lens = {
	lift(value, at) {
		const time = typeof value === "string" ? utc(value) : undefined;
		if (time === undefined) at.loss(at.path, "is not a time");
		return time;
	},
	lower: same.lower,
};

function utc(written: string): string | undefined {
	let text = written
		.trim()
		.toUpperCase()
		.replace(/^(\d{4}-\d\d-\d\d) /, "$1T")
		.replace(/([+-]\d\d)(\d\d)$/, "$1:$2");
	if (/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !/(Z|[+-]\d\d:\d\d)$/.test(text)) text += "Z";
	const time = Date.parse(text.replace(/\.\d+/, ""));
	if (Number.isNaN(time)) return undefined;
	if (!RFC3339.test(text)) return new Date(Date.parse(text)).toISOString();
	// Only the offset is worked in: fractions stay as fine as they came.
	const [fraction = ""] = /\.\d+/.exec(text) ?? [];
	return text.endsWith("Z") ? text : `${new Date(time).toISOString().slice(0, 19)}${fraction}Z`;
}

/** `metadata` with more in it. */
export function withMetadata(target: JsonObject, more: JsonObject): void {
	const metadata = target["metadata"];
	target["metadata"] = { ...(isObject(metadata) ? metadata : {}), ...more };
}

/** Takes members out of `metadata`, and `metadata` out when nothing is left that was not there before. */
export function takeMetadata(target: JsonObject, ...keys: readonly string[]): JsonObject {
	const metadata = target["metadata"];
	const taken: JsonObject = {};
	if (!isObject(metadata)) return taken;
	const rest: JsonObject = { ...metadata };
	for (const key of keys) {
		const value = rest[key];
		if (value === undefined) continue;
		taken[key] = value;
		delete rest[key];
	}
	if (Object.keys(taken).length > 0) {
		if (Object.keys(rest).length > 0) target["metadata"] = rest;
		else delete target["metadata"];
	}
	return taken;
}

/** A part told apart by `kind` (v0.2, v0.3) or `type` (v0.1). */
export function part(discriminator: "kind" | "type"): Lens {
	return {
		lift(value, at) {
			if (!isObject(value)) throw misfit(at, "must be an object");
			const { [discriminator]: given, ...rest } = value;
			// The first v0.1 schema let the discriminator default to "text".
			const kind = given ?? ("text" in rest ? "text" : "file" in rest ? "file" : "data" in rest ? "data" : undefined);
			if (kind === "text") return liftText(rest, at);
			if (kind === "file") return liftFile(rest, at);
			if (kind === "data") return liftData(rest, at);
			throw misfit(at, `must have a ${discriminator} of "text", "file" or "data"`);
		},
		lower(value, at) {
			if (!isObject(value)) throw misfit(at, "must be an object");
			return lowerPart(value, discriminator, at);
		},
	};
}

/** Names that mean something in a part of the core, and nothing in an older one. */
const FOREIGN: ReadonlySet<string> = new Set(["text", "raw", "url", "data", "file", "filename", "mediaType"]);

/** An older part's own members: those of other kinds are not carried along, the unknown ones are. */
export function ownMembers(part: JsonObject, at: At, ...own: readonly string[]): JsonObject {
	const result: JsonObject = {};
	for (const [key, value] of Object.entries(part)) {
		if (value === null || key === "__proto__") continue;
		if (key === "metadata") {
			const metadata = struct.lift(value, step(at, key));
			if (metadata !== undefined) result[key] = metadata;
		} else if (own.includes(key)) continue;
		else if (FOREIGN.has(key)) at.loss(pointer(at.path, key), "is not a member of this kind of part");
		else result[key] = value;
	}
	return result;
}

function liftText(rest: JsonObject, at: At): JsonObject {
	if (typeof rest["text"] !== "string") throw misfit(at, "must have a string member text");
	return unfold({ text: rest["text"], ...ownMembers(rest, at, "text") });
}

function liftData(rest: JsonObject, at: At): JsonObject {
	if (!("data" in rest)) throw misfit(at, "must have a member data");
	return unwrapData({ data: rest["data"] ?? null, ...ownMembers(rest, at, "data") });
}

/** Data that was wrapped because the older form has objects only, taken out again. */
export function unwrapData(part: JsonObject): JsonObject {
	const { [CARRIED.dataWrapped]: wrapped } = takeMetadata(part, CARRIED.dataWrapped);
	const { data } = part;
	if (wrapped === true && isObject(data) && "value" in data) part["data"] = data["value"] ?? null;
	return unfold(part);
}

function liftFile(rest: JsonObject, at: At): JsonObject {
	const { file } = rest;
	if (!isObject(file)) throw misfit(at, "must have an object member file");
	const part: JsonObject = ownMembers(rest, at, "file");
	const inner = step(at, "file");
	const { bytes, uri, name, mimeType } = file;
	const content = typeof bytes === "string" ? "bytes" : "uri";
	if (typeof bytes === "string") part["raw"] = bytes;
	else if (typeof uri === "string") part["url"] = uri;
	else throw misfit(inner, "must have a string member bytes or uri");
	if (typeof name === "string" && name !== "") part["filename"] = name;
	if (typeof mimeType === "string" && mimeType !== "") part["mediaType"] = mimeType;
	for (const key of Object.keys(file)) {
		if (key === content || ((key === "name" || key === "mimeType") && typeof file[key] === "string")) continue;
		lost(file, inner, "has no counterpart", key);
	}
	return part;
}

/** The inverse of what lowerPart folds into metadata. */
export function unfold(part: JsonObject): JsonObject {
	const taken = takeMetadata(part, CARRIED.mediaType, CARRIED.filename);
	const { [CARRIED.mediaType]: mediaType, [CARRIED.filename]: filename } = taken;
	if (typeof filename === "string") part["filename"] = filename;
	if (typeof mediaType === "string") part["mediaType"] = mediaType;
	return part;
}

/** The media type that a data part has without saying so. */
const JSON_TYPE = "application/json";

function lowerPart(core: JsonObject, discriminator: string, at: At): JsonObject | undefined {
	const { text, raw, url, data, metadata, filename, mediaType } = core;
	if (text === undefined && raw === undefined && url === undefined && data === undefined) {
		at.loss(at.path, "is a kind of part the older version does not know");
		return undefined;
	}
	lostBut(core, at, "text", "raw", "url", "data", "metadata", "filename", "mediaType");
	const carried = metadata === undefined ? {} : { metadata };
	if (raw !== undefined || url !== undefined) {
		const content = raw === undefined ? { uri: url as JsonValue } : { bytes: raw };
		const file = {
			...content,
			...(filename !== undefined && { name: filename }),
			...(mediaType !== undefined && { mimeType: mediaType }),
		};
		return { [discriminator]: "file", file, ...carried };
	}
	const part: JsonObject =
		data === undefined
			? { [discriminator]: "text", text: text as JsonValue, ...carried }
			: { [discriminator]: "data", data, ...carried };
	if (data !== undefined && !isObject(data)) {
		part["data"] = { value: data };
		withMetadata(part, { [CARRIED.dataWrapped]: true });
	}
	if (filename !== undefined) withMetadata(part, { [CARRIED.filename]: filename });
	if (mediaType === JSON_TYPE && data !== undefined)
		at.loss(pointer(at.path, "mediaType"), "goes without saying for a data part");
	else if (mediaType !== undefined) withMetadata(part, { [CARRIED.mediaType]: mediaType });
	return part;
}

/** `schemes` (a list) ↔ `scheme`: the first is kept, the others are reported (as the SDKs keep it). */
export const authentication: Lens = record(
	{ credentials: ["credentials"] },
	{
		handled: ["scheme"],
		consumed: ["schemes"],
		lifted(core, older, at) {
			const given = older["schemes"];
			const schemes = Array.isArray(given) ? given : typeof given === "string" ? [given] : [];
			if (typeof schemes[0] === "string") core["scheme"] = schemes[0];
			else lost(older, at, "is not a list of names", "schemes");
			for (let i = 1; i < schemes.length; i++) at.loss(`${at.path}/schemes/${i}`, "only one scheme can be kept");
		},
		lowered(older, core) {
			const scheme = core["scheme"];
			older["schemes"] = typeof scheme === "string" && scheme !== "" ? [scheme] : [];
		},
	},
);

const WEBHOOK = {
	id: ["id"],
	url: ["url"],
	token: ["token"],
	authentication: ["authentication", authentication],
} as const;

/** PushNotificationConfig of the older versions ↔ the flat config inside a v1.0 send: the task is the send's own. */
export const inlineWebhook: Lens = record(WEBHOOK, {
	handled: ["taskId", "tenant"],
	lowered: (_older, core, at) => lost(core, at, "has no counterpart", "taskId", "tenant"),
});

/** The same of a stored config, whose task the caller translates. */
export const webhook: Lens = record(WEBHOOK, {
	handled: ["taskId", "tenant"],
	lowered: (_older, core, at) => lost(core, at, "has no counterpart", "tenant"),
});

/** v1.0 has an id on every stored config; peers that know none have one per task, so the task's name is its (as the SDKs do). */
export function withConfigId(core: JsonObject): JsonObject {
	return core["id"] === undefined && core["taskId"] !== undefined ? { ...core, id: core["taskId"] } : core;
}

/** Requests that name a tenant: the older versions have none. */
export const noTenant = {
	handled: ["tenant"],
	lowered: (_older: JsonObject, core: JsonObject, at: At) => lost(core, at, "has no counterpart", "tenant"),
} as const;

/** Struct-typed members: objects only. */
export const struct: Lens = {
	lift(value, at) {
		if (isObject(value)) return value;
		at.loss(at.path, "is not an object");
		return undefined;
	},
	lower: same.lower,
};
