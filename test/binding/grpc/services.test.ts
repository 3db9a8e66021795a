/** Health and reflection as grpc-js clients see them. */
import { create, createFileRegistry, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { status as Code, Metadata } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { HealthCheckRequestSchema, HealthCheckResponseSchema } from "../../../gen/grpc/health/v1/health_pb.ts";
import {
	ServerReflectionRequestSchema,
	type ServerReflectionResponse,
	ServerReflectionResponseSchema,
} from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.ts";
import { health, reflection } from "../../../src/binding/grpc/index.ts";
import { frame } from "../../../src/wire/grpc-frame.ts";
import { cleanUp, grpcJs, raw, serveHandlers, stream, unary, until } from "./harness.ts";

afterEach(cleanUp);

const CHECK = "/grpc.health.v1.Health/Check";
const WATCH = "/grpc.health.v1.Health/Watch";
const ask = (service: string) => toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service }));
const statusOf = (bytes: Buffer | undefined) => fromBinary(HealthCheckResponseSchema, bytes ?? Buffer.alloc(0)).status;

function source() {
	const statuses = new Map([
		["", true],
		["a", true],
	]);
	const listeners = new Set<() => void>();
	return {
		statuses,
		listeners,
		set(service: string, serving: boolean) {
			statuses.set(service, serving);
			for (const listener of listeners) listener();
		},
		handler: health({
			status: (service) => statuses.get(service),
			onChange: (listener) => {
				listeners.add(listener);
				return () => listeners.delete(listener);
			},
		}),
	};
}

describe("health", () => {
	it("checks", async () => {
		const { handler, set } = source();
		const client = grpcJs((await serveHandlers([handler])).port);
		expect(statusOf((await unary(client, CHECK, ask(""))).bytes)).toBe(1);
		set("a", false);
		expect(statusOf((await unary(client, CHECK, ask("a"))).bytes)).toBe(2);
		expect((await unary(client, CHECK, ask("nope"))).error?.code).toBe(Code.NOT_FOUND);
		expect((await unary(client, "/grpc.health.v1.Health/List", ask(""))).error?.code).toBe(Code.UNIMPLEMENTED);
	});

	it("watches: the state now, then changes, until the client goes", async () => {
		const { handler, set, listeners } = source();
		const call = stream(grpcJs((await serveHandlers([handler])).port), WATCH, ask("b"));
		const seen: number[] = [];
		call.on("data", (bytes: Buffer) => seen.push(statusOf(bytes)));
		call.on("error", () => {});
		await until(() => seen.length === 1);
		set("b", true);
		await until(() => seen.length === 2);
		set("a", true);
		set("b", false);
		await until(() => seen.length === 3);
		expect(seen).toEqual([3, 1, 2]);
		expect(listeners.size).toBe(1);
		call.cancel();
		await until(() => listeners.size === 0);
	});

	it("refuses rubbish", async () => {
		const { port } = await serveHandlers([source().handler]);
		const answer = await raw(port, { ":path": CHECK }, [frame(Buffer.from([0x0a, 0xff]))]);
		expect(answer.headers["grpc-status"]).toBe("3");
		expect((await raw(port, { ":path": CHECK }, [])).headers["grpc-status"]).toBe("12");
	});
});

type Ask = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]>;

describe.each(["v1", "v1alpha"])("reflection %s", (version) => {
	const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;

	async function converse(asked: readonly Ask[]): Promise<ServerReflectionResponse[]> {
		const client = grpcJs((await serveHandlers([reflection([A2AService])])).port);
		const same = (bytes: Buffer) => bytes;
		const call = client.makeBidiStreamRequest(path, same, same, new Metadata());
		const got: ServerReflectionResponse[] = [];
		call.on("data", (bytes: Buffer) => got.push(fromBinary(ServerReflectionResponseSchema, bytes)));
		const ended = new Promise<number>((resolve) => {
			call.on("status", (status) => resolve(status.code));
			call.on("error", () => {});
		});
		for (const messageRequest of asked) {
			const request = create(ServerReflectionRequestSchema, { host: "h", messageRequest });
			const count = got.length;
			call.write(Buffer.from(toBinary(ServerReflectionRequestSchema, request)));
			// One at a time, as clients converse: answers must not wait for the end.
			await until(() => got.length > count);
		}
		call.end();
		expect(await ended).toBe(0);
		return got;
	}
	const files = (response: ServerReflectionResponse | undefined) =>
		response?.messageResponse.case === "fileDescriptorResponse"
			? response.messageResponse.value.fileDescriptorProto.map((b) => fromBinary(FileDescriptorProtoSchema, b))
			: [];

	it("lists, finds, and gives files that make a registry", async () => {
		const [list, bySymbol, byMethod, byField, byName] = await converse([
			{ case: "listServices", value: "" },
			{ case: "fileContainingSymbol", value: "lf.a2a.v1.A2AService" },
			{ case: "fileContainingSymbol", value: "lf.a2a.v1.A2AService.SendMessage" },
			{ case: "fileContainingSymbol", value: "lf.a2a.v1.Task.id" },
			{ case: "fileByFilename", value: "google/api/annotations.proto" },
		]);
		expect(list?.validHost).toBe("h");
		expect(list?.messageResponse).toMatchObject({ case: "listServicesResponse" });
		const names =
			list?.messageResponse.case === "listServicesResponse"
				? list.messageResponse.value.service.map((s) => s.name)
				: [];
		expect(names).toEqual(["grpc.reflection.v1.ServerReflection", "lf.a2a.v1.A2AService"]);
		const own = A2AService.file.proto.name;
		for (const response of [bySymbol, byMethod, byField]) expect(files(response)[0]?.name).toBe(own);
		expect(files(byName)[0]?.name).toBe("google/api/annotations.proto");
		// Dependencies come before dependents in a set: the reverse of how they are sent is not promised, so sort.
		const sent = files(bySymbol);
		const set = create(FileDescriptorSetSchema);
		const add = (name: string) => {
			const file = sent.find((f) => f.name === name);
			if (!file || set.file.includes(file)) return;
			file.dependency.forEach(add);
			set.file.push(file);
		};
		add(own);
		expect(createFileRegistry(set).getService("lf.a2a.v1.A2AService")?.methods).toHaveLength(11);
	});

	it("finds extensions", async () => {
		const containingType = "google.protobuf.MethodOptions";
		const [numbers, one, none, unknown] = await converse([
			{ case: "allExtensionNumbersOfType", value: containingType },
			{ case: "fileContainingExtension", value: { containingType, extensionNumber: 72295728 } },
			{ case: "fileContainingExtension", value: { containingType, extensionNumber: 1 } },
			{ case: "allExtensionNumbersOfType", value: "no.Such" },
		]);
		expect(numbers?.messageResponse.value).toMatchObject({ baseTypeName: containingType });
		expect(numbers?.messageResponse.value).toHaveProperty("extensionNumber", expect.arrayContaining([72295728]));
		expect(files(one)[0]?.name).toBe("google/api/annotations.proto");
		for (const response of [none, unknown]) expect(response?.messageResponse.value).toMatchObject({ errorCode: 5 });
	});

	it("says what is not there or not asked, and goes on", async () => {
		const got = await converse([
			{ case: "fileByFilename", value: "nope.proto" },
			{ case: "fileContainingSymbol", value: "no.Such" },
			{ case: undefined },
			{ case: "fileContainingSymbol", value: ".lf.a2a.v1.Task" },
		]);
		expect(got.map((r) => r.messageResponse.case)).toEqual([
			"errorResponse",
			"errorResponse",
			"errorResponse",
			"fileDescriptorResponse",
		]);
	});

	it("ends at rubbish with INVALID_ARGUMENT, though the client goes on", async () => {
		const { port } = await serveHandlers([reflection([A2AService])]);
		const answer = await raw(port, { ":path": path }, [frame(Buffer.from([0x0a, 0xff]))], false);
		expect(answer.trailers["grpc-status"]).toBe("3");
	});
});
