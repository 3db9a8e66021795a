/** Texts made comparable for the catalogue's search: without case, accents and punctuation (Unicode NFKD, UAX #15). */

/** Upper case, not lower: it has one form where lower case has two (ß is SS, σ and ς are Σ). */
export function fold(text: string): string {
	return text.normalize("NFKD").replace(/\p{M}/gu, "").toUpperCase();
}

/** The words of a text, folded. */
export function words(text: string): string[] {
	return fold(text).split(SEPARATORS).filter(Boolean);
}

const SEPARATORS = /[^\p{L}\p{N}]+/u;
/** Writing without spaces: a word may begin anywhere. */
const UNSPACED = /^[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;

/** Texts in one string that `startsIn` searches: each different word once, a blank before each. */
export function haystack(texts: readonly string[]): string {
	return [...new Set(texts.flatMap(words))].map((word) => ` ${word}`).join("");
}

/** What `String.includes` must find in a haystack for one of its words to begin with `word` (folded). */
export function needle(word: string): string {
	return UNSPACED.test(word) ? word : ` ${word}`;
}
