/**
 * The one table of options. Flags, environment variables, the file, its JSON Schema, the help and the
 * README's table all come from here; a new option is one entry here and one line in resolve.ts.
 */

import * as kind from "./kind.ts";
import { levels } from "./log.ts";
import { many, type Option, one } from "./option.ts";
import { projectOptions } from "./project-options.ts";

export type { Many, One, Option } from "./option.ts";

const VERSIONS = ["1.0", "0.3", "0.2", "0.1"] as const;
const POLICIES = ["require", "warn", "ignore"] as const;
const BINDINGS = ["JSONRPC", "GRPC", "HTTP+JSON"] as const;
const LARGEST = 512 * 2 ** 20;

/** In the order of the help and the README. */
export const options = {
	agent: many(undefined, {
		flag: "agent",
		arg: "[NAME=]URL",
		kind: kind.named(kind.url(["http", "https", "grpc", "grpcs"], { query: true, credentials: true })),
		shown: "the bundled demo agent",
		doc: "An agent to serve: its base URL or card URL, or grpc://host:port or grpcs://host:port with a --card. In the file: agents[].name and agents[].url.",
	}),
	card: many(undefined, {
		flag: "card",
		arg: "[NAME=]FILE",
		kind: kind.named(kind.jsonObject),
		shown: "discover",
		doc: "The agent's card from a JSON file instead of discovery. In the file: agents[].card.",
	}),
	listen: one(
		"listen",
		{ host: "127.0.0.1", port: 8080 },
		{
			flag: "listen",
			arg: "HOST:PORT",
			kind: kind.address,
			shown: "127.0.0.1:8080",
			doc: "The one port on which everything is served; port 0 picks one.",
		},
	),
	agentsDir: one<string | undefined>("agentsDir", undefined, {
		flag: "agents-dir",
		arg: "DIR",
		kind: kind.path,
		shown: "none",
		doc: "Directory of card files (NAME.json), watched: each is an agent.",
	}),
	admin: one<kind.Address | undefined>(
		"admin",
		{ host: "127.0.0.1", port: 9090 },
		{
			flag: "admin",
			arg: "HOST:PORT|off",
			kind: kind.addressOrOff,
			shown: "127.0.0.1:9090",
			doc: "Listener for status and for adding agents at run time; where the default is taken, there is none.",
		},
	),
	publicUrl: one<string | undefined>("publicUrl", undefined, {
		flag: "public-url",
		arg: "URL",
		kind: kind.url(["http", "https"], { query: false, credentials: false }),
		shown: "derived from the listener",
		doc: "The base URL that cards advertise; a path prefix is honoured.",
	}),
	signingKeys: many("signingKeys", {
		flag: "signing-key",
		arg: "FILE",
		kind: kind.path,
		shown: "an ephemeral key",
		doc: "Private key (JWK or PEM) that signs cards; the first signs, all are published.",
	}),
	state: one("state", "memory:", {
		flag: "state",
		arg: "URL",
		kind: kind.stateUrl,
		shown: "memory:",
		doc: "Where state is kept: memory:, sqlite:PATH or postgres://...",
		later: (value) =>
			value === "memory:" ? undefined : "durable state (sqlite:, postgres:) is not in this build yet; use memory:",
	}),
	tlsCert: one<kind.TextFile | undefined>("tls.cert", undefined, {
		flag: "tls-cert",
		arg: "FILE",
		kind: kind.pem("CERTIFICATE"),
		shown: "plain text",
		doc: "Certificate chain (PEM): serve TLS with ALPN h2 and http/1.1.",
	}),
	tlsKey: one<kind.TextFile | undefined>("tls.key", undefined, {
		flag: "tls-key",
		arg: "FILE",
		kind: kind.pem("PRIVATE KEY"),
		shown: "plain text",
		doc: "Private key (PEM) of the certificate.",
	}),
	cors: many("cors", {
		flag: "cors",
		arg: "ORIGIN",
		kind: kind.origin,
		shown: "none",
		doc: "Browsers on this origin may call the operations; * for any. Cards are always readable.",
	}),
	cardForm: one<"hybrid" | "1.0">("cardForm", "hybrid", {
		flag: "card-form",
		arg: "hybrid|1.0",
		kind: kind.oneOf("hybrid", "1.0"),
		shown: "hybrid",
		doc: "The card for requests that name no version: hybrid is read by v0.3 clients too.",
	}),
	strict: one<boolean>("strict", false, {
		flag: "strict",
		arg: "true|false",
		kind: kind.yesNo,
		shown: "false",
		doc: "Refuse what a translation between versions cannot carry, instead of reporting it in A2A-Gateway-Loss.",
	}),
	webhookAllow: many("webhookAllow", {
		flag: "webhook-allow",
		arg: "CIDR",
		kind: kind.cidr,
		shown: "none",
		doc: "Webhook targets allowed besides public HTTPS ones.",
		later: () => "push brokering is not in this build yet",
	}),
	logLevel: one("log.level", "info", {
		flag: "log-level",
		arg: "LEVEL",
		kind: kind.oneOf(...levels),
		shown: "info",
		doc: `Least level that is logged: ${levels.join(", ")}.`,
	}),
	logFormat: one<"json" | "pretty" | undefined>("log.format", undefined, {
		flag: "log-format",
		arg: "json|pretty",
		kind: kind.oneOf("json", "pretty"),
		shown: "pretty on a terminal, else json",
		doc: "Form of the log on standard error.",
	}),
	maxMessage: one("limits.maxMessage", 32 * 2 ** 20, {
		arg: "SIZE",
		kind: kind.bytes(1024, LARGEST),
		shown: "32MiB",
		doc: "Largest message accepted, from clients and agents.",
	}),
	maxDepth: one("limits.maxDepth", 100, {
		arg: "N",
		kind: kind.integer(10, 1000),
		shown: "100",
		doc: "Deepest JSON nesting accepted.",
	}),
	unary: one("timeouts.unary", 600_000, {
		arg: "DURATION",
		kind: kind.duration(0),
		shown: "10m",
		doc: "Upper bound of a unary call; 0 for none. A client's own deadline may be shorter.",
	}),
	connect: one("timeouts.connect", 5_000, {
		arg: "DURATION",
		kind: kind.duration(1),
		shown: "5s",
		doc: "Time for a connection to an agent to be made.",
	}),
	streamIdle: one("timeouts.streamIdle", 0, {
		arg: "DURATION",
		kind: kind.duration(0),
		shown: "0",
		doc: "An agent's stream silent for so long is ended; 0 for never.",
	}),
	body: one("timeouts.body", 60_000, {
		arg: "DURATION",
		kind: kind.duration(1),
		shown: "60s",
		doc: "Longest a request body may take to arrive.",
	}),
	drain: one("timeouts.drain", 30_000, {
		arg: "DURATION",
		kind: kind.duration(0),
		shown: "30s",
		doc: "After SIGTERM, how long calls under way may go on.",
	}),
	keepAlive: one("sse.keepAlive", 15_000, {
		arg: "DURATION",
		kind: kind.duration(0),
		shown: "15s",
		doc: "Comment interval on a silent event stream, for proxies that cut idle ones; 0 for never.",
	}),
	connections: one("upstream.connections", 128, {
		arg: "N",
		kind: kind.integer(1, 65_535),
		shown: "128",
		doc: "Most HTTP/1.1 connections held open to one interface of an agent.",
	}),
	ca: one<kind.TextFile | undefined>("upstream.ca", undefined, {
		arg: "FILE",
		kind: kind.pem("CERTIFICATE"),
		shown: "the system's only",
		doc: "Further certificate authorities (PEM) trusted towards agents.",
	}),
} as const;

/** The members of one entry of `agents` in the file. Timeouts default to the general ones. */
export const agentOptions = {
	name: one("name", "default", {
		arg: "NAME",
		kind: kind.agentName,
		shown: "default",
		doc: "The agent's name: a-z, 0-9 and -.",
	}),
	url: one<string | undefined>("url", undefined, {
		arg: "URL",
		kind: kind.url(["http", "https", "grpc", "grpcs"], { query: true, credentials: true }),
		shown: "the card's own URLs",
		doc: "Base URL or card URL; grpc://host:port or grpcs://host:port need a card.",
	}),
	card: one<kind.TextFile | undefined>("card", undefined, {
		arg: "FILE",
		kind: kind.jsonObject,
		shown: "discover",
		doc: "The agent's card from a JSON file instead of discovery.",
	}),
	binding: one<(typeof BINDINGS)[number] | undefined>("prefer.binding", undefined, {
		arg: "BINDING",
		kind: kind.oneOf(...BINDINGS),
		shown: "the card's order",
		doc: `Binding to use where the card offers it: ${BINDINGS.join(", ")}.`,
	}),
	version: one<(typeof VERSIONS)[number] | undefined>("prefer.version", undefined, {
		arg: "VERSION",
		kind: kind.oneOf(...VERSIONS),
		shown: "the card's order",
		doc: "Protocol version to use where the card offers it.",
	}),
	hosts: many("hosts", {
		arg: "HOST[:PORT]",
		kind: kind.hostName,
		shown: "none",
		doc: "Virtual hosts at whose root the agent is served.",
	}),
	default: one("default", false, {
		arg: "true|false",
		kind: kind.yesNo,
		shown: "false",
		doc: "With several agents: takes gRPC calls that name no tenant.",
	}),
	trustPolicy: one<(typeof POLICIES)[number]>("trust.policy", "ignore", {
		arg: "POLICY",
		kind: kind.oneOf(...POLICIES),
		shown: "ignore",
		doc: `Signatures of the agent's card: ${POLICIES.join(", ")}.`,
	}),
	trustKeys: many("trust.keys", {
		arg: "FILE",
		kind: kind.path,
		shown: "none",
		doc: "Public keys (JWK, JWKS or PEM) that sign the agent's card.",
	}),
	trustJwks: many("trust.jwks", {
		arg: "URL",
		kind: kind.url(["http", "https"], { query: true, credentials: false }),
		shown: "none",
		doc: "Key sets of those who sign the agent's card.",
	}),
	trustJku: many("trust.jku", {
		arg: "HOST",
		kind: kind.text,
		shown: "none",
		doc: "Hosts (https, public addresses), origins or URLs that a signature's jku may point at.",
	}),
	...projectOptions,
	unary: one<number | undefined>("timeouts.unary", undefined, {
		arg: "DURATION",
		kind: kind.duration(0),
		shown: "timeouts.unary",
		doc: "As timeouts.unary, for this agent.",
	}),
	connect: one<number | undefined>("timeouts.connect", undefined, {
		arg: "DURATION",
		kind: kind.duration(1),
		shown: "timeouts.connect",
		doc: "As timeouts.connect, for this agent.",
	}),
	streamIdle: one<number | undefined>("timeouts.streamIdle", undefined, {
		arg: "DURATION",
		kind: kind.duration(0),
		shown: "timeouts.streamIdle",
		doc: "As timeouts.streamIdle, for this agent.",
	}),
} as const;

/** The table as a list. */
export const table: readonly Option[] = Object.values(options);
export const agentTable: readonly Option[] = Object.values(agentOptions);

/** `A2A_GATEWAY_PUBLIC_URL` for --public-url, `A2A_GATEWAY_TIMEOUTS_UNARY` for timeouts.unary. */
export function envName(option: Option): string {
	const base = option.flag ?? (option.key ?? "").replace(/[A-Z]/g, "-$&");
	return `A2A_GATEWAY_${base.replace(/[-.]/g, "_").toUpperCase()}`;
}
