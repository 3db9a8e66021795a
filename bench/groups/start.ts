/** A process that has nothing to do yet: how soon it is ready, and how much memory it holds. */
import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../load/client.ts";
import { pair, type Stage } from "../stage.ts";
import { jsonToJson } from "./unary.ts";

export async function start(stage: Stage): Promise<void> {
	const route = jsonToJson;
	const wall: number[] = [];
	const memory: number[] = [];
	stage.note(`${stage.plan.starts} starts`);
	for (let i = 0; i < stage.plan.starts; i++) {
		await stage.attempt(route, { doing: "start", limit: 30_000, fresh: true }, async () => {
			const child = await stage.fresh(route);
			wall.push(child.started);
			await sleep(1000);
			memory.push((await child.usage()).rss / 2 ** 20);
			await child.stop();
		});
	}
	const missing = stage.why(route, "start");
	const spread = (values: number[], unit: string) =>
		values.length === 0 ? missing : `${Math.min(...values).toFixed(0)}–${Math.max(...values).toFixed(0)} ${unit}`;
	stage.record("start", pair(route), median(wall), spread(wall, "ms"));
	stage.record("rss", pair(route), median(memory), spread(memory, "MiB"));
}
