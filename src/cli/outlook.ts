/** What an interface of an agent means for a v1.0 client: told by the core and the dialects themselves, so that it cannot drift from what the gateway does. */
import { randomUUID } from "node:crypto";
import type { DescMethod } from "@bufbuild/protobuf";
import type { Interface } from "../binding/binding.ts";
import { anonymous, isStream } from "../call/call.ts";
import { A2AError } from "../call/error.ts";
import { type LossEntry, Losses } from "../call/loss.ts";
import { checkCapabilities } from "../core/capability.ts";
import { sends } from "../core/types.ts";
import type { Capabilities } from "../core/view.ts";
import type { Dialect, Form } from "../dialect/dialect.ts";
import { v1 } from "../dialect/v1/index.ts";
import { dialectOf } from "../registry.ts";
import { fromValue } from "../schema/payload.ts";
import { sample } from "./sample.ts";

export interface Outlook {
	/** Operations that are served. */
	readonly served: readonly string[];
	readonly refused: readonly { readonly operation: string; readonly reason: string }[];
	/** What the gateway supplies because the agent's version lacks it. */
	readonly emulated: readonly { readonly operation: string; readonly how: string }[];
	/** What of a full request the agent's version cannot carry: JSON pointers into the v1.0 request. */
	readonly lost: readonly ({ readonly operation: string } & LossEntry)[];
}

export function outlook({ binding, version }: Interface, capabilities: Capabilities): Outlook {
	const dialect = dialectOf(version);
	const refused = refusals(capabilities);
	const no: { operation: string; reason: string }[] = [];
	const yes: DescMethod[] = [];
	for (const method of v1.service.methods) {
		const reason = knows(dialect, binding, method)
			? refused(method)
			: `version ${version} has no such operation${dialect.bindings.includes(binding) ? "" : ` over ${binding}`}`;
		if (reason === undefined) yes.push(method);
		else no.push({ operation: method.name, reason });
	}
	return {
		served: yes.map(({ name }) => name),
		refused: no,
		emulated: yes.flatMap((method) =>
			bridges(dialect, binding, method).map((how) => ({ operation: method.name, how })),
		),
		lost: yes.flatMap((method) =>
			losses(dialect, binding, method).map((entry) => ({ operation: method.name, ...entry })),
		),
	};
}

function knows(dialect: Dialect, binding: string, method: DescMethod): boolean {
	if (!dialect.bindings.includes(binding)) return false;
	if (binding !== "JSONRPC") return dialect.ownMethod(method) !== undefined;
	return dialect.rpcName(method) !== undefined || [...(dialect.documents?.values() ?? [])].includes(method);
}

/** Asks the core what it would refuse because of the card. */
function refusals(capabilities: Capabilities): (method: DescMethod) => string | undefined {
	const ask = checkCapabilities(() => capabilities)(() => new Promise(() => {}));
	return (method) => {
		try {
			ask({
				method,
				request: fromValue(method.input, {}),
				agent: "",
				header: {},
				query: {},
				principal: anonymous,
				origin: { binding: "", version: v1.version },
				losses: new Losses(),
				id: randomUUID(),
				signal: new AbortController().signal,
			}).catch(() => {});
			return undefined;
		} catch (error) {
			return A2AError.from(error).message;
		}
	};
}

/** What core/continuity and core/agent-ids add to this operation for a v1.0 client. */
function bridges({ traits }: Dialect, binding: string, method: DescMethod): string[] {
	const found: string[] = [];
	if (sends(method) && traits.clientIds) found.push("the gateway makes the ids of task and context");
	if (isStream(method) && !traits.taskFirst) found.push("the stream begins with the task");
	if (!isStream(method) && !traits.noHistory && binding !== "JSONRPC" && asksHistory(method)) {
		found.push("no history on demand (historyLength 0)");
	}
	return found;
}

function asksHistory({ input }: DescMethod): boolean {
	return [input, ...input.fields.flatMap(({ message }) => message ?? [])].some((type) => type.field["historyLength"]);
}

/** Translates a request with everything in it. */
function losses(dialect: Dialect, binding: string, method: DescMethod): readonly LossEntry[] {
	const found = new Losses();
	const form: Form<unknown> = binding === "JSONRPC" ? dialect.rpc : binding === "GRPC" ? dialect.binary : dialect.http;
	try {
		form.writeRequest(method, fromValue(method.input, sample(method.input)), found.add);
	} catch {
		// A request that cannot be said at all is refused when it comes.
	}
	return found.entries;
}
