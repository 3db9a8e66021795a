/** The reference of the stream ratios: node:http on both sides, bytes piped as they come. `AGENT_URL` */
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { ready } from "../probe.ts";

const { hostname, port } = new URL(process.argv[2] as string);
const agent = new Agent({ keepAlive: true });
const server = createServer({ keepAliveTimeout: 3_600_000 }, (req, res) => {
	const { "content-length": length = "0" } = req.headers;
	const headers = { "content-type": "application/json", "content-length": length, "a2a-version": "1.0" };
	const upstream = request({ hostname, port, path: req.url, method: "POST", headers, agent }, (answer) => {
		res.writeHead(answer.statusCode ?? 502, { "content-type": answer.headers["content-type"] ?? "" });
		res.flushHeaders();
		answer.pipe(res);
	});
	upstream.on("error", () => res.destroy());
	res.on("close", () => upstream.destroy());
	req.pipe(upstream);
});
server.listen(0, "127.0.0.1", () => ready({ http: (server.address() as AddressInfo).port }));
