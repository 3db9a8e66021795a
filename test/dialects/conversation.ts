/** One conversation with a real SDK at one end: what must come out whatever lies between. */
import { expect } from "vitest";
import { Refused } from "../peer/older/fault.ts";
import { type Ask, type Hook, type Message, type Operation, type Said, textOf } from "../peer/older/model.ts";
import type { OlderClient } from "../peer/older/peer.ts";

const HOOK: Hook = {
	url: "https://client.example/hooks/gh",
	token: "hook-42",
	scheme: "Bearer",
	credentials: "s3cr3t",
};

function sending(client: OlderClient, op: "send" | "stream", words: string, taskId?: string): Ask {
	const message: Message = { role: "user", id: `m-${crypto.randomUUID()}`, parts: [{ text: words }] };
	const named = taskId ?? (client.form.version === "0.1" ? `cl-${crypto.randomUUID()}` : undefined);
	return { op, message, ...(named !== undefined && { taskId: named }) };
}
const stateOf = (said: Said | undefined): string | undefined => (said?.task?.status ?? said?.status?.status)?.state;
const idOf = (said: Said): string => said.task?.id ?? said.status?.taskId ?? said.artifact?.taskId ?? "";

async function refusal(asked: Promise<unknown>): Promise<number> {
	try {
		await asked;
	} catch (error) {
		if (error instanceof Refused) return error.code;
		throw error;
	}
	throw new Error("no error");
}

/** `lacks`: operations the agent's software does not have; they must be refused, not break. */
export async function converse(client: OlderClient, lacks: readonly Operation[] = [], webhooks = true): Promise<void> {
	const said = await client.ask(sending(client, "send", "message good day"));
	const reply = said.message ?? said.task?.status.message;
	expect(reply && textOf(reply)).toBe("good day");

	const sent = await client.ask(sending(client, "send", "task 2"));
	expect(stateOf(sent)).toBe("completed");
	const texts = sent.task?.artifacts.map(({ parts }) => parts[0]?.text);
	expect(texts).toEqual(["number 1", "number 2"]);
	const id = sent.task?.id ?? "";
	const read = await client.ask({ op: "get", taskId: id });
	expect(read.task).toMatchObject({ id, status: { state: "completed" } });
	expect(read.task?.artifacts).toHaveLength(2);
	expect(await refusal(client.ask({ op: "get", taskId: "nobody-knows" }))).toBeTruthy();
	expect(await refusal(client.ask({ op: "cancel", taskId: id }))).toBeTruthy();

	const events: Said[] = [];
	for await (const event of client.listen(sending(client, "stream", "task 2"))) events.push(event);
	expect(events.filter((event) => event.artifact).map((event) => event.artifact?.artifact.parts[0]?.text)).toEqual([
		"number 1",
		"number 2",
	]);
	expect(stateOf(events.findLast((event) => stateOf(event)))).toBe("completed");
	if (client.form.version === "1.0") expect(events[0]?.task).toBeDefined();

	const asks = await client.ask(sending(client, "send", "input"));
	expect(stateOf(asks)).toBe("input-required");
	const answered = await client.ask(sending(client, "send", "the blue one", idOf(asks)));
	expect(idOf(answered)).toBe(idOf(asks));
	expect(answered.task?.status.message && textOf(answered.task.status.message)).toBe("got the blue one");

	const stream = client.listen(sending(client, "stream", "wait"))[Symbol.asyncIterator]();
	let at = await stream.next();
	while (!at.done && stateOf(at.value) !== "working") at = await stream.next();
	const canceled = await client.ask({ op: "cancel", taskId: at.done ? "" : idOf(at.value) });
	expect(stateOf(canceled)).toBe("canceled");
	let last: Said | undefined;
	for (let next = await stream.next(); !next.done; next = await stream.next()) last = next.value;
	expect(stateOf(last)).toBe("canceled");

	if (!webhooks) return;
	const set = await client.ask({ op: "pushCreate", taskId: id, hook: HOOK });
	expect(set.hook?.hook).toMatchObject({ url: HOOK.url, token: HOOK.token });
	if (client.knows("pushList")) {
		const listed = client.ask({ op: "pushList", taskId: id });
		if (lacks.includes("pushList")) expect(await refusal(listed)).toBeTruthy();
		else expect((await listed).hooks?.list).toHaveLength(1);
	}
}
