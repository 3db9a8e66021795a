/** What each cell of the matrix must come to, as data: docs/dialects.md says the same in words, and shows it as a table. */
import { codeFor, type Reason } from "../peer/older/fault.ts";
import { type Form, nameOf } from "../peer/older/model.ts";
import type { Outcome } from "./scenario.ts";

/** Without a code: which code it is follows from the client's form. */
export type Label = "equal" | "emulated" | "lossy" | `refused ${Reason}`;

/** A version ("0.3"), or one form ("JSONRPC 0.3"). */
type Who = string;

export interface Rule {
	/** Names of scenarios; undefined = all. */
	readonly of?: readonly string[];
	/** Undefined = every one. */
	readonly client?: readonly Who[];
	readonly agent?: readonly Who[];
	readonly is: Label;
	readonly why: string;
}

const older = ["0.3", "0.2", "0.1"];
const named = ["1.0", "0.3", "0.2"];
const noKind = ["0.1"];

/** The first rule that fits counts; where none fits, the cell is "equal". */
export const rules: readonly Rule[] = [
	{
		of: ["send to a finished task"],
		is: "refused UNSUPPORTED_OPERATION",
		why: "a task that has ended does not begin again, in any version (v0.1's InvalidTaskStateError is this error)",
	},
	{ of: ["send to an unknown task"], is: "refused TASK_NOT_FOUND", why: "no client but v0.1's names a new task" },
	{
		of: ["get of an unknown task", "resubscribe to an unknown task"],
		is: "refused TASK_NOT_FOUND",
		why: "the same error everywhere",
	},
	{ of: ["cancel of a finished task"], is: "refused TASK_NOT_CANCELABLE", why: "the same error everywhere" },
	{ of: ["error: unsupported"], is: "refused UNSUPPORTED_OPERATION", why: "the agent's error" },
	{
		of: ["error: content type", "error before a stream"],
		is: "refused CONTENT_TYPE_NOT_SUPPORTED",
		why: "the agent's error",
	},
	{ of: ["error: invalid parameters"], is: "refused INVALID_PARAMS", why: "the agent's error" },
	{ of: ["a message without parts"], is: "refused INVALID_PARAMS", why: "v1.0 requires at least one part" },
	{ of: ["error: internal"], is: "refused INTERNAL_ERROR", why: "the agent's error" },

	{ of: ["list"], agent: older, is: "refused UNSUPPORTED_OPERATION", why: "no older version lists tasks" },
	{
		of: ["webhook: list", "webhook: delete"],
		agent: noKind,
		is: "refused UNSUPPORTED_OPERATION",
		why: "v0.1 has neither",
	},
	{ of: ["extended card"], agent: noKind, is: "refused UNSUPPORTED_OPERATION", why: "v0.1 has no extended card" },
	{
		of: ["resubscribe to a finished task"],
		client: ["1.0"],
		is: "refused UNSUPPORTED_OPERATION",
		why: "v1.0 §3.1.6: only live tasks can be subscribed to",
	},
	{
		of: ["resubscribe to a finished task"],
		client: older,
		agent: ["1.0"],
		is: "emulated",
		why: "v1.0 has an error, older versions the finished task and the end: the gateway reads the task",
	},
	{
		of: ["send, not waiting"],
		agent: noKind,
		is: "lossy",
		why: "tasks/send has no switch: the agent answers when it answers",
	},

	{
		of: ["the same send twice", "the same send, five at once"],
		client: noKind,
		agent: named,
		is: "emulated",
		why: "the gateway keeps the client's ids: one task, however often it is sent",
	},
	{
		of: ["data that is no object"],
		client: ["1.0"],
		agent: older,
		is: "emulated",
		why: "wrapped as {value} with the flag data_part_compat, unwrapped on the way back",
	},
	{
		of: ["get without history"],
		client: ["1.0"],
		agent: ["HTTP+JSON 0.3", "GRPC 0.3"],
		is: "emulated",
		why: "0 means unlimited there: the gateway takes the history out",
	},
	{
		of: ["stream without a task at its head"],
		client: ["1.0"],
		agent: older,
		is: "emulated",
		why: "v1.0 §3.1.2: the Task first; the gateway adds it",
	},
	{
		of: ["resubscribe"],
		client: ["1.0"],
		agent: older,
		is: "emulated",
		why: "v1.0 §3.1.6: the Task first; the gateway reads it and then subscribes",
	},
	{
		of: ["webhook: get without an id"],
		client: older,
		agent: ["1.0", "HTTP+JSON 0.3", "GRPC 0.3"],
		is: "emulated",
		why: "the id is required there: the gateway lists them and takes the first",
	},

	// v0.1 against anything else: what is the same in both vocabularies is equal, the rest is told in other terms.
	{
		of: ["stream of one message", "stream that ends by asking"],
		client: ["1.0"],
		agent: noKind,
		is: "emulated",
		why: "v1.0 §3.1.2: the Task first; v0.1 streams have no Task",
	},
	{
		of: ["resubscribe"],
		client: ["0.3", "0.2"],
		agent: noKind,
		is: "equal",
		why: "an update is an update; no version but v1.0 promises a Task",
	},
	{
		of: [
			"send, answered with a message",
			"state: fail",
			"state: reject",
			"state: auth",
			"input asked for and given",
			"cancel",
			"stream of one message",
			"stream that ends by asking",
			"resubscribe to a finished task",
			"get with the last of its history",
		],
		client: named,
		agent: noKind,
		is: "equal",
		why: "nothing in it has another name",
	},
	{ client: named, agent: noKind, is: "emulated", why: "ids, artifacts and webhooks have other names in v0.1" },
	{ client: noKind, agent: named, is: "emulated", why: "the client names its task; the gateway knows both names" },
];

const fits = (who: readonly Who[] | undefined, form: Form): boolean =>
	who === undefined || who.includes(form.version) || who.includes(nameOf(form));

export function ruleFor(scenario: string, client: Form, agent: Form): Rule | undefined {
	return rules.find(
		(rule) => (rule.of?.includes(scenario) ?? true) && fits(rule.client, client) && fits(rule.agent, agent),
	);
}

export const labelFor = (scenario: string, client: Form, agent: Form): Label =>
	ruleFor(scenario, client, agent)?.is ?? "equal";

/** The label as this client sees it. v0.2's extended card is an HTTP GET, refused as HTTP refuses. */
export function outcomeFor(scenario: string, client: Form, agent: Form): Outcome {
	const label = labelFor(scenario, client, agent);
	if (label === "equal" || label === "emulated" || label === "lossy") return label;
	const plain = scenario === "extended card" && client.version === "0.2";
	const form: Form = plain ? { binding: "HTTP+JSON", version: "0.3" } : client;
	return `refused ${codeFor(form, label.slice("refused ".length) as Reason)}`;
}
