/** Generated exchanges: a request and the answers a lawful agent may give to it. */
import {
	create,
	type DescField,
	type DescMessage,
	type DescMethod,
	equals,
	fromJson,
	isMessage,
	type JsonValue,
	type Message,
	type MessageShape,
	toJson,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect } from "vitest";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import {
	AgentCapabilitiesSchema,
	AgentCardSchema,
	ListTasksResponseSchema,
	TaskSchema,
	TaskState,
	TaskStatusSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { arbitraryMessage, arbitraryString } from "../arbitrary/message.ts";
import { pathFields } from "../peer/http-rule.ts";
import { isStream, type Received, type Script } from "../peer/protocol.ts";

export interface Exchange {
	readonly request: Message;
	/** Unary: exactly one. */
	readonly replies: readonly Message[];
}

export interface ExchangeOptions {
	/** Requests and configurations name tenants. Through a gateway they do not: the agent declares none. */
	readonly tenants: boolean;
	/** Further replaced fields (what a peer cannot carry). */
	readonly override?: (field: DescField) => fc.Arbitrary<unknown> | undefined;
}

/** "tasks" as a tenant is also the first segment of the untenanted routes: ambiguous by design of the annotations. */
const arbitraryTenant = arbitraryString(1, 6).filter((tenant) => tenant !== "tasks");

export function arbitraryExchange(method: DescMethod, options: ExchangeOptions): fc.Arbitrary<Exchange> {
	const inPath = pathFields(method);
	const override = (field: DescField): fc.Arbitrary<unknown> | undefined => {
		if (field.name === "tenant" && field.parent !== undefined && field.parent.name !== "AgentInterface") {
			return options.tenants ? arbitraryTenant : fc.constant(undefined);
		}
		return options.override?.(field);
	};
	const request = arbitraryMessage(method.input, {
		override,
		also: (field) => field.parent === method.input && inPath.has(field.name),
	});
	const reply = arbitraryMessage(method.output, { override });
	const replies = isStream(method)
		? fc.array(reply, { minLength: 1, maxLength: 4 }).map(lawfulStream)
		: fc.tuple(reply);
	return fc
		.record({ request, replies })
		.map(({ request, replies }) => ({ request, replies: replies.map((message) => conform(request, message)) }));
}

/** A stream is one Message, or a Task and its updates, the last of which may end it (rules B2 to B4, B13). */
function lawfulStream(messages: readonly Message[]): readonly Message[] {
	const caseOf = (message: Message): string | undefined => (message as { payload?: { case?: string } }).payload?.case;
	const task = messages.find((message) => caseOf(message) === "task");
	const updates = messages.filter((message) => caseOf(message)?.endsWith("Update"));
	if (!task) {
		const only = messages.find((message) => caseOf(message) === "message");
		return only ? [only] : updates.slice(-1);
	}
	const events = [task, ...updates];
	for (const event of events.slice(0, -1))
		visit(event, TaskStatusSchema, (status) => {
			status.state = TaskState.WORKING;
		});
	return events;
}

/** Makes a reply obey what its request asked for: history lengths, page sizes, artifacts (rules C3, C4, C14). */
function conform(request: Message, reply: Message): Message {
	const asked = request as {
		historyLength?: number;
		configuration?: { historyLength?: number };
		pageSize?: number;
		includeArtifacts?: boolean;
	};
	const length = asked.historyLength ?? asked.configuration?.historyLength;
	visit(reply, TaskSchema, (task) => {
		if (length !== undefined) task.history = length === 0 ? [] : task.history.slice(-length);
	});
	visit(reply, ListTasksResponseSchema, (list) => {
		if (asked.pageSize !== undefined) list.tasks = list.tasks.slice(0, asked.pageSize);
		if (!asked.includeArtifacts) for (const task of list.tasks) task.artifacts = [];
	});
	return reply;
}

/** Calls `act` on every message of one type inside a freshly generated message (which is ours to change). */
function visit<Desc extends DescMessage>(value: unknown, desc: Desc, act: (message: MessageShape<Desc>) => void): void {
	if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
	if (isMessage(value, desc)) act(value);
	for (const member of Object.values(value)) visit(member, desc, act);
}

/** A script that plays one exchange, whoever asks. */
export function play(exchange: Exchange): Script {
	return (call: Received) => {
		if (!isStream(call.method)) return exchange.replies[0] as Message;
		return (async function* () {
			yield* exchange.replies;
		})();
	};
}

/** A gateway shows its own interfaces, its own signatures and what it really serves: those members are not the agent's to decide. */
export function forgetOwnMembers(message: Message): Message {
	if (!isMessage(message, AgentCardSchema)) return message;
	const { extensions = [] } = message.capabilities ?? {};
	const card: AgentCard = {
		...message,
		supportedInterfaces: [],
		signatures: [],
		capabilities: create(AgentCapabilitiesSchema, { extensions }),
	};
	return fromJson(AgentCardSchema, withoutEmpties(toJson(AgentCardSchema, card)) ?? {});
}

/** What is signed holds nothing empty, as the official verifiers differ on it (docs/cards.md). */
function withoutEmpties(value: JsonValue): JsonValue | undefined {
	if (value === "") return undefined;
	if (typeof value !== "object" || value === null) return value;
	if (Array.isArray(value)) {
		const items = value.map((item) => withoutEmpties(item) ?? item);
		return items.length > 0 ? items : undefined;
	}
	const members = Object.entries(value).flatMap(([name, item]) => {
		const kept = withoutEmpties(item);
		return kept === undefined ? [] : [[name, kept] as const];
	});
	return members.length > 0 ? Object.fromEntries(members) : undefined;
}

/** Fails with a readable difference unless the messages are equal, field by field. */
export function expectEqual(
	desc: DescMessage,
	actual: readonly Message[],
	expected: readonly Message[],
	where: string,
): void {
	const same =
		actual.length === expected.length && actual.every((message, i) => equals(desc, message, expected[i] as Message));
	if (same) return;
	const show = (messages: readonly Message[]): unknown => messages.map((message) => toJson(desc, message));
	expect(show(actual), where).toEqual(show(expected));
	expect.fail(`${where}: equal as JSON but not as messages`);
}
