import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { applyPolicy, contradictions, EVIDENCE, evidenceOf, shaped, withEvidence } from "../../src/card/policy.ts";
import { cardV1 } from "./support.ts";

const encode = (header: object) => Buffer.from(JSON.stringify(header)).toString("base64url");
const skills = (card: JsonObject) => card["skills"] as JsonObject[];

describe("the policy", () => {
	it("replaces members where they stand, whichever way they are spelled", () => {
		const { name: _, ...rest } = cardV1;
		const card = { name: "a", documentation_url: "http://a/", ...rest };
		const shown = applyPolicy(card, { name: "b", documentationUrl: "https://b.example/" });
		expect(Object.keys(shown).slice(0, 2)).toEqual(["name", "documentationUrl"]);
		expect(shown).not.toHaveProperty("documentation_url");
		expect(applyPolicy(card, {})).toBe(card);
	});

	it("overrides, adds and removes skills by id", () => {
		const policy = { skills: [{ id: "moisture", name: "Wet" }, { id: "dig" }], removeSkills: ["gone"] };
		const card = { ...cardV1, skills: [...(cardV1["skills"] as JsonObject[]), { id: "gone" }] };
		expect(skills(applyPolicy(card, policy))).toEqual([
			{ id: "moisture", name: "Wet", description: "Average per bed", tags: ["garden"] },
			{ id: "dig", name: "dig", description: "", tags: [] },
		]);
	});

	it("leaves no skill that demands a scheme which is gone", () => {
		const need = [{ schemes: { oidc: { list: [] } } }, { schemes: { mine: { list: [] } } }];
		const card = { ...cardV1, skills: [{ id: "x", securityRequirements: need }] };
		const shown = applyPolicy(card, { securitySchemes: { mine: {} }, securityRequirements: [] });
		expect(skills(shown)[0]?.["securityRequirements"]).toEqual([need[1]]);
	});

	it("tells contradictions and mistakes with their places", () => {
		expect(contradictions({ securitySchemes: {} })).toMatchObject([{ member: "securitySchemes" }]);
		const wrong = { securitySchemes: {}, securityRequirements: [{ schemes: { x: { list: [] } } }] };
		expect(contradictions(wrong)).toMatchObject([{ at: [0, "schemes", "x"] }]);
		expect(shaped.skills.check([{ id: "a", tags: "x" }, { id: "a" }, {}]).map(({ at }) => at)).toEqual([
			[0, "tags"],
			[1],
			[2],
		]);
		expect(shaped.securitySchemes.check({ a: {} })).toMatchObject([{ at: ["a"] }]);
	});
});

describe("evidence", () => {
	const conceals = (text: string) => text.includes("agent.internal");
	it("keeps signatures and a digest, and no address of the agent", () => {
		const clean = {
			protected: encode({ alg: "ES256", kid: "k", jku: "https://keys.example/jwks" }),
			signature: "AAAA",
		};
		const leaks = [
			{ alg: "ES256", kid: "k2", jku: "https://agent.internal/jwks" },
			{ alg: "ES256", kid: "k2", jku: "http://10.0.0.7/jwks" },
		].map((header) => ({ protected: encode(header), signature: "BBBB", header: { at: "http://agent.internal/" } }));
		const card = { ...cardV1, signatures: [clean, ...leaks, 7, { protected: "!", signature: "x" }] };
		const { params } = evidenceOf(card, conceals) as { params: JsonObject };
		const hidden = { kid: "k2", alg: "ES256", signature: "BBBB" };
		expect(params).toEqual({ digest: expect.stringMatching(/^sha-256:/), signatures: [clean, hidden, hidden] });
		expect((evidenceOf({ ...card, name: "other" }, conceals) as { params: JsonObject }).params["digest"]).not.toBe(
			params["digest"],
		);
		expect(evidenceOf(cardV1, conceals)).toBeUndefined();
	});

	it("is the gateway's alone: an agent's own claim goes", () => {
		const forged = { ...cardV1, capabilities: { extensions: [{ uri: EVIDENCE }, { uri: "urn:x" }] } };
		expect(withEvidence(forged, undefined)["capabilities"]).toEqual({ extensions: [{ uri: "urn:x" }] });
		expect(withEvidence(cardV1, undefined)).toBe(cardV1);
	});
});
