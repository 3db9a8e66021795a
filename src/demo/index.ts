/** The bundled demo agent: a small legacy agent (v0.3, JSON-RPC only), for `serve` without --agent. It uses no gateway code. */
export { type Demo, type DemoOptions, startDemo } from "./server.ts";
