/** Security schemes: OpenAPI style (v0.2, v0.3 JSON) or member style (v0.3 ProtoJSON) ↔ member style of v1.0 (dialects.md §15). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { pointer } from "../../call/loss.ts";
import { type At, isObject, type Lens, lostBut, misfit, record, step } from "../lens.ts";

/** How an older card writes schemes and requirements. Reading takes either. */
export type Style = "openapi" | "member";

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
		const [first] = FLOWS.filter((name) => isObject(value[name]));
		for (const name of Object.keys(value))
			if (name !== first && value[name] !== null) at.loss(pointer(at.path, name), "only one flow can be kept");
		return first === undefined ? {} : { [first]: flow.lift(value[first] as JsonValue, step(at, first)) ?? {} };
	},
	lower(value, at) {
		const older: JsonObject = {};
		for (const name of FLOWS) {
			const inner = (value as JsonObject)[name];
			if (inner !== undefined) older[name] = { scopes: {}, ...(flow.lower(inner, step(at, name)) as JsonObject) };
		}
		lostBut(value as JsonObject, at, ...FLOWS);
		return older;
	},
};

type Kinds = Readonly<Record<string, readonly [type: string, lens: Lens]>>;

/** The kinds of schemes by v1.0's member, with OpenAPI's name for the kind. */
function kindsOf(style: Style): Kinds {
	const location = style === "openapi" ? "in" : "location";
	return {
		apiKeySecurityScheme: ["apiKey", record({ location: [location], name: ["name"], description: ["description"] })],
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
}

const kinds: Readonly<Record<Style, Kinds>> = { openapi: kindsOf("openapi"), member: kindsOf("member") };
const byType = new Map(Object.entries(kinds.openapi).map(([member, [type, lens]]) => [type, { member, lens }]));

function scheme(style: Style): Lens {
	return {
		lift(value, at) {
			if (!isObject(value)) throw misfit(at, "must be an object");
			const { type, ...rest } = value;
			const known = typeof type === "string" ? byType.get(type) : undefined;
			if (known) return { [known.member]: known.lens.lift(rest, at) ?? {} };
			const member = Object.keys(kinds.member).find((name) => isObject(value[name]));
			const lens = member === undefined ? undefined : kinds.member[member]?.[1];
			if (member === undefined || !lens) {
				at.loss(at.path, "is a kind of security scheme this gateway does not know");
				return undefined;
			}
			return { [member]: lens.lift(value[member] ?? {}, step(at, member)) ?? {} };
		},
		lower(value, at) {
			const object = value as JsonObject;
			const member = Object.keys(kinds[style]).find((name) => object[name] !== undefined);
			const known = member === undefined ? undefined : kinds[style][member];
			if (member === undefined || !known) {
				at.loss(at.path, "is a kind of security scheme the older version does not know");
				return undefined;
			}
			lostBut(object, at, member);
			const inner = known[1].lower(object[member] ?? {}, step(at, member)) as JsonObject;
			return style === "openapi" ? { type: known[0], ...inner } : { [member]: inner };
		},
	};
}

/** A map of schemes by name. */
export function securitySchemes(style: Style): Lens {
	const { lift, lower } = scheme(style);
	return { lift: (value, at) => eachValue(value, at, lift), lower: (value, at) => eachValue(value, at, lower) };
}

function eachValue(value: JsonValue, at: At, translate: Lens["lift"]): JsonObject {
	if (!isObject(value)) throw misfit(at, "must be an object");
	return Object.fromEntries(
		Object.entries(value).flatMap(([name, item]): [string, JsonValue][] => {
			const translated = translate(item, step(at, name));
			return translated === undefined ? [] : [[name, translated]];
		}),
	);
}

/** One requirement: `{name: [scope]}` ↔ `{schemes: {name: {list: [scope]}}}`. */
export function requirement(style: Style): Lens {
	return {
		lift(value, at) {
			if (!isObject(value)) throw misfit(at, "must be an object");
			const { schemes } = value;
			if (isObject(schemes)) return value;
			const lifted = Object.entries(value).map(([name, scopes]): [string, JsonValue] => [
				name,
				{ list: Array.isArray(scopes) ? scopes : [] },
			]);
			return { schemes: Object.fromEntries(lifted) };
		},
		lower(value, at) {
			const { schemes } = value as JsonObject;
			lostBut(value as JsonObject, at, "schemes");
			const entries = Object.entries(isObject(schemes) ? schemes : {});
			const lowered = entries.map(([name, item]): [string, JsonValue] => {
				const scopes = (isObject(item) && item["list"]) || [];
				return [name, style === "openapi" ? scopes : { list: scopes }];
			});
			return style === "openapi" ? Object.fromEntries(lowered) : { schemes: Object.fromEntries(lowered) };
		},
	};
}
