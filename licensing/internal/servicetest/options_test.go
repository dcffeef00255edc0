package servicetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestInvalidOptionsNameTheFix(t *testing.T) {
	for field, opts := range map[string]licensing.Options{
		"PublicURL":            {PublicURL: "example.com/licensing"},
		"Tokens.TTL":           {Tokens: auth.TokenOptions{TTL: time.Second}},
		"Tokens.Max":           {Tokens: auth.TokenOptions{Max: -1}},
		"Tokens.MaxFailures":   {Tokens: auth.TokenOptions{MaxFailures: 1001}},
		"Limits.MaxBody":       {Limits: licensing.LimitOptions{MaxBody: 10}},
		"Tokens.MaxBody":       {Tokens: auth.TokenOptions{MaxBody: 10}},
		"Limits.MaxImport":     {Limits: licensing.LimitOptions{MaxImport: 10}},
		"Limits.BodyTimeout":   {Limits: licensing.LimitOptions{BodyTimeout: -1}},
		"Limits.Timeout":       {Limits: licensing.LimitOptions{Timeout: -time.Second}},
		"IdempotencyTTL":       {IdempotencyTTL: time.Hour},
		"Dashboard.HomeURL":    {Dashboard: licensing.DashboardOptions{HomeURL: "javascript:alert(1)"}},
		"Dashboard.SignOutURL": {Dashboard: licensing.DashboardOptions{SignOutURL: "/logout"}},
		"PreviousMasterKeys":   {MasterKey: make([]byte, 32), PreviousMasterKeys: [][]byte{make([]byte, 32), nil}},
		"Dashboard.Origins":    {Dashboard: licensing.DashboardOptions{Origins: []string{"admin.example.com"}}},
		"AllowedOrigins":       {AllowedOrigins: []string{"https://a.example", "https://a.example/", "*"}},
	} {
		t.Run(field, func(t *testing.T) {
			is := is.New(t)
			err := opts.Validate()
			var invalid *api.InvalidError
			require.ErrorAs(t, err, &invalid)
			is.Equal(len(invalid.Fields), 1)
			is.Equal(invalid.Fields[0].Field, "Options."+field)
			is.True(invalid.Fields[0].Code != "")
			require.HasPrefix(t, err.Error(), "Options."+field+" must be ")
			defer func() { is.Equal(recover(), "licensing: "+err.Error()) }()
			licensing.NewHandler(memory.New(), opts)
		})
	}
	is := is.New(t)
	err := licensing.Options{Limits: licensing.LimitOptions{MaxBody: 1, Timeout: -1}}.Validate()
	require.ErrorIs(t, err, api.ErrInvalid)
	is.Equal(strings.Count(err.Error(), "Options."), 2)
	for _, url := range []string{"ftp://x", "https://", "https://u@x", "https://x/?q", "https://x/#f", "://", "/licensing"} {
		is.True(licensing.Options{PublicURL: url}.Validate() != nil)
	}
}

// TestOptionsWithoutEffect: an option that another one would silently disable is an error.
func TestOptionsWithoutEffect(t *testing.T) {
	own := func(http.ResponseWriter, *http.Request) (operator.Operator, bool) { return operator.Operator{}, false }
	for want, opts := range map[string]licensing.Options{
		"PreviousMasterKeys needs MasterKey":               {PreviousMasterKeys: [][]byte{make([]byte, 32)}},
		"Dashboard.RequireSecondFactor has no effect with": {Dashboard: licensing.DashboardOptions{RequireSecondFactor: true, Operator: own}},
	} {
		err := opts.Validate()
		require.ErrorIs(t, err, api.ErrInvalid) // for each
		require.HasPrefix(t, err.Error(), "Options."+want)
	}
}

// TestMasterKeysAreCopied: a host overwrites its keys in memory after NewHandler, and the
// service still encrypts with them.
func TestMasterKeysAreCopied(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	current, previous := bytes.Repeat([]byte("n"), 32), bytes.Repeat([]byte("o"), 32)
	_, err := licensing.NewHandler(st, licensing.Options{MasterKey: bytes.Clone(previous)}).Files().KeySet(t.Context())
	is.NoErr(err)

	opts := licensing.Options{MasterKey: bytes.Clone(current), PreviousMasterKeys: [][]byte{previous}}
	h := licensing.NewHandler(st, opts)
	clear(opts.MasterKey)
	clear(previous)
	done, err := h.ReencryptSecrets(t.Context())
	is.NoErr(err)
	is.Equal(done, licensing.Reencrypted{SigningKeys: 2})
	is.Equal(licensing.NewHandler(st, licensing.Options{MasterKey: current}).Health(t.Context()).SigningKeys, files.SecretCounts{Sealed: 2})
}

func TestGoodOptionsAreTaken(t *testing.T) {
	is := is.New(t)
	is.NoErr(licensing.Options{}.Validate())
	is.NoErr(licensing.Options{
		PublicURL: "https://example.com:8443/licensing/", Tokens: auth.TokenOptions{TTL: 24 * time.Hour}, Limits: licensing.LimitOptions{ClientRate: -1, AddressRate: -1},
		Limiter: refusing{}, Logger: slog.Default(), AllowedOrigins: []string{"https://a.example", "http://localhost:3000"},
	}.Validate())
}

func TestANilStorePanicsHelpfully(t *testing.T) {
	var failed *memory.Store // as after an error of Open that was ignored
	for _, st := range []store.Store{nil, failed} {
		func() {
			defer func() { require.Contains(t, fmt.Sprint(recover()), "requires a store") }()
			licensing.NewHandler(st, licensing.Options{})
		}()
	}
}

func TestAClientOverItsRateIsToldToWait(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{Limits: licensing.LimitOptions{ClientRate: 2}})
	for range 3 { // a burst of twice the rate, and getting the token was one
		is.Equal(c.do("GET", "/license", "").Code, http.StatusOK)
	}
	a := c.do("GET", "/license", "")
	is.Equal(a.Code, http.StatusTooManyRequests)
	is.Equal(a.json["code"], "rate_limited")
	is.True(a.Header().Get("Retry-After") != "")
	is.Equal(c.do("GET", "/license", "", "Authorization", "Bearer x").Code, http.StatusUnauthorized)
	is.Equal(c.do("GET", "/health", "").Code, http.StatusOK)
	c.Clock.Advance(time.Second)
	is.Equal(c.do("GET", "/license", "").Code, http.StatusOK)
}

func TestAnAddressOverItsRateIsToldToWait(t *testing.T) {
	is := is.New(t)
	ip := netip.MustParseAddr("203.0.113.1")
	c := newCaller(t, licensing.Options{Limits: licensing.LimitOptions{AddressRate: 1}, ClientIP: func(*http.Request) netip.Addr { return ip }})
	// Getting the token was one.
	is.Equal(c.do("GET", "/ready", "").Code, http.StatusOK)
	is.Equal(c.do("GET", "/ready", "").Code, http.StatusTooManyRequests)
	is.Equal(c.do("GET", "/license", "").Code, http.StatusOK) // that counts by client
	is.Equal(c.do("GET", "/health", "").Code, http.StatusOK)  // has no limit
	ip = netip.MustParseAddr("203.0.113.2")
	is.Equal(c.do("GET", "/ready", "").Code, http.StatusOK)
}

func TestRequestsWithoutAGoodTokenCountForTheirAddress(t *testing.T) {
	is := is.New(t)
	ip := netip.MustParseAddr("203.0.113.1")
	c := newCaller(t, licensing.Options{Limits: licensing.LimitOptions{AddressRate: 2}, ClientIP: func(*http.Request) netip.Addr { return ip }})
	// Getting the token was one.
	unknown := "Bearer " + newCaller(t, licensing.Options{}).token // of another service
	for _, bad := range []string{unknown, "", "Basic eDp5"} {
		is.Equal(c.do("GET", "/license", "", "Authorization", bad).Code, http.StatusUnauthorized)
	}
	a := c.do("GET", "/license", "", "Authorization", unknown)
	is.Equal(a.Code, http.StatusTooManyRequests)
	is.True(a.Header().Get("Retry-After") != "")
	is.Equal(c.do("GET", "/license", "").Code, http.StatusOK) // a good token from the same address
	ip = netip.MustParseAddr("203.0.113.2")
	is.Equal(c.do("GET", "/license", "", "Authorization", unknown).Code, http.StatusUnauthorized)
}

func TestGettingTokensCountsForTheClient(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{Limits: licensing.LimitOptions{ClientRate: 1}})
	is.Equal(c.tokenOf(c.Client.ID, c.Secret).Code, http.StatusOK) // the second
	a := c.tokenOf(c.Client.ID, c.Secret)
	is.Equal(a.Code, http.StatusTooManyRequests)
	is.Equal(a.json["error"], "rate_limited")
	is.True(a.Header().Get("Retry-After") != "")
	is.Equal(c.do("GET", "/license", "").Code, http.StatusTooManyRequests) // one budget for both
	c.Clock.Advance(time.Second)
	is.Equal(c.tokenOf(c.Client.ID, c.Secret).Code, http.StatusOK)
}

func TestBrowsersAreLetInFromListedOrigins(t *testing.T) {
	is := is.New(t)
	const app = "https://app.example.com"
	c := newCaller(t, licensing.Options{AllowedOrigins: []string{app}})

	preflight := c.do("OPTIONS", "/license", "", "Authorization", "", "Origin", app, "Access-Control-Request-Method", "POST")
	is.Equal(preflight.Code, http.StatusNoContent)
	is.Equal(preflight.Header().Get("Access-Control-Allow-Origin"), app)
	is.Equal(preflight.Header().Get("Access-Control-Allow-Methods"), "GET, HEAD, OPTIONS, PATCH, POST")
	require.Contains(t, preflight.Header().Get("Access-Control-Allow-Headers"), "Authorization")

	got := c.do("GET", "/license", "", "Origin", app)
	is.Equal(got.Header().Get("Access-Control-Allow-Origin"), app)
	require.Contains(t, got.Header().Get("Access-Control-Expose-Headers"), "ETag")
	is.Equal(got.Header().Get("Vary"), "Origin")
	is.Equal(c.do("GET", "/license", "", "Origin", app, "Authorization", "").Header().Get("Access-Control-Allow-Origin"), app) // so that a 401 can be read

	for _, origin := range []string{"", "null", "https://evil.example", app + ".evil.example", "http://app.example.com"} {
		a := c.do("GET", "/license", "", "Origin", origin)
		is.Equal(a.Code, http.StatusOK)
		is.Equal(a.Header().Get("Access-Control-Allow-Origin"), "")
		is.Equal(a.Header().Get("Vary"), "Origin")
	}
	is.Equal(c.do("POST", "/oauth/token", "", "Origin", app).Header().Get("Access-Control-Allow-Origin"), "")
	is.Equal(newCaller(t, licensing.Options{}).do("GET", "/license", "", "Origin", app).Header().Get("Vary"), "")
}

func TestMetadataIsServedBelowTheMountAndForTheRoot(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{PublicURL: "https://example.com/licensing"})
	a := c.do("GET", "/.well-known/oauth-authorization-server", "", "Authorization", "")
	is.Equal(a.Code, http.StatusOK)
	is.Equal(a.json["issuer"], "https://example.com/licensing")
	c.mount = c.Handler.Metadata()
	is.Equal(c.do("GET", "/.well-known/oauth-authorization-server/licensing", "").Body.String(), a.Body.String())

	c = newCaller(t, licensing.Options{})
	is.Equal(c.do("GET", "/.well-known/oauth-authorization-server", "").Code, http.StatusNotFound)
}

func TestMountThatKeepsItsPrefixLogsAHint(t *testing.T) {
	for _, path := range []string{"/tenants/7/license/x", "/tenants/7/dashboard/", "/tenants/7/oauth/token"} {
		is := is.New(t)
		log := new(bytes.Buffer)
		c := newCaller(t, licensing.Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
		for _, path := range []string{"/nothing", "/license/", "/license/x/license", "/oauth"} {
			is.Equal(c.do("GET", path, "").Code, http.StatusNotFound)
		}
		is.Equal(log.String(), "")
		for range 2 {
			is.Equal(c.do("GET", path, "").Code, http.StatusNotFound)
		}
		is.Equal(strings.Count(log.String(), "\n"), 1)
		require.Contains(t, log.String(), `http.StripPrefix(\"/tenants/7\", h)`)
	}
}

func TestMountThatStripsTheSlashLogsAHint(t *testing.T) {
	is := is.New(t)
	log := new(bytes.Buffer)
	c := newCaller(t, licensing.Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	c.mount, c.prefix = http.StripPrefix("/licensing/", c.Handler), "/licensing"
	is.Equal(c.do("GET", "/nothing", "").Code, http.StatusNotFound)
	is.Equal(log.String(), "")
	for _, path := range []string{"/license/x", "/dashboard/", "/license"} {
		is.Equal(c.do("GET", path, "").Code, http.StatusNotFound)
		is.Equal(strings.Count(log.String(), "a prefix that does not end in a slash"), 1)
	}
}

// TestMountInMiddlewareThatReadsBodies: the answer says what is wrong with the mount, also
// at the token endpoint, whose body a form parser has read.
func TestMountInMiddlewareThatReadsBodies(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	c.mount = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		is.NoErr(err)
		c.Handler.ServeHTTP(w, r)
	})
	a := c.do("POST", "/license/validate", `{"key":"x"}`)
	is.Equal(a.Code, http.StatusBadRequest)
	require.Contains(t, fmt.Sprint(a.json["detail"]), "outside of middleware")
	a = c.do("POST", "/oauth/token", "grant_type=client_credentials", "Content-Type", "application/x-www-form-urlencoded")
	is.Equal(a.Code, http.StatusBadRequest)
	require.Contains(t, fmt.Sprint(a.json["error_description"]), "outside of middleware")
}

func TestRequestLogCanBeTurnedOff(t *testing.T) {
	log, requests := new(bytes.Buffer), new(bytes.Buffer)
	logger := func(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewJSONHandler(b, nil)) }
	newCaller(t, licensing.Options{Logger: logger(log)}).do("GET", "/openapi.json", "")
	require.Contains(t, log.String(), `"duration_ms":`)
	log.Reset()
	newCaller(t, licensing.Options{Logger: logger(log), RequestLog: logger(requests)}).do("GET", "/openapi.json", "")
	require.NotContains(t, log.String(), "duration_ms")
	require.Contains(t, requests.String(), `"route":"/openapi.json"`)
	log.Reset()
	newCaller(t, licensing.Options{Logger: logger(log), RequestLog: slog.New(slog.DiscardHandler)}).do("GET", "/openapi.json", "")
	require.NotContains(t, log.String(), "duration_ms")
}

// TestLogFieldsOfTheGuide: docs/observability.md has each field of the lines of requests, to
// the API and to a page, and no other.
func TestLogFieldsOfTheGuide(t *testing.T) {
	is := is.New(t)
	guide, err := os.ReadFile("../../docs/observability.md")
	is.NoErr(err)
	_, section, _ := strings.Cut(string(guide), "| field | value |\n")
	section, _, _ = strings.Cut(section, "\n\n")
	var listed []string
	for line := range strings.Lines(section) {
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(strings.Split(line, " | ")[0], -1) {
			listed = append(listed, m[1])
		}
	}
	log := new(bytes.Buffer)
	c := newCaller(t, licensing.Options{Logger: slog.New(slog.NewJSONHandler(log, nil)), ClientIP: func(*http.Request) netip.Addr { return netip.MustParseAddr("203.0.113.9") }})
	c.do("GET", "/license/lic_1", "", "Authorization", "Bearer wrong")
	c.do("GET", "/dashboard/", "")
	fields := map[string]any{}
	for line := range strings.Lines(log.String()) {
		is.NoErr(json.Unmarshal([]byte(line), &fields))
	}
	maps.DeleteFunc(fields, func(name string, _ any) bool { return name == "time" || name == "level" || name == "msg" })
	is.Equal(slices.Sorted(maps.Keys(fields)), slices.Sorted(slices.Values(listed)))
}

func TestAnEmptyMasterKeyIsRefusedWithItsLikelyCause(t *testing.T) {
	t.Setenv("LICENSEKIT_TEST_KEY", "")
	opts := licensing.Options{MasterKey: []byte(os.Getenv("LICENSEKIT_TEST_KEY"))}
	defer func() {
		message, _ := recover().(string)
		require.HasPrefix(t, message, "licensing: Options.MasterKey is empty")
		require.Contains(t, message, "unset or empty")
	}()
	licensing.NewHandler(memory.New(), opts)
}

// TestOptionsOfTheRules: the options of package license are those of the handler, which
// describes them.
func TestOptionsOfTheRules(t *testing.T) {
	is := is.New(t)
	for field := range reflect.TypeFor[license.Options]().Fields() {
		same, exists := reflect.TypeFor[licensing.Options]().FieldByName(field.Name)
		is.True(exists) // licensing.Options has the field
		is.Equal(same.Type, field.Type)
	}
}

// TestANarrowedServiceHasNoMasterKey, and webhooks still encrypt with it.
func TestANarrowedServiceHasNoMasterKey(t *testing.T) {
	is := is.New(t)
	key := []byte(strings.Repeat("k", 32))
	h := licensing.NewHandler(memory.New(), licensing.Options{MasterKey: key, PreviousMasterKeys: [][]byte{[]byte(strings.Repeat("o", 32))}, Logger: discard})
	o := h.Service().As(license.Caller{Products: []string{"p"}}).Options()
	is.Equal([]any{len(o.MasterKey), len(o.PreviousMasterKeys)}, []any{0, 0})
	hook(t, h, "shop.example")
	is.Equal(h.Health(t.Context()).Secrets.Sealed, 1)
}

// TestAPageIsDecodedWhole, with the type of its records. A page that is decoded into
// again keeps nothing of the page before.
func TestAPageIsDecodedWhole(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	for range 3 {
		c.create("n", "p", "c")
	}
	var page api.Page[api.License]
	is.NoErr(json.Unmarshal(c.do("GET", "/license?limit=2", "").Body.Bytes(), &page))
	is.Equal([]any{len(page.Data), page.HasMore}, []any{2, true})
	page.Data[0].Reference = "sale" // the licenses have none
	is.NoErr(json.Unmarshal(c.do("GET", "/license?limit=2&cursor="+page.NextCursor, "").Body.Bytes(), &page))
	is.Equal([]any{len(page.Data), page.HasMore, page.NextCursor, page.Data[0].Reference}, []any{1, false, "", ""})

	first, err := c.Handler.Service().List(t.Context(), api.ListLicensesParams{Limit: 2})
	is.NoErr(err)
	first.PrevCursor, first.SearchedTo = "back", time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	body, err := json.Marshal(first)
	is.NoErr(err)
	var list api.ListPage
	is.NoErr(json.Unmarshal(body, &list))
	is.Equal([]any{len(list.Data), list.NextCursor, list.PrevCursor, list.SearchedTo}, []any{2, first.NextCursor, "back", first.SearchedTo})
	is.NoErr(json.Unmarshal([]byte(`{"data":[],"has_more":false}`), &list))
	is.Equal([]any{len(list.Data), list.NextCursor, list.PrevCursor, list.SearchedTo}, []any{0, "", "", time.Time{}})

	rollout := api.PlanRollout{NextCursor: "of the call before"}
	is.NoErr(json.Unmarshal([]byte(`{"object":"plan_rollout","plan_id":"pro","changed":2}`), &rollout))
	is.Equal(rollout, api.PlanRollout{Object: "plan_rollout", PlanID: "pro", Changed: 2})
}
