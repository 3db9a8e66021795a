import { expect } from "vitest";
import { textOf } from "../peer/older/model.ts";
import { all, artifactTexts, expectStream, finalState, type Scenario, sending, verdict } from "./scenario.ts";

export const streams: readonly Scenario[] = [
	{
		name: "stream of a task",
		needs: ["stream"],
		async run(lane) {
			const got = await all(lane.client.listen(sending(lane.client, "task 2", {}, "stream")));
			expectStream(lane.client, got);
			expect(artifactTexts(got)).toEqual(["number 1", "number 2"]);
			expect(finalState(got)).toBe("completed");
			return verdict(lane, "stream", got);
		},
	},
	{
		name: "stream in chunks",
		needs: ["stream"],
		async run(lane) {
			const got = await all(lane.client.listen(sending(lane.client, "chunks", {}, "stream")));
			expectStream(lane.client, got);
			const chunks = got.flatMap((said) => (said.artifact ? [said.artifact] : []));
			expect(chunks.map(({ append, last }) => [append, last])).toEqual([
				[false, false],
				[true, true],
			]);
			expect(new Set(chunks.map(({ artifact }) => artifact.id)).size).toBe(1);
			expect(chunks[1]?.artifact.parts).toEqual([{ text: "two" }, { data: { bed: 7 } }]);
			return verdict(lane, "stream", got);
		},
	},
	{
		name: "stream of one message",
		needs: ["stream"],
		async run(lane) {
			const got = await all(lane.client.listen(sending(lane.client, "message hello", {}, "stream")));
			const said = got.map((each) => each.message ?? each.status?.status.message).find((each) => each !== undefined);
			const texts = got.flatMap((each) => {
				const message = each.message ?? each.status?.status.message;
				return message ? [textOf(message)] : [];
			});
			expect(said).toBeDefined();
			expect(texts.at(-1)).toBe("hello");
			expectStream(lane.client, got);
			return verdict(lane, "stream", got);
		},
	},
	{
		name: "stream without a task at its head",
		needs: ["stream"],
		async run(lane) {
			const got = await all(lane.client.listen(sending(lane.client, "bare 1", {}, "stream")));
			expectStream(lane.client, got);
			expect(finalState(got)).toBe("completed");
			return verdict(lane, "stream", got);
		},
	},
	{
		name: "stream that ends by asking",
		needs: ["stream"],
		async run(lane) {
			const got = await all(lane.client.listen(sending(lane.client, "input", {}, "stream")));
			expectStream(lane.client, got);
			expect(finalState(got)).toBe("input-required");
			return verdict(lane, "stream", got);
		},
	},
];
