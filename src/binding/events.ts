/** A stream towards HTTP clients: the reply's messages as server-sent events, in whatever text the binding gives them. */
import type { Header, Reply } from "../call/call.ts";
import { wouldLose } from "../call/error.ts";
import type { Payload } from "../call/payload.ts";
import { forEach, iterate, open } from "../call/stream.ts";
import { type SseWriter, sseWriter } from "../wire/sse.ts";
import type { HttpResponse } from "./binding.ts";
import { replyHeader, type Session } from "./serve.ts";

export interface EventForm {
	/** An event's data. */
	write(message: Payload): string;
	/** The last event of a stream that breaks off. */
	fail(thrown: unknown): { readonly data: string; readonly event?: string };
}

/**
 * Sends a stream to its end. Until the first event is there an error is thrown, for an ordinary answer; but where it
 * takes longer than `keepAlive` milliseconds (0 = never), the header and comments go out so that proxies see no silence,
 * and an error is an event.
 */
export async function sendEvents(
	res: HttpResponse,
	promised: Promise<Reply>,
	session: Session,
	keepAlive: number,
	form: EventForm,
): Promise<void> {
	const { losses } = session.call;
	let header: Header = {};
	let events: SseWriter | undefined;
	const late = () => {
		events = sseWriter(res, { keepAlive });
		events.begin();
	};
	try {
		const reply = await beginning(promised, keepAlive, late);
		({ header } = reply);
		await forEach(iterate(reply), (message) => {
			const data = form.write(message);
			losses.check(wouldLose);
			// After the first message, so that the header tells what it lost.
			events ??= sseWriter(res, { keepAlive, header: replyHeader(header, losses) });
			const sent = events.send(data);
			return events.closed ? false : sent;
		});
		events ??= sseWriter(res, { keepAlive, header: replyHeader(header, losses) });
	} catch (thrown) {
		if (!events) throw thrown;
		const { data, event } = form.fail(thrown);
		await events.send(data, event);
	}
	events.end();
}

/** Waits for the first event, the end or the error; `late` is told when that takes longer than `patience` milliseconds. */
async function beginning(promised: Promise<Reply>, patience: number, late: () => void): Promise<Reply> {
	const timer = patience > 0 ? setTimeout(late, patience) : undefined;
	try {
		const reply = await promised;
		return { header: reply.header, messages: (await open(reply)).messages };
	} finally {
		clearTimeout(timer);
	}
}
