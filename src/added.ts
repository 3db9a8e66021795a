/** Agents that come while the gateway runs: described in a request to the admin listener, or by a file in a directory (A2A v1.0 §8.2). */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { A2AError, invalidParams } from "./call/error.ts";
import type { Violation } from "./call/payload.ts";
import { isObject, MAX_CARD, parseDocument } from "./card/document.ts";
import { CardError } from "./card/error.ts";
import { read } from "./card/read.ts";
import { type Directory, watchDirectory } from "./catalogue/directory.ts";
import type { AgentConfig, AgentTimeouts, TextFile } from "./config/config.ts";
import { readText } from "./config/kind.ts";
import type { Log } from "./config/log.ts";
import { agentOptions } from "./config/options.ts";
import { suggestion, ValueError } from "./config/problem.ts";
import { makeAgent } from "./config/resolve.ts";

const FIELDS = ["name", "url", "card", "prefer", "hosts"];
const HOST = /^(?:[a-z0-9_](?:[a-z0-9._-]{0,251}[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;
const MAX_HOSTS = 16;

/**
 * Reads `{ name, url?, card?, prefer?, hosts? }`, the members as in the configuration file's `agents`; `card` is a card
 * or the absolute path of a file that holds one. Throws A2AError INVALID_PARAMS naming every bad member.
 */
export function readAgent(body: JsonObject, timeouts: AgentTimeouts): AgentConfig {
	const violations: Violation[] = [];
	const bad = (field: string, description: string) => {
		violations.push({ field, description });
	};
	for (const name of Object.keys(body)) {
		if (!FIELDS.includes(name)) bad(name.slice(0, 64), `unknown member${suggestion(name, FIELDS)}`);
	}
	const one = <T>(kind: { read(text: string, base: string): T }, field: string, value: JsonValue | undefined) => {
		if (value === undefined || value === null) return undefined;
		if (typeof value !== "string") return void bad(field, "must be a string");
		try {
			return kind.read(value, "/");
		} catch (error) {
			if (!(error instanceof ValueError)) throw error;
			return void bad(field, error.message);
		}
	};
	if (typeof body["name"] !== "string") bad("name", "is required: a string");
	const name = (typeof body["name"] === "string" && one(agentOptions.name.kind, "name", body["name"])) || "";
	const url = one(agentOptions.url.kind, "url", body["url"]);
	const card = readCard(body["card"] ?? undefined, url, bad);
	const prefer = body["prefer"] ?? {};
	if (!isObject(prefer)) bad("prefer", "must be an object with binding, version or both");
	const preferred = isObject(prefer) ? prefer : {};
	for (const key of Object.keys(preferred)) {
		if (key !== "binding" && key !== "version") bad(`prefer.${key.slice(0, 64)}`, "unknown member");
	}
	const binding = one(agentOptions.binding.kind, "prefer.binding", preferred["binding"]);
	const version = one(agentOptions.version.kind, "prefer.version", preferred["version"]);
	const hosts = readHosts(body["hosts"] ?? undefined, bad);
	if ((body["url"] ?? undefined) === undefined && (body["card"] ?? undefined) === undefined) {
		bad("url", "an agent needs a url or a card");
	} else if (url !== undefined && /^grpcs?:/.test(url) && (body["card"] ?? undefined) === undefined) {
		bad("card", "a gRPC address has no card to discover; give the card too");
	}
	if (violations.length > 0) throw invalidParams(violations);
	return { ...makeAgent(name, url, timeouts), card, prefer: { binding, version }, ...(hosts.length > 0 && { hosts }) };
}

type Bad = (field: string, description: string) => void;

function readHosts(value: JsonValue | undefined, bad: Bad): readonly string[] {
	if (value === undefined) return [];
	const hosts = Array.isArray(value) ? value.map((host) => (typeof host === "string" ? host.toLowerCase() : "")) : [""];
	if (hosts.length <= MAX_HOSTS && hosts.every((host) => HOST.test(host))) return hosts;
	bad("hosts", `must be a list of at most ${MAX_HOSTS} host names, such as ["agent.example"]`);
	return [];
}

/** Undefined: there is none, or it was told why it is bad. The text of a file is never shown: it may be no card at all. */
function readCard(value: JsonValue | undefined, url: string | undefined, bad: Bad): TextFile | undefined {
	if (value === undefined) return undefined;
	const path = typeof value === "string";
	if (!path && !isObject(value))
		return void bad("card", "must be a card, or the absolute path of a file that holds one");
	if (path && !isAbsolute(value)) return void bad("card", "must be an absolute path");
	try {
		// Not every path is a file that ends.
		const found = path ? statSync(value, { throwIfNoEntry: false }) : undefined;
		if (found && !found.isFile()) return void bad("card", "is not a file");
		if (found && found.size > MAX_CARD) return void bad("card", `is larger than ${MAX_CARD} bytes`);
		const text = path ? readText(value) : JSON.stringify(value);
		const document = parseDocument(Buffer.from(text), "the card");
		read(document.json, {
			from: path ? "the file" : "the request",
			base: url && /^https?:/.test(url) ? url : undefined,
		});
		return { file: path ? value : "", text };
	} catch (error) {
		if (error instanceof ValueError) return void bad("card", error.message);
		if (!(error instanceof CardError)) throw error;
		const secret = path && error.cause instanceof SyntaxError;
		return void bad("card", secret ? "the file does not hold JSON" : error.operator);
	}
}

/** Adds an agent. Throws A2AError ALREADY_EXISTS when its name is taken. */
export function addAgent(agents: Pick<Agents, "get" | "add">, config: AgentConfig): Agent {
	if (agents.get(config.name)) {
		throw new A2AError("ALREADY_EXISTS", { message: `There is an agent named "${config.name}" already` });
	}
	return agents.add(config);
}

export interface AgentsDirectoryOptions {
	readonly dir: string;
	readonly agents: Pick<Agents, "get" | "add" | "remove">;
	readonly timeouts: AgentTimeouts;
	readonly log: Log;
	/** As in DirectoryOptions. */
	readonly debounce?: number;
	readonly rescan?: number;
}

/** Serves the agents whose cards are in a directory, as long as they are there. Names that others have are not touched. */
export function agentsFromDirectory(options: AgentsDirectoryOptions): Directory {
	const { dir, agents, timeouts, log, debounce, rescan } = options;
	const own = new Map<string, Agent>();
	return watchDirectory({
		dir,
		...(debounce !== undefined && { debounce }),
		...(rescan !== undefined && { rescan }),
		async put(name, card) {
			const there = agents.get(name);
			if (there === undefined) {
				own.set(name, agents.add({ ...makeAgent(name, undefined, timeouts), card }));
				log.info("agent added: its card file is there", { agent: name, file: card.file });
			} else if (there === own.get(name)) {
				await there.refresh("its card file has changed");
			} else {
				throw new Error(`there is an agent named "${name}" already, from elsewhere`);
			}
		},
		async remove(name) {
			const mine = own.get(name);
			own.delete(name);
			if (mine === undefined || agents.get(name) !== mine) return;
			await agents.remove(name);
			log.info("agent removed: its card file has gone", { agent: name });
		},
		report: (file, error) => log.warn("agents directory: a file is not used", { file, error }),
	});
}

/** An agent as the admin listener shows it. */
export function describeAgent(agent: Agent): JsonObject {
	const { name, base, ready, reason, version, isDefault } = agent;
	return { name, url: base?.href.replace(/\/$/, "") ?? null, ready, reason, version, default: isDefault };
}
