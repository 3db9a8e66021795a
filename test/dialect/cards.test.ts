/** Cards of every version into every other, and all in one document (dialects.md §14, §15). */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { LossEntry } from "../../src/call/loss.ts";
import { read } from "../../src/card/read.ts";
import * as first from "../../src/dialect/v0_1/card.ts";
import * as third from "../../src/dialect/v0_3/card.ts";
import { v0_3 } from "../../src/dialect/v0_3/index.ts";
import cards from "../corpus/cards.json" with { type: "json" };
import { collect, json, method, pointers } from "./support.ts";

const v1 = cards["v1.0"] as JsonObject;
const v03 = cards["v0.3"] as JsonObject;
const v01 = cards["v0.1"] as JsonObject;
const from = { from: "the test", base: undefined };

describe("the cards of the examples", () => {
	test("v1.0 → v0.3", () => {
		const losses: LossEntry[] = [];
		const { additionalInterfaces: _other, ...expected } = v03;
		expect(third.lowerCard(v1, collect(losses))).toEqual(expected);
		expect(pointers(losses)).toEqual([0, 1, 2].map((i) => `/supportedInterfaces/${i}`));
	});

	test("v0.3 → v1.0", () => {
		const losses: LossEntry[] = [];
		expect(third.liftCard(v03, collect(losses))).toEqual({
			...v1,
			supportedInterfaces: [
				{ url: "https://gh.example/a2a", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
				{ url: "https://gh.example/rest03", protocolBinding: "HTTP+JSON", protocolVersion: "0.3" },
			],
		});
		expect(losses).toEqual([]);
	});

	test("v0.1 → v1.0 and back", () => {
		const lifted = first.liftCard(v01);
		expect(lifted).toMatchObject({
			description: "Reads moisture probes",
			supportedInterfaces: [{ url: "https://gh.example/a2a", protocolBinding: "JSONRPC", protocolVersion: "0.1" }],
			securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "bearer" } } },
			securityRequirements: [{ schemes: { bearer: { list: [] } } }],
			defaultOutputModes: ["text/plain"],
		});
		expect(first.lowerCard(lifted)).toEqual({ ...v01, defaultOutputModes: ["text/plain"] });
	});

	test("without an interface of the version there is no card of it", () => {
		expect(() => first.lowerCard(v1)).toThrow(/0\.1/);
		expect(() => third.lowerCard({ ...v1, supportedInterfaces: [] })).toThrow(/0\.3/);
		expect(third.hybridCard({ name: "x", supportedInterfaces: [] })).toEqual({ name: "x", supportedInterfaces: [] });
	});
});

describe("the hybrid", () => {
	const own = [
		...(v1["supportedInterfaces"] as JsonObject[]),
		{ url: "https://gh.example/a2a", protocolBinding: "JSONRPC", protocolVersion: "0.1" },
	];
	const capabilities = { ...(v1["capabilities"] as JsonObject), stateTransitionHistory: true };
	const hybrid = first.hybridCard(third.hybridCard({ ...v1, supportedInterfaces: own, capabilities, future: 1 }));

	test("holds what each reader looks for", () => {
		expect(hybrid).toMatchObject({
			...v1,
			supportedInterfaces: own,
			future: 1,
			url: "https://gh.example/a2a",
			protocolVersion: "0.3.0",
			supportsAuthenticatedExtendedCard: true,
			capabilities: { stateTransitionHistory: true, extendedAgentCard: true },
			security: [{ oidc: ["read"] }, { key: [] }],
			authentication: { schemes: ["OpenIdConnect", "ApiKey"] },
		});
		expect(hybrid["securitySchemes"]).toMatchObject({
			key: { type: "apiKey", in: "header", name: "X-Key", apiKeySecurityScheme: { location: "header", name: "X-Key" } },
		});
	});

	test("is read by its v1.0 part", () => {
		expect(read(hybrid, from)).toMatchObject({ shape: "1.0", hybrid: true, warnings: [] });
	});

	test("lowers to what the v1.0 part says", () => {
		const card = { ...v1, capabilities };
		expect(third.lowerCard(third.hybridCard(card))).toEqual(third.lowerCard(card));
		expect(third.lowerCard(card)["capabilities"]).toMatchObject({ stateTransitionHistory: true });
	});
});

describe("security", () => {
	const oauth = (flows: JsonObject) => ({ ...v03, securitySchemes: { o: { type: "oauth2", flows } } });
	const code = { authorizationUrl: "a", tokenUrl: "t", scopes: {} };

	test("of several flows the first is kept", () => {
		const losses: LossEntry[] = [];
		const lifted = third.liftCard(
			oauth({ password: { tokenUrl: "p", scopes: {} }, authorizationCode: code }),
			collect(losses),
		);
		expect(lifted["securitySchemes"]).toEqual({ o: { oauth2SecurityScheme: { flows: { authorizationCode: code } } } });
		expect(pointers(losses)).toEqual(["/securitySchemes/o/flows/password"]);
	});

	test.each([
		["deviceCode", { deviceCode: { deviceAuthorizationUrl: "d", tokenUrl: "t", scopes: {} } }, "deviceCode"],
		["pkceRequired", { authorizationCode: { ...code, pkceRequired: true } }, "authorizationCode/pkceRequired"],
	])("%s is lost", (_, flows, where) => {
		const losses: LossEntry[] = [];
		const supportedInterfaces = (v1["supportedInterfaces"] as JsonObject[]).slice(3);
		const schemes = { o: { oauth2SecurityScheme: { flows: flows as JsonObject } } };
		third.lowerCard({ ...v1, supportedInterfaces, securitySchemes: schemes }, collect(losses));
		expect(pointers(losses)).toEqual([`/securitySchemes/o/oauth2SecurityScheme/flows/${where}`]);
	});

	test("/v1/card is read in both styles", () => {
		const read = (card: JsonObject) => v0_3.http.readReply(method.getExtendedAgentCard, json(card)).canonical();
		const member = {
			...v03,
			securitySchemes: v1["securitySchemes"] ?? null,
			security: v1["securityRequirements"] ?? null,
		};
		expect(read(member)).toEqual(read(v03));
	});
});

describe("discovery", () => {
	const bare = {
		name: "a",
		url: "http://a.example/x",
		version: "1",
		capabilities: {},
		skills: [{ id: "s", name: "s" }],
	};
	test.each<[string, JsonObject, string]>([
		["0.3", v03, "0.3"],
		["0.1", v01, "0.1"],
		["0.1", bare, "0.1"],
		["0.2", { ...bare, protocolVersion: "0.2.6" }, "0.2"],
		["0.2", { ...bare, securitySchemes: {} }, "0.2"],
		["0.3", { ...bare, preferredTransport: "GRPC", url: "a.example:443" }, "0.3"],
		["0.3", { ...bare, protocolVersion: "1.0" }, "1.0"],
	])("shape %s", (shape, card, version) => {
		const reading = read(card, from);
		expect(reading.shape).toBe(shape);
		expect(reading.json).toBe(card);
		expect(new Set(reading.interfaces.map((i) => i.version))).toEqual(new Set([version]));
		expect(reading.card.name).toBe(card["name"]);
	});

	test("capabilities are read from the lifted card", () => {
		expect(read(v03, from).card.capabilities).toMatchObject({
			streaming: true,
			pushNotifications: true,
			extendedAgentCard: true,
		});
		expect(read(v01, from).card.capabilities).toMatchObject({ streaming: true, pushNotifications: true });
	});

	test("what does not fit is read as absent", () => {
		const reading = read({ ...v03, securitySchemes: [], skills: 7 }, from);
		expect(reading.interfaces).toHaveLength(2);
		expect(reading.warnings.join("\n")).toMatch(/skills does not fit.*|securitySchemes does not fit/);
	});
});
