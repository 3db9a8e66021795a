import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["test/**/*.test.ts"],
		testTimeout: 30_000,
		hookTimeout: 30_000,
		// Real sockets and real SDKs: two cores, so two workers.
		maxWorkers: 2,
	},
});
