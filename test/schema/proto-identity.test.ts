/** Our .proto files, written from the wire tables, are the published definitions: same descriptor, same digest. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { clone, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { beforeAll, describe, expect, test } from "vitest";

const root = new URL("../../", import.meta.url).pathname;
let files: readonly FileDescriptorProto[] = [];

beforeAll(() => {
	const image = execFileSync(
		`${root}node_modules/.bin/buf`,
		["build", "--exclude-source-info", "-o", "-#format=binpb"],
		{ cwd: root, maxBuffer: 1 << 24 },
	);
	files = fromBinary(FileDescriptorSetSchema, image).file;
});

/** The descriptor of one file, as protoc alone would give it. */
function descriptor(name: string): FileDescriptorProto {
	const found = files.find((file) => file.name === name);
	if (!found) throw new Error(`buf built no ${name}`);
	const file = clone(FileDescriptorProtoSchema, found);
	delete file.$unknown; // buf's own image extension
	file.name = "a2a.proto";
	return file;
}

function digest(file: FileDescriptorProto): { length: number; sha256: string } {
	const bytes = toBinary(FileDescriptorProtoSchema, file);
	return { length: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

describe("proto identity", () => {
	test("lf.a2a.v1 is the published v1.0 definition", () => {
		expect(digest(descriptor("lf/a2a/v1/a2a.proto"))).toEqual({
			length: 11_951,
			sha256: "28eb6122b513fff325e49b90e97e10cf44b1dd58892e112103b692c810689cde",
		});
	});

	test("a2a.v1 is the published v0.3 definition plus three later fields", () => {
		const file = descriptor("a2a/v1/a2a.proto");
		// Added after the v0.3.0 tag; peers of 0.3.x send them, so ours has them.
		for (const [type, name] of [
			["Part", "metadata"],
			["FilePart", "name"],
			["AgentCard", "icon_url"],
		]) {
			const message = file.messageType.find((candidate) => candidate.name === type);
			const index = message?.field.findIndex((field) => field.name === name) ?? -1;
			expect(index, `${type}.${name}`).toBeGreaterThanOrEqual(0);
			message?.field.splice(index, 1);
		}
		expect(digest(file)).toEqual({
			length: 9_687,
			sha256: "04b06b71164c685fa407dce7a1f84ea60a26f983dd00716f5540c33eb8e7f445",
		});
	});

	test("one changed name changes the digest", () => {
		const file = descriptor("lf/a2a/v1/a2a.proto");
		const first = file.messageType[0];
		if (first) first.name = `${first.name}X`;
		expect(digest(file).sha256).not.toBe("28eb6122b513fff325e49b90e97e10cf44b1dd58892e112103b692c810689cde");
	});
});
