/** The gateway's configuration as everything else sees it: complete, checked, frozen. */
import type { Policy } from "../card/policy.ts";
import type { Address, TextFile } from "./kind.ts";
import type { Level, LogFormat } from "./log.ts";

export type { Address, TextFile } from "./kind.ts";

/** Every field has a value: what was given, else the default named at the field. Durations are milliseconds. */
export interface Config {
	/** The agents served. Default: none, which makes `serve` start the bundled demo agent. */
	readonly agents: readonly AgentConfig[];
	/** The one port. Default: 127.0.0.1:8080. */
	readonly listen: Address;
	/** Directory whose card files are agents, `NAME.json` each; undefined = none. Default: none. */
	readonly agentsDir: string | undefined;
	/** The admin listener; undefined = off. Default: 127.0.0.1:9090. */
	readonly admin: Address | undefined;
	/** Was it asked for? Then its address must be had; the default may be taken already. */
	readonly adminGiven: boolean;
	/** Base URL that cards advertise, path prefix included. Default: undefined, derived from the listener. */
	readonly publicUrl: string | undefined;
	/** Files of private keys that sign cards: the first signs, all are published. Default: none, an ephemeral key. */
	readonly signingKeys: readonly string[];
	/** Where state is kept. Default: memory: */
	readonly state: string;
	/** Serve TLS instead of plain text. Default: undefined, plain. */
	readonly tls: TlsConfig | undefined;
	/** Browser origins that may call the operations; "*" for any. Default: none. */
	readonly cors: readonly string[];
	/** The card for requests that name no version. Default: hybrid. */
	readonly cardForm: "hybrid" | "1.0";
	/** Refuse what a translation cannot carry. Default: false. */
	readonly strict: boolean;
	/** Address ranges allowed as webhook targets besides public HTTPS ones. Default: none. */
	readonly webhookAllow: readonly string[];
	readonly log: {
		/** Default: info. */
		readonly level: Level;
		/** Default: pretty on a terminal, else json. */
		readonly format: LogFormat;
	};
	readonly limits: {
		/** Largest message either way, bytes. Default: 32MiB. */
		readonly maxMessage: number;
		/** Deepest JSON nesting. Default: 100. */
		readonly maxDepth: number;
	};
	readonly timeouts: AgentTimeouts & {
		/** Longest a request body may take to arrive. Default: 60s. */
		readonly body: number;
		/** After SIGTERM, how long calls under way may go on. Default: 30s. */
		readonly drain: number;
	};
	readonly sse: {
		/** Comment interval on a silent event stream; 0 = never. Default: 15s. */
		readonly keepAlive: number;
	};
	readonly upstream: {
		/** Most HTTP/1.1 connections held open to one interface of an agent. Default: 128. */
		readonly connections: number;
		/** Further trusted authorities towards agents, PEM. Default: undefined, the system's only. */
		readonly ca: TextFile | undefined;
	};
}

/** Waiting for an agent, milliseconds. */
export interface AgentTimeouts {
	/** Upper bound of a unary call; 0 = none. Default: 10m. */
	readonly unary: number;
	/** Time for a connection to be made. Default: 5s. */
	readonly connect: number;
	/** A stream silent for so long is ended; 0 = never. Default: 0. */
	readonly streamIdle: number;
}

/** One agent. At least one of `url` and `card` is set; a grpc:// or grpcs:// URL always has a card. */
export interface AgentConfig {
	/** `[a-z0-9][a-z0-9-]*`. Default: default. */
	readonly name: string;
	/** Base URL, card URL, or grpc://host:port, grpcs://host:port; undefined = the card's own URLs. */
	readonly url: string | undefined;
	/** The agent's card (JSON text) instead of discovery. Default: undefined. */
	readonly card: TextFile | undefined;
	/** What to choose among the card's interfaces, before the card's own order. Default: nothing. */
	readonly prefer: { readonly binding: string | undefined; readonly version: string | undefined };
	/** Host names (`name` or `name:port`) at whose root the agent is served. Default: none. */
	readonly hosts?: readonly string[];
	/** Takes gRPC calls that name no tenant, where there are several agents. Default: false. */
	readonly default?: boolean;
	/** Whose signatures on the agent's card count. Default: undefined, they are not looked at. */
	readonly trust?: {
		readonly policy: "require" | "warn" | "ignore";
		/** Files of public keys (JWK, JWKS, PEM). */
		readonly files: readonly string[];
		/** URLs of key sets. */
		readonly jwks: readonly string[];
		/** Hosts, origins or URLs that a signature's jku may point at. */
		readonly jku: readonly string[];
	};
	/** What the operator says of the card. Default: undefined, all as the agent says it, its signatures dropped. */
	readonly project?: Policy;
	/** The agent's own, else the general `timeouts`. */
	readonly timeouts: AgentTimeouts;
}

export interface TlsConfig {
	/** Certificate chain, PEM. */
	readonly cert: TextFile;
	/** Private key, PEM. */
	readonly key: TextFile;
}
