package servicetest

import (
	"crypto/ed25519"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestGolden compares the answers of every endpoint with testdata/golden, which
// has a file for each path. After an intended change, rewrite the files with
//
//	go test ./licensing/internal/servicetest -run Golden -update
func TestGolden(t *testing.T) {
	is := is.New(t)
	operations, _ := description(t)
	g := &golden{operations: operations, files: map[string]*goldenFile{}, succeeded: map[string]bool{}}
	g.caller = newCaller(t, licensing.Options{
		ClaimFrom: []string{"batch:"},
		PublicURL: "https://example.com/licensing", PortalURL: "https://example.com/account/licenses", MasterKey: []byte("a master key for tests, 32 bytes"),
		KeyHolderSeats: true, Limits: licensing.LimitOptions{ClientRate: -1, AddressRate: -1, KeyRate: -1}, Tokens: auth.TokenOptions{MaxFailures: 1000},
		SigningKeys: []files.SigningKey{{Signer: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}}, // the same in each run
	})
	g.script()
	g.refusals()
	g.limits()
	g.marks()
	for name := range operations {
		if !g.succeeded[name] {
			t.Errorf("no golden answer of a %s that succeeds", name)
		}
	}
	dir := filepath.Join("testdata", "golden")
	if *update {
		is.NoErr(os.RemoveAll(dir))
		is.NoErr(os.MkdirAll(dir, 0o755))
	}
	for name, file := range g.files {
		path := filepath.Join(dir, name)
		if *update {
			is.NoErr(os.WriteFile(path, []byte(file.text.String()), 0o644))
			continue
		}
		want, err := os.ReadFile(path)
		is.NoErr(err)
		got, all := strings.Split(file.text.String(), "\n\n"), strings.Split(string(want), "\n\n")
		for i := range max(len(got), len(all)) {
			if i >= len(got) || i >= len(all) || got[i] != all[i] {
				t.Errorf("%s\n--- want\n%s\n--- got\n%s", path, at(all, i), at(got, i))
				break
			}
		}
	}
	there, err := os.ReadDir(dir)
	is.NoErr(err)
	is.Equal(len(there), len(g.files)) // a file without an endpoint
}

func at(all []string, i int) string {
	if i < len(all) {
		return all[i]
	}
	return "(nothing)"
}

// A golden records requests and answers.
type golden struct {
	*caller
	operations map[string]described // by method and path
	files      map[string]*goldenFile
	succeeded  map[string]bool // by method and path
}

// A goldenFile has the exchanges of one path.
type goldenFile struct {
	text  strings.Builder
	masks map[string]string
	count map[string]int
}

// call sends a request as do does, and records it. The clock moves between
// requests, so that ids and times differ.
func (g *golden) call(method, target, body string, header ...string) answer {
	g.t.Helper()
	g.Clock.Advance(time.Second)
	a := g.do(method, target, body, header...)
	path, _, _ := strings.Cut(target, "?")
	template := g.template(path)
	if a.Code < 300 {
		g.succeeded[method+" "+template] = true
		if method != "GET" {
			g.sendsStoredBytes()
		}
	}
	name := strings.ReplaceAll(strings.Trim(template, "/."), "/", "_") + ".txt"
	file := g.files[name]
	if file == nil {
		file = &goldenFile{masks: map[string]string{}, count: map[string]int{}}
		g.files[name] = file
	}
	var b strings.Builder
	fmt.Fprintf(&b, "> %s %s\n", method, target)
	for i := 0; i < len(header); i += 2 {
		fmt.Fprintf(&b, "> %s: %s\n", header[i], header[i+1])
	}
	if len(body) > 1000 {
		body = fmt.Sprintf("(%d bytes)", len(body))
	}
	for line := range strings.Lines(body) {
		fmt.Fprintf(&b, "> %s\n", strings.TrimSuffix(line, "\n"))
	}
	fmt.Fprintf(&b, "%d\n", a.Code)
	for _, name := range slices.Sorted(maps.Keys(a.Header())) {
		if name != "Date" && name != "Content-Length" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(a.Header()[name], " | "))
		}
	}
	if text := a.Body.String(); template == "/openapi.json" && a.Code == http.StatusOK {
		b.WriteString("(the document)\n")
	} else {
		b.WriteString(strings.TrimSuffix(text, "\n") + "\n")
	}
	file.text.WriteString(file.mask(b.String()) + "\n")
	return a
}

// template returns the path of the description that matches a path.
func (g *golden) template(path string) string {
	best := ""
	for name := range g.operations {
		_, template, _ := strings.Cut(name, " ")
		segments, given := strings.Split(template, "/"), strings.Split(path, "/")
		if len(segments) != len(given) {
			continue
		}
		matches := true
		for i, s := range segments {
			matches = matches && (s == given[i] || strings.HasPrefix(s, "{"))
		}
		if matches && (best == "" || strings.Count(template, "{") < strings.Count(best, "{")) {
			best = template
		}
	}
	if best == "" {
		return "unknown"
	}
	return best
}

// changing matches what differs from run to run, and the present time.
var changing = regexp.MustCompile(`` +
	`(?P<id>[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}\b)` +
	`|(?P<secret>whsec_[0-9A-Za-z+/]+=*)` +
	`|(?P<credential>[a-z]{3}_[0-9A-Za-z]{49}\b)` +
	`|(?P<key>\b[0-9A-HJKMNP-TV-Z]{5}(?:-[0-9A-HJKMNP-TV-Z]{5}){4}\b)` +
	`|"next_cursor":"(?P<cursor>[^"]+)"` +
	`|\b(?:cursor|after)=(?P<cursor>[^&>" ]+)` +
	`|(?:"request_id":"|X-Request-Id: )(?P<request>[^"\n]+)` +
	`|(?P<jws>\beyJ[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+\.[0-9A-Za-z_-]+)` +
	`|"(?P<file>[A-Z2-7]{26})"` +
	`|"(?P<secret>[A-Z2-7]{52})"` +
	`|\b(?P<code>[B-Z]{4}-[B-Z]{4})\b` +
	`|"(?P<digest>[0-9A-Za-z_-]{22})"` +
	`|(?P<time>202[67]-06-0[1-9]T[0-9:.]+Z)` +
	`|"(?:iat|exp)":(?P<seconds>[0-9]+)` +
	`|Retry-After: (?P<wait>[0-9]+)`) // has jitter

// mask replaces each changing text by its kind and a number, the same for the
// same text.
func (f *goldenFile) mask(s string) string {
	var b strings.Builder
	end := 0
	for _, m := range changing.FindAllStringSubmatchIndex(s, -1) {
		for group, kind := range changing.SubexpNames() {
			if kind == "" || m[2*group] < 0 {
				continue
			}
			text := s[m[2*group]:m[2*group+1]]
			if f.masks[text] == "" {
				f.count[kind]++
				f.masks[text] = fmt.Sprintf("<%s %d>", kind, f.count[kind])
			}
			b.WriteString(s[end:m[2*group]] + f.masks[text])
			end = m[2*group+1]
		}
	}
	return b.String() + s[end:]
}

const noID = "00000000000000000000000000" // of nothing

// refusals sends to every endpoint what all of its kind refuse.
func (g *golden) refusals() {
	client, secret := g.NewClient(auth.CreateClientParams{Name: "Narrow", Scopes: []string{auth.ScopeTokenIntrospect}})
	narrow, _ := g.NewToken(client.ID, secret)
	paths := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(g.operations)) {
		method, template, _ := strings.Cut(name, " ")
		o, path := g.operations[name], strings.NewReplacer(
			"{licenseID}", "lic_"+noID, "{activationID}", "act_"+noID, "{webhookID}", "whk_"+noID, "{deliveryID}", "dlv_"+noID).Replace(template)
		if !paths[path] {
			paths[path] = true
			g.call("BREW", path, "")
		}
		if strings.HasPrefix(path, "/oauth/") {
			g.call(method, path, "", "Authorization", "Basic bm9ib2R5Ondyb25n")
			continue
		}
		if o.needsToken() {
			g.call(method, path, "", "Authorization", "")
			g.call(method, path, "", "Authorization", "Bearer wrong")
			g.call(method, path, "", "Authorization", "Bearer "+narrow)
		}
		g.call(method, path+"?unknown=1", "")
		if path != template {
			g.call(method, path, "")
		}
		if o.RequestBody == nil {
			continue
		}
		g.call(method, path, `{"name":`)
		g.call(method, path, `{"unknown":1}`)
		g.call(method, path, `[]`)
		g.call(method, path, `name=n`, "Content-Type", "application/x-www-form-urlencoded")
	}
}

// needsToken reports whether the operation takes an access token.
func (o described) needsToken() bool {
	return slices.ContainsFunc(o.Security, func(way map[string][]string) bool { return way["bearer"] != nil })
}

// limits meets the rate limits, and the default of KeyHolderSeats.
func (g *golden) limits() {
	kit := licensingtest.New(g.t, licensing.Options{Limits: licensing.LimitOptions{ClientRate: 1, AddressRate: 1, KeyRate: 1}, Tokens: auth.TokenOptions{MaxFailures: 1}})
	limited := *g
	limited.caller = &caller{Kit: kit, t: g.t, token: kit.Token(), mount: kit.Handler}
	exhaust := func(method, path, body string, header ...string) {
		kit.Clock.Advance(time.Minute)
		for range 4 {
			limited.do(method, path, body, header...)
		}
		kit.Clock.Advance(-time.Second) // call advances it by as much
		limited.call(method, path, body, header...)
	}
	const key = `{"key":"AAAAA-AAAAA-AAAAA-AAAAA-AAAAA"}`
	limited.call("POST", "/license/activation", key)
	limited.call("GET", "/.well-known/oauth-authorization-server", "")
	exhaust("GET", "/license", "")
	exhaust("GET", "/openapi.json", "")
	exhaust("POST", "/license/validate", key)
	exhaust("POST", "/oauth/token", "grant_type=client_credentials",
		"Authorization", "Basic bm9ib2R5Ondyb25n", "Content-Type", "application/x-www-form-urlencoded")
}
