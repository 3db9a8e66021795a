/** What a dialect is: one version of the vocabulary, for every encoding it has. */
import type { DescMethod, DescService, JsonValue } from "@bufbuild/protobuf";
import type { Header } from "../call/call.ts";
import type { A2AError } from "../call/error.ts";
import type { Loss } from "../call/loss.ts";
import type { Payload } from "../call/payload.ts";

/** JSON as it came: the text and what it parses to. Both say the same. */
export interface JsonText {
	readonly text: string;
	readonly value: JsonValue;
}

/**
 * A dialect's vocabulary in one encoding. `read` lifts into the core's messages, `write` lowers
 * out of them; `method` is always the core's method. `read` throws PayloadError when the content does not fit.
 */
export interface Form<Wire> {
	readRequest(method: DescMethod, wire: Wire, loss?: Loss): Payload;
	writeRequest(method: DescMethod, request: Payload, loss?: Loss): Wire;
	readReply(method: DescMethod, wire: Wire, loss?: Loss): Payload;
	writeReply(method: DescMethod, reply: Payload, loss?: Loss): Wire;
}

/** JSON-RPC error object. */
export interface RpcError {
	readonly code: number;
	readonly message: string;
	readonly data?: JsonValue;
}

/** What gRPC puts into trailers. `details` is the content of `grpc-status-details-bin`, not yet base64. */
export interface GrpcStatus {
	readonly code: number;
	readonly message: string;
	readonly details?: Uint8Array;
}

/** An error in each of the three wire forms, and back. `read` never throws. */
export interface ErrorForms {
	readonly rpc: { write(error: A2AError): RpcError; read(error: JsonValue): A2AError };
	readonly http: {
		write(error: A2AError): { readonly status: number; readonly body: JsonValue };
		/** `body` is undefined when it was no JSON. */
		read(status: number, body: JsonValue | undefined, header: Header): A2AError;
	};
	readonly grpc: { write(error: A2AError): GrpcStatus; read(status: GrpcStatus): A2AError };
}

/** A route that the annotations lack or have wrong: `verb path` for a method of the dialect's own service. */
export interface RouteErratum {
	readonly method: DescMethod;
	readonly verb: string;
	readonly path: string;
	readonly body: string;
	/** Towards agents, the body repeats what the path binds. */
	readonly whole?: boolean;
	/** Used towards agents too, before the annotated route. */
	readonly preferred?: boolean;
}

/** What a version's semantics lack or do otherwise; core/continuity and core/identity bridge the difference. */
export interface Traits {
	/** The client makes task and session ids (v0.1). */
	readonly clientIds: boolean;
	/** A stream begins with a Task, or is one Message (v1.0 §3.1.2, §3.1.6). */
	readonly taskFirst: boolean;
	/** A send may be answered with a bare Message. */
	readonly messages: boolean;
	/** Subscribing to a finished task is an error; older versions answer with the task. */
	readonly liveOnly: boolean;
	/** "No history" can be asked for in every encoding. */
	readonly noHistory: boolean;
	/** A stream that cannot begin is a stream with an error event: clients of that time read errors only there. */
	readonly streamErrors: boolean;
	/** A webhook configuration is read by its id; older versions may leave it out. */
	readonly configIds: boolean;
}

export interface Dialect {
	readonly traits: Traits;
	/** `protocolBinding` names of the bindings this version has. */
	readonly bindings: readonly string[];
	/** Clients are served in this dialect; one that only narrows another is for agents alone. */
	readonly served: boolean;
	/** `Major.Minor`, as in A2A-Version. */
	readonly version: string;
	/** The dialect's own service: its gRPC path, HTTP routes and message types. */
	readonly service: DescService;
	readonly errata: readonly RouteErratum[];
	/** The core's method for one of the dialect's own. */
	coreMethod(own: DescMethod): DescMethod;
	/** The dialect's own method for one of the core's; undefined when it has none. */
	ownMethod(core: DescMethod): DescMethod | undefined;
	/** The core's method behind a JSON-RPC method name; undefined when the name is not this dialect's. */
	rpcMethod(name: string): DescMethod | undefined;
	/** JSON-RPC method name; undefined when JSON-RPC has none. */
	rpcName(core: DescMethod): string | undefined;
	/** Header fields the dialect demands on a request (A2A-Version), beyond what the call carries. */
	readonly requestHeader: Header;
	/** Name of the header that lists extensions, lower case. */
	readonly extensionsHeader: string;
	/** JSON-RPC params and result. */
	readonly rpc: Form<JsonText>;
	/** HTTP+JSON bodies, in ProtoJSON of the dialect's own types. */
	readonly http: Form<JsonText>;
	/** gRPC messages. */
	readonly binary: Form<Uint8Array>;
	readonly errors: ErrorForms;
	/**
	 * Operations that this version serves as a plain GET beside the JSON-RPC endpoint: the core's method
	 * by its path relative to the endpoint's parent (v0.2's extended card).
	 */
	readonly documents?: ReadonlyMap<string, DescMethod>;
	/** Media type of HTTP+JSON bodies. */
	readonly mediaType: string;
}
