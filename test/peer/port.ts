/** A port that stays free while nobody listens on it: outside the range from which systems take ports for outgoing connections. */
import { createServer } from "node:net";

/** Linux takes 32768 and up (net.ipv4.ip_local_port_range), others higher ones. */
const FROM = 12_000;
const TO = 32_000;

export async function steadyPort(): Promise<number> {
	for (;;) {
		const port = FROM + Math.floor(Math.random() * (TO - FROM));
		const free = await new Promise<boolean>((resolve) => {
			const probe = createServer();
			probe.once("error", () => resolve(false));
			probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
		});
		if (free) return port;
	}
}
