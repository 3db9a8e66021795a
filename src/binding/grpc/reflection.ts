/** gRPC server reflection, v1 and v1alpha (the same messages under two names): what is served, as descriptors. */

import {
	create,
	type DescFile,
	type DescService,
	fromBinary,
	type MessageInitShape,
	toBinary,
} from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.ts";
import { file_google_rpc_status } from "../../../gen/google/rpc/status_pb.ts";
import {
	ServerReflection,
	type ServerReflectionRequest,
	ServerReflectionRequestSchema,
	type ServerReflectionResponse,
	ServerReflectionResponseSchema,
} from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { A2AError, Status } from "../../call/error.ts";
import type { StreamHandler } from "../binding.ts";
import { Answer, ok } from "./answer.ts";
import { fail } from "./health.ts";
import { readEach, refused, wantsGzip } from "./request.ts";

const MAX_REQUEST = 64 * 1024;

type Response = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;

/** Serves the files of these services, of reflection itself and of error details (clients look those up to show them), with all they depend on. */
export function reflection(services: readonly DescService[]): StreamHandler {
	const index = indexOf([...services, ServerReflection]);
	const v1 = `/${ServerReflection.typeName}/`;
	const v1alpha = v1.replace(".v1.", ".v1alpha.");
	const method = ServerReflection.method.serverReflectionInfo.name;

	return (stream, headers, target) => {
		const base = [v1, v1alpha].find((b) => target.path.startsWith(b));
		if (base === undefined) return false;
		const answer = new Answer(stream, target.id);
		if (refused(headers, answer)) return true;
		if (target.path !== base + method) {
			answer.finish({ code: Status.UNIMPLEMENTED, message: "Method not found" });
			return true;
		}
		converse().catch((thrown: unknown) => fail(answer, thrown));
		return true;

		async function converse(): Promise<void> {
			wantsGzip(headers);
			answer.start({});
			for await (const bytes of readEach(stream, headers, MAX_REQUEST)) {
				if (answer.over) return;
				await answer.send(toBinary(ServerReflectionResponseSchema, respond(index, parse(bytes))));
			}
			answer.finish(ok);
		}
	};
}

function parse(bytes: Uint8Array): ServerReflectionRequest {
	try {
		return fromBinary(ServerReflectionRequestSchema, bytes);
	} catch (cause) {
		throw new A2AError("INVALID_REQUEST", { cause });
	}
}

interface Index {
	readonly services: readonly string[];
	/** Each file with all it depends on, encoded, by name. */
	readonly files: ReadonlyMap<string, readonly Uint8Array[]>;
	/** File name by fully qualified symbol. */
	readonly symbols: ReadonlyMap<string, string>;
	/** Extended type to extension number to file name. */
	readonly extensions: ReadonlyMap<string, ReadonlyMap<number, string>>;
}

function indexOf(services: readonly DescService[]): Index {
	const closure = new Map<string, DescFile>();
	const add = (file: DescFile) => {
		if (closure.has(file.proto.name)) return;
		closure.set(file.proto.name, file);
		file.dependencies.forEach(add);
	};
	for (const service of services) add(service.file);
	for (const file of [file_google_rpc_status, file_google_rpc_error_details]) add(file);
	const encoded = new Map<DescFile, Uint8Array>();
	const files = new Map<string, Uint8Array[]>();
	const symbols = new Map<string, string>();
	const extensions = new Map<string, Map<number, string>>();
	for (const file of closure.values()) encoded.set(file, toBinary(FileDescriptorProtoSchema, file.proto));
	for (const [name, file] of closure) {
		files.set(
			name,
			[...dependenciesOf(file)].map((f) => encoded.get(f) ?? new Uint8Array()),
		);
		for (const type of nestedTypes(file)) {
			symbols.set(type.typeName, name);
			if (type.kind === "message") for (const field of type.fields) symbols.set(`${type.typeName}.${field.name}`, name);
			if (type.kind === "service") for (const m of type.methods) symbols.set(`${type.typeName}.${m.name}`, name);
			if (type.kind === "extension") {
				const numbers = extensions.get(type.extendee.typeName) ?? new Map<number, string>();
				extensions.set(type.extendee.typeName, numbers.set(type.number, name));
			}
		}
	}
	return { services: [...new Set(services.map((s) => s.typeName))].sort(), files, symbols, extensions };
}

/** The file first, then everything it needs. */
function dependenciesOf(file: DescFile, seen = new Set<DescFile>()): Set<DescFile> {
	if (!seen.has(file)) {
		seen.add(file);
		for (const dependency of file.dependencies) dependenciesOf(dependency, seen);
	}
	return seen;
}

function respond(index: Index, request: ServerReflectionRequest): ServerReflectionResponse {
	return create(ServerReflectionResponseSchema, {
		validHost: request.host,
		originalRequest: request,
		messageResponse: answerTo(index, request.messageRequest),
	});
}

function answerTo(index: Index, asked: ServerReflectionRequest["messageRequest"]): Response {
	switch (asked.case) {
		case "fileByFilename":
			return fileResponse(index, asked.value);
		case "fileContainingSymbol":
			return fileResponse(index, index.symbols.get(asked.value.replace(/^\./, "")));
		case "fileContainingExtension": {
			const { containingType, extensionNumber } = asked.value;
			return fileResponse(index, index.extensions.get(containingType)?.get(extensionNumber));
		}
		case "allExtensionNumbersOfType": {
			const numbers = index.extensions.get(asked.value);
			if (!numbers && !index.symbols.has(asked.value)) return notFound();
			const extensionNumber = [...(numbers?.keys() ?? [])].sort((a, b) => a - b);
			return { case: "allExtensionNumbersResponse", value: { baseTypeName: asked.value, extensionNumber } };
		}
		case "listServices":
			return { case: "listServicesResponse", value: { service: index.services.map((name) => ({ name })) } };
		default:
			return errorResponse(Status.INVALID_ARGUMENT, "Nothing was asked");
	}
}

function fileResponse(index: Index, name: string | undefined): Response {
	const files = name === undefined ? undefined : index.files.get(name);
	if (!files) return notFound();
	return { case: "fileDescriptorResponse", value: { fileDescriptorProto: [...files] } };
}

function notFound(): Response {
	return errorResponse(Status.NOT_FOUND, "Not found");
}

function errorResponse(errorCode: number, errorMessage: string): Response {
	return { case: "errorResponse", value: { errorCode, errorMessage } };
}
