/** Cards by the thousand, the same every time, and a port with the catalogue's pages. */
import type { JsonObject } from "@bufbuild/protobuf";
import { serialise } from "../../src/card/project.ts";
import type { Visible } from "../../src/catalogue/catalogue.ts";
import type { Mirrored } from "../../src/catalogue/mirror.ts";

const TOPICS = ["weather", "travel", "finance", "gardening", "music", "chess", "cooking", "law", "health", "energy"];
const VERBS = ["plan", "search", "translate", "summarize", "book", "compare", "explain", "monitor"];
const MODES = ["text/plain", "application/json", "image/png", "image/jpeg", "audio/wav", "video/mp4"];

const pick = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;

/** The i-th card: about 3 kB. */
export function cardOf(i: number, base = `https://gw.example/agents/${nameOf(i)}`): JsonObject {
	const topic = pick(TOPICS, i * 7);
	return {
		name: `${topic} agent ${i}`,
		description: `Helps people with ${topic} and ${pick(TOPICS, i + 3)}. Zürich, Málaga & Æbeltoft. ${"Lorem ipsum dolor sit amet. ".repeat(8)}`,
		version: `1.${i % 10}.0`,
		provider: { organization: `Société ${pick(["Alpha", "Beta", "Gamma"], i)}`, url: `https://p${i % 3}.example` },
		...(i % 2 === 0 && { documentationUrl: `https://docs.example/${i}` }),
		supportedInterfaces: ["JSONRPC", "HTTP+JSON"].map((protocolBinding) => ({
			url: base,
			protocolBinding,
			protocolVersion: "1.0",
		})),
		capabilities: {
			streaming: i % 2 === 0,
			pushNotifications: i % 3 === 0,
			...(i % 5 === 0 && { extensions: [{ uri: `https://ext.example/${i % 4}/v1` }] }),
		},
		defaultInputModes: [pick(MODES, i)],
		defaultOutputModes: ["text/plain"],
		skills: Array.from({ length: 1 + (i % 4) }, (_, s) => ({
			id: `${pick(VERBS, i + s)}-${topic}`,
			name: `${pick(VERBS, i + s)} ${topic}`,
			description: `Can ${pick(VERBS, i + s)} anything about ${topic}. ${"More words follow here. ".repeat(6)}`,
			tags: [topic, pick(VERBS, i + s), `t${i % 50}`],
			examples: ["Give me an example.", "And another one, please."],
			...(s === 1 && { inputModes: [pick(MODES, i + 2)] }),
		})),
	};
}

export const nameOf = (i: number) => `a-${String(i * 7919).padStart(8, "0")}`;

/** An agent as the mirror sees it, with a settable card. */
export function agent(
	name: string,
	card: JsonObject | undefined,
	base = `https://gw.example/agents/${name}`,
): Mirrored {
	const served = card && serialise(card, 1_700_000_000_000);
	return { name, base: new URL(base), card: () => served };
}

export const only =
	(...names: readonly string[]): Visible =>
	(name) =>
		names.includes(name);
