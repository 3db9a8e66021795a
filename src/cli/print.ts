/** Answers and events as a person reads them: the agent's text, then the task and its state. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { clean } from "./output.ts";

/** Takes SendMessageResponse or StreamResponse objects in ProtoJSON, in order. */
export class Printer {
	readonly #out: (text: string) => void;
	#task: JsonObject | undefined;
	#state = "";
	/** Text of an artifact that has not ended in a line break yet. */
	#open = "";

	constructor(out: (text: string) => void) {
		this.#out = out;
	}

	/** The task ended in failure or was rejected. */
	get failed(): boolean {
		return this.#state === "failed" || this.#state === "rejected";
	}

	/** @param quiet only keep track */
	take(answer: JsonObject, quiet = false): void {
		const say = quiet ? () => {} : this.#out;
		const { message, task, statusUpdate, artifactUpdate } = answer;
		if (isObject(message)) say(text(message["parts"]));
		if (isObject(task)) {
			this.#task = { id: task["id"] ?? "", contextId: task["contextId"] ?? "" };
			for (const artifact of objects(task["artifacts"])) say(text(artifact["parts"]));
			this.#status(task["status"], say, this.#state === "");
		}
		if (isObject(statusUpdate)) {
			this.#task ??= { id: statusUpdate["taskId"] ?? "", contextId: statusUpdate["contextId"] ?? "" };
			this.#status(statusUpdate["status"], say, false);
		}
		if (isObject(artifactUpdate) && isObject(artifactUpdate["artifact"])) {
			if (artifactUpdate["append"] !== true) this.#flush(say);
			this.#open += text(artifactUpdate["artifact"]["parts"]);
			// Whole lines go out as they come; the rest waits for its line break.
			const end = this.#open.lastIndexOf("\n");
			if (end >= 0) say(this.#open.slice(0, end));
			this.#open = this.#open.slice(end + 1);
			if (artifactUpdate["lastChunk"] === true) this.#flush(say);
		}
	}

	/** The last line: which task it was and how it stands. */
	finish(): void {
		this.#flush(this.#out);
		if (!this.#task) return;
		const { id, contextId } = this.#task;
		this.#out(clean(`task ${id}${contextId ? ` (context ${contextId})` : ""}: ${this.#state || "unspecified"}`));
	}

	#status(status: JsonValue | undefined, say: (text: string) => void, first: boolean): void {
		if (!isObject(status)) return;
		const state = String(status["state"] ?? "")
			.replace(/^TASK_STATE_/, "")
			.toLowerCase()
			.replaceAll("_", "-");
		if (state !== this.#state && !first) {
			this.#flush(say);
			say(clean(`[${state}]`));
		}
		this.#state = state;
		if (isObject(status["message"])) {
			this.#flush(say);
			say(text(status["message"]["parts"]));
		}
	}

	#flush(say: (text: string) => void): void {
		if (this.#open !== "") say(this.#open);
		this.#open = "";
	}
}

/** Parts as text: what is no text is named. */
function text(parts: JsonValue | undefined): string {
	return clean(objects(parts).map(part).join(""));
}

function part(part: JsonObject): string {
	if (typeof part["text"] === "string") return part["text"];
	if (Object.hasOwn(part, "data")) return `${JSON.stringify(part["data"])}\n`;
	const name = [part["filename"], part["mediaType"]].filter((value) => typeof value === "string" && value !== "");
	if (typeof part["url"] === "string") return `[file ${[...name, part["url"]].join(" ")}]\n`;
	if (typeof part["raw"] !== "string") return "";
	return `[file ${[...name, `${Buffer.from(part["raw"], "base64").length} bytes`].join(" ")}]\n`;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objects(value: JsonValue | undefined): readonly JsonObject[] {
	return Array.isArray(value) ? value.filter(isObject) : [];
}
