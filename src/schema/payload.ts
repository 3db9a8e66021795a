/** Payloads: one message in up to three forms, each made once and only when asked for (ProtoJSON: proto3 JSON mapping, §5.5-5.7). */
import {
	type DescField,
	type DescMessage,
	fromBinary as decodeBinary,
	fromJson,
	type JsonObject,
	type JsonValue,
	type Message,
	toBinary,
	toJson,
} from "@bufbuild/protobuf";
import { isFieldError } from "@bufbuild/protobuf/reflect";
import { type Payload, PayloadError } from "../call/payload.ts";
import { setMembers } from "../wire/json-text.ts";
import { decodeJson } from "./decode.ts";
import { encodeJson, surelyFits } from "./encode.ts";
import { fillRequired } from "./required.ts";

const lenient = { ignoreUnknownFields: true };

/** A payload that came as ProtoJSON. `text` and `value` say the same; `text` is kept byte for byte. */
export function fromText(type: DescMessage, text: string, value: JsonValue): Payload {
	return new Cell(type, text, value, undefined, undefined);
}

/** A payload from a ProtoJSON object that has no text yet. */
export function fromValue(type: DescMessage, value: JsonValue): Payload {
	return new Cell(type, undefined, value, undefined, undefined);
}

/** A payload that came as protobuf binary, kept byte for byte. */
export function fromBinary(type: DescMessage, bytes: Uint8Array): Payload {
	return new Cell(type, undefined, undefined, bytes, undefined);
}

/** A payload from a decoded message, which from now on nobody writes to. */
export function fromMessage(type: DescMessage, message: Message): Payload {
	return new Cell(type, undefined, undefined, undefined, message);
}

class Cell implements Payload {
	readonly type: DescMessage;
	/** The form it came in. */
	readonly source: "text" | "binary" | "message";
	#text: string | undefined;
	#json: JsonValue | undefined;
	#binary: Uint8Array | undefined;
	#message: Message | undefined;

	constructor(
		type: DescMessage,
		text: string | undefined,
		json: JsonValue | undefined,
		binary: Uint8Array | undefined,
		message: Message | undefined,
	) {
		this.type = type;
		this.source = json !== undefined ? "text" : binary !== undefined ? "binary" : "message";
		this.#text = text;
		this.#json = json;
		this.#binary = binary;
		this.#message = message;
	}

	message(): Message {
		if (this.#message === undefined) {
			this.#message =
				this.#binary === undefined ? readJson(this.type, this.json()) : readBinary(this.type, this.#binary);
		}
		return this.#message;
	}

	check(): void {
		if (this.#message !== undefined) return;
		if (this.source === "text" ? surelyFits(this.type, this.json()) : this.#direct()) return;
		this.message();
	}

	surelyHas(field: DescField): boolean {
		if (this.source === "text") return this.json()[field.jsonName] != null;
		// The first field of the message, if its tag is one byte.
		return this.#binary?.[0] === field.number * 8 + 2;
	}

	/** Binary to JSON without a message, if that is possible. */
	#direct(): boolean {
		if (this.#json !== undefined) return true;
		if (this.#binary === undefined) return false;
		const json = decodeJson(this.type, this.#binary);
		if (json !== undefined) this.#json = fillRequired(this.type, json);
		return json !== undefined;
	}

	json(): JsonObject {
		if (this.#json === undefined && !this.#direct()) this.#json = writeJson(this.type, this.message());
		if (typeof this.#json !== "object" || this.#json === null || Array.isArray(this.#json)) {
			throw new PayloadError([{ field: "", description: "must be a JSON object" }]);
		}
		return this.#json;
	}

	original(): JsonObject | undefined {
		return this.source === "text" ? this.json() : undefined;
	}

	canonical(): JsonObject {
		return this.source === "text" ? writeJson(this.type, this.message()) : this.json();
	}

	text(): string {
		if (this.#text === undefined) this.#text = JSON.stringify(this.json());
		return this.#text;
	}

	binary(): Uint8Array {
		if (this.#binary === undefined) {
			const direct = this.source === "text" ? encodeJson(this.type, this.json(), this.#text?.length) : undefined;
			this.#binary = direct ?? toBinary(this.type, this.message());
		}
		return this.#binary;
	}
}

function readJson(type: DescMessage, json: JsonObject): Message {
	try {
		return fromJson(type, json, lenient);
	} catch (error) {
		throw new PayloadError([violation(error)], { cause: error });
	}
}

function readBinary(type: DescMessage, bytes: Uint8Array): Message {
	try {
		return decodeBinary(type, bytes);
	} catch (error) {
		throw new PayloadError([{ field: "", description: "is not a valid protobuf message" }], { cause: error });
	}
}

function writeJson(type: DescMessage, message: Message): JsonObject {
	try {
		return fillRequired(type, toJson(type, message) as JsonObject);
	} catch (error) {
		// A timestamp out of range, say: binary can hold what JSON cannot.
		throw new PayloadError([violation(error)], { cause: error });
	}
}

/** protobuf-es's own words, without its prefix, and the field it names. */
function violation(error: unknown): { field: string; description: string } {
	if (!(error instanceof Error)) return { field: "", description: "does not fit its type" };
	const inner = error.cause;
	if (isFieldError(inner)) {
		const field = inner.field();
		return { field: "jsonName" in field ? field.jsonName : field.name, description: inner.message };
	}
	return {
		field: "",
		description: error.message.replace(/^cannot (de|en)code (message |field )?\S+ (from|to) JSON: /, ""),
	};
}

/** A top-level string field's value; "" when unset or when the type has no such field. */
export function stringField(payload: Payload, name: string): string {
	const field = payload.type.field[name];
	if (!field) return "";
	const value = (payload.message() as unknown as Record<string, unknown>)[field.localName];
	return typeof value === "string" ? value : "";
}

/** The same payload with one top-level string field set ("" unsets it); everything else stays as it came. */
export function withString(payload: Payload, name: string, value: string): Payload {
	const field = payload.type.field[name];
	if (!field || stringField(payload, name) === value) return payload;
	if (payload instanceof Cell && payload.source === "text") {
		const member = value === "" ? undefined : value;
		const json: JsonObject = { ...payload.json(), ...(member !== undefined && { [field.jsonName]: member }) };
		if (member === undefined) delete json[field.jsonName];
		if (field.name !== field.jsonName) delete json[field.name];
		const changes = { [field.name]: undefined, [field.jsonName]: member && JSON.stringify(member) };
		return fromText(payload.type, setMembers(payload.text(), changes), json);
	}
	return fromMessage(payload.type, { ...payload.message(), [field.localName]: value } as Message);
}
