/** The operations the CLI speaks of, found by their descriptors: no operation is named here (design: one descriptor-driven port). */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { isStream } from "../call/call.ts";
import { v1 } from "../dialect/v1/index.ts";

/** The operation that takes a message to an agent: as a stream of events, or with one answer. */
export function sendMethod(stream: boolean): DescMethod {
	const found = v1.service.methods.find(
		(method) =>
			isStream(method) === stream && method.input.fields.some(({ name, message }) => name === "message" && message),
	);
	if (!found) throw new Error("the service has no operation that takes a message");
	return found;
}

/** The path of an operation's first HTTP rule. */
export function httpPath(method: DescMethod): string {
	const { pattern } = getOption(method, http);
	return typeof pattern.value === "string" ? pattern.value : "";
}

/** `package.Service/Method`, as gRPC clients write it. */
export function grpcPath(method: DescMethod): string {
	return `${v1.service.typeName}/${method.name}`;
}
