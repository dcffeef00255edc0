package jose

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/node"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// samples has the code that the guides link.
const samples = "../../../licensing/docs/samples/"

// A docsCase is a file, and whether the linked code must accept it.
type docsCase struct {
	Name, Text, Machine string
	Good                bool
}

// A docsResult is what the linked code returned.
type docsResult struct {
	Entitlements map[string]any
	Error        string
}

// docsCases returns files that are valid at the present time, and others.
func (f fixture) docsCases(t *testing.T) []docsCase {
	t.Helper()
	is := is.New(t)
	now := time.Now()
	claims := f.claims
	claims.IssuedAt, claims.NotBefore, claims.ExpiresAt = now.Add(-time.Minute), now.Add(-time.Minute), now.Add(time.Hour)
	sign := func(change func(*licensefile.Claims)) string {
		c := claims
		change(&c)
		text, err := licensefile.Sign(c, f.signer)
		is.NoErr(err)
		return text
	}
	// at is for a file of an hour that was issued some time after now, by the clock
	// of the machine.
	at := func(after time.Duration) func(*licensefile.Claims) {
		return func(c *licensefile.Claims) {
			c.IssuedAt, c.NotBefore, c.ExpiresAt = now.Add(after), now.Add(after), now.Add(after+time.Hour)
		}
	}
	good := sign(func(*licensefile.Claims) {})
	list, err := licensefile.SignRevocations(licensefile.Revocations{
		ProductID: "atlas", Sequence: now.UnixMilli(), IssuedAt: now, ExpiresAt: now.Add(time.Hour),
	}, f.signer)
	is.NoErr(err)
	return []docsCase{
		{"valid", good + "\n", "machine", true},
		{"valid anywhere", sign(func(c *licensefile.Claims) { c.FingerprintHash = "" }), "other", true},
		{"another machine", good, "other", false},
		{"altered", good[:len(good)-10] + "AAAAAAAAAA", "machine", false},
		{"a clock that is one second behind", sign(at(time.Second)), "machine", true},
		{"a clock that is four minutes behind", sign(at(4 * time.Minute)), "machine", true},
		{"a clock that is six minutes behind", sign(at(6 * time.Minute)), "machine", false},
		{"a clock that is four minutes ahead", sign(at(-time.Hour - 4*time.Minute)), "machine", true},
		{"expired", sign(at(-time.Hour - 6*time.Minute)), "machine", false},
		{"early", sign(func(c *licensefile.Claims) { c.NotBefore = now.Add(time.Hour) }), "machine", false},
		{"another product", sign(func(c *licensefile.Claims) { c.ProductID = "other" }), "machine", false},
		{"a revocation list", list, "machine", false},
		{"the file of an office", sign(func(c *licensefile.Claims) { c.Office = &licensefile.Office{Key: f.signer.Public(), Seats: 1} }), "machine", false},
	}
}

// checkDocs runs a program that checks the cases with the code of the guide.
func checkDocs(t *testing.T, dir, name string, args ...string) {
	for _, f := range fixtures(t) {
		t.Run(f.alg, func(t *testing.T) {
			is := is.New(t)
			cases := f.docsCases(t)
			input, err := json.Marshal(map[string]any{"Keys": json.RawMessage(f.jwks), "Cases": cases})
			is.NoErr(err)
			var results []docsResult
			is.NoErr(json.Unmarshal(node.Run(t, node.Command{Dir: dir, Input: input}, name, args...), &results))
			is.Equal(len(results), len(cases))
			for i, c := range cases {
				if got := results[i]; (got.Error == "") != c.Good {
					t.Errorf("%s: the code of the guide says %+v", c.Name, got)
				} else if c.Good {
					is.Equal(got.Entitlements, f.claims.Entitlements)
				}
			}
		})
	}
}

func TestGuideInJavaScript(t *testing.T) {
	dir := node.Install(t, "testdata")
	is.New(t).NoErr(os.CopyFS(dir, os.DirFS(samples)))
	checkDocs(t, dir, "node", "check.js")
}

// TestGuideInPython uses the PyJWT of Debian, or of the first python3.
func TestGuideInPython(t *testing.T) {
	is := is.New(t)
	python := node.Python(t)
	dir := t.TempDir()
	is.NoErr(os.CopyFS(dir, os.DirFS("testdata")))
	is.NoErr(os.CopyFS(dir, os.DirFS(samples)))
	checkDocs(t, dir, python, "check.py")
}
