/** The reference of the CPU ratios: node:http in front, undici's dispatch behind, no look at the bytes. `AGENT_URL` */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "undici";
import { ready } from "../probe.ts";

const pool = new Pool(new URL(process.argv[2] as string).origin, { connections: 64, pipelining: 1 });
const server = createServer({ keepAliveTimeout: 3_600_000 }, (req, res) => {
	const body: Buffer[] = [];
	req.on("data", (chunk: Buffer) => body.push(chunk));
	req.on("end", () => {
		const chunks: Buffer[] = [];
		let status = 502;
		let type = "text/plain";
		pool.dispatch(
			{
				path: req.url as string,
				method: "POST",
				headers: { "content-type": "application/json", "a2a-version": "1.0" },
				body: body.length === 1 ? (body[0] as Buffer) : Buffer.concat(body),
			},
			{
				onRequestStart: () => {},
				onResponseStart(_, code, headers) {
					status = code;
					type = String(headers["content-type"]);
				},
				onResponseData: (_, chunk) => void chunks.push(chunk),
				onResponseEnd() {
					const answer = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
					res.writeHead(status, { "content-type": type, "content-length": answer.length });
					res.end(answer);
				},
				onResponseError: () => void res.writeHead(502).end(),
			},
		);
	});
});
server.listen(0, "127.0.0.1", () => ready({ http: (server.address() as AddressInfo).port }));
