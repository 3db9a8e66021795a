/** A client of each form that sends a request exactly as it is written and hands back exactly what came. */
import type { JsonValue } from "@bufbuild/protobuf";
import * as grpc from "@grpc/grpc-js";
import { Agent, type Dispatcher } from "undici";
import { readSse } from "../../peer/clients/http.ts";
import type { Form } from "../../peer/older/model.ts";
import { readDetails } from "../../peer/protocol.ts";
import { bytesOf, jsonOf, methodAt } from "./grpc-json.ts";
import type { Asked } from "./worked.ts";

export interface Answered {
	/** Envelopes, bodies or messages' ProtoJSON; a refusal of gRPC as `{error}`. */
	readonly answers: readonly JsonValue[];
	/** `A2A-Gateway-Loss`, "" without one. */
	readonly loss: string;
	readonly contentType: string;
}
export interface CorpusClient {
	readonly form: Form;
	/** `stream`: what the answer is expected to be. */
	ask(asked: Asked, stream: boolean): Promise<Answered>;
	close(): Promise<void>;
}

/** `url` is the gateway's. */
export const startCorpusClient = (form: Form, url: string): CorpusClient =>
	form.binding === "GRPC" ? grpcClient(form, new URL(url).host) : httpClient(form, url);

function httpClient(form: Form, origin: string): CorpusClient {
	const agent = new Agent();
	const rpc = form.binding === "JSONRPC";
	return {
		form,
		async ask({ name, body }, stream) {
			const [verb = "", path = ""] = rpc ? ["POST", "/"] : name.split(" ", 2);
			const response = await agent.request({
				origin,
				path,
				method: verb as Dispatcher.HttpMethod,
				headers: {
					...(form.version === "1.0" && { "a2a-version": "1.0" }),
					...(body !== undefined && {
						"content-type": !rpc && form.version === "1.0" ? "application/a2a+json" : "application/json",
					}),
				},
				body: body === undefined ? null : JSON.stringify(body),
			});
			const contentType = String(response.headers["content-type"] ?? "");
			const loss = String(response.headers["a2a-gateway-loss"] ?? "");
			if (stream !== contentType.startsWith("text/event-stream"))
				throw new Error(`${name}: ${contentType}: ${await response.body.text()}`);
			const answers: JsonValue[] = [];
			if (!stream) answers.push(JSON.parse(await response.body.text()) as JsonValue);
			else for await (const data of readSse(response.body)) answers.push(JSON.parse(data) as JsonValue);
			return { answers, loss, contentType };
		},
		close: () => agent.destroy(),
	};
}

/** A status, told as HTTP+JSON of v1.0 tells errors. */
function refusal({ code, details, metadata }: grpc.ServiceError): JsonValue {
	const [bytes] = metadata.get("grpc-status-details-bin");
	return {
		error: { code, message: details, details: Buffer.isBuffer(bytes) ? (readDetails(bytes) as JsonValue) : [] },
	};
}

function grpcClient(form: Form, target: string): CorpusClient {
	const client = new grpc.Client(target, grpc.credentials.createInsecure());
	return {
		form,
		async ask({ name, body }, stream) {
			const method = methodAt(name);
			let loss = "";
			const note = (metadata: grpc.Metadata): void => {
				loss = metadata.get("a2a-gateway-loss").map(String).join(", ") || loss;
			};
			const metadata = new grpc.Metadata();
			if (form.version === "1.0") metadata.set("a2a-version", "1.0");
			const write = (json: JsonValue) => bytesOf(method.input, json);
			const read = (bytes: Buffer) => jsonOf(method.output, bytes);
			const answers: JsonValue[] = [];
			if (stream) {
				const call = client.makeServerStreamRequest(name, write, read, body ?? {}, metadata);
				call.on("metadata", note);
				for await (const answer of call) answers.push(answer as JsonValue);
			} else {
				await new Promise<void>((resolve, reject) => {
					const call = client.makeUnaryRequest(name, write, read, body ?? {}, metadata, (error, answer) => {
						if (answer !== undefined) answers.push(answer);
						else if (error) answers.push(refusal(error));
						else return reject(new Error("neither answer nor error"));
						resolve();
					});
					call.on("metadata", note);
				});
			}
			return { answers, loss, contentType: "application/grpc" };
		},
		close: async () => client.close(),
	};
}
