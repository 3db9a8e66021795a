/** The v0.1 agent card (April 2025: one JSON-RPC URL, `authentication` by scheme names) ↔ the v1.0 card (dialects.md §14). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { A2AError } from "../../call/error.ts";
import { type Loss, pointer, unreported } from "../../call/loss.ts";
import { type At, isObject, type Lens, list, lost, record, step } from "../lens.ts";
import { lowerWith } from "../v0_3/card.ts";

/** `text` was a mode's name before media types were. */
export function mode(value: JsonValue): JsonValue {
	return value === "text" ? "text/plain" : value;
}
const modes: Lens = { lift: (value) => (Array.isArray(value) ? value.map(mode) : value), lower: (value) => value };

const skill = record(
	{
		id: ["id"],
		name: ["name"],
		description: ["description"],
		tags: ["tags"],
		examples: ["examples"],
		inputModes: ["inputModes", modes],
		outputModes: ["outputModes", modes],
	},
	{
		lifted(core) {
			core["description"] ??= core["name"] ?? "";
			core["tags"] ??= [];
		},
	},
);

/** Scheme names as v0.1 cards write them ↔ v1.0's members. Where the kind says too little, the details are gone. */
const NAMED: Readonly<Record<string, JsonObject>> = {
	bearer: { httpAuthSecurityScheme: { scheme: "bearer" } },
	basic: { httpAuthSecurityScheme: { scheme: "basic" } },
	digest: { httpAuthSecurityScheme: { scheme: "digest" } },
};
const KINDS: Readonly<Record<string, string>> = {
	apiKeySecurityScheme: "ApiKey",
	oauth2SecurityScheme: "OAuth2",
	openIdConnectSecurityScheme: "OpenIdConnect",
	mtlsSecurityScheme: "MutualTLS",
};

/** `authentication {schemes, credentials}` → schemes and requirements: any one of the schemes will do. */
function liftAuthentication(core: JsonObject, older: JsonObject, at: At): void {
	const { authentication } = older;
	if (!isObject(authentication)) return;
	const here = step(at, "authentication");
	const names = Array.isArray(authentication["schemes"]) ? authentication["schemes"] : [];
	const schemes: [string, JsonValue][] = [];
	names.forEach((name, i) => {
		const key = typeof name === "string" ? name.toLowerCase() : "";
		const known = Object.hasOwn(NAMED, key) ? NAMED[key] : undefined;
		if (known) schemes.push([key, known]);
		else at.loss(pointer(step(here, "schemes").path, i), "says too little for a security scheme of v1.0");
	});
	lost(authentication, here, "has no counterpart", ...Object.keys(authentication).filter((name) => name !== "schemes"));
	if (schemes.length === 0) return;
	core["securitySchemes"] = Object.fromEntries(schemes);
	core["securityRequirements"] = schemes.map(([name]) => ({ schemes: { [name]: { list: [] } } }));
}

/** Schemes → their names. */
function lowerAuthentication(older: JsonObject, core: JsonObject, at: At): void {
	const { securitySchemes } = core;
	lost(core, at, "only names of schemes can be told", "securitySchemes", "securityRequirements");
	if (!isObject(securitySchemes)) return;
	const names = new Set<string>();
	for (const scheme of Object.values(securitySchemes)) {
		if (!isObject(scheme)) continue;
		const http = scheme["httpAuthSecurityScheme"];
		const name = isObject(http) ? http["scheme"] : KINDS[Object.keys(KINDS).find((kind) => kind in scheme) ?? ""];
		if (typeof name === "string" && name !== "") names.add(name.charAt(0).toUpperCase() + name.slice(1));
	}
	if (names.size > 0) older["authentication"] = { schemes: [...names] };
}

const capabilities = record({
	streaming: ["streaming"],
	pushNotifications: ["pushNotifications"],
	stateTransitionHistory: ["stateTransitionHistory"],
});

/** The endpoint of a v0.1 card is always JSON-RPC. */
function usable(core: JsonObject): JsonObject | undefined {
	const all = Array.isArray(core["supportedInterfaces"]) ? core["supportedInterfaces"].filter(isObject) : [];
	return all.find((i) => /^v?0\.1(\.|$)/.test(String(i["protocolVersion"])));
}

const card: Lens = record(
	{
		name: ["name"],
		description: ["description"],
		version: ["version"],
		// The url is optional here, and in v1.0 it is not.
		provider: [
			"provider",
			record(
				{ organization: ["organization"], url: ["url"] },
				{
					lifted: (core) => {
						core["url"] ??= "";
					},
				},
			),
		],
		documentationUrl: ["documentationUrl"],
		capabilities: ["capabilities", capabilities],
		defaultInputModes: ["defaultInputModes", modes],
		defaultOutputModes: ["defaultOutputModes", modes],
		skills: ["skills", list(skill)],
	},
	{
		handled: ["supportedInterfaces", "securitySchemes", "securityRequirements"],
		consumed: ["url", "authentication", "supportedInterfaces"],
		lifted(core, older, at) {
			const { url } = older;
			core["supportedInterfaces"] =
				typeof url === "string" && url !== "" ? [{ url, protocolBinding: "JSONRPC", protocolVersion: "0.1" }] : [];
			liftAuthentication(core, older, at);
			for (const name of ["name", "version"]) core[name] ??= "";
			core["description"] ??= core["name"] ?? "";
			core["capabilities"] ??= {};
			core["skills"] ??= [];
			for (const name of ["defaultInputModes", "defaultOutputModes"]) core[name] ??= ["text/plain"];
		},
		lowered(older, core, at) {
			const main = usable(core);
			const all = Array.isArray(core["supportedInterfaces"]) ? core["supportedInterfaces"] : [];
			const path = step(at, "supportedInterfaces");
			all.forEach((entry, i) => {
				if (entry !== main) at.loss(step(path, i).path, "is of another version");
				else if (main) lost(main, step(path, i), "has no counterpart", "tenant");
			});
			older["url"] = main?.["url"] ?? "";
			lowerAuthentication(older, core, at);
			older["capabilities"] ??= {};
			older["skills"] ??= [];
		},
	},
);

/** The v0.1 card that says what a v1.0 card says. Throws VERSION_NOT_SUPPORTED when that offers no 0.1 interface. `liftCard` is the inverse. */
export function lowerCard(json: JsonObject, loss: Loss = unreported): JsonObject {
	const older = lowerWith(card, json, loss);
	if (older["url"] === "")
		throw new A2AError("VERSION_NOT_SUPPORTED", { message: "The agent offers no interface of protocol version 0.1" });
	return older;
}

/** The v1.0 card that says what a v0.1 card says; what v1.0 does not know stays in it. */
export function liftCard(json: JsonObject, loss: Loss = unreported): JsonObject {
	return card.lift(json, { path: "", loss }) as JsonObject;
}

/** A card (v1.0, or a hybrid with v0.3) that readers of v0.1 understand too: beside it `url`, if it has none, and `authentication`. */
export function hybridCard(json: JsonObject): JsonObject {
	const older = lowerWith(card, json, unreported);
	if (older["url"] === "") return json;
	return { ...pickMissing(json, older, "url", "authentication"), ...json };
}

function pickMissing(json: JsonObject, older: JsonObject, ...names: readonly string[]): JsonObject {
	return Object.fromEntries(
		names.flatMap((name) => {
			const value = older[name];
			return json[name] === undefined && value !== undefined ? [[name, value]] : [];
		}),
	);
}
