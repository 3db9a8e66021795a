/** The HTTP+JSON binding (A2A v1.0 §11; v0.3 REST): towards clients and towards the agent. */
import type { Binding } from "../binding.ts";
import { attach } from "./attach.ts";
import { connect } from "./connect.ts";

export const httpJson: Binding = {
	name: "HTTP+JSON",
	attach,
	connect,
	publicUrl: (base) => base.href.replace(/\/+$/, ""),
};
