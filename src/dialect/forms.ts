/** Forms made of lenses: JSON as text, or binary through the dialect's own message types. */
import {
	type DescMessage,
	type DescMethod,
	fromBinary,
	fromJson,
	type JsonObject,
	type JsonValue,
	type Message,
	toBinary,
	toJson,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { A2AError } from "../call/error.ts";
import { type Loss, type LossEntry, pointer, unreported } from "../call/loss.ts";
import { type Payload, PayloadError } from "../call/payload.ts";
import { fromValue } from "../schema/payload.ts";
import { fillRequired } from "../schema/required.ts";
import type { Form, JsonText } from "./dialect.ts";
import type { Lens } from "./lens.ts";
import { asWritten, spelled } from "./spelling.ts";

/** Lenses by the name of the core's message type. */
export interface Lenses {
	readonly requests: Readonly<Record<string, Lens>>;
	readonly replies: Readonly<Record<string, Lens>>;
}

/** The dialect's own method for one of the core's; throws when it has none. */
export type Own = (core: DescMethod) => DescMethod;

/**
 * A payload remembers the older form it was lifted from, so that a hop to a peer of the same form
 * passes on what came, unknown members and all. A payload that the core changed is another payload.
 */
const origins = new WeakMap<Payload, Origin>();

interface Origin {
	readonly form: object;
	readonly wire: JsonText | Uint8Array;
	/** What lifting reported: not lost after all where the wire goes on as it came. */
	readonly losses: readonly LossEntry[];
}

/** `loss`, and a list of what it is told. */
function noting(loss: Loss): { readonly noted: Loss; readonly losses: LossEntry[] } {
	const losses: LossEntry[] = [];
	if (loss === unreported) return { noted: unreported, losses };
	const noted: Loss = (pointer, why) => {
		losses.push({ pointer, why });
		loss(pointer, why);
	};
	return { noted, losses };
}

/** The wire as it came, when it came in this form. */
function verbatim(payload: Payload, form: object, loss: Loss): JsonText | Uint8Array | undefined {
	const origin = origins.get(payload);
	if (origin?.form !== form) return undefined;
	for (const { pointer, why } of origin.losses) loss.undo?.(pointer, why);
	return origin.wire;
}

function find(lenses: Readonly<Record<string, Lens>>, type: DescMessage): Lens {
	const lens = lenses[type.name];
	if (!lens)
		throw new A2AError("UNSUPPORTED_OPERATION", {
			message: "This operation does not exist in the older protocol version",
		});
	return lens;
}

function lift(lens: Lens, type: DescMessage, value: JsonValue, loss: Loss): Payload {
	return fromValue(type, lens.lift(value, { path: "", loss }) ?? {});
}

/** Losses in what the sender wrote, where the lens saw another spelling of it. */
function inSenders(type: DescMessage, original: JsonValue, loss: Loss): Loss {
	return loss === unreported ? loss : (at, why) => loss(asWritten(type, original, at), why);
}

/** The core's JSON as a lens wants it, and losses in terms of what came. Throws PayloadError when the content does not fit. */
function lower(lens: Lens, payload: Payload, loss: Loss): JsonValue | undefined {
	const { type } = payload;
	const original = payload.original();
	if (original === undefined) return lens.lower(payload.canonical(), { path: "", loss });
	// Only to see whether it fits: what goes on is what came.
	payload.message();
	const value = fillRequired(type, spelled(type, original) as JsonObject);
	return lens.lower(value, { path: "", loss: inSenders(type, original, loss) });
}

/** The form whose wire is JSON text; ProtoJSON of the dialect's own types, in either spelling, where `own` is given. */
export function textForm({ requests, replies }: Lenses, own?: Own): Form<JsonText> {
	const form: Form<JsonText> = {
		readRequest: (method, wire, loss = unreported) =>
			read(find(requests, method.input), own?.(method).input, method.input, wire, loss),
		readReply: (method, wire, loss = unreported) =>
			read(find(replies, method.output), own?.(method).output, method.output, wire, loss),
		writeRequest: (method, payload, loss = unreported) => write(find(requests, method.input), payload, loss),
		writeReply: (method, payload, loss = unreported) => write(find(replies, method.output), payload, loss),
	};
	const read = (lens: Lens, ownType: DescMessage | undefined, type: DescMessage, wire: JsonText, loss: Loss) => {
		// Some clients write null for an empty message.
		const { value = {} } = { value: wire.value ?? undefined };
		const { noted, losses } = noting(loss);
		const payload = ownType
			? lift(lens, type, spelled(ownType, value), inSenders(ownType, value, noted))
			: lift(lens, type, value, noted);
		origins.set(payload, { form, wire, losses });
		return payload;
	};
	const write = (lens: Lens, payload: Payload, loss: Loss): JsonText => {
		const came = verbatim(payload, form, loss);
		if (came) return came as JsonText;
		const value = lower(lens, payload, loss) ?? null;
		return { text: JSON.stringify(value), value };
	};
	return form;
}

/** The form whose wire is protobuf of the dialect's own types; the lenses work on their ProtoJSON. */
export function binaryForm({ requests, replies }: Lenses, own: Own): Form<Uint8Array> {
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
		const { noted, losses } = noting(loss);
		let value: JsonValue;
		try {
			const message = fromBinary(ownType, wire);
			if (noted !== unreported) unknownFields(ownType, message, "", noted);
			value = toJson(ownType, message);
		} catch (cause) {
			throw new PayloadError([{ field: "", description: "is not a valid protobuf message" }], { cause });
		}
		const payload = lift(lens, type, value, noted);
		origins.set(payload, { form, wire, losses });
		return payload;
	};
	const write = (lens: Lens, ownType: DescMessage, payload: Payload, loss: Loss): Uint8Array => {
		const came = verbatim(payload, form, loss);
		if (came) return came as Uint8Array;
		// The lenses write nothing that the type lacks (the tests hold them to it), so nothing is ignored here unreported.
		return toBinary(ownType, fromJson(ownType, lower(lens, payload, loss) ?? {}, { ignoreUnknownFields: true }));
	};
	return form;
}

/** Fields that the descriptor does not know have no JSON name: they are told by the message they are in, and their number. */
function unknownFields(type: DescMessage, message: Message, path: string, loss: Loss): void {
	for (const { no } of message.$unknown ?? []) loss(path, `field ${no} is unknown`);
	if (type.typeName.startsWith("google.protobuf.")) return;
	const fields = reflect(type, message);
	for (const field of type.fields) {
		const inner = field.message;
		if (!inner || !fields.isSet(field)) continue;
		const here = pointer(path, field.jsonName);
		if (field.fieldKind === "message") unknownFields(inner, fields.get(field).message, here, loss);
		else if (field.fieldKind === "list") {
			let i = 0;
			for (const item of fields.get(field) as Iterable<{ message: Message }>)
				unknownFields(inner, item.message, pointer(here, i++), loss);
		} else if (field.fieldKind === "map") {
			for (const [key, item] of fields.get(field) as Iterable<[string, { message: Message }]>)
				unknownFields(inner, item.message, pointer(here, String(key)), loss);
		}
	}
}
