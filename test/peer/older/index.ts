/** Every form's agent and client. */
import { grpcClient, startGrpcAgent } from "./grpc.ts";
import { type AgentOptions, httpClient, startHttpAgent } from "./http.ts";
import type { Form } from "./model.ts";
import type { OlderAgent, OlderClient } from "./peer.ts";

export const startAgent = (form: Form, options?: AgentOptions): Promise<OlderAgent> =>
	form.binding === "GRPC" ? startGrpcAgent(form, options) : startHttpAgent(form, options);

export const startClient = (form: Form, endpoint: string): OlderClient =>
	form.binding === "GRPC" ? grpcClient(form, endpoint) : httpClient(form, endpoint);

/** Where a gateway at `url` takes calls of this form: everything is on the one port. */
export const endpointAt = (form: Form, url: string): string =>
	form.binding === "GRPC" ? new URL(url).host : `${url}/`;
