/** The plain proxy people use: npm's http-proxy with a keep-alive agent. `AGENT_URL` */
import { Agent, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import httpProxy from "http-proxy";
import { ready } from "../probe.ts";

const proxy = httpProxy.createProxyServer({
	target: new URL(process.argv[2] as string).origin,
	agent: new Agent({ keepAlive: true, maxSockets: 64 }),
});
proxy.on("error", (_, __, res) => void res.end());
const server = createServer({ keepAliveTimeout: 3_600_000 }, (req, res) => proxy.web(req, res));
server.listen(0, "127.0.0.1", () => ready({ http: (server.address() as AddressInfo).port }));
