/** The worked conversation of reference/examples.md through a running gateway: every client's form to every agent's, word for word. */
import { readFileSync } from "node:fs";
import type { JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Gateway, startGatewayFor } from "../../peer/gateway.ts";
import { type Form, forms, nameOf, object } from "../../peer/older/model.ts";
import { type CorpusAgent, startCorpusAgent } from "./agent.ts";
import { type CorpusClient, startCorpusClient } from "./client.ts";
import { differences, type Hop } from "./differences.ts";
import { expectedLoss, expectedOf, needed, pointedAt, toExpected } from "./expected.ts";
import { bytesOf, jsonOf, methodAt } from "./grpc-json.ts";
import { type Bound, settled, spoken } from "./placeholder.ts";
import { type Asked, conversationOf, otherBodies, type Step, type Turn } from "./worked.ts";

/** Two tellings of the story, on a gateway each: v0.1 clients send both under one name, which would be a second message. */
const stories: Readonly<Record<string, readonly Step[]>> = {
	"send, get, list, webhook": ["send", "get", "list", "pushCreate"],
	"stream, get": ["stream", "get"],
};
const contentType = ({ binding, version }: Form, step: Step): string => {
	if (binding === "GRPC") return "application/grpc";
	if (step === "stream") return "text/event-stream";
	return binding === "HTTP+JSON" && version === "1.0" ? "application/a2a+json" : "application/json";
};
const named = (list: readonly Form[]) => list.map((form) => [nameOf(form), form] as const);
const turnOf = (form: Form, step: Step): Turn => {
	const turn = conversationOf(form)[step];
	if (!turn) throw new Error(`${nameOf(form)} has no ${step}`);
	return turn;
};
/** gRPC's examples are "the ProtoJSON view of the binary messages": what is left of them when they have been binary. */
function view({ binding }: Form, path: string, side: "input" | "output", messages: readonly JsonValue[]): JsonValue[] {
	if (binding !== "GRPC") return [...messages];
	const type = methodAt(path)[side];
	return messages.map((message) => jsonOf(type, bytesOf(type, message)));
}

describe.each(named(forms))("before an agent over %s", (_, agentForm) => {
	let agent: CorpusAgent;
	const gateways = new Map<string, Gateway>();
	beforeAll(async () => {
		agent = await startCorpusAgent(agentForm);
		for (const story of Object.keys(stories)) gateways.set(story, await startGatewayFor(agent.url));
	});
	afterAll(async () => {
		for (const gateway of gateways.values()) await gateway.close();
		await agent.close();
	});
	async function withClient(form: Form, story: string, run: (client: CorpusClient) => Promise<void>): Promise<void> {
		const client = startCorpusClient(form, gateways.get(story)?.url ?? "");
		agent.arrived.length = 0;
		try {
			await run(client);
		} finally {
			await client.close();
		}
	}
	/** Says `asked` and checks that the agent hears `example` or its own, what comes back and what is told to be lost. */
	async function exchange(
		client: CorpusClient,
		step: Step,
		bound: Bound,
		asked: Asked,
		example = turnOf(agentForm, step).asked,
	): Promise<void> {
		const hop: Hop = { client: client.form, agent: agentForm, step };
		const answer = await client.ask(spoken(asked, bound), step === "stream");
		const [arrived, ...more] = agent.arrived.splice(0);
		expect(more, "asked once").toEqual([]);

		const heard = expectedOf("asked", hop, toExpected(example));
		const wanted = { name: heard.name, messages: view(agentForm, heard.name, "input", heard.messages) };
		const got = { name: arrived?.name ?? "nothing", messages: arrived?.body === undefined ? [] : [arrived.body] };
		expect(got, `${step}: what the agent hears`).toEqual(settled(wanted, got, bound));

		const { name } = turnOf(client.form, step).asked;
		const told = expectedOf("answered", hop, { name, messages: [...turnOf(client.form, step).answers] });
		const answers = view(client.form, name, "output", told.messages);
		expect(answer.answers, `${step}: what the client gets`).toEqual(settled(answers, [...answer.answers], bound));
		expect(answer.contentType).toBe(contentType(client.form, step));
		const lost = answer.loss === "" ? [] : answer.loss.split(/, ?/).map(decodeURIComponent);
		expect(lost, `${step}: what is lost`).toEqual(expectedLoss(hop));
	}

	describe.each(Object.entries(stories))("%s", (story, steps) => {
		test.each(named(forms))("of a client over %s", (_name, form) =>
			withClient(form, story, async (client) => {
				const bound: Bound = new Map();
				for (const step of steps) {
					const turn = conversationOf(form)[step];
					if (!turn) continue;
					if (conversationOf(agentForm)[step]) await exchange(client, step, bound, turn.asked);
					else await refused(client, spoken(turn.asked, bound));
				}
			}),
		);
	});

	/** docs/dialects.md: "ListTasks | refused, UnsupportedOperation". */
	async function refused(client: CorpusClient, asked: Asked): Promise<void> {
		const { answers } = await client.ask(asked, false);
		const error = object(object(answers[0])["error"]);
		expect(error["code"]).toBe({ JSONRPC: -32004, "HTTP+JSON": 400, GRPC: 9 }[client.form.binding]);
		expect(JSON.stringify(error["data"] ?? error["details"])).toContain('"reason":"UNSUPPORTED_OPERATION"');
		expect(agent.arrived.splice(0), "the agent is not asked what it cannot know").toEqual([]);
	}

	test.each(otherBodies.map((body) => [Object.keys(body).join(", "), body] as const))(
		"a v0.3 webhook creation whose body has %s says the same",
		(_name, body) =>
			withClient({ binding: "HTTP+JSON", version: "0.3" }, "send, get, list, webhook", async (client) => {
				const bound: Bound = new Map();
				await exchange(client, "send", bound, turnOf(client.form, "send").asked);
				const asked = { ...turnOf(client.form, "pushCreate").asked, body };
				// Between peers of one form it is passed on as it came.
				const heard = nameOf(client.form) === nameOf(agentForm) ? asked : turnOf(agentForm, "pushCreate").asked;
				await exchange(client, "pushCreate", bound, asked, heard);
			}),
	);
});

describe("the table of differences", () => {
	test("needs every entry", () => {
		expect(differences.map(({ what }) => what).filter((what) => !needed.has(what))).toEqual([]);
	});
	test("points at what docs/dialects.md says", () => {
		const docs = readFileSync(new URL("../../../docs/dialects.md", import.meta.url), "utf8").replaceAll(/\s+/g, " ");
		expect(pointedAt.filter((words) => !docs.includes(words))).toEqual([]);
	});
	test.each(named(forms))("says nothing but the call's id between peers over %s", (_, form) => {
		for (const [step, turn] of Object.entries(conversationOf(form))) {
			const hop: Hop = { client: form, agent: form, step: step as Step };
			const { name, messages } = expectedOf("asked", hop, toExpected(turn.asked));
			expect(name).toBe(turn.asked.name);
			expect(settled(messages, toExpected(turn.asked).messages, new Map())).toEqual(toExpected(turn.asked).messages);
			const told = { name, messages: [...turn.answers] };
			expect(expectedOf("answered", hop, told)).toEqual(told);
		}
	});
	test("takes for a made-up id only one of its shape, and the same again", () => {
		const bound: Bound = new Map();
		const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];
		expect(settled("tasks/«task»", "tasks/t-7f3a", bound)).toBe("tasks/«task»");
		expect(settled("tasks/«task»/x", `tasks/${one}/x`, bound)).toBe(`tasks/${one}/x`);
		expect(settled({ id: "«task»" }, { id: other }, bound)).toEqual({ id: "«task»" });
		expect(settled({ id: "«task»" }, { id: one }, bound)).toEqual({ id: one });
		expect(settled(["«call»"], [], bound)).toEqual(["«call»"]);
	});
});
