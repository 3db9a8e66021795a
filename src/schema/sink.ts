/** Where encode.ts writes protobuf's wire format (protobuf.dev/programming-guides/encoding): one buffer of fixed size. */

export class Sink {
	at = 0;
	readonly #bytes: Buffer;

	constructor(capacity: number) {
		this.#bytes = Buffer.allocUnsafeSlow(capacity);
	}

	/** What was written; valid until more is. */
	written(): Uint8Array {
		return this.#bytes.subarray(0, this.at);
	}

	/** A copy of what was written. */
	take(): Uint8Array {
		const copy = Buffer.allocUnsafe(this.at);
		this.#bytes.copy(copy, 0, 0, this.at);
		return copy;
	}

	/** Is there room for so many more bytes? */
	room(size: number): boolean {
		return this.at + size <= this.#bytes.length;
	}

	varint(value: number): void {
		let rest = value;
		while (rest > 0x7f) {
			this.#bytes[this.at++] = (rest % 0x80) | 0x80;
			rest = Math.floor(rest / 0x80);
		}
		this.#bytes[this.at++] = rest;
	}

	double(value: number): void {
		this.at = this.#bytes.writeDoubleLE(value, this.at);
	}

	/** Length and UTF-8 bytes; false when there is no room. */
	string(text: string): boolean {
		if (text.length <= 42) {
			if (!this.room(128)) return false;
			// At most 127 bytes: the length is one byte.
			const size = this.#bytes.write(text, this.at + 1);
			this.#bytes[this.at] = size;
			this.at += size + 1;
		} else {
			const size = Buffer.byteLength(text);
			if (!this.room(size + 8)) return false;
			this.varint(size);
			this.at += this.#bytes.write(text, this.at);
		}
		return true;
	}

	/** Begins length-delimited content; pass what it returns to `close`. */
	open(): number {
		return this.at++;
	}

	close(from: number): void {
		const size = this.at - from - 1;
		if (size > 0x7f) {
			const more = size < 0x4000 ? 1 : size < 0x200000 ? 2 : size < 0x10000000 ? 3 : 4;
			this.#bytes.copyWithin(from + 1 + more, from + 1, this.at);
			this.at = from;
			this.varint(size);
			this.at += size;
		} else this.#bytes[from] = size;
	}
}
