/** What a caller does and must see, whatever it speaks and whatever the agent speaks. */
import type { Scenario } from "./scenario.ts";
import { failures, sends } from "./scenarios-send.ts";
import { streams } from "./scenarios-stream.ts";
import { tasks, webhooks } from "./scenarios-task.ts";

export const scenarios: readonly Scenario[] = [...sends, ...streams, ...tasks, ...webhooks, ...failures];
