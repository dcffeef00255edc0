package licensingtest

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// testAwkward writes texts that have broken other software. Allowed texts must
// read back unchanged, byte for byte, and be found by a filter; forbidden texts
// must be refused with an explanation. None may make the service fail.
func testAwkward(a *site) {
	parameters := []string{"status", "limit", "cursor", "expires_before"}
	for i, text := range awkwardTexts() {
		body := object("name", text, "product_id", text, "customer_id", text, "entitlements", map[string]any{"note": text})
		made := a.post("license", body).is(http.StatusCreated).
			has("name", text).has("product_id", text).has("customer_id", text).has("entitlements", map[string]any{"note": text})
		if made.status != http.StatusCreated {
			continue
		}
		id := made.text("id")
		// A member's name is shorter than the longest text.
		if utf8.RuneCountInString(text) <= 64 {
			metadata := map[string]any{text: text}
			a.patch("license/"+id, object("metadata", metadata)).is(http.StatusOK).has("metadata", metadata)
		}
		a.get("license/"+id).is(http.StatusOK).has("name", text).has("product_id", text).has("customer_id", text)
		one := a.get("license?"+url.Values{"customer_id": {text}, "product_id": {text}}.Encode()).is(http.StatusOK).
			has("data/0/id", id).has("data/0/name", text).has("data/1", nil)
		if text != "." && text != ".." { // which no address keeps
			a.get("license/"+url.PathEscape(text)).is(http.StatusOK).has("data", one.at("data"))
		}
		a.delete("license/" + id).is(http.StatusOK)

		for _, name := range []string{parameters[i%len(parameters)], text} {
			if query := (url.Values{name: {text}}).Encode(); !valid[query] {
				a.get("license?" + query).is(http.StatusBadRequest)
			}
		}
	}
	before := a.snapshot()
	for _, text := range forbiddenTexts() {
		a.post("license", object("name", text, "product_id", "p", "customer_id", "c")).is(http.StatusUnprocessableEntity).names("#/name")
		a.post("license", object("name", "n", "product_id", "p", "customer_id", "c", "metadata", map[string]any{text: "x"})).is(http.StatusUnprocessableEntity)
		if query := (url.Values{"customer_id": {text}}).Encode(); !strings.HasSuffix(query, "=") {
			a.get("license?" + query).is(http.StatusBadRequest).names("customer_id")
		}
	}
	a.same(before)
}

// valid are queries with an awkward text that are valid.
var valid = map[string]bool{"expires_before=2030-01-01T00%3A00%3A00Z": true}

// awkwardTexts are allowed in a name.
func awkwardTexts() []string {
	var all []string
	add := func(texts ...string) { all = append(all, texts...) }

	// Every ASCII punctuation mark: alone, within a word, and at the end.
	for c := rune('!'); c <= '~'; c++ {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			s := string(c)
			add(s, "a"+s+"b", s+s)
		}
	}
	// Texts with a meaning elsewhere: in a database, a shell, a template, a
	// formatter, a spreadsheet, a path, a page, a parser.
	add("x' OR 'a'='a", `x"; DELETE FROM license; --`, "x') UNION SELECT 1 --", "a/*b*/c", "LIKE '%_'", "a\\' OR 1", "?1", "$1", ":name", "@v")
	add("$(hostname)", "`hostname`", "a && b", "a | b", "a > /dev/null", "-rf", "--help", "~root", "*", "!!", "#!x")
	add("{{.}}", "{{7*7}}", "${7*7}", "<%= 7*7 %>", "#{7*7}", "[[x]]", "{%x%}")
	add("%s%d%v", "%n%n%n", "%!s(int=1)", "%[9]d", "%00", "%0a", "%25", "%zz", "{0}", `\0`, `\n`, `\x00`, `\u0000`, `\ud800`, `\`)
	add("=1+1", "+1", "-1", "@SUM(A1)", "a,b", `a"b`, "a;b", "a\u2003b")
	add("..", "../../etc", `..\..`, "/", "//host", "C:\\x", "a/b", "a%2Fb", "a?b=c", "a#b", "a&b=c", "file:///x", "nul", "CON")
	add("<b>x</b>", "<!--", "-->", "]]>", "&lt;", "&#0;", "javascript:x", `" onload="x`, "</script>", "<?xml", "&x;")
	add("null", "NULL", "nil", "None", "undefined", "true", "false", "NaN", "Infinity", "[]", "{}", `""`, "''", "object", "id", "__proto__", "constructor", "toString")
	// Texts that look like numbers.
	add("0", "-0", "00", "007", "1.0", "1e309", "1e-400", "0x1F", "0b1", "1_000", "1,000", "9223372036854775808", "99999999999999999999999", ".5", "5.", "½", "٣", "१२", "Ⅷ", "1\u00a0000")
	// Texts that look like identifiers of the service.
	add("evt_00000000000000000000000000", "lat_x", "cid_x", "LIC_1", "li_c", "2030-01-01T00:00:00Z", "validate", "activate", "license", "*/*")

	// Letters that fold, compose, join, or change direction.
	add("ß", "ẞ", "ſ", "İ", "ı", "K", "Å", "ǅ", "ﬁ", "Σ", "ς", "é", "e\u0301", "ñ", "n\u0303", "가", "ᄀ\u1161", "ﬃ")
	add("שלום", "مرحبا", "a\u202eb\u202c", "\u202eabc", "a\u2066b\u2069", "abc שלום 123", "ﷺ", "\u0627\u0644\u0644\u0647")
	add("a\u0300\u0301\u0302\u0303\u0304\u0305", "\u0301", "Z"+strings.Repeat("\u0335", 100), "ไทย", "हिन्दी", "日本語", "漢字", "ｆｕｌｌ", "𝓈𝒸𝓇𝒾𝓅𝓉", "𠜎", "\U0001f170")
	add("😀", "👩\u200d👩\u200d👧", "👍🏽", "🇦🇶", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "☺\ufe0f", "☺\ufe0e", "1\ufe0f\u20e3")
	for _, invisible := range []rune{0xad, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2060, 0x2061, 0x2063, 0x2064, 0xfeff, 0x061c, 0x180e, 0xfff9, 0xfffb, 0xe0001, 0x034f, 0x115f, 0x3164, 0x2800} {
		add("a" + string(invisible) + "b")
	}
	add("\ufffd", "\ue000", "\uf8ff", "\U000f0000", "\U0010fffd", "￼")
	for _, space := range spaces() {
		if !unicode.IsControl(space) {
			add("a" + string(space) + "b")
		}
	}
	// The maximum length, with characters of each UTF-8 length.
	for _, c := range []string{"x", "é", "語", "😀", "'", "%", "\\", `"`} {
		add(strings.Repeat(c, 254), strings.Repeat(c, 255))
	}
	return distinct(all)
}

// forbiddenTexts are not allowed in a name.
func forbiddenTexts() []string {
	all := []string{"", strings.Repeat("x", 256), strings.Repeat("😀", 256), strings.Repeat("x", 5000)}
	for _, space := range spaces() {
		all = append(all, string(space), string(space)+"a", "a"+string(space))
	}
	for c := range rune(0xa0) {
		if unicode.IsControl(c) {
			all = append(all, "a"+string(c)+"b")
		}
	}
	for _, plane := range []rune{0, 1, 2, 15, 16} {
		all = append(all, "a"+string(plane<<16|0xfffe), string(plane<<16|0xffff)+"a")
	}
	for c := rune(0xfdd0); c <= 0xfdef; c += 0x1f {
		all = append(all, "a"+string(c)+"b")
	}
	return distinct(all)
}

// spaces is every character that Unicode has for white space.
func spaces() []rune {
	var all []rune
	for _, r := range unicode.White_Space.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			all = append(all, c)
		}
	}
	return all
}

func distinct(texts []string) []string {
	seen := map[string]bool{}
	var all []string
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
	return all
}
