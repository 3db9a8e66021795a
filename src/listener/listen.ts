/** One port for everything: plain or TLS, HTTP/1.1 or HTTP/2, told apart by the connection (design/contract.md). */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createSecureContext, createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import { createHttp1 } from "./http1.ts";
import { createHttp2 } from "./http2.ts";
import { defaultLimits, type Limits, type Listener, type ListenerOptions, type TlsOptions } from "./options.ts";
import { createRouter } from "./router.ts";
import { type Protocol, sniff } from "./sniff.ts";

/** Clients that vanished without a word are found out by TCP, milliseconds. */
const KEEP_ALIVE_PROBE = 60_000;
const MIN_TLS = "TLSv1.2";

/** Binds and serves. Rejects when the address cannot be bound; throws on options that make no sense. */
export async function listen(options: ListenerOptions): Promise<Listener> {
	const limits: Limits = { ...defaultLimits, ...options.limits };
	const router = createRouter(options, limits);
	const http1 = createHttp1({
		limits,
		serve: router.http,
		refuseExpectation: router.refuseExpectation,
		freshId: router.freshId,
	});
	const http2 = createHttp2({ limits, serve: router.stream });
	const sockets = new Set<Socket>();
	/** Connections that have not shown their protocol. */
	const undecided = new Set<Socket>();
	let draining = false;

	const hold = (socket: Socket): void => {
		sockets.add(socket);
		socket.on("error", ignore);
		socket.once("close", () => sockets.delete(socket));
	};
	const accept = (socket: Socket, protocol: Protocol): void => {
		if (socket.destroyed) return;
		try {
			(protocol === "http2" ? http2 : http1).accept(socket);
		} catch (error) {
			options.report(error, { id: "", method: "accept" });
			socket.destroy();
		}
	};
	const undetermined = (socket: Socket): void => {
		undecided.add(socket);
		socket.once("close", () => undecided.delete(socket));
		sniff(socket, limits.sniffTimeout, (protocol) => {
			undecided.delete(socket);
			accept(socket, protocol);
		});
	};

	let server: Server;
	let secure: TlsServer | undefined;
	const tcp = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_PROBE };
	if (options.tls) {
		secure = createTlsServer({
			...tcp,
			...credentials(options.tls),
			ALPNProtocols: ["h2", "http/1.1"],
			handshakeTimeout: limits.sniffTimeout,
			requestCert: options.tls.clientCa !== undefined,
			rejectUnauthorized: options.tls.clientCa !== undefined,
		});
		secure.on("secureConnection", (socket) => {
			hold(socket);
			if (draining) socket.destroy();
			else if (socket.alpnProtocol === "h2") accept(socket, "http2");
			else if (socket.alpnProtocol === "http/1.1") accept(socket, "http1");
			else undetermined(socket);
		});
		secure.on("tlsClientError", (_error, socket) => socket.destroy());
		secure.on("connection", hold);
		server = secure;
	} else {
		server = createServer(tcp, (socket) => {
			hold(socket);
			if (draining) socket.destroy();
			else undetermined(socket);
		});
	}
	if (limits.maxConnections > 0) server.maxConnections = limits.maxConnections;

	try {
		await bind(server, options.host, options.port);
	} catch (error) {
		http1.close();
		throw error;
	}
	server.on("error", (error) => options.report(error, { id: "", method: "listen" }));

	const { port } = server.address() as AddressInfo;
	const host = options.host;
	let closed: Promise<void> | undefined;
	let deadline: NodeJS.Timeout | undefined;
	let deadlineAt = Number.POSITIVE_INFINITY;

	const cut = (): void => {
		http2.close();
		for (const socket of sockets) socket.destroy();
	};
	const drain = (): Promise<void> =>
		new Promise((resolve) => {
			draining = true;
			server.close(() => {
				clearTimeout(deadline);
				http1.close();
				resolve();
			});
			for (const socket of undecided) socket.destroy();
			http1.drain();
			http2.drain();
		});

	return {
		url: `${secure ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`,
		host,
		port,
		close(deadlineMs) {
			closed ??= drain();
			const at = Date.now() + deadlineMs;
			if (at < deadlineAt) {
				deadlineAt = at;
				clearTimeout(deadline);
				if (deadlineMs <= 0) cut();
				else {
					deadline = setTimeout(cut, Math.min(deadlineMs, 2 ** 31 - 1));
					void closed.then(() => clearTimeout(deadline));
				}
			}
			return closed;
		},
		reloadTls(cert, key) {
			if (!secure || !options.tls) return;
			const next = credentials({ ...options.tls, cert, key });
			createSecureContext(next);
			secure.setSecureContext(next);
		},
	};
}

function credentials(tls: TlsOptions) {
	return {
		cert: tls.cert,
		key: tls.key,
		minVersion: MIN_TLS,
		...(tls.clientCa !== undefined && { ca: tls.clientCa }),
	} as const;
}

function bind(server: Server, host: string, port: number): Promise<void> {
	return new Promise((resolve, reject) => {
		server.once("error", reject);
		server.listen({ host, port, backlog: 1024 }, () => {
			server.off("error", reject);
			resolve();
		});
	});
}

function ignore(): void {}
