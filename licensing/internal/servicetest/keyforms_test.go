package servicetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

func dashed(dash string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, "-", dash) }
}

func between(before, after string) func(string) string {
	return func(s string) string { return before + s + after }
}

func bodyOf(fields map[string]string) string {
	text, _ := json.Marshal(fields)
	return string(text)
}

func wide(s string) string { return strings.Map(func(r rune) rune { return r + 0xfee0 }, s) }

// keyForms are the forms in which people and their tools pass a license key on, and keyCases
// those that also change its case.
var (
	keyForms = map[string]func(string) string{
		"as it is":                between("", ""),
		"a space":                 between("", " "),
		"tabs":                    between("\t", "\t\t"),
		"line ends":               between("\r\n", "\r\n"),
		"broken line":             func(s string) string { return s[:12] + "\r\n" + s[12:] + "\n" },
		"a space inside":          func(s string) string { return s[:12] + " " + s[12:] },
		"vertical tab":            between("\v", "\f"),
		"no-break spaces":         between("\u00a0", "\u202f"),
		"figure and thin space":   between("\u2007", "\u2009"),
		"ideographic space":       between("\u3000", "\u3000"),
		"next line":               between("\u0085", "\u2028"),
		"zero width space":        func(s string) string { return s[:5] + "\u200b" + s[5:] + "\u200b" },
		"joiners":                 func(s string) string { return s[:5] + "\u200d" + s[5:] + "\u200c\u2060" },
		"byte order mark":         between("\ufeff", "\r\n"),
		"soft hyphen":             func(s string) string { return s[:8] + "\u00ad" + s[8:] },
		"directional marks":       between("\u200e\u202b", "\u202c\u200f"),
		"isolates":                between("\u2067", "\u2069"),
		"variation selector":      between("", "\ufe0f"),
		"fillers":                 between("\u3164", "\u115f"),
		"hyphen":                  dashed("\u2010"),
		"no-break hyphen":         dashed("\u2011"),
		"figure dash":             dashed("\u2012"),
		"en dash":                 dashed("\u2013"),
		"em dash":                 dashed("\u2014"),
		"horizontal bar":          dashed("\u2015"),
		"minus sign":              dashed("\u2212"),
		"hyphen bullet":           dashed("\u2043"),
		"small hyphen":            dashed("\ufe63"),
		"wide hyphen":             dashed("\uff0d"),
		"long vowel mark":         dashed("ー"),
		"box line":                dashed("─"),
		"en dash with joiners":    dashed("\u2060\u2013\u2060"),
		"wide":                    wide,
		"wide with a wide space":  func(s string) string { return "\u3000" + wide(s) },
		"quotes":                  between(`"`, `"`),
		"apostrophes":             between("'", "'"),
		"curly quotes":            between("“", "”"),
		"curly apostrophes":       between("‘", "’"),
		"German quotes":           between("„", "“"),
		"German apostrophes":      between("‚", "‘"),
		"guillemets":              between("« ", " »"),
		"single guillemets":       between("‹", "›"),
		"corner brackets":         between("「", "」"),
		"ornaments":               between("❝", "❞"),
		"acute accents":           between("´", "´"),
		"primes":                  between("″", "″"),
		"wide quotes":             between("＂", "＂，"),
		"angle brackets":          between("<", ">,"),
		"parentheses":             between("(", ")."),
		"square brackets":         between("[", "]"),
		"braces":                  between("{", "};"),
		"lenticular brackets":     between("【", "】。"),
		"back quotes":             between("`", "`"),
		"code block":              between("```\n", "\n```\n"),
		"comma":                   between("", ","),
		"period":                  between("", "."),
		"JSON":                    between(`["`, `"],`),
		"CSV":                     between(`"`, `";`),
		"formula":                 between(`="`, `"`),
		"bold":                    between("**", "**"),
		"table":                   between("| ", " |"),
		"list":                    between("- ", ""),
		"bullet":                  between("• ", "\n"),
		"quoted reply":            between("> ", "\n"),
		"reply to a quoted reply": between(">> ", "\r\n>> \r\n"),
		"quoted line break":       func(s string) string { return "> " + s[:12] + "\n> " + s[12:] + "\n>\n" },
	}
	keyCases = map[string]func(string) string{
		"lower case":         strings.ToLower,
		"upper case":         strings.ToUpper,
		"lower, in quotes":   func(s string) string { return "“" + strings.ToLower(s) + "”\u200b" },
		"wide lower case":    func(s string) string { return wide(strings.ToLower(s)) },
		"lower, quoted line": func(s string) string { return "> " + strings.ToLower(s) + " \n" },
	}
)

// TestKeysAsPasted: a key is found in every form that means it, whether it was generated here
// or comes from another system.
func TestKeysAsPasted(t *testing.T) {
	c := newCaller(t, licensing.Options{Limiter: &keptLimiter{}, Logger: discard})
	s := c.Handler.Service()
	for system, key := range map[string]string{
		"own":           license.NewKey(),
		"Lemon Squeezy": "38b1460a-5104-4067-a91d-77b872934d51",
		"Keygen":        "C1B6DE-39A6E3-DE1529-8559A0-4AF593-V3",
		"Gumroad":       "F9C3B0A5-2E5E4E1B-9B0C1C1C-7B1D2E3F",
		"five by five":  "VK7JG-NPHTM-C97JM-9MPGT-3V66T",
		"signed":        "key/eyJhY2NvdW50Ijp7ImlkIjoiMWZkZGNlYzgifX0=.mKtJ-_GyxKC9yDJvw==", // of no one case
	} {
		t.Run(system, func(t *testing.T) {
			is := is.New(t)
			c := c.in(t)
			a := c.do("POST", "/license", bodyOf(map[string]string{"name": "Ada", "product_id": "atlas", "customer_id": system, "key": key}))
			is.Equal(a.json["key"], key)
			id := a.json["id"].(string)
			check := func(form, typed string) {
				a := c.do("POST", "/license/validate", bodyOf(map[string]string{"key": typed, "product_id": "atlas"}), "Authorization", "")
				if l, _ := a.json["license"].(map[string]any); l["id"] != id {
					t.Errorf("%s: %q is %s", form, typed, a.Body)
				}
				if licensefile.KeyHash(typed) != licensefile.KeyHash(key) {
					t.Errorf("%s: %q has another hash", form, typed)
				}
				if search := strings.TrimSpace(typed); !strings.ContainsAny(search, "\r\n\v\f\u0085\u2028") { // a search is one line
					page, err := s.List(t.Context(), api.ListLicensesParams{Search: search})
					if err != nil || len(page.Data) != 1 || page.Data[0].ID != id {
						t.Errorf("%s: the search for %q finds %d %v", form, typed, len(page.Data), err)
					}
				}
			}
			for form, of := range keyForms {
				check(form, of(key))
			}
			if system != "signed" {
				for form, of := range keyCases {
					check(form, of(key))
				}
			}
		})
	}
}

// TestOwnKeysWithoutDashes: what is around a generated key does not matter in any of its forms.
func TestOwnKeysWithoutDashes(t *testing.T) {
	for range 100 {
		key := license.NewKey()
		for form, of := range keyForms {
			for _, typed := range []string{of(key), of(strings.ReplaceAll(key, "-", "")), of(strings.ReplaceAll(strings.ToLower(key), "-", "_"))} {
				if read, ok := license.ParseKey(typed); !ok || read != key {
					t.Errorf("%s: ParseKey(%q) = %q, %t", form, typed, read, ok)
				}
			}
		}
	}
}

// TestPastedKeysOfMachines: a machine passes on what a person pasted, and the answer shows the
// form that is stored, which is the same key ever after.
func TestPastedKeysOfMachines(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{Logger: discard})
	const key, pasted = "C1B6DE-39A6E3-DE1529-8559A0-4AF593-V3", "\ufeffC1B6DE–39A6E3–DE1529–8559A0–４AF593-V3\u200b "
	own := license.NewKey()
	create := func(key string) answer {
		return c.do("POST", "/license", bodyOf(map[string]string{"name": "Ada", "product_id": "atlas", "customer_id": "ada", "key": key}))
	}
	for stored, typed := range map[string]string{key: pasted, own: `"` + strings.ToLower(own) + `",`} {
		a := create(typed)
		is.Equal(a.Code, http.StatusCreated)
		is.Equal(a.json["key"], stored)
		for _, again := range []string{typed, stored, "\u2067" + stored} {
			is.Equal(create(again).json["code"], "key_taken")
		}
		row := bodyOf(map[string]string{"name": "Ada", "product_id": "atlas", "customer_id": "ada", "key": typed}) + "\n"
		a = c.do("POST", "/import/license", row, "Content-Type", "application/x-ndjson")
		is.True(strings.Contains(a.Body.String(), `"result":"exists"`)) // a.Body.String()
	}
	rekey := "/license/" + c.create("Ada", "atlas", "ada") + "/rekey"
	is.Equal(c.do("POST", rekey, bodyOf(map[string]string{"key": pasted})).json["code"], "key_taken")
	is.Equal(c.do("POST", rekey, bodyOf(map[string]string{"key": "\u00a0ABCDEF—GHIJKL"})).Code, http.StatusUnprocessableEntity) // too short
	is.Equal(c.do("POST", rekey, bodyOf(map[string]string{"key": "\u00a0ABCDEF—GHIJKL—MNOPQR"})).json["key"], "ABCDEF-GHIJKL-MNOPQR")
	is.Equal(c.do("POST", rekey, bodyOf(map[string]string{"key": "ABCDEF-GHIJKL-MNOPQR\n"})).Code, http.StatusUnprocessableEntity) // the current one

	row := bodyOf(map[string]string{"name": "Ada", "product_id": "atlas", "customer_id": "in", "key": "\u200bMOVED–IN–FROM–AFAR "}) + "\n"
	a := c.do("POST", "/import/license", row, "Content-Type", "application/x-ndjson")
	is.True(strings.Contains(a.Body.String(), `"result":"created"`)) // a.Body.String()
	is.Equal(c.withKey("/license/validate", "MOVED-IN-FROM-AFAR", "").json["valid"], true)
	rows, err := c.Handler.Service().List(t.Context(), api.ListLicensesParams{CustomerID: "in"})
	is.NoErr(err)
	is.Equal(rows.Data[0].Key, "MOVED-IN-FROM-AFAR")
}

// TestKeysThatDifferInCase: they stay two, and a key that a license has is never another one.
func TestKeysThatDifferInCase(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{Logger: discard})
	s := c.Handler.Service()
	of := func(typed string) string {
		v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: typed})
		is.NoErr(err)
		if v.License == nil {
			return ""
		}
		return v.License.CustomerID
	}
	create := func(customer, key string) {
		_, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: customer, Key: key})
		is.NoErr(err)
	}
	create("lower", "abcdef-ghijkl-mnopqr")
	is.Equal(of("Abcdef-Ghijkl-Mnopqr"), "lower")
	create("upper", "ABCDEF-GHIJKL-MNOPQR")
	is.Equal(of("Abcdef-Ghijkl-Mnopqr"), "upper") // upper case is first
	create("mixed", "Abcdef-Ghijkl-Mnopqr")
	create("quoted", `"ABCDEF-GHIJKL-MNOPQR"`) // a key may have them
	for customer, typed := range map[string]string{
		"lower": " abcdef-ghijkl-mnopqr", "upper": "[ABCDEF-GHIJKL-MNOPQR]", "mixed": "(Abcdef–Ghijkl–Mnopqr)", "quoted": `"ABCDEF-GHIJKL-MNOPQR" `,
	} {
		is.Equal(of(typed), customer)
	}
	is.Equal(of("ABCDEF-GHIJKL-MNOPQS"), "")
	is.Equal(of("ÄBCDEF-GHIJKL-MNOPQR"), "")
}

// TestForeignKeyLooksLikeNone: a key of a product that the caller may not see takes the same
// look-ups as none, and hides no license that he may see.
func TestForeignKeyLooksLikeNone(t *testing.T) {
	is := is.New(t)
	tracing := &tracingStore{Store: newCaller(t, licensing.Options{Logger: discard}).Store}
	s := licensing.NewHandler(tracing, licensing.Options{Logger: discard}).Service()
	for product, key := range map[string]string{"theirs": "abcdef-ghijkl-mnopqr", "ours": "ABCDEF-GHIJKL-MNOPQR"} {
		_, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: product, CustomerID: "ada", Key: key})
		is.NoErr(err)
	}
	found := func(products ...string) ([]api.License, []string) {
		tracing.calls()
		page, err := s.As(license.Caller{Products: products}).List(t.Context(), api.ListLicensesParams{Search: "abcdef-ghijkl-mnopqr"})
		is.NoErr(err)
		return page.Data, slices.DeleteFunc(tracing.calls(), func(call string) bool { return call != "LicenseByKey" })
	}
	none, look := found("other")
	is.Equal(len(none), 0)
	is.Equal(len(look), 2)
	_, exact := found("theirs")
	is.Equal(len(exact), 1)
	ours, _ := found("ours")
	is.Equal(ours[0].ProductID, "ours")
}

// TestPastedKeysCountTogether: each form of a key counts for its limit.
func TestPastedKeysCountTogether(t *testing.T) {
	for name, key := range map[string]string{"own": license.NewKey(), "foreign": "38b1460a-5104-4067-a91d-77b872934d51"} {
		is := is.New(t)
		limiter := &keptLimiter{}
		c := newCaller(t, licensing.Options{Limiter: limiter, Logger: discard})
		for _, forms := range []map[string]func(string) string{keyForms, keyCases} {
			for _, of := range forms {
				body := bodyOf(map[string]string{"key": of(key)})
				is.Equal(c.do("POST", "/license/validate", body, "Authorization", "").Code, http.StatusOK)
			}
		}
		counted := slices.DeleteFunc(limiter.keys, func(k string) bool { return !strings.HasPrefix(k, "key:") })
		is.Equal(len(counted), len(keyForms)+len(keyCases))
		if n := len(slices.Compact(counted)); n != 1 {
			t.Errorf("%s: the forms count for %d keys", name, n)
		}
	}
}
