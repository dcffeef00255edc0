package servicetest

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// secrets are the situations of credentials: what they are made of, how long
// they last, and what ends them.
var secrets = map[string]string{
	"sec-01": "a credential is a prefix, 43 random and 6 checking characters of base62",
	"sec-02": "a token lasts as long as the options say, from a minute to 24 hours",
	"sec-03": "disabling a client ends its tokens with the next request, and on other nodes within a second",
	"sec-04": "revoking a secret ends the tokens that it got, and no others",
	"sec-05": "rotation: two secrets live while they overlap, and then the new one; never three",
	"sec-06": "revoking a token ends it with the next request, and on other nodes within a second",
	"sec-07": "failures are throttled, and a right secret is let in all the same",
	"sec-08": "no credential in an event or in the answer to an error",
	"sec-09": "live tokens are capped, and expired ones purged in small batches",
	"sec-10": "use is noted coarsely",
	"sec-11": "what is only checked is kept as a digest, and a password as argon2id",
	"sec-12": "an unknown client and a wrong secret: the same bytes after the same calls",
}

// wholeTests names the tests that are the case of a situation, or more cases
// of one, where a row will not do.
var wholeTests = map[string][]string{
	"http-13": {"TestAClientOverItsRateIsToldToWait", "TestAnAddressOverItsRateIsToldToWait"},
	"http-18": {"TestChecksComeInTheirOrder"},
	"http-19": {"TestARefusedCallerIsNotAskedForItsBody"},
	"http-20": {"TestABodyThatStallsIsGivenUp", "TestABodyOfUnknownLengthIsBoundedToo", "TestABodyThatEndsEarlyIsA400"},
	"http-21": {"TestHEADIsGETWithoutTheBody"},
	"http-22": {"TestAForeignProductIsAnsweredWithoutAHint"},
	"idem-07": {"TestFiftyConcurrentRequestsWithOneKeyHaveOneEffect"},
	"idem-08": {"TestWhatWebhooksRefuseOverHTTP"},
	"sec-09":  {"TestLiveTokensAreCapped", "TestExpiredTokensArePurged"},
	"sec-10":  {"TestLastUse"},
	"sec-11":  {"TestOnlyDigestsAreStored", "TestPasswordHash"},
	"sec-12":  {"TestRefusalsDoNotShowTheCause"},
	"see-01":  {"TestReadyAsksTheStore"},
	"see-02":  {"TestRequestIDsOfCallersAreKeptIfSafe"},
	"see-03":  {"TestEachRequestIsOneLineWithoutSecrets"},
	"see-04":  {"TestBrowsersAreLetInFromListedOrigins"},
	"see-06":  {"TestTheDescriptionHasEveryRouteAndNoOther", "TestTheDescriptionHasEveryAnswer"},
	"see-07":  {"TestMetadataIsServedBelowTheMountAndForTheRoot"},
	"see-08":  {"TestMountThatKeepsItsPrefixLogsAHint"},
}

// sights are the situations that concern HTTP and observability.
var sights = map[string]string{
	"http-18": "what is wrong in several ways is answered by the first check",
	"http-19": "a refused caller is not asked for its body",
	"http-20": "a body is bounded in time and in size, announced or not",
	"http-21": "HEAD is GET without the body, and gets no token",
	"http-22": "a license outside a client's limits costs the same store calls as a missing one",
	"cond-07": "of many changes with one If-Match, one happens",
	"idem-07": "of fifty concurrent requests with one key, one has an effect",
	"idem-08": "a secret that is shown once is not kept for a replay",
	"idem-09": "a key is free again when its time is over, and not before",
	"see-01":  "/health answers while the process lives, /ready while its store answers",
	"see-02":  "X-Request-Id is taken over if it fits a log",
	"see-03":  "one line and one observation a request, without secrets and queries",
	"see-04":  "CORS for listed origins only, and never at the OAuth endpoints",
	"see-05":  "a Limiter of the host's own counts clients and addresses",
	"see-06":  "openapi.json describes every route and every answer",
	"see-07":  "the metadata is below the mount, and for the root of the host",
	"see-08":  "a mount that keeps its prefix is hinted at",
}

func init() {
	maps.Copy(situations, secrets)
	maps.Copy(situations, sights)
	protocolCases = append(protocolCases, secretCases...)
}

// TestNamedTestsExist sees that each named test is one.
func TestNamedTestsExist(t *testing.T) {
	is := is.New(t)
	there := map[string]bool{}
	for _, dir := range []string{".", "../http/web", "../../../auth", "../../../auth/operator"} {
		files, err := filepath.Glob(dir + "/*_test.go")
		is.NoErr(err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			is.NoErr(err)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllStringSubmatch(string(text), -1) {
				there[m[1]] = true
			}
		}
	}
	for id, tests := range wholeTests {
		if situations[id] == "" {
			t.Errorf("there is no situation %s", id)
		}
		for _, name := range tests {
			if !there[name] {
				t.Errorf("%s should have the test %s, which is not there", id, name)
			}
		}
	}
}

// elsewhere returns the same service on another node.
func (c *caller) elsewhere(opts licensing.Options) *caller {
	opts.Now, opts.Logger = c.Clock.Now, discard
	b := *c
	b.mount = licensing.NewHandler(c.Store, opts)
	return &b
}

// tokenOf asks for a token and returns the answer.
func (c *caller) tokenOf(id, secret string) answer {
	c.t.Helper()
	return c.do("POST", "/oauth/token", "grant_type=client_credentials&client_id="+id+"&client_secret="+secret,
		"Authorization", "", "Content-Type", "application/x-www-form-urlencoded")
}

// list is the status of a request with a token.
func (c *caller) list(token string) int {
	c.t.Helper()
	return c.do("GET", "/license?limit=1", "", "Authorization", "Bearer "+token).Code
}

var secretCases = []protocolCase{
	{id: "sec-01", run: func(is *is.I, c *caller, _ string) {
		for prefix, credential := range map[string]string{"cid": c.Client.ID, "csk": c.Secret, "lat": c.token} {
			require.Matches(c.t, credential, regexp.MustCompile(`^`+prefix+`_[0-9A-Za-z]{49}$`))
		}
	}},
	{id: "sec-02", run: func(is *is.I, c *caller, _ string) {
		for _, ttl := range []time.Duration{time.Minute, 24 * time.Hour} {
			c := c.elsewhere(licensing.Options{Tokens: auth.TokenOptions{TTL: ttl}})
			a := c.tokenOf(c.Client.ID, c.Secret)
			is.Equal(a.json["expires_in"], ttl.Seconds())
			c.Clock.Advance(ttl - time.Millisecond)
			is.Equal(c.list(a.json["access_token"].(string)), http.StatusOK)
			c.Clock.Advance(time.Millisecond)
			is.Equal(c.list(a.json["access_token"].(string)), http.StatusUnauthorized)
		}
	}},
	{id: "sec-03", run: func(is *is.I, c *caller, _ string) {
		other := c.elsewhere(licensing.Options{})
		is.Equal(other.list(c.token), http.StatusOK)
		_, err := c.Handler.Auth().UpdateClient(c.t.Context(), auth.UpdateClientParams{ID: c.Client.ID, Disabled: new(true)})
		is.NoErr(err)
		is.Equal(c.list(c.token), http.StatusUnauthorized)
		c.Clock.Advance(time.Second)
		is.Equal(other.list(c.token), http.StatusUnauthorized)
		is.Equal(other.tokenOf(c.Client.ID, c.Secret).Code, http.StatusBadRequest)
	}},
	{id: "sec-04", run: func(is *is.I, c *caller, _ string) {
		client, secret, err := c.Handler.Auth().RotateSecret(c.t.Context(), auth.RotateSecretParams{ClientID: c.Client.ID, Overlap: time.Hour})
		is.NoErr(err)
		later := c.tokenOf(c.Client.ID, secret).json["access_token"].(string)
		for _, s := range client.Secrets {
			if strings.HasSuffix(c.Secret, s.Hint) {
				_, err = c.Handler.Auth().RevokeSecret(c.t.Context(), c.Client.ID, s.ID)
				is.NoErr(err)
			}
		}
		is.Equal(c.list(c.token), http.StatusUnauthorized)
		is.Equal(c.list(later), http.StatusOK)
	}},
	{id: "sec-05", run: func(is *is.I, c *caller, _ string) {
		rotate := auth.RotateSecretParams{ClientID: c.Client.ID, Overlap: time.Hour}
		_, secret, err := c.Handler.Auth().RotateSecret(c.t.Context(), rotate)
		is.NoErr(err)
		_, _, err = c.Handler.Auth().RotateSecret(c.t.Context(), rotate)
		is.True(err != nil) // two live already
		c.Clock.Advance(time.Hour - time.Millisecond)
		is.Equal(c.tokenOf(c.Client.ID, c.Secret).Code, http.StatusOK)
		is.Equal(c.tokenOf(c.Client.ID, secret).Code, http.StatusOK)
		c.Clock.Advance(time.Millisecond)
		is.Equal(c.tokenOf(c.Client.ID, c.Secret).Code, http.StatusBadRequest)
		is.Equal(c.tokenOf(c.Client.ID, secret).Code, http.StatusOK)
	}},
	{id: "sec-06", run: func(is *is.I, c *caller, _ string) {
		other := c.elsewhere(licensing.Options{})
		is.Equal(other.list(c.token), http.StatusOK)
		a := c.do("POST", "/oauth/revoke", "token="+c.token+"&client_id="+c.Client.ID+"&client_secret="+c.Secret,
			"Authorization", "", "Content-Type", "application/x-www-form-urlencoded")
		is.Equal(a.Code, http.StatusOK)
		is.Equal(c.list(c.token), http.StatusUnauthorized)
		c.Clock.Advance(time.Second)
		is.Equal(other.list(c.token), http.StatusUnauthorized)
	}},
	{id: "sec-07", run: func(is *is.I, c *caller, _ string) {
		c = c.elsewhere(licensing.Options{Tokens: auth.TokenOptions{MaxFailures: 3}})
		for range 3 {
			is.Equal(c.tokenOf(c.Client.ID, "wrong").Code, http.StatusBadRequest)
		}
		a := c.tokenOf(c.Client.ID, "wrong")
		is.Equal(a.Code, http.StatusTooManyRequests)
		is.True(a.Header().Get("Retry-After") != "")
		is.Equal(c.tokenOf(c.Client.ID, c.Secret).Code, http.StatusOK)
	}},
	{id: "sec-08", run: func(is *is.I, c *caller, id string) {
		a := c.do("GET", "/license/"+id+"?token="+c.token, "")
		is.Equal(a.Code, http.StatusBadRequest)
		require.NotContains(c.t, a.Body.String(), c.token)
		require.NotContains(c.t, c.tokenOf(c.Client.ID, c.Secret+"x").Body.String(), c.Secret)
		for _, e := range c.Events() {
			require.NotContains(c.t, fmt.Sprintf("%+v %s", e, e.Data), c.Secret[:20])
		}
	}},

	{id: "cond-07", run: func(is *is.I, c *caller, id string) {
		statuses := make(chan int)
		for i := range 20 {
			go func() {
				statuses <- c.do("PATCH", "/license/"+id, fmt.Sprintf(`{"name":"m%d"}`, i), "If-Match", `"1.active"`).Code
			}()
		}
		seen := map[int]int{}
		for range 20 {
			seen[<-statuses]++
		}
		is.Equal(seen, map[int]int{http.StatusOK: 1, http.StatusPreconditionFailed: 19})
	}},
	{id: "idem-09", run: func(is *is.I, c *caller, _ string) {
		create := func(replayed string) any {
			c.token = c.Token()
			a := c.do("POST", "/license", specified, "Idempotency-Key", "k")
			is.Equal(a.Code, http.StatusCreated)
			is.Equal(a.Header().Get("Idempotency-Replayed"), replayed)
			return a.json["id"]
		}
		first := create("")
		c.Clock.Advance(24*time.Hour - time.Millisecond)
		is.Equal(create("true"), first)
		c.Clock.Advance(time.Millisecond)
		is.True(create("") != first)
	}},
	{id: "see-05", run: func(is *is.I, c *caller, _ string) {
		seen := &keptLimiter{}
		c.mount = licensing.NewHandler(memory.New(), licensing.Options{Limiter: seen, Logger: discard})
		is.Equal(c.elsewhere(licensing.Options{Limiter: refusing{}}).list(c.token), http.StatusTooManyRequests)
		is.Equal(c.do("GET", "/ready", "", "Authorization", "").Code, http.StatusOK)
		is.Equal(c.do("GET", "/health", "", "Authorization", "").Code, http.StatusOK) // has no limit
		is.Equal(seen.keys, []string{"address:192.0.2.1"})
	}},
}
