/** Discovery by clients of every version: each card the gateway shows, taken at its word, leads to calls that work. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { startClient } from "../peer/older/index.ts";
import { array, type Binding, type Form, forms, nameOf, object, text } from "../peer/older/model.ts";
import { throughTo } from "./gateway.ts";

async function fetchCard(url: string, path: string, version?: string): Promise<JsonObject> {
	const headers = version === undefined ? {} : { "a2a-version": version };
	const response = await fetch(`${url}${path}`, { headers });
	expect(response.status, path).toBe(200);
	expect(response.headers.get("content-type")).toContain("application/json");
	return object((await response.json()) as JsonValue);
}

/** Calls an interface as the card says, and gets an answer of that version. */
async function works(form: Form, endpoint: string): Promise<void> {
	const client = startClient(form, endpoint);
	try {
		const named = form.version === "0.1" ? { taskId: `cl-${crypto.randomUUID()}` } : {};
		const message = { role: "user", id: "m-1", parts: [{ text: "task 1" }] } as const;
		const said = await client.ask({ op: "send", message, ...named });
		expect(said.task?.status.state, `${nameOf(form)} at ${endpoint}`).toBe("completed");
	} finally {
		await client.close();
	}
}

describe.each(forms.map((form) => [nameOf(form), form] as const))("before an agent over %s", (_, form) => {
	test("v0.1 and v0.2 clients: agent.json, whose url takes JSON-RPC", async () => {
		const { gateway, close } = await throughTo(form);
		try {
			const card = await fetchCard(gateway.url, "/.well-known/agent.json");
			expect(card["name"]).toBe("Bed Sensor Agent");
			expect(card["preferredTransport"] ?? "JSONRPC").toBe("JSONRPC");
			expect(object(card["capabilities"])).toMatchObject({ streaming: true, pushNotifications: true });
			for (const version of ["0.1", "0.2"] as const) await works({ binding: "JSONRPC", version }, text(card["url"]));
		} finally {
			await close();
		}
	});

	test("v0.3 clients: agent-card.json with A2A-Version 0.3, every interface", async () => {
		const { gateway, close } = await throughTo(form);
		try {
			const card = await fetchCard(gateway.url, "/.well-known/agent-card.json", "0.3");
			expect(text(card["protocolVersion"])).toMatch(/^0\.3/);
			expect("supportedInterfaces" in card).toBe(false);
			const main = { url: text(card["url"]), transport: text(card["preferredTransport"]) || "JSONRPC" };
			const all = [main, ...array(card["additionalInterfaces"])].map(({ url, transport }) => ({
				url: text(url),
				binding: text(transport) as Binding,
			}));
			expect(new Set(all.map(({ binding }) => binding))).toEqual(new Set(["JSONRPC", "HTTP+JSON", "GRPC"]));
			for (const { url, binding } of all) await works({ binding, version: "0.3" }, url);
		} finally {
			await close();
		}
	});

	test("v1.0 clients: every interface of every version, and the hybrid says the same", async () => {
		const { gateway, close } = await throughTo(form);
		try {
			const card = await fetchCard(gateway.url, "/.well-known/agent-card.json", "1.0");
			const hybrid = await fetchCard(gateway.url, "/.well-known/agent-card.json");
			expect(hybrid["supportedInterfaces"]).toEqual(card["supportedInterfaces"]);
			expect(text(hybrid["url"])).not.toBe("");
			const interfaces = array(card["supportedInterfaces"]);
			for (const { url, protocolBinding, protocolVersion } of interfaces) {
				const version = text(protocolVersion) as Form["version"];
				await works({ binding: text(protocolBinding) as Binding, version }, text(url));
			}
			expect(interfaces.length).toBeGreaterThanOrEqual(6);
		} finally {
			await close();
		}
	});
});
