/** The extended card through the gateway: every form of agent, every form of client, behind the agent's own authentication (§3.1.11, §13.3; G20–G25). */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { readPublic } from "../../src/card/sign-jwk.ts";
import { verify } from "../../src/card/signature.ts";
import { loadConfig, makeAgent, silent, withAgents } from "../../src/config/index.ts";
import { startGateway } from "../../src/gateway.ts";
import { ready } from "../peer/gateway.ts";
import {
	askExtended,
	CHALLENGE,
	CREDENTIAL,
	EXTENDED,
	type ExtendedAgent,
	type FormName,
	formNames,
	type Has,
	startExtendedAgent,
} from "./extended-forms.ts";

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
	for (const close of open.splice(0).reverse()) await close();
});

async function through(form: FormName, has: Has): Promise<{ url: string; agent: ExtendedAgent }> {
	const agent = await startExtendedAgent(form, has);
	open.push(() => agent.close());
	const config = loadConfig(["--listen", "127.0.0.1:0", "--admin", "off"], { env: {}, cwd: "/", terminal: false });
	const one = { ...makeAgent("bed", agent.url, config.timeouts), project: { name: "Renamed" } };
	const gateway = await startGateway(withAgents(config, [one]), { log: silent });
	open.push(() => gateway.close());
	await ready(gateway.url);
	return { url: gateway.url, agent };
}

const port = (url: string) => new URL(url).port;

describe.each(formNames)("an agent of %s", (form) => {
	it("shows its extended card to who may see it, in every form: rewritten, signed, for that caller only", async () => {
		const { url, agent } = await through(form, "card");
		const keys = readPublic(await (await fetch(`${url}/.well-known/jwks.json`)).text(), "jwks");
		for (const client of formNames) {
			agent.asked.length = 0;
			const { card, header, text, error } = await askExtended(client, url, CREDENTIAL);
			expect([client, error, card?.["description"], card?.["name"]]).toEqual([client, "", EXTENDED, "Renamed"]);
			expect(agent.asked).toEqual([CREDENTIAL]);
			expect(text).not.toContain(port(agent.url));
			expect(text).toContain(port(url));
			// What the public card does not claim, the gateway does not serve.
			const { pushNotifications = false, streaming } = (card?.["capabilities"] ?? {}) as JsonObject;
			expect([client, pushNotifications, streaming]).toEqual([client, false, true]);
			expect(header["cache-control"], client).toBe("private, no-cache");
			expect(header["etag"], client).toBeUndefined();
			if (!client.endsWith("1.0")) continue;
			const verdict = await verify(card as JsonObject, () => keys);
			expect([client, verdict.valid, verdict.reason]).toEqual([client, true, expect.stringContaining("signed by")]);
		}
	});

	it("challenges who has no credential, or the wrong one, in every form", async () => {
		const { url, agent } = await through(form, "card");
		for (const client of formNames) {
			for (const credential of [undefined, "Bearer of-somebody-else"]) {
				agent.asked.length = 0;
				const { card, status, header } = await askExtended(client, url, credential);
				expect([client, card, status]).toEqual([client, undefined, client.startsWith("GRPC") ? 16 : 401]);
				expect(header["www-authenticate"], client).toBe(CHALLENGE);
				expect(agent.asked).toEqual([credential]);
			}
		}
	});

	it.each([
		["undeclared", "UNSUPPORTED_OPERATION", "-32004"],
		["none", "EXTENDED_AGENT_CARD_NOT_CONFIGURED", "-32007"],
	] as const)("says so in every form when the card is %s", async (has, reason, code) => {
		const { url, agent } = await through(form, has);
		const wanted: Readonly<Record<FormName, string>> = {
			"JSONRPC 1.0": `${code} ${reason}`,
			"HTTP+JSON 1.0": `400 ${reason}`,
			"GRPC 1.0": `9 ${reason}`,
			"JSONRPC 0.3": code,
			"HTTP+JSON 0.3": `400 ${reason}`,
			"GRPC 0.3": `9 ${reason}`,
			// The 404 of that version; the reason beside it.
			"JSONRPC 0.2": `404 ${reason}`,
		};
		const told: Record<string, string> = {};
		for (const client of formNames) told[client] = (await askExtended(client, url, CREDENTIAL)).error;
		expect(told).toEqual(wanted);
		// Not declared: the agent is not even asked.
		expect(agent.asked.length).toBe(has === "none" ? formNames.length : 0);
	});
});
