/** JSON as text: what is refused, and that surgery changes nothing else. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memberOf, members, parseJson, parseJsonText, setMembers } from "../../src/wire/json-text.ts";

const parse = (text: string, depth = 100) => parseJson(Buffer.from(text), depth);

describe("parseJson", () => {
	it.each([
		["an object", '{"a":[1,{"b":null}]}', true],
		["a scalar", "12", true],
		["colons and braces in strings", '{"a":"{\\"x\\":[:,","b\\\\":"\\\\"}', true],
		["a member twice", '{"a":1,"a":2}', false],
		["a member twice in two spellings", '{"a":1,"\\u0061":2}', false],
		["a member twice, deep", '[[{"x":{"y":1,"y":1}}]]', false],
		["the same name in two objects", '[{"a":1},{"a":2}]', true],
		["__proto__", '{"__proto__":{"a":1}}', true],
		["numeric names", '{"1":1,"0":2}', true],
	])("%s", (_, text, unique) => {
		const parsed = parse(text);
		expect(parsed.text).toBe(text);
		expect(parsed.value).toEqual(JSON.parse(text));
		expect(parsed.unique).toBe(unique);
	});

	it.each([
		["nothing", Buffer.alloc(0)],
		["a byte order mark", Buffer.from("\ufeff{}")],
		["invalid UTF-8", Buffer.from([0x22, 0xff, 0x22])],
		["a lone surrogate in UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
		["cut off", Buffer.from('{"a":')],
		["an open string", Buffer.from('{"a":"secret')],
		["a control character", Buffer.from('"\n"')],
		["text after", Buffer.from("{} {}")],
		["single quotes", Buffer.from("{'password':'hunter2'}")],
		["closers only", Buffer.from("]]]]")],
	])("refuses %s without echoing it", (_, bytes) => {
		expect(() => parseJson(bytes, 100)).toThrow(
			expect.objectContaining({ reason: "PARSE_ERROR", message: expect.not.stringMatching(/secret|hunter2/) }),
		);
	});

	it("counts depth of objects and arrays before parsing", () => {
		const nested = (n: number) => `${'[{"a":'.repeat(n / 2)}1${"}]".repeat(n / 2)}`;
		expect(parse(nested(10), 10).unique).toBe(true);
		expect(() => parse(nested(12), 10)).toThrow(/deeper than 10/);
		expect(() => parse("[".repeat(5_000_000), 100)).toThrow(/deeper than 100/);
		expect(parse(`"${"[".repeat(1000)}"`, 2).value).toHaveLength(1000);
	});

	it("agrees with JSON.parse on any JSON", () => {
		fc.assert(
			fc.property(fc.json({ maxDepth: 6 }), (text) => {
				const { outline, ...parsed } = parseJsonText(text, 100);
				expect(parsed).toEqual({ text, value: JSON.parse(text), unique: true });
				const { value } = parsed;
				if (typeof value !== "object" || value === null || Array.isArray(value)) return;
				for (const [name, raw] of members(text)) expect(memberOf({ ...parsed, outline }, name)).toBe(raw);
				expect(memberOf({ ...parsed, outline }, "no such member")).toBeUndefined();
			}),
		);
	});

	it("is linear in strings of escapes", () => {
		const text = `["${"\\\\".repeat(2_000_000)}","${'\\"'.repeat(2_000_000)}"]`;
		expect(parse(text).unique).toBe(true);
		expect(members(`{"a":${text}}`).get("a")).toHaveLength(text.length);
	});
});

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const member = fc.tuple(
	fc.oneof(fc.string(), fc.constantFrom("a", "b", "__proto__", '"', "\\", "toString")),
	fc.json({ maxDepth: 3 }),
	fc.array(space, { minLength: 4, maxLength: 4 }),
);
/** An object text with odd spacing, and its members. */
const objectText = fc
	.tuple(fc.uniqueArray(member, { selector: ([name]) => name, maxLength: 6 }), space, space)
	.map(([list, before, after]) => ({
		list,
		text: `${before}{${list.map(([n, v, [a, b, c, d]]) => `${a}${JSON.stringify(n)}${b}:${c}${v}${d}`).join(",")}}${after}`,
	}));

describe("members", () => {
	it("gives verbatim slices", () => {
		expect([...members(' { "a" : {"x": [1, 2]} , "b":"q,}" ,"c":1.50e0, "\\u0064":null,"a":-0 } ')]).toEqual([
			["a", "-0"],
			["b", '"q,}"'],
			["c", "1.50e0"],
			["d", "null"],
		]);
		expect([...members("{ }")]).toEqual([]);
		expect(() => members("[]")).toThrow(expect.objectContaining({ reason: "INVALID_REQUEST" }));
	});
	it("finds every member of any object", () => {
		fc.assert(
			fc.property(objectText, ({ list, text }) => {
				expect([...members(text)]).toEqual(list.map(([name, value]) => [name, value.trim()]));
			}),
		);
	});
});

describe("setMembers", () => {
	it.each([
		["replaces in place", ' {"a" : 1 , "b":2}\n', { a: '"x"' }, ' {"a" : "x" , "b":2}\n'],
		["removes the first", '{"a":1, "b":2}', { a: undefined }, '{ "b":2}'],
		["removes the last", '{"a":1, "b":2 }', { b: undefined }, '{"a":1}'],
		["removes all", '{"a":1, "b":2 }', { a: undefined, b: undefined }, "{}"],
		["adds at the end", '{\n "a":1\n}', { b: "[2]", c: "3" }, '{\n "a":1,"b":[2],"c":3\n}'],
		["adds to the empty", "{ }", { b: "2" }, '{"b":2 }'],
		["removes what is not there", '{ "a":1 }', { b: undefined }, '{ "a":1 }'],
		["removes every copy", '{"a":1,"b":2,"a":3}', { a: undefined }, '{"b":2}'],
		["knows escaped names", '{"\\u0061":1}', { a: "2" }, '{"\\u0061":2}'],
		["escapes new names", "{}", { 'q"': "1" }, '{"q\\"":1}'],
		["knows no inherited names", '{"toString":1}', { a: "1" }, '{"toString":1,"a":1}'],
		["leaves numbers alone", '{"n":1.0e+2,"t":"x"}', { t: '"y"' }, '{"n":1.0e+2,"t":"y"}'],
	])("%s", (_, text, changes, expected) => {
		expect(setMembers(text, changes)).toBe(expected);
	});

	it("means what an object spread means, and leaves all other members' text alone", () => {
		fc.assert(
			fc.property(
				objectText,
				fc.dictionary(fc.constantFrom("a", "b", "c", '"'), fc.option(fc.json())),
				({ text }, raw) => {
					const changes = Object.fromEntries(Object.entries(raw).map(([k, v]) => [k, v ?? undefined]));
					const result = setMembers(text, changes);
					const expected = members(text);
					for (const [name, value] of Object.entries(changes)) {
						if (value === undefined) expected.delete(name);
						else expected.set(name, value.trim());
					}
					expect([...members(result)]).toEqual([...expected]);
					expect(() => JSON.parse(result)).not.toThrow();
				},
			),
		);
	});
});
