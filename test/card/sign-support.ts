/** Vectors of rules.md and the RFCs, and what the official SDK makes of cards. */

import { AgentCard, verifyAgentCardSignature } from "@a2a-js/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import type { PublicKey } from "../../src/card/sign-jwk.ts";

/** rules.md, vector 1. */
export const vector1 = {
	card: JSON.parse(
		`{"name":"Bed Sensor Agent","description":"Reads moisture probes","version":"2.1.0","supportedInterfaces":[{"url":"https://gh.example/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true,"pushNotifications":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["application/json","text/plain"],"skills":[{"id":"moisture","name":"Soil moisture","description":"Average per bed","tags":["garden"]}]}`,
	) as JsonObject,
	payload: `{"capabilities":{"pushNotifications":false,"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["application/json","text/plain"],"description":"Reads moisture probes","name":"Bed Sensor Agent","skills":[{"description":"Average per bed","id":"moisture","name":"Soil moisture","tags":["garden"]}],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://gh.example/a2a"}],"version":"2.1.0"}`,
	sha256: "9ff9121cd56438e7b95362aa459bb517d960ac24febf9bbdb345a5afe9d9654d",
	protected: "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpPU0UiLCJraWQiOiJnaC0xIn0",
	jwk: {
		kty: "EC",
		crv: "P-256",
		x: "Q25ZDgPTytaj1WwA3VzIriTKNbzCDlWRCG1UTWKZ3hQ",
		y: "Kq7goouqBOHIF0g3ak_Ukt9fvfi9ObLgzOzdS-p-eCk",
	},
	signature: "nXromofnBhuGjPclIXf--KDcVz4j6t9F6HKaiV_YkQe8aErttfoMaRvnNfD61JtwwdrCbdXRvdjAhNVXYmy_og",
};

/** rules.md, vector 2. */
export const vector2 = {
	card: JSON.parse(
		`{"name":"Bed Sensor Agent","description":"","version":"2.1.0","iconUrl":"","supportedInterfaces":[{"url":"https://gh.example/a2a","protocolBinding":"JSONRPC","tenant":"","protocolVersion":"1.0"}],"capabilities":{"streaming":true,"pushNotifications":false,"extensions":[]},"securitySchemes":{},"securityRequirements":[],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[],"signatures":[{"protected":"eA","signature":"eA"}]}`,
	) as JsonObject,
	payload: `{"capabilities":{"pushNotifications":false,"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"","iconUrl":"","name":"Bed Sensor Agent","skills":[],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://gh.example/a2a"}],"version":"2.1.0"}`,
};

/** RFC 7515 appendix A.3: ES256. Its payload is the claims set of A.1. */
export const rfc7515 = {
	jwk: {
		kty: "EC",
		crv: "P-256",
		x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
		y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
		d: "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
	},
	protected: "eyJhbGciOiJFUzI1NiJ9",
	payload: "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
	signature: "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
};

/** RFC 7638 section 3.1. */
export const rfc7638 = {
	jwk: {
		kty: "RSA",
		n: "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
		e: "AQAB",
	},
	thumbprint: "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
};

/** The official verifier; resolves to undefined when it accepts, to its message otherwise. */
export async function sdkVerify(card: unknown, keys: readonly PublicKey[]): Promise<string | undefined> {
	const debug = console.debug;
	// It tells of every signature that is not the one.
	console.debug = () => {};
	try {
		await verifyAgentCardSignature(async (kid) => {
			const key = keys.find((known) => known.kid === kid);
			if (!key) throw new Error("unknown key");
			return key.key;
		})(card as AgentCard);
		return undefined;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	} finally {
		console.debug = debug;
	}
}

/** Through the SDK's own types and out again. */
export function throughSdk(card: JsonObject): JsonObject {
	return JSON.parse(JSON.stringify(AgentCard.toJSON(AgentCard.fromJSON(card)))) as JsonObject;
}

/** What Python's SDK signs: MessageToDict, without what is empty, as json.dumps writes it (written out again, not imported from src). */
export function pythonPayload(card: JsonObject): string {
	const { signatures: _, ...rest } = throughSdk(card);
	const clean = (value: unknown): unknown => {
		if (value === "" || value === null) return undefined;
		if (Array.isArray(value)) {
			const items = value.map(clean).filter((item) => item !== undefined);
			return items.length > 0 ? items : undefined;
		}
		if (typeof value !== "object") return value;
		const entries = Object.entries(value as object)
			.map(([name, item]) => [name, clean(item)] as const)
			.filter(([, item]) => item !== undefined);
		return entries.length > 0 ? Object.fromEntries(entries) : undefined;
	};
	// Objects put what looks like an index first, whatever the order it was given: text does not.
	const dumps = (value: unknown): string => {
		if (Array.isArray(value)) return `[${value.map(dumps).join(",")}]`;
		if (typeof value !== "object" || value === null) return JSON.stringify(value);
		const names = Object.keys(value).sort();
		return `{${names.map((name) => `${JSON.stringify(name)}:${dumps(Reflect.get(value, name))}`).join(",")}}`;
	};
	return dumps(clean(rest) ?? {}).replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
