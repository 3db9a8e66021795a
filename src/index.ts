/** The public API, names listed one by one: embed a gateway, or add a binding or a dialect to one. */
export type {
	Attachment,
	AttachOptions,
	Binding,
	ConnectOptions,
	HttpHandler,
	Interface,
	StreamHandler,
	Target,
	Upstream,
} from "./binding/binding.ts";
export type { Call, Handler, Header, Middleware, Origin, Principal, Reply } from "./call/call.ts";
export { A2AError, type A2AErrorInit, type Detail, type Reason } from "./call/error.ts";
export type { Payload, Violation } from "./call/payload.ts";
export { type Config, ConfigError, loadConfig } from "./config/index.ts";
export { createLog, type Log } from "./config/log.ts";
export type { Dialect, ErrorForms, Form } from "./dialect/dialect.ts";
export { type Gateway, startGateway } from "./gateway.ts";
