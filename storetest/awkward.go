package storetest

import "strings"

// awkward strings all differ in their bytes. Some are equal to a store that folds
// case or accents, trims, normalizes, parses numbers, or interprets strings as
// part of a pattern or a statement.
var awkward = []string{
	"a", "A", "ab", "Ab", "AB", "aB", "b", "B", "z", "Z", "aa", "a-b", "a b", "a.b",
	"é", "e\u0301", "É", "E\u0301", "e", "E", // composed, decomposed, and without
	"ß", "ss", "SS", "\u1e9e",
	"ﬁ", "fi", "k", "K", "\u212a", "i", "I", "ı", "İ", "σ", "ς", "Σ",
	"Å", "\u212b", "A\u030a",
	"a ", "a  ", " a", "a\t", "a\n", "\u00a0a", "a\u200b", "\ufeffa", "a\u0301\u0327", "a\u0327\u0301",
	"😀", "\uff5e", "\U00010000", "👩\u200d💻", "👩💻", // in UTF-16 they sort in another order
	"'", "''", `"`, `""`, "`", `\`, `\\`, `\'`, `\n`,
	"%", "_", "a%", "a_", "%a", "_b", "*", "?", "a?", "[a]", "^a", "$1", "?1", ":a", "@a", "--", "a;b", "/*", "a,b", "{a}", "a|b",
	"0", "00", "0.0", "-0", "1", "01", "1.0", "1e0", "0x1", "+1", " 1", "null", "NULL", "true", "t", "NaN", "2030-01-01",
	"日本語", "にほんご", "ニホンゴ", "ﾆﾎﾝｺﾞ", "עברית", "\u202eabc",
	strings.Repeat("x", 255), strings.Repeat("x", 254) + "X", strings.Repeat("x", 254) + " ",
	strings.Repeat("😀", 255), strings.Repeat("é", 255),
}

// strangers resemble a stored string but are not stored: a search for one must
// find nothing.
var strangers = []string{
	"Z ", "ZZ", "zZ", "Aa", "b ", " b", "B\t", "bB", "ê", "e\u0302", "É ", "\u00e9\u0301", "sS", "Fi", "K ", "σς",
	"_a", "a%b", "__", "%%", "z*", ".", "[z]", "b' OR 'a'='a", "000", "1.00", "2", "10", "False", "Null",
	"日本", "日本語 ", strings.Repeat("X", 255), strings.Repeat("x", 253), strings.Repeat("x", 256), strings.Repeat("É", 255),
}

// jsons are documents that are equivalent to other documents, or large, or not JSON.
var jsons = []string{
	`{"b":1,"a":2}`,
	`{ "a" : 2 , "b" : 1 }`,
	"{\n\t\"a\": 2\n}\n",
	`{"a":1,"a":2}`,
	`{"A":1,"a":2}`,
	`{"a":1.0}`, `{"a":1e2}`, `{"a":100}`, `{"a":-0}`,
	`{"a":123456789012345678901234567890.123456789012345678901234567890}`,
	`{"a":"\u00e9\/"}`, `{"a":"é/"}`, "{\"a\":\"e\u0301\"}", `{"a":"\ud83d\ude00<>&"}`,
	`{}`, `[]`, `""`, `null`, `0`, `"text"`, ` {} `,
	"\x00", "\x00{}", "{\x00}", "{}\x00\x00",
	`{"a":"` + strings.Repeat("x", 1<<16) + `"}`,
}
