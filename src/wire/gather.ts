/** Chunks on their way to becoming one buffer: linear in bytes, and small also where a peer sends them one byte each. */

const FOLD = 512;
const empty = Buffer.alloc(0);

export class Gather {
	/** Bytes so far. */
	size = 0;
	#blocks: Buffer[] = [];
	#recent: Buffer[] = [];

	push(chunk: Buffer): void {
		this.size += chunk.length;
		this.#recent.push(chunk);
		// Many little buffers weigh far more than their content.
		if (this.#recent.length === FOLD) {
			this.#blocks.push(Buffer.concat(this.#recent));
			this.#recent = [];
		}
	}

	/** Everything so far as one buffer; the chunk itself where there is only one. Starts anew. */
	take(): Buffer {
		const chunks = this.#blocks.length === 0 ? this.#recent : [...this.#blocks, ...this.#recent];
		const { size } = this;
		this.size = 0;
		this.#blocks = [];
		this.#recent = [];
		return chunks.length > 1 ? Buffer.concat(chunks, size) : (chunks[0] ?? empty);
	}
}
