package licensefile

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

var update = flag.Bool("update", false, "rewrite testdata/vectors.json")

// vectors are files with the verdict that every verifier must reach.
type vectors struct {
	About     string          `json:"about"`
	ProductID string          `json:"product_id"` // what the verifier expects in aud
	Keys      json.RawMessage `json:"keys"`       // the JWKS that the program embeds
	Files     []vector        `json:"files"`
}

type vector struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"` // of the machine
	Now         int64  `json:"now"`         // its clock, in seconds since 1970
	Valid       bool   `json:"valid"`
	Text        string `json:"text"`
	// Claims are what a program takes from a valid file that an office signed; nil:
	// the vendor signed it.
	Claims json.RawMessage `json:"claims,omitempty"`
}

// repeatable signs with ES256 so that the same text has the same signature.
type repeatable struct{ *ecdsa.PrivateKey }

func (k repeatable) Sign(_ io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return k.PrivateKey.Sign(nil, digest, opts)
}

// signParts signs claims under any header; nil: that of the key.
func signParts(t *testing.T, head map[string]any, claims []byte, signer crypto.Signer) string {
	t.Helper()
	if head == nil {
		return must(sign(Type, claims, signer, ""))
	}
	return raw(t, string(must(json.Marshal(head))), string(claims), signer)
}

func makeVectors(t *testing.T) vectors {
	first, next, foreign := edKey('v'), edKey('w'), edKey('x')
	ec := repeatable{must(ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte("v"), 32)))}
	keys := set(t, first, next, ec)
	out := vectors{
		About:     "License files with the verdict of licensefile for a program of product_id with these keys. The clock may be 300 seconds behind; a file has expired at its exp.",
		ProductID: "atlas", Keys: must(json.Marshal(keys)),
	}
	add := func(valid bool, name, text string, now time.Time) {
		out.Files = append(out.Files, vector{Name: name, Fingerprint: "machine", Now: now.Unix(), Valid: valid, Text: text})
	}
	claims := func(change func(*Claims)) []byte {
		c := fullClaims()
		c.NotBefore = issued
		change(&c)
		return must(c.MarshalJSON())
	}
	full := claims(func(*Claims) {})
	least := must(leastClaims().MarshalJSON())
	good := signParts(t, nil, full, first)
	parts := strings.Split(good, ".")
	kid := keys.IDs()
	head := func(change func(map[string]any)) map[string]any {
		h := map[string]any{"alg": "EdDSA", "kid": kid[0], "typ": Type}
		change(h)
		return h
	}
	exp := fullClaims().ExpiresAt

	add(true, "EdDSA", good, issued)
	add(true, "EdDSA with the next key", signParts(t, nil, full, next), issued)
	add(true, "ES256", signParts(t, nil, full, ec), issued)
	add(true, "white space around the file", "\r\n "+good+"\n", issued)
	add(true, "least claims, for any machine", signParts(t, nil, least, first), issued)
	add(true, "an unknown claim", signParts(t, nil, append(full[:len(full)-1:len(full)-1], `,"x_future":{"a":[1]}}`...), first), issued)
	add(true, "the clock is 300 seconds behind", good, issued.Add(-Leeway))
	add(true, "the last second", good, exp.Add(-time.Second))

	add(false, "the clock is 301 seconds behind", good, issued.Add(-Leeway-time.Second))
	add(false, "expired", good, exp)
	add(false, "expired a year ago", good, exp.AddDate(1, 0, 0))
	add(false, "not valid yet", signParts(t, nil, claims(func(c *Claims) { c.NotBefore = issued.Add(time.Hour) }), first), issued)
	add(false, "for another product", signParts(t, nil, claims(func(c *Claims) { c.ProductID = "other" }), first), issued)
	add(false, "for another machine", signParts(t, nil, claims(func(c *Claims) { c.FingerprintHash = FingerprintHash("lic_1", "other") }), first), issued)
	add(false, "the fingerprint of another license", signParts(t, nil, claims(func(c *Claims) { c.LicenseID = "lic_2" }), first), issued)
	for _, name := range []string{"sub", "aud", "exp", "nbf", "iat"} {
		var all map[string]any
		if err := json.Unmarshal(full, &all); err != nil {
			t.Fatal(err)
		}
		delete(all, name)
		add(false, "without "+name, signParts(t, nil, must(json.Marshal(all)), first), issued)
	}
	add(false, "altered claims", parts[0]+"."+base64url.EncodeToString(bytes.Replace(full, []byte("25"), []byte("99"), 1))+"."+parts[2], issued)
	add(false, "altered signature", parts[0]+"."+parts[1]+"."+strings.Repeat("A", 86), issued)
	add(false, "no signature", parts[0]+"."+parts[1]+".", issued)
	add(false, "truncated", good[:len(good)-20], issued)
	add(false, "two parts", parts[0]+"."+parts[1], issued)
	add(false, "four parts", good+"."+parts[2], issued)
	add(false, "empty", "", issued)
	add(false, "not a token", "hello", issued)
	add(false, "a foreign key", signParts(t, nil, full, foreign), issued)
	add(false, "a foreign key under a known kid", signParts(t, head(func(map[string]any) {}), full, foreign), issued)
	add(false, "a foreign key in the header", signParts(t, head(func(h map[string]any) {
		h["jwk"] = must(newKey(foreign.Public())).jwk
	}), full, foreign), issued)
	add(false, "the kid of another key", signParts(t, head(func(h map[string]any) { h["kid"] = kid[1] }), full, first), issued)
	add(false, "without kid", signParts(t, head(func(h map[string]any) { delete(h, "kid") }), full, first), issued)
	add(false, "alg none", signParts(t, head(func(h map[string]any) { h["alg"] = "none" }), full, first), issued)
	unsigned := strings.Split(signParts(t, head(func(h map[string]any) { h["alg"] = "none" }), full, first), ".")
	add(false, "alg none without a signature", unsigned[0]+"."+unsigned[1]+".", issued)
	add(false, "alg HS256", signParts(t, head(func(h map[string]any) { h["alg"] = "HS256" }), full, first), issued)
	add(false, "the alg of another key", signParts(t, head(func(h map[string]any) { h["alg"] = "ES256" }), full, first), issued)
	add(false, "another typ", signParts(t, head(func(h map[string]any) { h["typ"] = "JWT" }), full, first), issued)
	add(false, "without typ", signParts(t, head(func(h map[string]any) { delete(h, "typ") }), full, first), issued)
	add(false, "an extension that is critical", signParts(t, head(func(h map[string]any) { h["crit"] = []string{"x"}; h["x"] = 1 }), full, first), issued)
	add(false, "a revocation list", must(SignRevocations(Revocations{
		ProductID: "atlas", Sequence: issued.UnixMilli(), IssuedAt: issued, ExpiresAt: issued.Add(time.Hour),
	}, first)), issued)
	add(true, "office in the header of a file of the vendor", must(sign(Type, full, first, "x")), issued)
	office := officeClaims(edKey('o'))
	office.FingerprintHash = FingerprintHash("lic_1", "machine")
	add(false, "the file of an office", must(Sign(office, first)), issued)
	return out.withLent(t, first, ec)
}

// withLent adds files that an office signs, with an Ed25519 key and with an ECDSA key.
func (v vectors) withLent(t *testing.T, vendor, ecVendor crypto.Signer) vectors {
	office := edKey('o')
	ec := repeatable{must(ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte("o"), 32)))}
	lent := func(vendor, office crypto.Signer, of, change func(*Claims)) string {
		c := officeClaims(office)
		of(&c)
		return lend(must(Sign(c, vendor)), office, change)
	}
	add := func(name, text string, now time.Time, claims []byte) {
		v.Files = append(v.Files, vector{"lent: " + name, "machine", now.Unix(), claims != nil, text, claims})
	}
	valid := func(name string, vendor, office crypto.Signer, change func(*Claims), now time.Time) {
		c, want := lentClaims(), officeClaims(office)
		change(&c)
		want.ID, want.ActivationID, want.FingerprintHash, want.Office = c.ID, c.ActivationID, c.FingerprintHash, nil
		want.ExpiresAt, want.RecheckAfter, want.Nonce = c.ExpiresAt, c.RecheckAfter, c.Nonce
		if want.IssuedAt.Before(c.IssuedAt) {
			want.IssuedAt, want.NotBefore = c.IssuedAt, c.NotBefore
		}
		add(name, lent(vendor, office, same, change), now, must(want.MarshalJSON()))
	}
	early := func(c *Claims) {
		c.IssuedAt, c.NotBefore = issued.AddDate(-9, 0, 0), issued.AddDate(-9, 0, 0)
	}
	at, exp, end := lentClaims().IssuedAt, lentClaims().ExpiresAt, officeClaims(office).ExpiresAt
	valid("EdDSA", vendor, office, same, at)
	valid("ES256", ecVendor, ec, same, at)
	valid("ES256 by an office of an EdDSA vendor", vendor, ec, same, at)
	valid("the last second", vendor, office, same, exp.Add(-time.Second))
	valid("as long as the office has the license", vendor, office, func(c *Claims) { c.ExpiresAt = end }, end.Add(-time.Second))
	valid("the clock of the office is years behind", vendor, office, early, issued.Add(-Leeway))
	valid("without recheck and nonce", vendor, office, func(c *Claims) { c.RecheckAfter, c.Nonce = 0, "" }, at)
	valid("with terms of the office", vendor, office, func(c *Claims) {
		c.Entitlements, c.Name, c.Generation, c.LicenseExpiresAt = map[string]any{"users": 99.0}, "Other", 9, end
	}, at)

	for _, f := range forgeries(t, vendor, office, edKey('p')) {
		add(f.name, f.text, at, nil)
	}
	good := lent(vendor, office, same, same)
	add("expired", good, exp, nil)
	add("the clock is 301 seconds behind", good, at.Add(-Leeway-time.Second), nil)
	add("before the file of the office", lent(vendor, office, same, early), issued.Add(-Leeway-time.Second), nil)
	add("before the office has the license", lent(vendor, office, func(c *Claims) { c.NotBefore = at.Add(time.Hour) }, same), at, nil)
	add("to another machine", lent(vendor, office, same, func(c *Claims) { c.FingerprintHash = FingerprintHash("lic_1", "other") }), at, nil)
	add("of another product", lent(vendor, office, func(c *Claims) { c.ProductID = "other" }, func(c *Claims) { c.ProductID = "other" }), at, nil)
	add("by an office whose file has expired", lent(vendor, office, same, func(c *Claims) { c.ExpiresAt = end }), end.Add(Leeway+time.Second), nil)
	return v
}

// TestVectors checks the published files, from which other verifiers are written. After
// an addition, rewrite them with:
//
//	go test ./licensing/licensefile -run Vectors -update
func TestVectors(t *testing.T) {
	is := is.New(t)
	path := filepath.Join("testdata", "vectors.json")
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	is.NoErr(e.Encode(makeVectors(t)))
	if *update {
		is.NoErr(os.WriteFile(path, want.Bytes(), 0o644))
	}
	data, err := os.ReadFile(path)
	is.NoErr(err)
	if !bytes.Equal(data, want.Bytes()) {
		t.Errorf("%s is not what this test makes; run it with -update", path)
	}
	var v vectors
	is.NoErr(json.Unmarshal(data, &v))
	keys, err := ParseKeys(v.Keys)
	is.NoErr(err)
	seen := map[string]bool{}
	for _, f := range v.Files {
		is.True(!seen[f.Name])
		seen[f.Name] = true
		file, err := keys.Verify(f.Text)
		if err == nil {
			err = file.Check(Expect{ProductID: v.ProductID, Fingerprint: f.Fingerprint, Now: time.Unix(f.Now, 0)})
		}
		if (err == nil) != f.Valid {
			t.Error(fmt.Errorf("%s: valid should be %v: %w", f.Name, f.Valid, err))
		}
		if f.Claims != nil {
			var want Claims
			is.NoErr(want.UnmarshalJSON(f.Claims))
			is.Equal(file.Claims, want)
		}
	}
}

// TestGoldenFiles verifies files that are never signed again. Do not replace them:
// programs that have such files must be able to read them forever.
func TestGoldenFiles(t *testing.T) {
	is := is.New(t)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata", "golden1", name))
		is.NoErr(err)
		return string(data)
	}
	keys, err := ParseKeys([]byte(read("keys.json")))
	is.NoErr(err)
	is.Equal(len(keys.IDs()), 2)
	full := fullClaims()
	full.Name = "" // files have it since the second release
	for name, want := range map[string]File{
		"eddsa.jws": {Claims: full, KeyID: keys.IDs()[0]},
		"es256.jws": {Claims: full, KeyID: keys.IDs()[1]},
		"least.jws": {Claims: leastClaims(), KeyID: keys.IDs()[0]},
	} {
		file, err := keys.Verify(read(name))
		is.NoErr(err)
		is.Equal(file, want)
		is.NoErr(file.Check(Expect{ProductID: "atlas", Fingerprint: "machine", Now: issued}))
	}

	list, err := keys.VerifyRevocations(read("revocations.jws"))
	is.NoErr(err)
	is.NoErr(list.Check("atlas", issued))
	is.Equal(list.CondemnedKeys, keys.IDs()[:1])
	file, err := keys.Verify(read("es256.jws"))
	is.NoErr(err)
	want := Expect{ProductID: "atlas", Fingerprint: "machine", Now: issued, Revocations: &list}
	require.ErrorIs(t, file.Check(want), ErrOldGeneration)
	_, err = keys.Condemn(list.CondemnedKeys...).Verify(read("eddsa.jws"))
	require.ErrorIs(t, err, ErrCondemnedKey)
}
