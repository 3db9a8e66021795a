/** Agent cards: v0.2/v0.3 (one main URL, OpenAPI-style security) ↔ v1.0 (a list of interfaces) (dialects.md §14). */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, type Lens, list, record } from "../lens.ts";
import { requirement, securitySchemes } from "./security.ts";

/** `0.3.0` → `0.3`. */
function short(version: JsonValue | undefined): string {
	return typeof version === "string" ? (/^v?(\d+\.\d+)/.exec(version)?.[1] ?? version) : "";
}

/** Does an interface of this version speak the v0.2/v0.3 vocabulary? */
function isOlder(version: string): boolean {
	return /^0\.[23]$/.test(version);
}

const skill = record({
	id: ["id"],
	name: ["name"],
	description: ["description"],
	tags: ["tags"],
	examples: ["examples"],
	inputModes: ["inputModes"],
	outputModes: ["outputModes"],
	securityRequirements: ["security", list(requirement)],
});

const extension = record({ uri: ["uri"], description: ["description"], required: ["required"], params: ["params"] });

const capabilities = record(
	{ streaming: ["streaming"], pushNotifications: ["pushNotifications"], extensions: ["extensions", list(extension)] },
	{ handled: ["extendedAgentCard"] },
);

/** The interfaces of an older card: the main one first, exact repetitions of it left out. */
function liftInterfaces(older: JsonObject): JsonObject[] {
	const version = short(older["protocolVersion"]) || "0.3";
	const found: JsonObject[] = [];
	const add = (url: JsonValue | undefined, binding: JsonValue | undefined) => {
		if (typeof url !== "string" || url === "") return;
		const protocolBinding = typeof binding === "string" && binding !== "" ? binding : "JSONRPC";
		if (!found.some((i) => i["url"] === url && i["protocolBinding"] === protocolBinding)) {
			found.push({ url, protocolBinding, protocolVersion: version });
		}
	};
	add(older["url"], older["preferredTransport"]);
	const others = older["additionalInterfaces"];
	for (const other of Array.isArray(others) ? others : []) if (isObject(other)) add(other["url"], other["transport"]);
	return found;
}

/** The older members for the interfaces that an older client can use. */
function lowerInterfaces(core: JsonObject): JsonObject {
	const interfaces = core["supportedInterfaces"];
	const usable = (Array.isArray(interfaces) ? interfaces : []).filter(
		(i): i is JsonObject => isObject(i) && isOlder(short(i["protocolVersion"])),
	);
	const [main] = usable;
	if (!main) return { url: "", preferredTransport: "JSONRPC", protocolVersion: "0.3.0" };
	return {
		url: main["url"] ?? "",
		preferredTransport: main["protocolBinding"] ?? "JSONRPC",
		...(usable.length > 1 && {
			additionalInterfaces: usable.map((i) => ({ url: i["url"] ?? "", transport: i["protocolBinding"] ?? "JSONRPC" })),
		}),
		protocolVersion: "0.3.0",
	};
}

export const card: Lens = record(
	{
		name: ["name"],
		description: ["description"],
		version: ["version"],
		provider: ["provider"],
		documentationUrl: ["documentationUrl"],
		iconUrl: ["iconUrl"],
		capabilities: ["capabilities", capabilities],
		securitySchemes: ["securitySchemes", securitySchemes],
		securityRequirements: ["security", list(requirement)],
		defaultInputModes: ["defaultInputModes"],
		defaultOutputModes: ["defaultOutputModes"],
		skills: ["skills", list(skill)],
	},
	{
		handled: ["supportedInterfaces", "signatures"],
		consumed: [
			"url",
			"preferredTransport",
			"additionalInterfaces",
			"protocolVersion",
			"supportsAuthenticatedExtendedCard",
			"signatures",
		],
		lifted(core, older, at) {
			core["supportedInterfaces"] = liftInterfaces(older);
			if (older["supportsAuthenticatedExtendedCard"] === true) {
				core["capabilities"] = {
					...(isObject(core["capabilities"]) ? core["capabilities"] : {}),
					extendedAgentCard: true,
				};
			}
			if (older["signatures"] !== undefined) at.loss(`${at.path}/signatures`, "does not verify after a translation");
		},
		lowered(older, core, at) {
			Object.assign(older, lowerInterfaces(core));
			const facts = core["capabilities"];
			older["capabilities"] ??= {};
			if (isObject(facts) && facts["extendedAgentCard"] === true) older["supportsAuthenticatedExtendedCard"] = true;
			for (const name of ["description", "version", "name"]) older[name] ??= "";
			for (const name of ["defaultInputModes", "defaultOutputModes", "skills"]) older[name] ??= [];
			if (core["signatures"] !== undefined) at.loss(`${at.path}/signatures`, "does not verify after a translation");
		},
	},
);
