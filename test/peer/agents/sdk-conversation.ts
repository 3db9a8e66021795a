/** An SDK agent with its own DefaultRequestHandler and an executor that obeys the words of a message. */
import { AgentCard, type Message, Role, TaskState } from "@a2a-js/sdk";
import {
	AgentEvent,
	type AgentExecutor,
	DefaultRequestHandler,
	type ExecutionEventBus,
	InMemoryTaskStore,
	type RequestContext,
} from "@a2a-js/sdk/server";
import { hostSdk, type SdkHost } from "./sdk.ts";

const textOf = (message: Message): string =>
	message.parts.map((part) => (part.content?.$case === "text" ? part.content.value : "")).join(" ");

export const sdkMessage = (text: string, ids: Partial<Message> = {}): Message => ({
	messageId: crypto.randomUUID(),
	contextId: "",
	taskId: "",
	role: Role.ROLE_USER,
	parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "text/plain" }],
	metadata: undefined,
	extensions: [],
	referenceTaskIds: [],
	...ids,
});

export interface ConversationAgent extends SdkHost {
	/** Ends a task that was told to wait. */
	finish(taskId: string): void;
}

/** `echo X` answers a Message; `count N` a Task with N artifacts; `wait` a Task that works until finished or canceled. */
class Obedient implements AgentExecutor {
	readonly waiting = new Map<string, (state: TaskState) => void>();

	async execute({ userMessage, taskId, contextId }: RequestContext, bus: ExecutionEventBus): Promise<void> {
		const [word = "", ...rest] = textOf(userMessage).split(" ");
		const reply = (text: string, ids: Partial<Message>): Message =>
			sdkMessage(text, { contextId, role: Role.ROLE_AGENT, ...ids });
		const status = (state: TaskState, text?: string) => ({
			state,
			message: text === undefined ? undefined : reply(text, { taskId }),
			timestamp: new Date().toISOString(),
		});
		const say = (state: TaskState, text?: string): void =>
			bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state, text), metadata: undefined }));
		if (word === "echo") {
			bus.publish(AgentEvent.message(reply(rest.join(" "), {})));
			bus.finished();
			return;
		}
		bus.publish(
			AgentEvent.task({
				id: taskId,
				contextId,
				status: status(TaskState.TASK_STATE_SUBMITTED),
				artifacts: [],
				history: [userMessage],
				metadata: { word },
			}),
		);
		say(TaskState.TASK_STATE_WORKING, "at it");
		if (word === "wait") {
			const state = await new Promise<TaskState>((resolve) => this.waiting.set(taskId, resolve));
			say(state);
			bus.finished();
			return;
		}
		for (let i = 1; i <= Number(rest[0] ?? 0); i++) {
			const { parts } = reply(`number ${i}`, {});
			const artifact = { artifactId: `a-${i}`, name: "", description: "", parts, metadata: { i }, extensions: [] };
			bus.publish(
				AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined }),
			);
		}
		say(TaskState.TASK_STATE_COMPLETED, "done");
		bus.finished();
	}

	async cancelTask(taskId: string): Promise<void> {
		this.waiting.get(taskId)?.(TaskState.TASK_STATE_CANCELED);
	}
}

export async function startConversation(bindings: readonly string[]): Promise<ConversationAgent> {
	const executor = new Obedient();
	const host = await hostSdk(bindings, (json) => {
		const card = AgentCard.fromJSON(json);
		const extended = async (): Promise<AgentCard> => ({ ...card, description: "Only for those who ask" });
		return new DefaultRequestHandler(
			card,
			new InMemoryTaskStore(),
			executor,
			undefined,
			undefined,
			undefined,
			extended,
		);
	});
	return { ...host, finish: (taskId) => executor.waiting.get(taskId)?.(TaskState.TASK_STATE_COMPLETED) };
}
