package licensefile

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

func leastRevocations() Revocations {
	return Revocations{ProductID: "atlas", Sequence: issued.UnixMilli(), IssuedAt: issued, ExpiresAt: issued.Add(7 * 24 * time.Hour)}
}

func TestRevocationsVerify(t *testing.T) {
	for name, signer := range map[string]crypto.Signer{"EdDSA": edKey('b'), "ES256": ecKey(t)} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			keys := set(t, edKey('a'), signer, edKey('c'))
			ids := keys.IDs()
			r := leastRevocations()
			r.CondemnedKeys = []string{ids[2], ids[1], "unknown", ids[0]} // only the last is before the signer
			for i := range 3 {
				r.Licenses = append(r.Licenses, RevokedLicense{LicenseHash(fmt.Sprint("lic_", i)), int64(i + 1), issued.Add(time.Hour)})
			}
			got, err := keys.VerifyRevocations(must(SignRevocations(r, signer)))
			is.NoErr(err)
			slices.SortFunc(r.Licenses, func(a, b RevokedLicense) int { return strings.Compare(a.Hash, b.Hash) })
			r.CondemnedKeys, r.KeyID = ids[:1], ids[1]
			is.Equal(got, r)
		})
	}
}

func TestVerifyRevocationsRefuses(t *testing.T) {
	signer := edKey('a')
	keys := set(t, signer)
	text := must(SignRevocations(leastRevocations(), signer))
	parts := strings.Split(text, ".")
	payload := string(must(decode(parts[1])))
	head := string(must(decode(parts[0])))
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"altered":            {parts[0] + "." + parts[1] + "." + strings.Repeat("A", 86), ErrSignature},
		"a license file":     {must(Sign(fullClaims(), signer)), ErrType},
		"another key":        {must(SignRevocations(leastRevocations(), edKey('b'))), ErrUnknownKey},
		"with sub":           {raw(t, head, strings.Replace(payload, "{", `{"sub":"x",`, 1), signer), ErrMalformed},
		"with aud":           {raw(t, head, strings.Replace(payload, "{", `{"aud":"atlas",`, 1), signer), ErrMalformed},
		"without a product":  {raw(t, head, strings.Replace(payload, "product_id", "x", 1), signer), ErrMalformed},
		"without a sequence": {raw(t, head, strings.Replace(payload, "seq", "x", 1), signer), ErrMalformed},
		"without exp":        {raw(t, head, strings.Replace(payload, "exp", "x", 1), signer), ErrMalformed},
		"without licenses":   {raw(t, head, strings.Replace(payload, "licenses", "x", 1), signer), ErrMalformed},
		"license of no gen":  {raw(t, head, strings.Replace(payload, "[]", `[{"hash":"x","until":1}]`, 1), signer), ErrMalformed},
		"duplicate member":   {raw(t, head, strings.Replace(payload, "[]", `[{"gen":1,"gen":2}]`, 1), signer), ErrDuplicate},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := keys.VerifyRevocations(c.text); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	_, err := keys.Verify(text)
	require.ErrorIs(t, err, ErrType)
	_, err = SignRevocations(Revocations{}, signer)
	require.ErrorIs(t, err, ErrMalformed)
}

func TestCheckRevocations(t *testing.T) {
	is := is.New(t)
	r := leastRevocations()
	is.NoErr(r.Check("atlas", issued))
	is.NoErr(r.Check("atlas", issued.Add(-24*time.Hour)))
	require.ErrorIs(t, r.Check("atlas", issued.Add(-24*time.Hour-time.Millisecond)), ErrListAhead)
	is.NoErr(r.Check("atlas", r.ExpiresAt.Add(-1)))
	require.ErrorIs(t, r.Check("atlas", r.ExpiresAt), ErrStaleList)
	require.ErrorIs(t, r.Check("other", issued), ErrProduct)
}

func TestNewerPrefersTheLaterKey(t *testing.T) {
	is := is.New(t)
	first, second := edKey('a'), edKey('b')
	keys := set(t, first, second)
	list := func(sequence int64, signer crypto.Signer) Revocations {
		r := leastRevocations()
		r.Sequence = sequence
		return must(keys.VerifyRevocations(must(SignRevocations(r, signer))))
	}
	is.True(keys.Newer(list(2, first), list(1, first)))
	is.True(!keys.Newer(list(1, first), list(1, first)))
	is.True(!keys.Newer(list(1, first), list(2, first)))
	is.True(keys.Newer(list(1, second), list(9, first)))
	is.True(!keys.Newer(list(9, first), list(1, second)))
}

// TestListOfOneLicense: a reader that does not know such a list refuses it, because
// licenses is missing, and it says nothing about another license.
func TestListOfOneLicense(t *testing.T) {
	is := is.New(t)
	signer := edKey('a')
	keys := set(t, signer)
	r := leastRevocations()
	r.LicenseHash = LicenseHash("lic_1")
	r.Licenses = []RevokedLicense{{r.LicenseHash, 2, issued.Add(time.Hour)}}
	text := must(SignRevocations(r, signer))
	got, err := keys.VerifyRevocations(text)
	is.NoErr(err)
	r.KeyID = keys.IDs()[0]
	is.Equal(got, r)
	is.True(got.Covers("lic_1"))
	is.True(!got.Covers("lic_2"))
	is.True(leastRevocations().Covers("lic_2"))

	file := File{Claims: leastClaims()}
	check := func(licenseID string, generation int64) error {
		file.LicenseID, file.Generation = licenseID, generation
		return file.Check(Expect{ProductID: "atlas", Now: issued, Revocations: &got})
	}
	require.ErrorIs(t, check("lic_1", 1), ErrOldGeneration)
	is.NoErr(check("lic_1", 2))
	require.ErrorIs(t, check("lic_2", 2), ErrOtherLicense)

	parts := strings.Split(text, ".")
	head, payload := string(must(decode(parts[0]))), string(must(decode(parts[1])))
	require.NotContains(t, payload, `"licenses"`)
	_, err = keys.VerifyRevocations(raw(t, head, strings.Replace(payload, "{", `{"licenses":[],`, 1), signer))
	require.ErrorIs(t, err, ErrMalformed)
	r.Licenses = append(r.Licenses, RevokedLicense{LicenseHash("lic_2"), 1, issued.Add(time.Hour)})
	_, err = SignRevocations(r, signer)
	require.ErrorIs(t, err, ErrMalformed)
}

// TestListsOfManyLicenses has a list that is larger than a file may be.
func TestListsOfManyLicenses(t *testing.T) {
	is := is.New(t)
	r := leastRevocations()
	for i := range 2000 {
		r.Licenses = append(r.Licenses, RevokedLicense{LicenseHash(fmt.Sprint("lic_", i)), AllGenerations, issued.Add(time.Hour)})
	}
	signer := edKey('a')
	got, err := set(t, signer).VerifyRevocations(must(SignRevocations(r, signer)))
	is.NoErr(err)
	is.Equal(len(got.Licenses), 2000)
	file := File{Claims: leastClaims()}
	file.LicenseID = "lic_1999"
	require.ErrorIs(t, file.Check(Expect{ProductID: "atlas", Now: issued, Revocations: &got}), ErrRevoked)
}

// TestHostileListsAreCheap: a text of the maximum size without a valid signature takes
// at most three times its size in memory.
func TestHostileListsAreCheap(t *testing.T) {
	signer := edKey('a')
	keys := set(t, signer)
	parts := strings.Split(must(SignRevocations(leastRevocations(), signer)), ".")
	var members bytes.Buffer
	members.WriteString("{")
	for i := range MaxListSize / 16 {
		fmt.Fprintf(&members, `"%05x":0,`, i)
	}
	members.WriteString(`"x":0}`)
	long := func(text string) string {
		return base64url.EncodeToString([]byte(strings.Repeat(text, MaxListSize*3/4/len(text)-1000)))
	}
	for name, text := range map[string]string{
		"a header of members": base64url.EncodeToString(members.Bytes()) + "." + parts[1] + "." + parts[2],
		"a header of nesting": long("[") + "." + parts[1] + "." + parts[2],
		"dots":                strings.Repeat(".", MaxListSize),
		"a payload":           parts[0] + "." + long("[") + "." + parts[2],
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := keys.VerifyRevocations(text); err == nil {
				t.Error("accepted")
			}
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 3*MaxListSize {
				t.Errorf("%d bytes of memory", used)
			}
		})
	}
	is := is.New(t)
	head := strings.Replace(string(must(decode(parts[0]))), "{", `{"x5c":["`+strings.Repeat("A", 2500)+`"],`, 1)
	_, err := keys.VerifyRevocations(raw(t, head, string(must(decode(parts[1]))), signer))
	is.NoErr(err) // other libraries may write more
	_, err = keys.VerifyRevocations(raw(t, strings.Replace(head, "A", "AAAAAAAA", 300), string(must(decode(parts[1]))), signer))
	require.ErrorIs(t, err, ErrTooLarge)
}
