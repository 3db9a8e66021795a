/** `A2A-Gateway-Loss`: JSON pointers into what the sender wrote, in every binding; `--strict` refuses instead. */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import { Refused } from "../peer/older/fault.ts";
import { type Ask, type Form, forms, nameOf } from "../peer/older/model.ts";
import { type Through, throughTo } from "./gateway.ts";

const HEADER = "a2a-gateway-loss";
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});
async function lane(form: Form, flags: readonly string[] = []): Promise<Through> {
	const opened = await throughTo(form, flags);
	closing.push(() => opened.close());
	return opened;
}
/** The pointers in a header, decoded. */
const pointers = (header: string | undefined): string[] =>
	header === undefined ? [] : header.split(/, ?/).map((each) => decodeURIComponent(each));

const v01: Form = { binding: "JSONRPC", version: "0.1" };
const v03: Form = { binding: "JSONRPC", version: "0.3" };
const v10: Form = { binding: "JSONRPC", version: "1.0" };
const now: Ask = { op: "send", message: { role: "user", id: "m-1", parts: [{ text: "task 1" }] }, wait: false };
const waiting = forms.filter(({ version }) => version === "1.0");

describe.each(waiting.map((form) => [nameOf(form), form] as const))("from %s", (_, form) => {
	test("a switch that v0.1 lacks is named in the answer's header or metadata", async () => {
		const { client } = await lane(v01);
		const from = client(form);
		const said = await from.ask(now);
		expect(said.task?.status.state).toBe("completed");
		expect(pointers(from.header[HEADER])).toContain("/configuration/returnImmediately");
	});

	test("and in a stream's", async () => {
		const { client } = await lane(v01);
		const from = client(form);
		for await (const _ of from.listen({ ...now, op: "stream" }));
		expect(pointers(from.header[HEADER])).toContain("/configuration/returnImmediately");
	});

	test("is refused when strict, before the agent hears of it", async () => {
		const { client, agent } = await lane(v01, ["--strict", "true"]);
		await expect(client(form).ask(now)).rejects.toThrow(Refused);
		expect(agent.brain.asks).toEqual([]);
		const { wait: _, ...plain } = now;
		const said = await client(form).ask(plain);
		expect(said.task?.status.state, "what loses nothing goes through").toBe("completed");
	});

	test("nothing lost, nothing said", async () => {
		const { client } = await lane(v10);
		const from = client(form);
		await from.ask(now);
		expect(from.header[HEADER]).toBeUndefined();
	});
});

interface Answer {
	readonly header: string | undefined;
	readonly body: JsonObject;
}
async function send(url: string, params: JsonObject): Promise<Answer> {
	const response = await fetch(`${url}/`, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params }),
	});
	return { header: response.headers.get(HEADER) ?? undefined, body: (await response.json()) as JsonObject };
}
const said = (...parts: JsonObject[]): JsonObject => ({ kind: "message", messageId: "m-1", role: "user", parts });
const words: JsonObject = { kind: "text", text: "task 1" };

test("several pointers are separated by commas", async () => {
	const { gateway } = await lane(v10);
	const authentication = { schemes: ["Bearer", "Basic", "Digest"], credentials: "x" };
	const pushNotificationConfig = { url: "https://client.example/hook", authentication };
	const { header, body } = await send(gateway.url, {
		message: said(words),
		configuration: { pushNotificationConfig },
	});
	expect(body["error"]).toBeUndefined();
	const at = "/configuration/pushNotificationConfig/authentication/schemes";
	expect(pointers(header)).toEqual([`${at}/1`, `${at}/2`]);
});

test("names that a header cannot carry are percent-encoded, JSON pointer escapes first", async () => {
	const { gateway } = await lane(v10);
	const odd = "ü, 100 % a/b~c";
	const file = { uri: "https://files.example/a", mimeType: "text/csv", [odd]: 1 };
	const { header, body } = await send(gateway.url, { message: said(words, { kind: "file", file }) });
	expect(body["error"]).toBeUndefined();
	expect(header).toMatch(/^[!-~]+$/);
	expect(pointers(header)).toEqual(["/message/parts/1/file/ü, 100 % a~1b~0c"]);
});

/** Members that v0.3 knows nothing of, or v1.0 has no place for: between two v0.3 peers they pass as they came. */
const unknown = {
	message: said(words, { kind: "file", file: { uri: "https://files.example/a", checksum: "crc" } }),
	configuration: {
		pushNotificationConfig: {
			url: "https://client.example/hook",
			authentication: { schemes: ["Bearer", "Basic"], credentials: "x" },
		},
	},
};

test("between two peers of one version everything arrives as it was sent", async () => {
	const { gateway, agent } = await lane(v03);
	const { body } = await send(gateway.url, unknown);
	expect(body["error"]).toBeUndefined();
	expect(agent.arrived[0]?.json).toEqual(unknown);
});

test("so nothing is reported as lost", async () => {
	const { gateway } = await lane(v03);
	expect((await send(gateway.url, unknown)).header).toBeUndefined();
});

test("and strict mode does not refuse it", async () => {
	const { gateway, agent } = await lane(v03, ["--strict", "true"]);
	expect((await send(gateway.url, unknown)).body["error"]).toBeUndefined();
	expect(agent.arrived[0]?.json).toEqual(unknown);
});

test("a strict gateway says which member it would lose", async () => {
	const { gateway, agent } = await lane(v10, ["--strict", "true"]);
	const file = { uri: "https://files.example/a", checksum: "crc" };
	const { body } = await send(gateway.url, { message: said(words, { kind: "file", file }) });
	expect(JSON.stringify(body["error"])).toContain("/message/parts/1/file/checksum");
	expect(agent.brain.asks).toEqual([]);
});
