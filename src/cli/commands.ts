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
	health: {
		args: "[URL]",
		doc: undefined,
		load: async () => (await import("./health.ts")).health,
	},
};

/** Commands of the contract that are not in this build. */
export const later: Readonly<Record<string, string | undefined>> = {
	card: "this command comes with signed cards",
	keys: "this command comes with signed cards",
};
