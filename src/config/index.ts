/** The configuration's public names. */
export { type Args, type FlagSpec, readArgs } from "./args.ts";
export type { Address, AgentConfig, AgentTimeouts, Config, TextFile, TlsConfig } from "./config.ts";
export { columns, flagHelp, jsonSchema, markdown } from "./describe.ts";
export { createLog, type Level, type Log, type LogFormat, type LogOptions, levels, redact, silent } from "./log.ts";
export { ConfigError, type Problem, suggestion } from "./problem.ts";
export { checkFile, loadConfig, makeAgent, withAgents } from "./resolve.ts";
