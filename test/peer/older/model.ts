/** One neutral vocabulary for peers of every version: what a test says and sees, whatever the wire. Nothing of src. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

export type Version = "1.0" | "0.3" | "0.2" | "0.1";
export type Binding = "JSONRPC" | "HTTP+JSON" | "GRPC";

/** A way of speaking: a binding in a version. */
export interface Form {
	readonly binding: Binding;
	readonly version: Version;
}

/** The eight forms of the matrix, newest first. */
export const forms: readonly Form[] = [
	{ binding: "JSONRPC", version: "1.0" },
	{ binding: "HTTP+JSON", version: "1.0" },
	{ binding: "GRPC", version: "1.0" },
	{ binding: "JSONRPC", version: "0.3" },
	{ binding: "HTTP+JSON", version: "0.3" },
	{ binding: "GRPC", version: "0.3" },
	{ binding: "JSONRPC", version: "0.2" },
	{ binding: "JSONRPC", version: "0.1" },
];
export const nameOf = (form: Form): string => `${form.binding} ${form.version}`;

/** States as v0.2 and v0.3 spell them. */
export type State =
	| "unknown"
	| "submitted"
	| "working"
	| "completed"
	| "failed"
	| "canceled"
	| "input-required"
	| "rejected"
	| "auth-required";
const ended: ReadonlySet<State> = new Set(["completed", "failed", "canceled", "rejected"]);
export const isEnded = (state: State): boolean => ended.has(state);
/** Ended or waiting for the caller: what a waiting send returns at. */
export const isAtRest = (state: State): boolean =>
	isEnded(state) || state === "input-required" || state === "auth-required";

export interface Part {
	readonly text?: string;
	/** Base64. */
	readonly bytes?: string;
	readonly uri?: string;
	readonly data?: JsonValue;
	readonly name?: string;
	readonly mime?: string;
	readonly metadata?: JsonObject;
}
export interface Message {
	readonly role: "user" | "agent";
	readonly parts: readonly Part[];
	readonly id?: string;
	readonly taskId?: string;
	readonly contextId?: string;
	readonly metadata?: JsonObject;
}
export interface Status {
	readonly state: State;
	readonly message?: Message;
	readonly timestamp?: string;
}
export interface Artifact {
	readonly id: string;
	readonly name?: string;
	readonly parts: readonly Part[];
	readonly metadata?: JsonObject;
}
export interface Task {
	readonly id: string;
	readonly contextId?: string;
	readonly status: Status;
	readonly artifacts: readonly Artifact[];
	readonly history: readonly Message[];
	readonly metadata?: JsonObject;
}
/** A webhook. */
export interface Hook {
	readonly id?: string;
	readonly url: string;
	readonly token?: string;
	readonly scheme?: string;
	readonly credentials?: string;
}

export const operations = [
	"send",
	"stream",
	"get",
	"list",
	"cancel",
	"subscribe",
	"pushCreate",
	"pushGet",
	"pushList",
	"pushDelete",
	"card",
] as const;
export type Operation = (typeof operations)[number];
export const isStream = (op: Operation): boolean => op === "stream" || op === "subscribe";

/** A request. */
export interface Ask {
	readonly op: Operation;
	/** The task. In a send it continues one, or (v0.1) names the new one. */
	readonly taskId?: string;
	readonly message?: Message;
	/** Undefined where the caller or its version says nothing. */
	readonly wait?: boolean;
	readonly historyLength?: number;
	readonly modes?: readonly string[];
	readonly hook?: Hook;
	readonly hookId?: string;
	readonly contextId?: string;
	readonly metadata?: JsonObject;
}

/** An answer or one event of a stream: one member says what it is. */
export interface Said {
	readonly task?: Task;
	readonly message?: Message;
	readonly status?: { readonly taskId: string; readonly contextId?: string; readonly status: Status };
	readonly artifact?: {
		readonly taskId: string;
		readonly contextId?: string;
		readonly artifact: Artifact;
		readonly append: boolean;
		readonly last: boolean;
	};
	/** Beside `status`, in the versions that say it. */
	readonly final?: boolean;
	readonly hook?: { readonly taskId: string; readonly hook: Hook };
	readonly hooks?: { readonly taskId: string; readonly list: readonly Hook[] };
	readonly tasks?: readonly Task[];
	readonly card?: JsonObject;
	readonly done?: true;
}

export const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
export const object = (value: JsonValue | undefined): JsonObject =>
	typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
export const array = (value: JsonValue | undefined): readonly JsonObject[] =>
	Array.isArray(value) ? value.map(object) : [];
export const textOf = (message: Message): string => message.parts.map((part) => part.text ?? "").join(" ");

/** JSON without the members that are undefined. */
export const jsonOf = (value: Readonly<Record<string, JsonValue | undefined>>): JsonObject =>
	Object.fromEntries(Object.entries(value).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined));

/** `{a: undefined}` → `{}`: JSON and exactOptionalPropertyTypes both want the member away. */
export function defined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
	return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}
