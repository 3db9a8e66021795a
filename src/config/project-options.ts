/** The options of `agents[].project`: what the operator says of a card before it is signed (card/policy.ts). */
import type { JsonObject } from "@bufbuild/protobuf";
import { shaped } from "../card/policy.ts";
import * as kind from "./kind.ts";
import { many, one } from "./option.ts";
import { tree } from "./tree.ts";

const WEB = kind.url(["http", "https"], { query: true, credentials: false });

export const projectOptions = {
	projectName: one<string | undefined>("project.name", undefined, {
		arg: "TEXT",
		kind: kind.text,
		shown: "the agent's",
		doc: "Name on the card that clients see; like all of project, on the public and the extended card, before they are signed.",
	}),
	projectDescription: one<string | undefined>("project.description", undefined, {
		arg: "TEXT",
		kind: kind.text,
		shown: "the agent's",
		doc: "Description on the card.",
	}),
	projectProvider: one<JsonObject | undefined>("project.provider", undefined, {
		arg: "MAPPING",
		kind: tree(shaped.provider.schema, shaped.provider.check),
		shown: "the agent's",
		doc: "Provider on the card: organization and url.",
	}),
	projectIconUrl: one<string | undefined>("project.iconUrl", undefined, {
		arg: "URL",
		kind: WEB,
		shown: "the agent's",
		doc: "Icon on the card.",
	}),
	projectDocumentationUrl: one<string | undefined>("project.documentationUrl", undefined, {
		arg: "URL",
		kind: WEB,
		shown: "the agent's",
		doc: "Documentation on the card.",
	}),
	projectSkills: one<readonly JsonObject[] | undefined>("project.skills", undefined, {
		arg: "LIST",
		kind: tree(shaped.skills.schema, shaped.skills.check),
		shown: "the agent's",
		doc: "Skills as on a v1.0 card, by id: members in the place of those of the agent's skill, or another skill.",
	}),
	projectRemoveSkills: many("project.removeSkills", {
		arg: "ID",
		kind: kind.text,
		shown: "none",
		doc: "Skills of the agent that the card does not show.",
	}),
	projectSecuritySchemes: one<JsonObject | undefined>("project.securitySchemes", undefined, {
		arg: "MAPPING",
		kind: tree(shaped.securitySchemes.schema, shaped.securitySchemes.check),
		shown: "the agent's",
		doc: "Security schemes as on a v1.0 card, in the place of all the agent has; with securityRequirements.",
	}),
	projectSecurityRequirements: one<readonly JsonObject[] | undefined>("project.securityRequirements", undefined, {
		arg: "LIST",
		kind: tree(shaped.securityRequirements.schema, shaped.securityRequirements.check),
		shown: "the agent's",
		doc: "Security requirements as on a v1.0 card, in the place of the agent's; [] for none.",
	}),
	projectInputModes: many("project.defaultInputModes", {
		arg: "TYPE",
		kind: kind.mediaType,
		shown: "the agent's",
		doc: "Default input modes on the card.",
	}),
	projectOutputModes: many("project.defaultOutputModes", {
		arg: "TYPE",
		kind: kind.mediaType,
		shown: "the agent's",
		doc: "Default output modes on the card.",
	}),
	projectSignatures: one<"drop" | "evidence">("project.signatures", "drop", {
		arg: "drop|evidence",
		kind: kind.oneOf("drop", "evidence"),
		shown: "drop",
		doc: "The agent's own signatures, which do not sign the gateway's card: dropped, or shown in an extension.",
	}),
} as const;
