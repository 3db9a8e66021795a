/** Where encode.ts writes protobuf's wire format (protobuf.dev/programming-guides/encoding): one buffer of fixed size. */

/** Larger content goes the long way, which is made for it. */
const LARGE = 64 * 1024;

export class Sink {
	at = 0;
	#bytes = Buffer.allocUnsafeSlow(LARGE);

	/** A copy of what was written. */
	take(): Uint8Array {
		const copy = Buffer.allocUnsafe(this.at);
		this.#bytes.copy(copy, 0, 0, this.at);
		return copy;
	}

	/** Is there room for so many more bytes? */
	room(size: number): boolean {
		return this.at + size <= LARGE;
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
		if (!this.room(text.length * 3 + 5)) return false;
		if (text.length <= 42) {
			// At most 127 bytes: the length is one byte.
			const size = this.#bytes.write(text, this.at + 1);
			this.#bytes[this.at] = size;
			this.at += size + 1;
		} else {
			this.varint(Buffer.byteLength(text));
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
			const more = size < 0x4000 ? 1 : size < 0x200000 ? 2 : 3;
			this.#bytes.copyWithin(from + 1 + more, from + 1, this.at);
			this.at = from;
			this.varint(size);
			this.at += size;
		} else this.#bytes[from] = size;
	}
}
