/** Forms made of lenses: JSON as text, or binary through the dialect's own message types. */
import {
	type DescMessage,
	type DescMethod,
	fromBinary,
	fromJson,
	type JsonValue,
	toBinary,
	toJson,
} from "@bufbuild/protobuf";
import { A2AError } from "../call/error.ts";
import { type Loss, unreported } from "../call/loss.ts";
import { type Payload, PayloadError } from "../call/payload.ts";
import { fromValue } from "../schema/payload.ts";
import type { Form, JsonText } from "./dialect.ts";
import type { Lens } from "./lens.ts";

/** Lenses by the name of the core's message type. */
export interface Lenses {
	readonly requests: Readonly<Record<string, Lens>>;
	readonly replies: Readonly<Record<string, Lens>>;
}

/**
 * A payload remembers the older form it was lifted from, so that a hop to a peer of the same form
 * passes on what came, unknown members and all. A payload that the core changed is another payload.
 */
const origins = new WeakMap<Payload, { readonly form: object; readonly wire: JsonText | Uint8Array }>();

function find(lenses: Readonly<Record<string, Lens>>, type: DescMessage): Lens {
	const lens = lenses[type.name];
	if (!lens)
		throw new A2AError("UNSUPPORTED_OPERATION", {
			message: "This operation does not exist in the older protocol version",
		});
	return lens;
}

function at(loss: Loss) {
	return { path: "", loss };
}

function lift(lens: Lens, type: DescMessage, value: JsonValue, loss: Loss): Payload {
	return fromValue(type, lens.lift(value, at(loss)) ?? {});
}

/** The form whose wire is JSON text. */
export function textForm({ requests, replies }: Lenses): Form<JsonText> {
	const form: Form<JsonText> = {
		readRequest: (method, wire, loss = unreported) =>
			remember(lift(find(requests, method.input), method.input, wire.value, loss), wire),
		readReply: (method, wire, loss = unreported) =>
			remember(lift(find(replies, method.output), method.output, wire.value, loss), wire),
		writeRequest: (method, payload, loss = unreported) => write(find(requests, method.input), payload, loss),
		writeReply: (method, payload, loss = unreported) => write(find(replies, method.output), payload, loss),
	};
	const remember = (payload: Payload, wire: JsonText): Payload => {
		origins.set(payload, { form, wire });
		return payload;
	};
	const write = (lens: Lens, payload: Payload, loss: Loss): JsonText => {
		const origin = origins.get(payload);
		if (origin?.form === form) return origin.wire as JsonText;
		const value = lens.lower(payload.canonical(), at(loss)) ?? null;
		return { text: JSON.stringify(value), value };
	};
	return form;
}

/** The form whose wire is protobuf of the dialect's own types; the lenses work on their ProtoJSON. */
export function binaryForm({ requests, replies }: Lenses, own: (core: DescMethod) => DescMethod): Form<Uint8Array> {
	const form: Form<Uint8Array> = {
		readRequest: (method, wire, loss = unreported) =>
			read(find(requests, method.input), own(method).input, method.input, wire, loss),
		readReply: (method, wire, loss = unreported) =>
			read(find(replies, method.output), own(method).output, method.output, wire, loss),
		writeRequest: (method, payload, loss = unreported) =>
			write(find(requests, method.input), own(method).input, payload, loss),
		writeReply: (method, payload, loss = unreported) =>
			write(find(replies, method.output), own(method).output, payload, loss),
	};
	const read = (lens: Lens, ownType: DescMessage, type: DescMessage, wire: Uint8Array, loss: Loss): Payload => {
		let value: JsonValue;
		try {
			value = toJson(ownType, fromBinary(ownType, wire));
		} catch (cause) {
			throw new PayloadError([{ field: "", description: "is not a valid protobuf message" }], { cause });
		}
		const payload = lift(lens, type, value, loss);
		origins.set(payload, { form, wire });
		return payload;
	};
	const write = (lens: Lens, ownType: DescMessage, payload: Payload, loss: Loss): Uint8Array => {
		const origin = origins.get(payload);
		if (origin?.form === form) return origin.wire as Uint8Array;
		const value = lens.lower(payload.canonical(), at(loss)) ?? {};
		return toBinary(ownType, fromJson(ownType, value, { ignoreUnknownFields: true }));
	};
	return form;
}
