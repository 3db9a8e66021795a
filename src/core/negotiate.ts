/** Version and extension negotiation (rules E and F of the specification, §3.6, §4.6.3, §14.2). */
import type { Call, Header, Middleware } from "../call/call.ts";
import { A2AError } from "../call/error.ts";
import type { AgentView } from "./view.ts";

const VERSION = "a2a-version";

/** What the client asked for, `Major.Minor`; "" when it named none. Header first (an empty one names none), then query (E3). */
export function requestedVersion(header: Header, query: Header): string {
	const value = (header[VERSION] || Object.entries(query).find(([name]) => name.toLowerCase() === VERSION)?.[1]) ?? "";
	return normaliseVersion(value);
}

/** `1.0.1` and ` 1.0 ` are 1.0: patch numbers do not take part in negotiation (E7). */
export function normaliseVersion(value: string): string {
	const trimmed = value.trim();
	return /^(\d+\.\d+)(\.[\w.-]+)?$/.exec(trimmed)?.[1] ?? trimmed;
}

/**
 * Refuses a request that names a version other than the one its method, path or package belongs to.
 * A request that names none is taken for what it is: the method, path or package already told the dialect.
 */
export function checkVersion(versions: readonly string[]): Middleware {
	const supported = [...new Set(versions)].join(", ");
	return (next) => (call) => {
		const version = requestedVersion(call.header, call.query);
		if (version !== "" && version !== call.origin.version && !bothOlder(version, call.origin.version)) {
			throw new A2AError("VERSION_NOT_SUPPORTED", {
				message: versions.includes(version)
					? `This operation is not one of protocol version ${JSON.stringify(version)}`
					: `Protocol version ${JSON.stringify(version.slice(0, 32))} is not supported here; supported: ${supported}`,
				metadata: { requestedVersion: version.slice(0, 32), supportedVersions: supported },
			});
		}
		return next(call);
	};
}

/** Before 1.0 there was no version header: what names 0.2 or 0.1 there is told apart by its methods. */
function bothOlder(asked: string, version: string): boolean {
	return /^0\.[1-3]$/.test(asked) && version.startsWith("0.");
}

/** The extension URIs a request names, in order, under the v1.0 name and the v0.3 one. */
export function requestedExtensions(header: Header): string[] {
	return [header["a2a-extensions"], header["x-a2a-extensions"]]
		.flatMap((value) => value?.split(",") ?? [])
		.map((uri) => uri.trim())
		.filter((uri) => uri !== "");
}

/** Refuses a request that does not name an extension the card requires (F5). */
export function checkExtensions(view: (call: Call) => AgentView): Middleware {
	return (next) => (call) => {
		const { requiredExtensions } = view(call);
		if (requiredExtensions.length > 0) {
			const named = requestedExtensions(call.header);
			const missing = requiredExtensions.filter((uri) => !named.includes(uri));
			if (missing.length > 0) {
				throw new A2AError("EXTENSION_SUPPORT_REQUIRED", {
					message: `Name the required extension in A2A-Extensions: ${missing.join(", ")}`,
					metadata: { requiredExtensions: missing.join(",") },
				});
			}
		}
		return next(call);
	};
}
