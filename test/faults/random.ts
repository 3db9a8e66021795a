/** Seeded unkindness: numbers, mutations, and the HTTP/2 frames to practise it on. */

export const SEED = Number(process.env["A2A_FUZZ_SEED"] ?? 20261120);
export const ROUNDS = Number(process.env["A2A_FUZZ_ROUNDS"] ?? 300);

/** Mulberry32: small, seeded, good enough to be unkind. */
export function generator(seed: number) {
	let state = seed >>> 0;
	const next = (): number => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = state;
		t = Math.imul(t ^ (t >>> 15), t | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
	const below = (n: number): number => Math.floor(next() * n);
	return {
		below,
		pick: <T>(items: readonly T[]): T => items[below(items.length)] as T,
		bytes: (n: number): Buffer => Buffer.from(Array.from({ length: n }, () => below(256))),
	};
}
export type Random = ReturnType<typeof generator>;

const nasty = [
	"\0",
	"\xff",
	'"',
	"\\",
	"{",
	"[",
	"}",
	"]",
	",",
	":",
	"1e999",
	"-0",
	"\r\n",
	"\r\n\r\n",
	"\ufeff",
	"%zz",
	"null",
	"999999999999999999999",
	'"__proto__":',
	"\u2028",
	" ".repeat(2000),
];

/** A few small injuries. */
export function mutate(input: Buffer, random: Random): Buffer {
	let bytes = Buffer.from(input);
	for (let n = 1 + random.below(4); n > 0; n--) {
		const at = random.below(bytes.length + 1);
		const to = Math.min(bytes.length, at + 1 + random.below(8));
		switch (random.below(6)) {
			case 0:
				if (at < bytes.length) bytes[at] = random.below(256);
				break;
			case 1:
				bytes = bytes.subarray(0, at);
				break;
			case 2:
				bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
				break;
			case 3:
				bytes = Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
				break;
			case 4:
				bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(random.pick(nasty), "latin1"), bytes.subarray(at)]);
				break;
			default:
				bytes = Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.below(20)), bytes.subarray(at)]);
		}
	}
	return bytes;
}

export const h2 = (type: number, flags: number, id: number, payload: Uint8Array = Buffer.alloc(0)): Buffer => {
	const head = Buffer.alloc(9);
	head.writeUIntBE(payload.length, 0, 3);
	head[3] = type;
	head[4] = flags;
	head.writeUInt32BE(id, 5);
	return Buffer.concat([head, payload]);
};
export const block = (fields: Record<string, string>): Buffer =>
	Buffer.concat(
		Object.entries(fields).map(([name, value]) =>
			Buffer.concat([
				Buffer.from([0, name.length]),
				Buffer.from(name),
				Buffer.from([value.length]),
				Buffer.from(value),
			]),
		),
	);
