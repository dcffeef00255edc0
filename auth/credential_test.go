package auth

import (
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestCredential(t *testing.T) {
	is := is.New(t)
	seen := map[byte]bool{}
	for _, prefix := range []string{clientPrefix, secretPrefix, tokenPrefix} {
		for range 200 {
			c := newCredential(prefix)
			require.Matches(t, c, regexp.MustCompile(`^`+prefix+`[0-9A-Za-z]{49}$`))
			is.True(wellFormed(prefix, c))
			for _, b := range []byte(c[prefixLen : prefixLen+randomLen]) {
				seen[b] = true
			}
		}
	}
	is.Equal(len(seen), 62)

	// A credential that was issued stays well-formed in later versions.
	good := "lat_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg0DEBRb"
	is.True(wellFormed(tokenPrefix, good))
	is.True(!wellFormed(secretPrefix, "csk_"+good[4:])) // the checksum covers the prefix
	for i := range good {
		for _, b := range []byte("0z_ é\x00") {
			if bad := good[:i] + string(b) + good[i+1:]; bad != good {
				is.True(!wellFormed(tokenPrefix, bad)) // any wrong character
			}
		}
	}
	for _, bad := range []string{"", "lat_", good[:52], good + "0"} {
		is.True(!wellFormed(tokenPrefix, bad))
	}
}

func TestOptions(t *testing.T) {
	is := is.New(t)
	for _, tt := range []struct {
		opts Options
		want string // empty: valid
	}{
		{Options{}, ""},
		{Options{Realm: "my realm", Tokens: TokenOptions{TTL: time.Minute, Max: 1, MaxFailures: 1}}, ""},
		{Options{Tokens: TokenOptions{TTL: 24 * time.Hour, Max: 10000, MaxFailures: 1000}}, ""},
		{Options{Tokens: TokenOptions{TTL: time.Second}}, "Options.Tokens.TTL must be at least 1m"},
		{Options{Tokens: TokenOptions{TTL: -time.Hour}}, "Options.Tokens.TTL must be"},
		{Options{Tokens: TokenOptions{TTL: 25 * time.Hour}}, "Options.Tokens.TTL must be"},
		{Options{Tokens: TokenOptions{Max: -1}}, "Options.Tokens.Max must be at least 1"},
		{Options{Tokens: TokenOptions{Max: 10001}}, "Options.Tokens.Max must be"},
		{Options{Tokens: TokenOptions{MaxFailures: -1}}, "Options.Tokens.MaxFailures must be"},
		{Options{Tokens: TokenOptions{MaxBody: 1023}}, "Options.Tokens.MaxBody must be"},
		{Options{Realm: `a"b`}, "Options.Realm must be printable ASCII"},
		{Options{Realm: strings.Repeat("a", 101)}, "Options.Realm must be at most 100 characters"},
	} {
		err := tt.opts.Validate()
		if tt.want == "" {
			is.NoErr(err)
			New(memory.New(), tt.opts)
			continue
		}
		require.ErrorIs(t, err, api.ErrInvalid)
		require.Contains(t, err.Error(), tt.want)
		func() {
			defer func() { require.Contains(t, recover().(string), tt.want) }()
			New(memory.New(), tt.opts)
		}()
	}
	defer func() { is.True(recover() != nil) }()
	New(nil, Options{})
}

func FuzzWellFormed(f *testing.F) {
	f.Add("lat_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg0DEBRb")
	f.Add("lat_")
	f.Add("lat_\x00")
	f.Add(strings.Repeat("é", 53))
	pattern := regexp.MustCompile(`^lat_[0-9A-Za-z]{49}$`)
	f.Fuzz(func(t *testing.T, s string) {
		if !wellFormed(tokenPrefix, s) {
			return
		}
		sum := checksum([]byte(s[:prefixLen+randomLen]))
		if !pattern.MatchString(s) || !strings.HasSuffix(s, string(sum[:])) {
			t.Errorf("%q passed for a token", s)
		}
	})
}

func FuzzReadBearer(f *testing.F) {
	for _, s := range []string{"", "Bearer", "Bearer x", "bearer  x ", "Basic x", "lat_x", "lat_ x", "Bearer\tx", "Bearer lat_x, Bearer lat_y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw, ok := readBearer(s)
		if ok && !strings.Contains(s, raw) {
			t.Errorf("%q holds no %q", s, raw)
		}
		if ok && !strings.HasPrefix(s, "lat_") && !strings.EqualFold(strings.SplitN(s, " ", 2)[0], "bearer") {
			t.Errorf("%q passed for a bearer token", s)
		}
	})
}

func FuzzReadBasic(f *testing.F) {
	for _, s := range []string{"a:b", "a%3Ab:c+d", ":", "a", "%zz:b", "a:%", "\xff:\x00", "a:b:c"} {
		f.Add("Basic " + base64.StdEncoding.EncodeToString([]byte(s)))
	}
	f.Add("Basic")
	f.Add("basic  YTpi")
	f.Add("Basic !")
	f.Fuzz(func(t *testing.T, s string) {
		c := readBasic(s)
		if c == (credentials{}) {
			return
		}
		// Credentials without special characters are the same without
		// encoding.
		if strings.ContainsAny(c.id+c.secret, "%+:") {
			return
		}
		if again := readBasic(basic(c.id, c.secret)); again != c {
			t.Errorf("%q gave %q and then %q", s, c, again)
		}
	})
}

func FuzzReadJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"scope":"a"}`, `{"scope":"a","scope":"b"}`, `{"scope":null}`, `{"scope":""}`, `{"Scope":"a"}`, `{"sc\u006fpe":"a"}`,
		`[]`, `null`, `{"a":{"scope":"b"}}`, `{"scope":"a"} x`, "\ufeff{}", `{"scope":"\ud800"}`, `{"scope":"a"`, `{"scope"`, `{1:2}`, `{"a":1,}`, "{\"a\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		params, err := readJSON(body, []string{"scope"})
		if e, ok := errors.AsType[*Error](err); err != nil && (!ok || e.Status != 400) {
			t.Errorf("%q: %v", body, err)
		}
		for name, value := range params {
			if name != "scope" || value == "" || err != nil {
				t.Errorf("%q gave %q", body, params)
			}
		}
	})
}
