/** Security schemes: OpenAPI style (v0.2, v0.3) ↔ member style (v1.0) (dialects.md §15). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { pointer } from "../../call/loss.ts";
import { type At, isObject, type Lens, misfit, record, step } from "../lens.ts";

/** Flow names both versions have, in the order the SDKs keep them when only one can be kept. */
const FLOWS = ["authorizationCode", "clientCredentials", "implicit", "password"] as const;

const flow = record({
	authorizationUrl: ["authorizationUrl"],
	tokenUrl: ["tokenUrl"],
	refreshUrl: ["refreshUrl"],
	scopes: ["scopes"],
});

/** Several flows ↔ one: the first is kept, the others reported. `deviceCode` has no older form. */
const flows: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const given = FLOWS.filter((name) => isObject(value[name]));
		for (const name of given.slice(1)) at.loss(pointer(at.path, name), "only one flow can be kept");
		const [first] = given;
		return first === undefined ? {} : { [first]: flow.lift(value[first] as JsonValue, step(at, first)) ?? {} };
	},
	lower(value, at) {
		const older: JsonObject = {};
		for (const [name, inner] of Object.entries(value as JsonObject)) {
			if ((FLOWS as readonly string[]).includes(name))
				older[name] = { scopes: {}, ...(flow.lower(inner, step(at, name)) as JsonObject) };
			else at.loss(pointer(at.path, name), "has no counterpart");
		}
		return older;
	},
};

const kinds: Readonly<Record<string, readonly [type: string, lens: Lens]>> = {
	apiKeySecurityScheme: ["apiKey", record({ location: ["in"], name: ["name"], description: ["description"] })],
	httpAuthSecurityScheme: [
		"http",
		record({ scheme: ["scheme"], bearerFormat: ["bearerFormat"], description: ["description"] }),
	],
	oauth2SecurityScheme: [
		"oauth2",
		record({ flows: ["flows", flows], oauth2MetadataUrl: ["oauth2MetadataUrl"], description: ["description"] }),
	],
	openIdConnectSecurityScheme: [
		"openIdConnect",
		record({ openIdConnectUrl: ["openIdConnectUrl"], description: ["description"] }),
	],
	mtlsSecurityScheme: ["mutualTLS", record({ description: ["description"] })],
};
const byType = new Map(Object.entries(kinds).map(([member, [type, lens]]) => [type, { member, lens }]));

const scheme: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const { type, ...rest } = value;
		const known = typeof type === "string" ? byType.get(type) : undefined;
		if (!known) {
			at.loss(at.path, "is a kind of security scheme this gateway does not know");
			return undefined;
		}
		return { [known.member]: known.lens.lift(rest, at) ?? {} };
	},
	lower(value, at) {
		const [member, inner] = Object.entries(value as JsonObject)[0] ?? [];
		const known = member === undefined ? undefined : kinds[member];
		if (member === undefined || inner === undefined || !known) {
			at.loss(at.path, "is a kind of security scheme the older version does not know");
			return undefined;
		}
		return { type: known[0], ...(known[1].lower(inner, step(at, member)) as JsonObject) };
	},
};

/** A map of schemes by name. */
export const securitySchemes: Lens = {
	lift: (value, at) => eachValue(value, at, scheme.lift),
	lower: (value, at) => eachValue(value, at, scheme.lower),
};

function eachValue(value: JsonValue, at: At, translate: (v: JsonValue, at: At) => JsonValue | undefined): JsonObject {
	if (!isObject(value)) throw misfit(at, "must be an object");
	const result: JsonObject = {};
	for (const [name, item] of Object.entries(value)) {
		const translated = translate(item, step(at, name));
		if (translated !== undefined) result[name] = translated;
	}
	return result;
}

/** One requirement: `{name: [scope]}` ↔ `{schemes: {name: {list: [scope]}}}`. */
export const requirement: Lens = {
	lift(value, at) {
		if (!isObject(value)) throw misfit(at, "must be an object");
		const schemes: JsonObject = {};
		for (const [name, scopes] of Object.entries(value)) schemes[name] = { list: Array.isArray(scopes) ? scopes : [] };
		return { schemes };
	},
	lower(value) {
		const older: JsonObject = {};
		const { schemes } = value as JsonObject;
		for (const [name, item] of Object.entries(isObject(schemes) ? schemes : {}))
			older[name] = (isObject(item) && item["list"]) || [];
		return older;
	},
};
