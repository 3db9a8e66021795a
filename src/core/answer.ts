/** What of the agent's answer crosses to the client: sound messages, redacted errors, cards that are the gateway's own. */
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Call, Handler, Middleware, Reply } from "../call/call.ts";
import { A2AError, type Detail } from "../call/error.ts";
import type { Payload } from "../call/payload.ts";
import { mapEach } from "../call/stream.ts";
import { fromValue } from "../schema/payload.ts";
import type { AgentView } from "./view.ts";

/** Header fields of a reply that clients get. */
const NAMED = ["a2a-extensions", "www-authenticate", "retry-after", "cache-control", "etag"] as const;

export function answer(view: (call: Call) => AgentView): Middleware {
	return (next: Handler) => async (call) => {
		const agent = view(call);
		const isCard = call.method.output === AgentCardSchema;
		try {
			const reply = await next(call);
			const { messages } = reply;
			const header = isCard ? perCaller(pickNamed(reply, agent)) : pickNamed(reply, agent);
			if (!(Symbol.asyncIterator in messages))
				return { header, messages: [isCard ? await project(agent, messages[0]) : sound(messages[0])] };
			return { header, messages: mapEach(messages, sound, (error) => redacted(A2AError.from(error), agent)) };
		} catch (error) {
			throw redacted(A2AError.from(error), agent);
		}
	};
}

function pickNamed(reply: Reply, agent: AgentView): Record<string, string> {
	const header: Record<string, string> = {};
	for (const name of NAMED) {
		const value = reply.header[name];
		if (value !== undefined) header[name] = agent.redact(value);
	}
	return header;
}

/** A card of one caller is nobody else's, and its text is not the one that the agent's validator names (G25). */
function perCaller({ etag: _, ...header }: Record<string, string>): Record<string, string> {
	const kept = /(?:^|[,\s])no-store(?:$|[,\s])/i.test(header["cache-control"] ?? "");
	return { ...header, "cache-control": kept ? "private, no-store" : "private, no-cache" };
}

/** A message that is one oneof must hold a member (A1, B16). One the descriptor does not know may pass. */
function sound(payload: Payload): Payload {
	const [union] = payload.type.oneofs;
	if (union && union.fields.length === payload.type.fields.length) {
		// Mostly a look is enough: the binding has checked that the whole fits.
		if (union.fields.some((field) => payload.surelyHas(field))) return payload;
		const message = payload.message() as unknown as Record<string, { case?: string }> & {
			$unknown?: readonly unknown[];
		};
		const empty = message[union.localName]?.case === undefined;
		const original = payload.original();
		if (empty && !(message.$unknown?.length || (original && Object.keys(original).length > 0))) {
			const members = union.fields.map((f) => f.jsonName).join(", ");
			throw new A2AError("INVALID_AGENT_RESPONSE", { message: `The agent's answer has none of ${members}` });
		}
	}
	return payload;
}

async function project(agent: AgentView, payload: Payload): Promise<Payload> {
	return fromValue(AgentCardSchema, await agent.project(payload.json()));
}

/** The same error without the agent's own addresses. */
function redacted(error: A2AError, agent: AgentView): A2AError {
	const message = agent.redact(error.message);
	const before = JSON.stringify(error.details);
	const after = agent.redact(before);
	const data = error.wire.data === undefined ? undefined : JSON.stringify(error.wire.data);
	const safeData = data && agent.redact(data);
	const header = Object.fromEntries(Object.entries(error.header).map(([name, value]) => [name, agent.redact(value)]));
	const safeHeader = Object.entries(header).every(([name, value]) => error.header[name] === value);
	if (message === error.message && before === after && data === safeData && safeHeader) return error;
	return new A2AError(error.reason, {
		message,
		details: JSON.parse(after) as Detail[],
		header,
		wire: { ...error.wire, ...(safeData && { data: JSON.parse(safeData) }) },
		cause: error.cause ?? error,
	});
}
