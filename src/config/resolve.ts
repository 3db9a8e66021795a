/** From what was written in three places to one frozen Config: flag before environment before file before default. */

import { contradictions, type Policy } from "../card/policy.ts";
import { type Args, type FlagSpec, readArgs } from "./args.ts";
import type { AgentConfig, AgentTimeouts, Config } from "./config.ts";
import { type Raw, type RawFile, type RawValues, readFile } from "./file.ts";
import { readText } from "./kind.ts";
import { agentOptions, envName, type Many, type One, type Option, options, table } from "./options.ts";
import { ConfigError, type Problem, suggestion, TreeError, ValueError } from "./problem.ts";

/** The flags of `serve`. */
export const serveFlags: readonly FlagSpec[] = [
	...table.flatMap(({ flag, many }) => (flag === undefined ? [] : [{ name: flag, value: true, many }])),
	{ name: "config", value: true, many: false },
	{ name: "help", value: false, many: false },
];

export interface Sources {
	readonly args: Args;
	readonly env: NodeJS.ProcessEnv;
	/** Directory of relative paths in flags and variables. */
	readonly cwd: string;
	/** Default of log.format. */
	readonly terminal: boolean;
}

/** Reads the whole configuration. Throws ConfigError with every mistake found. */
export function loadConfig(argv: readonly string[], surroundings: Omit<Sources, "args">): Config {
	const args = readArgs(argv, serveFlags);
	const extra = args.positionals[0];
	if (extra !== undefined) {
		throw new ConfigError([{ where: "serve", field: "", message: `takes no arguments, only flags: ${extra}` }]);
	}
	const flagged = args.flags.get("config")?.[0];
	const name = flagged ?? surroundings.env[CONFIG];
	if (name === undefined || name === "") return resolveConfig({ args, ...surroundings }, undefined);
	return resolveConfig(
		{ args, ...surroundings },
		open(name, flagged === undefined ? CONFIG : "--config", surroundings.env),
	);
}

const CONFIG = "A2A_GATEWAY_CONFIG";

/** Checks one file on its own. Throws ConfigError. */
export function checkFile(name: string, env: NodeJS.ProcessEnv): Config {
	const args = { positionals: [], flags: new Map() };
	return resolveConfig({ args, env: {}, cwd: process.cwd(), terminal: false }, open(name, "", env));
}

function open(name: string, where: string, env: NodeJS.ProcessEnv): RawFile {
	try {
		return readFile(name, readText(name), env);
	} catch (error) {
		if (!(error instanceof ValueError)) throw error;
		throw new ConfigError([{ where, field: "", message: error.message }]);
	}
}

/** A problem at a raw value's place. */
type Tell = (raw: Pick<Raw, "where" | "field">, message: string) => void;

/** Typed look-ups over raw values: the one place where a text becomes what its option says. */
function reader(find: (option: Option) => readonly Raw[] | undefined, tell: Tell) {
	/** Boxed: a value may be undefined, such as that of "off". Undefined: told already. */
	const read = <T>(option: One<T> | Many<T>, raw: Raw): { readonly value: T } | undefined => {
		try {
			const value = option.kind.read(raw.text, raw.base);
			const later = option.later(value);
			if (later !== undefined) tell(raw, later);
			return { value };
		} catch (error) {
			if (!(error instanceof ValueError)) throw error;
			if (error instanceof TreeError)
				for (const { at, message } of error.mistakes) tell(raw.inside?.(at) ?? raw, message);
			else tell(raw, error.message);
			return undefined;
		}
	};
	return {
		one<T>(option: One<T>): T {
			const raw = find(option)?.[0];
			const found = raw && read(option, raw);
			return found ? found.value : option.fallback;
		},
		many<T>(option: Many<T>): readonly { readonly value: T; readonly raw: Raw }[] {
			const raws = find(option) ?? [];
			return raws.flatMap((raw) => {
				const found = read(option, raw);
				return found ? [{ value: found.value, raw }] : [];
			});
		},
		raw: (option: Option) => find(option)?.[0],
	};
}

type Reader = ReturnType<typeof reader>;

/** Merges the sources. Exported for tests; `loadConfig` is the way in. */
export function resolveConfig(sources: Sources, file: RawFile | undefined): Config {
	const problems: Problem[] = [...(file?.problems ?? [])];
	const tell: Tell = ({ where, field }, message) => problems.push({ where, field, message });
	const base = sources.cwd;
	const find = (option: Option): readonly Raw[] | undefined => {
		const given = option.flag === undefined ? undefined : sources.args.flags.get(option.flag);
		if (given) return given.map((text) => ({ text, where: `--${option.flag}`, field: "", base }));
		const where = envName(option);
		const text = sources.env[where];
		if (text === undefined || text === "") return file?.values.get(option);
		const texts = option.many
			? text
					.split(",")
					.map((part) => part.trim())
					.filter(Boolean)
			: [text];
		return texts.map((one) => ({ text: one, where, field: "", base }));
	};
	const from = reader(find, tell);
	const values = <T>(option: Many<T>) => from.many(option).map(({ value }) => value);

	const cert = from.one(options.tlsCert);
	const key = from.one(options.tlsKey);
	const lone = [options.tlsCert, options.tlsKey].flatMap((option) => from.raw(option) ?? []);
	if (lone.length === 1 && lone[0]) tell(lone[0], "a TLS certificate and its key go together: both or none");

	const timeouts = {
		unary: from.one(options.unary),
		connect: from.one(options.connect),
		streamIdle: from.one(options.streamIdle),
		body: from.one(options.body),
		drain: from.one(options.drain),
	};
	const config: Config = {
		agents: agents(from, file, timeouts, tell),
		listen: from.one(options.listen),
		agentsDir: from.one(options.agentsDir),
		admin: from.one(options.admin),
		adminGiven: from.raw(options.admin) !== undefined,
		publicUrl: from.one(options.publicUrl),
		signingKeys: values(options.signingKeys),
		state: from.one(options.state),
		tls: cert && key ? { cert, key } : undefined,
		cors: values(options.cors),
		cardForm: from.one(options.cardForm),
		strict: from.one(options.strict),
		webhookAllow: values(options.webhookAllow),
		log: {
			level: from.one(options.logLevel),
			format: from.one(options.logFormat) ?? (sources.terminal ? "pretty" : "json"),
		},
		limits: { maxMessage: from.one(options.maxMessage), maxDepth: from.one(options.maxDepth) },
		timeouts,
		sse: { keepAlive: from.one(options.keepAlive) },
		upstream: { connections: from.one(options.connections), ca: from.one(options.ca) },
	};
	if (problems.length > 0) throw new ConfigError(problems.toSorted((a, b) => position(a) - position(b)));
	return freeze(config);
}

/** Problems of the file in its order, those of flags and variables before them. */
function position({ where }: Problem): number {
	const [, line = "0", column = "0"] = /:(\d+):(\d+)$/.exec(where) ?? [];
	return Number(line) * 1e6 + Number(column);
}

type Place = Pick<Raw, "where" | "field">;

/** The agents: the flags' or the environment's list, else the file's; cards given by flag join the agent of their name. */
function agents(from: Reader, file: RawFile | undefined, timeouts: AgentTimeouts, tell: Tell): AgentConfig[] {
	const flagged = from.many(options.agent);
	const list: { agent: AgentConfig; place: Place; broken?: boolean }[] =
		from.raw(options.agent) !== undefined
			? flagged.map(({ value, raw }) => ({ agent: makeAgent(value.name, value.value, timeouts), place: raw }))
			: (file?.agents ?? []).map((entry, i) => ({
					agent: fileAgent(entry.values, timeouts, tell),
					place: { where: entry.where, field: `agents[${i}]` },
					// Its url or card was given and is wrong: said already.
					broken: entry.values.has(agentOptions.url) || entry.values.has(agentOptions.card),
				}));
	for (const { value, raw } of from.many(options.card)) {
		const at = list.findIndex(({ agent }) => agent.name === value.name);
		const found = list[at];
		if (found) list[at] = { ...found, agent: { ...found.agent, card: value.value } };
		else if (list.length === 0) {
			list.push({ agent: { ...makeAgent(value.name, undefined, timeouts), card: value.value }, place: raw });
		} else {
			const names = list.map(({ agent }) => agent.name);
			tell(raw, `there is no agent named "${value.name}"${suggestion(value.name, names)}`);
		}
	}
	list.forEach(({ agent, place, broken }, i) => {
		if (list.findIndex((other) => other.agent.name === agent.name) < i) {
			tell(place, `there are two agents named "${agent.name}"`);
		}
		if (agent.card) return;
		if (agent.url === undefined) {
			if (!broken) tell(place, "an agent needs a url or a card");
		} else if (/^grpcs?:/.test(agent.url)) {
			tell(place, "a gRPC address has no card to discover; give the card too (--card FILE, or card: in the file)");
		}
	});
	return list.map(({ agent }) => agent);
}

/** An agent with every default. Used for the demo agent too. */
export function makeAgent(name: string, url: string | undefined, timeouts: AgentTimeouts): AgentConfig {
	const { unary, connect, streamIdle } = timeouts;
	return {
		name,
		url,
		card: undefined,
		prefer: { binding: undefined, version: undefined },
		timeouts: { unary, connect, streamIdle },
	};
}

function fileAgent(values: RawValues, timeouts: AgentTimeouts, tell: Tell): AgentConfig {
	const from = reader((option) => values.get(option), tell);
	const project = policy(from, tell);
	return {
		...(project && { project }),
		name: from.one(agentOptions.name),
		url: from.one(agentOptions.url),
		card: from.one(agentOptions.card),
		prefer: { binding: from.one(agentOptions.binding), version: from.one(agentOptions.version) },
		hosts: from.many(agentOptions.hosts).map(({ value }) => value),
		default: from.one(agentOptions.default),
		trust: {
			policy: from.one(agentOptions.trustPolicy),
			files: from.many(agentOptions.trustKeys).map(({ value }) => value),
			jwks: from.many(agentOptions.trustJwks).map(({ value }) => value),
			jku: from.many(agentOptions.trustJku).map(({ value }) => value),
		},
		timeouts: {
			unary: from.one(agentOptions.unary) ?? timeouts.unary,
			connect: from.one(agentOptions.connect) ?? timeouts.connect,
			streamIdle: from.one(agentOptions.streamIdle) ?? timeouts.streamIdle,
		},
	};
}

/** Undefined where the file says nothing of the card. */
function policy(from: Reader, tell: Tell): Policy | undefined {
	const list = (option: Many<string>) => {
		const values = from.many(option).map(({ value }) => value);
		return from.raw(option) ? values : undefined;
	};
	const found: Policy = {
		name: from.one(agentOptions.projectName),
		description: from.one(agentOptions.projectDescription),
		provider: from.one(agentOptions.projectProvider),
		iconUrl: from.one(agentOptions.projectIconUrl),
		documentationUrl: from.one(agentOptions.projectDocumentationUrl),
		skills: from.one(agentOptions.projectSkills),
		removeSkills: list(agentOptions.projectRemoveSkills),
		securitySchemes: from.one(agentOptions.projectSecuritySchemes),
		securityRequirements: from.one(agentOptions.projectSecurityRequirements),
		defaultInputModes: list(agentOptions.projectInputModes),
		defaultOutputModes: list(agentOptions.projectOutputModes),
		signatures: from.one(agentOptions.projectSignatures),
	};
	const blamed = {
		securitySchemes: from.raw(agentOptions.projectSecuritySchemes),
		securityRequirements: from.raw(agentOptions.projectSecurityRequirements),
	};
	for (const { member, at, message, known } of contradictions(found)) {
		const raw = blamed[member];
		// One that could not be read was told already.
		const broken = member === "securitySchemes" && blamed.securityRequirements !== undefined;
		if (raw && !broken) tell(raw.inside?.(at) ?? raw, message + (known ? suggestion(String(at.at(-1)), known) : ""));
	}
	const { signatures, ...members } = found;
	return signatures === "evidence" || Object.values(members).some((value) => value !== undefined) ? found : undefined;
}

/** The configuration with other agents: how `serve` puts the demo agent in. */
export function withAgents(config: Config, list: readonly AgentConfig[]): Config {
	return freeze({ ...config, agents: list });
}

function freeze<T extends object>(value: T): T {
	for (const member of Object.values(value)) if (typeof member === "object" && member !== null) freeze(member);
	return Object.freeze(value);
}
