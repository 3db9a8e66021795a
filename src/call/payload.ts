/** A message on its way: held in the form it came in, converted once and only when somebody asks. */
import type { DescField, DescMessage, JsonObject, Message } from "@bufbuild/protobuf";

/**
 * One protobuf message in up to three forms. The form it arrived in is kept as it is, unknown
 * members included, so a hop that needs no other form changes no byte. Payloads are read-only.
 * Conversions throw `PayloadError` when the content does not fit `type`.
 */
export interface Payload {
	readonly type: DescMessage;
	/** Throws PayloadError when the content does not fit `type`. Cheaper than `message` where nobody needs it decoded. */
	check(): void;
	/** Is this top-level member surely there? A look at what came, without decoding it; false says nothing. For length-delimited fields. */
	surelyHas(field: DescField): boolean;
	/** The decoded message. Shared: never write to it. */
	message(): Message;
	/** The ProtoJSON object, unknown members included where the payload came as text. Shared: never write to it. */
	json(): JsonObject;
	/** The ProtoJSON object as it came, undefined when the payload did not come as JSON. For names the descriptor does not know. */
	original(): JsonObject | undefined;
	/** The ProtoJSON object in the descriptor's own spelling, without unknown members: what a translation reads. Never write to it. */
	canonical(): JsonObject;
	/** ProtoJSON text; verbatim where the payload came as text. */
	text(): string;
	/** Protobuf binary; verbatim where the payload came as binary. */
	binary(): Uint8Array;
}

/** Content that does not fit its type. `path` is a dotted field path, empty for the whole message. */
export class PayloadError extends Error {
	override readonly name = "PayloadError";
	readonly violations: readonly Violation[];
	constructor(violations: readonly Violation[], options?: ErrorOptions) {
		super(violations.map((v) => (v.field ? `${v.field}: ${v.description}` : v.description)).join("; "), options);
		this.violations = violations;
	}
}

/** A google.rpc.BadRequest.FieldViolation: `field` in ProtoJSON spelling, `message.parts[0]`. */
export interface Violation {
	readonly field: string;
	readonly description: string;
}
