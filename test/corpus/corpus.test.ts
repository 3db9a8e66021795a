/** The worked conversation of reference/examples.md (its blocks are the JSON files here), from every dialect into every other. */
import { readFileSync } from "node:fs";
import {
	type DescMethod,
	fromBinary,
	fromJson,
	type JsonObject,
	type JsonValue,
	toBinary,
	toJson,
} from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { LossEntry } from "../../src/call/loss.ts";
import type { Payload } from "../../src/call/payload.ts";
import type { Form, JsonText } from "../../src/dialect/dialect.ts";
import { v0_1 } from "../../src/dialect/v0_1/index.ts";
import { v0_2, v0_3 } from "../../src/dialect/v0_3/index.ts";
import { v1 } from "../../src/dialect/v1/index.ts";
import { fromValue } from "../../src/schema/payload.ts";
import { collect, coreMethod, type Direction, each, isObject, json, pointers } from "../dialect/support.ts";

interface Block {
	readonly at?: "/params" | "/result";
	readonly blocks: readonly JsonObject[];
}

type Corpus = Readonly<Record<string, Block>>;

const load = (name: string): JsonObject =>
	JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), "utf8")) as JsonObject;

/** gRPC's messages are told as ProtoJSON: the same form with the encoding around it. */
function asJson(form: Form<Uint8Array>): Form<JsonText> {
	const own = (method: DescMethod) => v0_3.ownMethod(method) as DescMethod;
	const bytes = (type: DescMethod["input"], wire: JsonText) => toBinary(type, fromJson(type, wire.value));
	const text = (type: DescMethod["input"], wire: Uint8Array) => {
		return json(toJson(type, fromBinary(type, wire)));
	};
	return {
		readRequest: (m, wire, loss) => form.readRequest(m, bytes(own(m).input, wire), loss),
		readReply: (m, wire, loss) => form.readReply(m, bytes(own(m).output, wire), loss),
		writeRequest: (m, payload, loss) => text(own(m).input, form.writeRequest(m, payload, loss)),
		writeReply: (m, payload, loss) => text(own(m).output, form.writeReply(m, payload, loss)),
	};
}

const dialects: Readonly<Record<string, { readonly form: Form<JsonText>; readonly corpus: Corpus }>> = {
	"v1.0-rpc": { form: v1.rpc, corpus: load("v1.0-rpc") as unknown as Corpus },
	"v1.0-http": { form: v1.http, corpus: load("v1.0-http") as unknown as Corpus },
	"v0.3-rpc": { form: v0_3.rpc, corpus: load("v0.3-rpc") as unknown as Corpus },
	"v0.3-http": { form: v0_3.http, corpus: load("v0.3-http") as unknown as Corpus },
	"v0.3-grpc": { form: asJson(v0_3.binary), corpus: load("v0.3-grpc") as unknown as Corpus },
	"v0.2-rpc": { form: v0_2.rpc, corpus: load("v0.2-rpc") as unknown as Corpus },
	"v0.1-rpc": { form: v0_1.rpc, corpus: load("v0.1-rpc") as unknown as Corpus },
};

const steps: readonly (readonly [name: string, direction: Direction, method: string])[] = [
	["send.request", "Request", "sendMessage"],
	["send.reply", "Reply", "sendMessage"],
	["stream.request", "Request", "sendStreamingMessage"],
	["stream.reply", "Reply", "sendStreamingMessage"],
	["get.request", "Request", "getTask"],
	["get.reply", "Reply", "getTask"],
	["pushCreate.request", "Request", "createTaskPushNotificationConfig"],
	["pushCreate.reply", "Reply", "createTaskPushNotificationConfig"],
];

function messages(corpus: Corpus, step: string): JsonValue[] | undefined {
	const block = corpus[step];
	return block?.blocks.map((b) => {
		if (block.at !== undefined) return b[block.at.slice(1)] as JsonValue;
		// Its task is told by the path, which the binding adds.
		return step === "pushCreate.request" && "url" in b ? { ...b, taskId: "t-7f3a" } : b;
	});
}

const IDS = { "cl-5501": "t-7f3a", "sess-8": "c-19", "artifact-0": "a-1" } as const;
const BACK = Object.fromEntries(Object.entries(IDS).map(([client, server]) => [server, client]));

/** What core/client-ids and core/agent-ids do between v0.1 and the others: one set of names for the other. */
function renamed(payload: Payload, names: Readonly<Record<string, string>>): Payload {
	const value = structuredClone(payload.json());
	each(value, (object) => {
		for (const [key, item] of Object.entries(object)) {
			const name = typeof item === "string" ? names[item] : undefined;
			if (name !== undefined) object[key] = name;
		}
	});
	return fromValue(payload.type, value);
}

/** Told in core words, without what the two versions' examples say differently (docs/dialects.md names each). */
function comparable(payload: Payload, from: string, to: string): JsonValue {
	const value = structuredClone(payload.canonical());
	const pair = [from, to];
	const v01 = pair.some((name) => name.startsWith("v0.1"));
	each(value, (object) => {
		// The type of a data part goes without saying before v1.0.
		if ("data" in object) delete object["mediaType"];
		// FilePart.name came after the v0.3.0 tag: its examples lack it, the gateway writes it.
		if (pair.includes("v0.3-http") || pair.includes("v0.3-grpc")) delete object["filename"];
		if (!v01) return;
		for (const key of ["messageId", "taskId", "contextId"]) delete object[key];
		// No switch for waiting; its example asks for one message of history and names the artifact in every chunk.
		delete object["configuration"];
		if (object["append"] === true && isObject(object["artifact"])) delete object["artifact"]["name"];
	});
	// Where the wire demands an id, it is the task's; the examples' own differ.
	if ("url" in value) delete value["id"];
	return value;
}

const pairs = Object.keys(dialects).flatMap((from) => Object.keys(dialects).map((to) => [from, to] as const));

describe.each(pairs)("%s → %s", (from, to) => {
	const [source, target] = [dialects[from], dialects[to]];
	if (!source || !target) throw new Error("no such dialect");
	const shared = steps.filter(([step]) => messages(source.corpus, step) && messages(target.corpus, step));

	test.each(shared)("%s", (step, direction, name) => {
		const method = coreMethod(name);
		let given = messages(source.corpus, step) ?? [];
		let expected = messages(target.corpus, step) ?? [];
		const [was, is] = [from.startsWith("v0.1"), to.startsWith("v0.1")];
		if (step === "stream.reply" && was !== is) {
			// v0.1 streams have no Task at their head.
			if (is) given = given.slice(-4);
			else expected = expected.slice(-4);
		}
		// v0.2's example leaves the middle of the stream out.
		if (step === "stream.reply" && given.length !== expected.length) {
			if (expected.length < given.length) given = [given.at(-4), given.at(-1)] as JsonValue[];
			else expected = [expected.at(-4), expected.at(-1)] as JsonValue[];
		}
		expect(given.length).toBe(expected.length);
		given.forEach((wire, i) => {
			const losses: LossEntry[] = [];
			const read = source.form[`read${direction}`](method, json(wire), collect(losses));
			const names = was && !is ? IDS : !was && is ? BACK : {};
			const between = from === to ? read : renamed(read, is && !was ? { ...names, "a-1": "artifact-0" } : names);
			const written = target.form[`write${direction}`](method, between, collect(losses));
			// Binary has no spelling of a time to keep.
			if (from === to && from !== "v0.3-grpc") expect(written.value).toEqual(wire);
			const got = target.form[`read${direction}`](method, json(written.value));
			const wanted = target.form[`read${direction}`](method, json(expected[i] ?? {}));
			expect(comparable(got, from, to)).toEqual(comparable(wanted, from, to));
			// Nothing of the conversation is lost, but for what each version has no word for.
			const known = [/\/mediaType$/, /^\/configuration\/returnImmediately$/, ...(is ? [/^\/id$/] : [])];
			expect(pointers(losses).filter((pointer) => !known.some((pattern) => pattern.test(pointer)))).toEqual([]);
		});
	});
});

describe("exactly as the examples write it", () => {
	/** v1.0's messages in another version's words. */
	function lowered(to: string, step: string): JsonValue[] {
		const [, direction, name] = steps.find(([s]) => s === step) ?? [];
		const target = dialects[to];
		const source = messages(dialects["v1.0-rpc"]?.corpus ?? {}, step) ?? [];
		if (!direction || !name || !target) throw new Error(`no step ${step}`);
		const method = coreMethod(name);
		return source.map(
			(wire) => target.form[`write${direction}`](method, v1.rpc[`read${direction}`](method, json(wire))).value,
		);
	}

	test.each(["send.request", "send.reply", "stream.request", "stream.reply", "get.request", "get.reply"])(
		"v0.3 JSON-RPC %s",
		(step) => expect(lowered("v0.3-rpc", step)).toEqual(messages(dialects["v0.3-rpc"]?.corpus ?? {}, step)),
	);
	test.each(["send.reply", "stream.reply", "get.reply"])("v0.3 HTTP+JSON %s", (step) =>
		expect(lowered("v0.3-http", step)).toEqual(messages(dialects["v0.3-http"]?.corpus ?? {}, step)),
	);

	test("the three bodies of a push create are one", () => {
		const corpus = dialects["v0.3-http"]?.corpus ?? {};
		const method = coreMethod("createTaskPushNotificationConfig");
		const read = ["pushCreate.request", "pushCreate.request.config", "pushCreate.request.full"].map((step) =>
			v0_3.http
				.readRequest(method, json({ parent: "tasks/t-7f3a", ...(messages(corpus, step)?.[0] as JsonObject) }))
				.canonical(),
		);
		const [first] = read;
		expect(first).toMatchObject({ id: "pc-1", taskId: "t-7f3a", authentication: { scheme: "Bearer" } });
		expect(read).toEqual([first, first, first]);
	});
});
