/** What is expected at either end of the gateway: the examples with the table of differences, and what is told to be lost. */
import { type Form, isStream } from "../../peer/older/model.ts";
import {
	type Difference,
	differences,
	type Expected,
	type Hop,
	hasConfiguration,
	proto03,
	sends,
	v1,
	v01,
} from "./differences.ts";
import type { Asked, Step } from "./worked.ts";

/** Which differences were needed, by `what`. */
export const needed = new Set<string>();

/** `side` of what the examples give, with the differences of this hop. */
export function expectedOf(side: Difference["side"], hop: Hop, example: Expected): Expected {
	const expected: Expected = { name: example.name, messages: structuredClone(example.messages) };
	for (const difference of differences) {
		if (difference.side !== side || !difference.steps.includes(hop.step)) continue;
		if (!difference.when(hop.client, hop.agent)) continue;
		const before = JSON.stringify(expected);
		difference.change(expected, hop);
		if (JSON.stringify(expected) !== before) needed.add(difference.what);
	}
	return expected;
}

export const toExpected = ({ name, body }: Asked): Expected => ({ name, messages: body === undefined ? [] : [body] });

interface Told {
	readonly pointers: readonly string[];
	readonly see: { readonly docs: string };
	readonly steps: readonly Step[];
	readonly when: (client: Form, agent: Form) => boolean;
}
/** What `A2A-Gateway-Loss` tells; everything else is expected to lose nothing. A stream's header goes out before its events. */
const losses: readonly Told[] = [
	{
		pointers: ["/artifacts/0/parts/2/mediaType"],
		see: { docs: "lost: goes without saying" },
		steps: ["get"],
		when: (client, agent) => !v1(client) && v1(agent),
	},
	{
		pointers: ["/configuration/returnImmediately"],
		see: { docs: "0.1: lost" },
		steps: sends,
		when: (client, agent) => !v01(client) && v01(agent),
	},
	{
		pointers: ["/id"],
		see: { docs: "| id in 0.1 | lost, unless it is the task's |" },
		steps: ["pushCreate"],
		when: (client, agent) => (v01(client) && (v1(agent) || proto03(agent))) || (proto03(client) && v01(agent)),
	},
];

export function expectedLoss({ client, agent, step }: Hop): readonly string[] {
	// Nothing is configured, so nothing of it can be lost.
	if (isStream(step) && !hasConfiguration(client, step)) return [];
	return losses.filter((l) => l.steps.includes(step) && l.when(client, agent)).flatMap((l) => l.pointers);
}

/** Every phrase of docs/dialects.md that is pointed at. */
export const pointedAt: readonly string[] = [
	...[...differences, ...losses].flatMap(({ see }) => (typeof see === "object" && "docs" in see ? [see.docs] : [])),
];
