/** The commands by name. Loaded when used: `check` needs no gRPC, and starts faster without. */
import type { Command } from "./command.ts";

interface Entry {
	readonly args: string;
	/** Undefined = not shown. */
	readonly doc: string | undefined;
	load(): Promise<Command>;
}

export const commands: Readonly<Record<string, Entry>> = {
	serve: {
		args: "",
		doc: "The gateway; without --agent in front of a bundled demo agent.",
		load: async () => (await import("./serve.ts")).serve,
	},
	call: {
		args: "URL TEXT",
		doc: "Send one message to any A2A agent and print the answer.",
		load: async () => (await import("./call.ts")).call,
	},
	explain: {
		args: "URL",
		doc: "Fetch a card and say which interface the gateway would use, and why.",
		load: async () => (await import("./explain.ts")).explain,
	},
	check: {
		args: "FILE",
		doc: "Validate a configuration file.",
		load: async () => (await import("./check.ts")).check,
	},
	card: {
		args: "get|verify|sign",
		doc: "Fetch a card in any version, verify its signatures, or sign a file.",
		load: async () => (await import("./card.ts")).card,
	},
	keys: {
		args: "new",
		doc: "Make a key that signs cards, and print its public part.",
		load: async () => (await import("./keys.ts")).keys,
	},
	health: {
		args: "[URL]",
		doc: undefined,
		load: async () => (await import("./health.ts")).health,
	},
};
