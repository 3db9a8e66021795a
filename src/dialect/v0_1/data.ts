/** v0.1 messages, artifacts and tasks (`type` parts, no ids, artifact indexes) ↔ those of v1.0 (dialects.md §9, §10). */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, type Lens, list, lost, names, record, step } from "../lens.ts";
import { part, role, STATES, struct, takeMetadata, timestamp, withMetadata } from "../older.ts";

/** Metadata keys for what v0.1 has no member for. */
const KEPT = {
	state: "a2a-gateway/state",
	message: "a2a-gateway/message",
	extensions: "a2a-gateway/extensions",
	artifactId: "a2a-gateway/artifactId",
} as const;

const { TASK_STATE_REJECTED: _rejected, TASK_STATE_AUTH_REQUIRED: _auth, ...states } = STATES;
const exactState = names(states, { lifted: "TASK_STATE_UNSPECIFIED", lowered: "unknown" });
/** The nearest state v0.1 has (dialects.md §10). */
const nearest: Readonly<Record<string, string>> = {
	TASK_STATE_REJECTED: "failed",
	TASK_STATE_AUTH_REQUIRED: "input-required",
};

/** v0.1 messages have no ids: they are told by the task around them (contextId, taskId) or made up (messageId). */
export const message: Lens = record(
	{ role: ["role", role], parts: ["parts", list(part("type"))], metadata: ["metadata", struct] },
	{
		handled: ["messageId", "contextId", "taskId", "extensions", "referenceTaskIds"],
		lifted(core, older) {
			const { [KEPT.message]: kept } = takeMetadata(core, KEPT.message);
			if (isObject(kept)) Object.assign(core, kept);
			// Nothing names this message: the same message read again has the same id.
			core["messageId"] ??= createHash("sha256").update(JSON.stringify(older)).digest("hex").slice(0, 32);
		},
		lowered(older, core) {
			const { extensions, referenceTaskIds } = core;
			const kept: JsonObject = {
				...(extensions !== undefined && { extensions }),
				...(referenceTaskIds !== undefined && { referenceTaskIds }),
			};
			if (Object.keys(kept).length > 0) withMetadata(older, { [KEPT.message]: kept });
		},
	},
);

export const status: Lens = record(
	{ message: ["message", message], timestamp: ["timestamp", timestamp] },
	{
		handled: ["state"],
		consumed: ["state"],
		lifted(core, older, at) {
			const state = older["state"];
			core["state"] = exactState.lift(state ?? "unknown", step(at, "state")) ?? "TASK_STATE_UNSPECIFIED";
		},
		lowered(older, core, at) {
			const state = core["state"] ?? "TASK_STATE_UNSPECIFIED";
			const near = typeof state === "string" ? nearest[state] : undefined;
			older["state"] = near ?? exactState.lower(state, step(at, "state")) ?? "unknown";
		},
	},
);

/** A state that v0.1 lacks is told in the metadata of what carries the status. */
export function keepState(older: JsonObject, core: JsonObject): void {
	const inner = core["status"];
	const state = isObject(inner) ? inner["state"] : undefined;
	if (typeof state === "string" && nearest[state] !== undefined) withMetadata(older, { [KEPT.state]: state });
}
/** The inverse. */
export function restoreState(core: JsonObject): void {
	const { [KEPT.state]: state } = takeMetadata(core, KEPT.state);
	if (typeof state === "string" && isObject(core["status"])) core["status"] = { ...core["status"], state };
}

/** Messages of one content have one id, unless they are in one history. */
const history: Lens = {
	lift(value, at) {
		const seen = new Map<JsonValue | undefined, number>();
		return (list(message).lift(value, at) as JsonObject[]).map((item) => {
			const id = item["messageId"];
			const times = (seen.get(id) ?? 0) + 1;
			seen.set(id, times);
			return times === 1 ? item : { ...item, messageId: `${id}-${times}` };
		});
	},
	lower: (value, at) => list(message).lower(value, at),
};

const INDEXED = /^artifact-(0|[1-9]\d{0,8})$/;

/** `artifact-N` ↔ index N. Ids of another form (core/client-ids leaves none) take their place's index and ride in metadata. */
export const artifact: Lens = record(
	{
		name: ["name"],
		description: ["description"],
		parts: ["parts", list(part("type"))],
		metadata: ["metadata", struct],
	},
	{
		handled: ["artifactId", "extensions"],
		consumed: ["index", "append", "lastChunk"],
		lifted(core, older) {
			const { [KEPT.artifactId]: id, [KEPT.extensions]: extensions } = takeMetadata(
				core,
				KEPT.artifactId,
				KEPT.extensions,
			);
			const index = older["index"];
			core["artifactId"] = typeof id === "string" ? id : `artifact-${typeof index === "number" ? index : 0}`;
			if (Array.isArray(extensions)) core["extensions"] = extensions;
		},
		lowered(older, core) {
			const { artifactId, extensions } = core;
			const match = typeof artifactId === "string" ? INDEXED.exec(artifactId) : null;
			older["index"] = match ? Number(match[1]) : 0;
			if (!match && artifactId !== undefined) withMetadata(older, { [KEPT.artifactId]: artifactId });
			if (extensions !== undefined) withMetadata(older, { [KEPT.extensions]: extensions });
		},
	},
);

/** A stored task's artifacts: those of one index are one artifact in the core (dialects.md §16), under the first's name. */
const artifacts: Lens = {
	lift(value, at) {
		const byId = new Map<JsonValue | undefined, JsonObject>();
		(list(artifact).lift(value, at) as JsonObject[]).forEach((item, i) => {
			const before = byId.get(item["artifactId"]);
			if (!before) {
				byId.set(item["artifactId"], item);
				return;
			}
			const { artifactId: _id, parts, ...others } = item;
			for (const key of Object.keys(others))
				if (JSON.stringify(before[key]) !== JSON.stringify(others[key]))
					lost(others, step(at, i), "is folded into the artifact with the same index", key);
			before["parts"] = [...((before["parts"] as JsonValue[]) ?? []), ...((parts as JsonValue[]) ?? [])];
		});
		return [...byId.values()];
	},
	lower(value, at) {
		const lowered = list(artifact).lower(value, at) as JsonObject[];
		const core = value as JsonObject[];
		lowered.forEach((item, i) => {
			if (!INDEXED.test(String(core[i]?.["artifactId"]))) item["index"] = i;
		});
		return lowered;
	},
};

export const task: Lens = record(
	{
		id: ["id"],
		contextId: ["sessionId"],
		status: ["status", status],
		artifacts: ["artifacts", artifacts],
		history: ["history", history],
		metadata: ["metadata", struct],
	},
	{
		lifted: restoreState,
		lowered(older, core) {
			keepState(older, core);
			older["status"] ??= { state: "unknown" };
		},
	},
);
