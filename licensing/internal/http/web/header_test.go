package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

func withHeader(name string, lines ...string) *http.Request {
	r := httptest.NewRequest("GET", "/license/x", nil)
	r.Header[name] = lines
	return r
}

func TestIfMatchComparesStrongly(t *testing.T) {
	one := api.Version{Revision: 1, Status: api.LicenseActive}
	two := api.Version{Revision: 2, Status: api.LicenseExpired}
	for _, c := range []struct {
		lines []string
		want  []api.Version
	}{
		{nil, nil},
		{[]string{`*`}, nil},
		{[]string{`"1.active"`}, []api.Version{one}},
		{[]string{` "1.active" , "2.expired"`}, []api.Version{one, two}},
		{[]string{`"1.active"`, `"2.expired"`}, []api.Version{one, two}},
		{[]string{`,, "1.active",`}, []api.Version{one}}, // RFC 9110 section 5.6.1.2
		{[]string{`W/"1.active"`}, []api.Version{{}}},
		{[]string{`"a,b"`, `"1.active"`}, []api.Version{{}, one}},
		{[]string{`""`}, []api.Version{{}}},
		{[]string{`"01.active"`, `"+1.active"`}, []api.Version{{}, {}}}, // not as ETag writes it
	} {
		is := is.New(t)
		got, _, err := ifMatch(withHeader("If-Match", c.lines...))
		is.NoErr(err)
		is.Equal(got, c.want)
	}
}

func TestMalformedEntityTagsAre400(t *testing.T) {
	for _, value := range []string{``, `,`, `1.active`, `"1.active`, `1.active"`, `"a" "b"`, `"a"b`, `w/"a"`, `W/ "a"`, `*, "a"`, `"a b"`, "\"\x7f\"", `'a'`} {
		is := is.New(t)
		_, _, err := ifMatch(withHeader("If-Match", value))
		var p *Problem
		require.ErrorAs(t, err, &p) // for each value
		is.Equal(p.Status, 400)
		is.Equal(p.Errors[0].Header, "If-Match")
	}
}

func TestIfNoneMatchComparesWeakly(t *testing.T) {
	v := api.Version{Revision: 1, Status: api.LicenseActive}
	for value, want := range map[string]bool{
		`"1.active"`: true, `W/"1.active"`: true, `"0", W/"1.active"`: true, `*`: true, `"1.expired"`: false, `"2.active"`: false, `"x"`: false,
	} {
		is := is.New(t)
		got, err := notModified(withHeader("If-None-Match", value), v.ETag())
		is.NoErr(err)
		is.Equal(got, want)
	}
}

func TestIdempotencyKeysComeWithQuotesAndWithout(t *testing.T) {
	long := strings.Repeat("k", 255)
	for value, want := range map[string]string{
		"abc": "abc", `"abc"`: "abc", ` "abc" `: "abc", `"a\"b\\c"`: `a"b\c`, "!~": "!~", long: long, `"` + long + `"`: long, `a"b`: `a"b`,
	} {
		is := is.New(t)
		key, err := idempotencyKey(withHeader("Idempotency-Key", value))
		is.NoErr(err)
		is.Equal(key, want)
	}
	for _, lines := range [][]string{
		{""}, {`""`}, {`"abc`}, {`"abc"x`}, {`"abc";a=1`}, {`"a\bc"`}, {"a b"}, {`"a b"`}, {"é"}, {"a\x7f"}, {long + "k"}, {"a", "a"}, {`"`}, {`"\`},
	} {
		is := is.New(t)
		_, err := idempotencyKey(withHeader("Idempotency-Key", lines...))
		is.True(err != nil) // for each value
		is.Equal(ProblemOf(err).Status, 400)
	}
}

func TestRequestIDsOfCallersAreKeptIfSafe(t *testing.T) {
	is := is.New(t)
	for _, id := range []string{"a", "A-b_c.9", strings.Repeat("x", 64)} {
		is.Equal(newRequestID(withHeader(requestIDHeader, id)), id)
	}
	for _, lines := range [][]string{{""}, {"a b"}, {"a\n"}, {"é"}, {strings.Repeat("x", 65)}, {"a", "b"}, {`"`}, nil} {
		require.HasPrefix(t, newRequestID(withHeader(requestIDHeader, lines...)), "req_")
	}
}

func TestLinksClimbToTheMount(t *testing.T) {
	mount, err := url.Parse("https://example.com/some/mount")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/license", "/license/x", "/license/a%2Fb", "/license/x/suspend"} {
		is := is.New(t)
		r := httptest.NewRequest("GET", path+"?limit=1", nil)
		base, _ := url.Parse(mount.String() + path)
		ref, err := url.Parse(link(r, "license", "a/b?c d"))
		is.NoErr(err)
		is.Equal(base.ResolveReference(ref).String(), "https://example.com/some/mount/license/a%2Fb%3Fc%20d")
		is.Equal(nextLink(r, "c"), `<?cursor=c&limit=1>; rel="next"`)
	}
}

// FuzzEntityTags reads what it has read once more, written as ETag writes it.
func FuzzEntityTags(f *testing.F) {
	for _, s := range []string{`"1.active"`, `W/"1.active", "2.expired"`, "*", "", `"`, `,,"a",`, `"a""b"`, `w/"a"`, "\"\x7f\"", `"é"`, " \t", `*,"a"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tags, any, err := entityTags(withHeader("If-Match", s), "If-Match")
		if err != nil || any {
			return
		}
		again, _, err := entityTags(withHeader("If-Match", strings.Join(tags, ", ")), "If-Match")
		if err != nil || len(again) != len(tags) || len(tags) == 0 {
			t.Fatalf("%q gave %v, and then %v, %v", s, tags, again, err)
		}
		for i := range tags {
			if tags[i] != again[i] {
				t.Errorf("%q gave %v, and then %v", s, tags[i], again[i])
			}
		}
	})
}

// FuzzIdempotencyKey reads each key once more, in quotes.
func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{"k", `"k"`, `"a\"b\\c"`, `"`, `""`, "a b", "é", `"a"b`, `\`, `"\x"`, strings.Repeat("k", 256)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := idempotencyKey(withHeader("Idempotency-Key", s))
		if err != nil {
			return
		}
		if key == "" || len(key) > 255 || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
			t.Fatalf("%q passed as %q", s, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := idempotencyKey(withHeader("Idempotency-Key", quoted)); err != nil || again != key {
			t.Errorf("%q gave %q, and then %q, %v", s, key, again, err)
		}
	})
}
