/** Why a card could not be had, in two texts: the operator's may name the agent's URL, the public one never does (§8.2). */
import { A2AError } from "../call/error.ts";

export interface CardErrorInit {
	/** What clients are told. Default: the error table's text for `reason`. */
	readonly public?: string;
	/** For the log. */
	readonly cause?: unknown;
	/** There is just no card at this place: others may be tried. Default: false. */
	readonly absent?: boolean;
}

/** A card that could not be fetched, read or used. `message` is the operator's text. */
export class CardError extends Error {
	override readonly name = "CardError";
	/** UNAVAILABLE: nobody answered usefully, try again. INVALID_AGENT_RESPONSE: somebody answered, and wrongly. */
	readonly reason: "UNAVAILABLE" | "INVALID_AGENT_RESPONSE";
	readonly operator: string;
	readonly public: string;
	readonly absent: boolean;

	constructor(reason: CardError["reason"], operator: string, init: CardErrorInit = {}) {
		super(operator, init.cause === undefined ? undefined : { cause: init.cause });
		this.reason = reason;
		this.operator = operator;
		this.public =
			init.public ??
			(reason === "UNAVAILABLE" ? "The agent is not available" : "The agent's card cannot be used by this gateway");
		this.absent = init.absent ?? false;
	}

	/** What a client gets: without a usable card the agent is not available, whatever the reason. */
	toA2AError(): A2AError {
		return new A2AError("UNAVAILABLE", { message: this.public, cause: this });
	}

	/** Whatever was thrown while loading `what`. The text of a foreign error goes to the operator only. */
	static from(thrown: unknown, what: string): CardError {
		if (thrown instanceof CardError) return thrown;
		return new CardError("UNAVAILABLE", `${what}: ${describe(thrown)}`, { cause: thrown });
	}
}

/** Codes of node, undici and OpenSSL, in words an operator can act on. */
const words: readonly (readonly [test: RegExp, text: string])[] = [
	[/^ECONNREFUSED$/, "connection refused; is the agent running?"],
	[/^(ENOTFOUND|EAI_AGAIN)$/, "the host name cannot be resolved"],
	[/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, "the connection was closed before an answer came"],
	[/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, "no route to the host"],
	[/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/, "no answer in time"],
	[/^UND_ERR_HEADERS_OVERFLOW$/, "the answer's header is too large"],
	[/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/, "the port does not speak TLS; use http:// or grpc://"],
	[
		/^(HPE_|HTTPParserError$)/,
		"the port does not speak HTTP/1.1; a gRPC-only agent is given as grpc://HOST:PORT with --card",
	],
	[/CERT|SELF_SIGNED|UNABLE_TO_/, "the agent's TLS certificate is not trusted"],
	[/^ENOENT$/, "no such file"],
	[/^(EACCES|EPERM)$/, "permission denied"],
	[/^EISDIR$/, "it is a directory"],
];

/** One line about an error of another library. */
export function describe(thrown: unknown): string {
	if (!(thrown instanceof Error)) return String(thrown);
	const nested: unknown = thrown instanceof AggregateError ? thrown.errors[0] : thrown.cause;
	// undici's parser errors have no code, only a name.
	const code = codeOf(thrown) ?? codeOf(nested) ?? (thrown.name === "Error" ? "" : thrown.name);
	const text = thrown.message || thrown.name;
	const known = words.find(([test]) => test.test(code));
	return known ? `${known[1]} (${code})` : /^[A-Z\d_]+$/.test(code) ? `${text} (${code})` : text;
}

function codeOf(error: unknown): string | undefined {
	const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
	return typeof code === "string" ? code : undefined;
}
