/** The bundled demo agent: a small v1.0 JSON-RPC agent, for `serve` without --agent. It uses no gateway code. */
export { type Demo, type DemoOptions, startDemo } from "./server.ts";
