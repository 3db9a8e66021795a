/** The same gateway built from the official JS SDK: its client behind its own server, defaults throughout. `AGENT_URL` */
import type { AddressInfo } from "node:net";
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";
import { ready } from "../probe.ts";

const factory = new ClientFactory({
	transports: [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()],
});
const client = await factory.createFromUrl(process.argv[2] as string);
// The card the server checks versions against: the agent's, served over every binding.
const card = {
	...(await client.getAgentCard()),
	supportedInterfaces: ["JSONRPC", "GRPC", "HTTP+JSON"].map((protocolBinding) => ({
		url: "http://127.0.0.1/",
		protocolBinding,
		protocolVersion: "1.0",
		tenant: "",
	})),
};

type RequestHandler = Parameters<typeof jsonRpcHandler>[0]["requestHandler"];
const requestHandler: RequestHandler = {
	getAgentCard: async () => card,
	getAuthenticatedExtendedAgentCard: async () => card,
	sendMessage: (params) => client.sendMessage(params),
	sendMessageStream: (params) => client.sendMessageStream(params),
	getTask: (params) => client.getTask(params),
	cancelTask: (params) => client.cancelTask(params),
	listTasks: (params) => client.listTasks(params),
	createTaskPushNotificationConfig: (params) => client.createTaskPushNotificationConfig(params),
	getTaskPushNotificationConfig: (params) => client.getTaskPushNotificationConfig(params),
	listTaskPushNotificationConfigs: (params) => client.listTaskPushNotificationConfig(params),
	deleteTaskPushNotificationConfig: (params) => client.deleteTaskPushNotificationConfig(params),
	resubscribe: (params) => client.resubscribeTask(params),
};
const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };

const grpc = new Server();
grpc.addService(A2AService, grpcService(options));
const grpcPort = await new Promise<number>((resolve, reject) => {
	grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
		error ? reject(error) : resolve(port),
	);
});

const app = express();
// Its own default stops at 100 KB.
app.use(express.json({ limit: "64mb", type: ["application/json", "application/a2a+json"] }));
app.use("/rest", restHandler(options));
app.use("/", jsonRpcHandler(options));
const server = app.listen(0, "127.0.0.1", () =>
	ready({ http: (server.address() as AddressInfo).port, grpc: grpcPort }),
);
server.keepAliveTimeout = 3_600_000;
