package licensefile

import (
	"crypto"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// officeClaims are those of a file that the vendor issued for the office with a key.
func officeClaims(office crypto.Signer) Claims {
	c := fullClaims()
	c.ID, c.Nonce, c.NotBefore, c.ExpiresAt = "office-1", "", issued, issued.Add(90*24*time.Hour)
	c.FingerprintHash = FingerprintHash(c.LicenseID, OfficeFingerprint(must(KeyID(office.Public())), 1))
	c.Office = &Office{office.Public(), 3, map[string]Meter{"exports": {Limit: new(int64(100)), Soft: true, Per: "month"}, "calls": {}}}
	return c
}

// lentClaims are those of a file that the office issued a day later.
func lentClaims() Claims {
	at := issued.Add(24 * time.Hour)
	return Claims{
		ID: "lent-1", LicenseID: "lic_1", ProductID: "atlas", Generation: 1, IssuedAt: at, NotBefore: at, ExpiresAt: at.Add(2 * time.Hour),
		ActivationID: "act_9", FingerprintHash: FingerprintHash("lic_1", "machine"), RecheckAfter: 60, Nonce: "n-9",
	}
}

func TestLentFilesVerify(t *testing.T) {
	is := is.New(t)
	vendor, office := edKey('a'), edKey('o')
	text := must(Sign(officeClaims(office), vendor))
	keys := set(t, vendor)

	own, err := keys.Verify(text)
	is.NoErr(err)
	is.Equal(own.Claims, officeClaims(office))
	require.ErrorIs(t, own.Check(Expect{ProductID: "atlas", Fingerprint: OfficeFingerprint(must(KeyID(office.Public())), 1), Now: issued}), ErrOffice)

	lender, err := NewLender("\n"+text+"\r\na.list\n", office)
	is.NoErr(err)
	is.Equal(lender.Revocations, "a.list")
	is.Equal(lender.Claims, officeClaims(office))
	claims := lentClaims()
	claims.Entitlements, claims.Name, claims.Generation = map[string]any{"users": 99.0}, "Somebody", 9
	file, err := keys.Verify(must(lender.Sign(claims)))
	is.NoErr(err)
	want := officeClaims(office) // the vendor decides what the license is
	want.ID, want.ActivationID, want.FingerprintHash = claims.ID, claims.ActivationID, claims.FingerprintHash
	want.IssuedAt, want.NotBefore, want.ExpiresAt = claims.IssuedAt, claims.NotBefore, claims.ExpiresAt
	want.RecheckAfter, want.Nonce, want.Office = claims.RecheckAfter, claims.Nonce, nil
	is.Equal(file.Claims, want)
	is.Equal(*file.Lender, officeClaims(office))
	is.Equal(file.KeyID, own.KeyID)
	is.NoErr(file.Check(Expect{ProductID: "atlas", Fingerprint: "machine", Nonce: "n-9", Now: claims.IssuedAt}))
	require.ErrorIs(t, file.Check(Expect{ProductID: "atlas", Fingerprint: "other", Now: claims.IssuedAt}), ErrFingerprint)
	require.ErrorIs(t, file.Check(Expect{ProductID: "atlas", Fingerprint: "machine", Now: claims.ExpiresAt}), ErrExpired)
	revoked := &Revocations{ProductID: "atlas", Licenses: []RevokedLicense{{LicenseHash("lic_1"), 4, issued}}}
	require.ErrorIs(t, file.Check(Expect{ProductID: "atlas", Fingerprint: "machine", Now: claims.IssuedAt, Revocations: revoked}), ErrOldGeneration)

	claims.ExpiresAt = want.LicenseExpiresAt
	file, err = keys.Verify(must(lender.Sign(claims)))
	is.NoErr(err)
	is.Equal(file.ExpiresAt, lender.Claims.ExpiresAt)

	claims = lentClaims() // by an office whose clock is years behind
	claims.IssuedAt, claims.NotBefore = issued.AddDate(-9, 0, 0), issued.AddDate(-9, 0, 0)
	file, err = keys.Verify(must(lender.Sign(claims)))
	is.NoErr(err)
	is.Equal(file.IssuedAt, issued)
	is.Equal(file.NotBefore, issued)
}

// lend returns a file that a key signed with the file of an office in its header, whatever
// NewLender and Lender.Sign would say.
func lend(file string, by crypto.Signer, change func(*Claims)) string {
	c := lentClaims()
	change(&c)
	return must(sign(Type, must(c.payload()), by, file))
}

func same(*Claims) {}

// A forgery is a file that the holder of the key of an office has made.
type forgery struct {
	name, text string
	want       error
}

// forgeries returns files of an office of a vendor, and of others, that no program accepts.
func forgeries(t *testing.T, vendor, office, other crypto.Signer) []forgery {
	t.Helper()
	file := must(Sign(officeClaims(office), vendor))
	part := func(text string, i int) string { return strings.Split(text, ".")[i] }
	payload := string(must(decode(part(file, 1))))
	altered := func(old, new string) string {
		if !strings.Contains(payload, old) {
			t.Fatalf("the payload has no %s: %s", old, payload)
		}
		return part(file, 0) + "." + base64url.EncodeToString([]byte(strings.Replace(payload, old, new, 1))) + "." + part(file, 2)
	}
	jwk := func(k crypto.Signer) string { return must(newKey(k.Public())).jwk.X }
	longer := func(c *Claims) { c.ExpiresAt = issued.Add(90*24*time.Hour + time.Second) }
	nested := lend(file, office, func(c *Claims) { c.Office = &Office{Key: other.Public(), Seats: 3} })
	replaced := officeClaims(office)
	replaced.Office = &Office{Key: other.Public(), Seats: 3}
	good, more := lend(file, office, same), lend(file, office, longer)
	return []forgery{
		{"more seats", lend(altered(`"seats":3`, `"seats":9`), office, same), ErrSignature},
		{"a swapped jwk", lend(altered(jwk(office), jwk(other)), other, same), ErrSignature},
		{"a swapped jwk with its kid", lend(must(Sign(officeClaims(other), other)), other, same), ErrUnknownKey},
		{"an altered end of the office", lend(altered(fmt.Sprint(issued.Add(90*24*time.Hour).Unix()), "9999999999"), office, same), ErrSignature},
		{"an altered entitlement", lend(altered(`"users":25`, `"users":99`), office, same), ErrSignature},
		{"an altered file", part(good, 0) + "." + part(more, 1) + "." + part(good, 2), ErrSignature},
		{"a longer end", more, ErrLent},
		{"another product", lend(file, office, func(c *Claims) { c.ProductID = "other" }), ErrLent},
		{"another license", lend(file, office, func(c *Claims) { c.LicenseID = "lic_2" }), ErrLent},
		{"any machine", lend(file, office, func(c *Claims) { c.FingerprintHash = "" }), ErrLent},
		{"no activation", lend(file, office, func(c *Claims) { c.ActivationID = "" }), ErrLent},
		{"an office of the office", nested, ErrLent},
		{"lent by an office of the office", lend(nested, other, same), ErrUnknownKey},
		{"by another key", lend(file, other, same), ErrUnknownKey},
		{"by the key of the office under another kid", raw(t, fmt.Sprintf(`{"alg":"EdDSA","kid":"x","typ":%q,"office":%q}`, Type, file),
			string(must(lentClaims().payload())), office), ErrUnknownKey},
		{"with the file of a program", lend(must(Sign(fullClaims(), vendor)), office, same), ErrLent},
		{"with a file of another vendor", lend(must(Sign(officeClaims(office), other)), office, same), ErrUnknownKey},
		{"with no file", lend("", office, same), ErrUnknownKey},
		{"with something else", lend("x", office, same), ErrTruncated},
		{"by an office that was replaced", lend(must(Sign(replaced, vendor)), office, same), ErrUnknownKey},
	}
}

// TestForgedLentFiles: whoever has the key of an office can sign anything with it.
func TestForgedLentFiles(t *testing.T) {
	vendor, condemned, office := edKey('a'), edKey('c'), edKey('o')
	keys := set(t, condemned, vendor).Condemn(must(KeyID(condemned.Public())))
	if _, err := keys.Verify(lend(must(Sign(officeClaims(office), vendor)), office, same)); err != nil {
		t.Fatal(err)
	}
	for _, f := range append(forgeries(t, vendor, office, edKey('p')),
		forgery{"with a condemned key", lend(must(Sign(officeClaims(office), condemned)), office, same), ErrCondemnedKey}) {
		t.Run(f.name, func(t *testing.T) {
			_, err := keys.Verify(f.text)
			require.ErrorIs(t, err, f.want)
		})
	}
	for name, c := range map[string]struct {
		change func(*Claims) // of the file of the office
		want   Expect
		err    error
	}{
		"of an expired office": {func(c *Claims) { c.ExpiresAt = lentClaims().ExpiresAt }, Expect{Now: lentClaims().ExpiresAt}, ErrExpired},
		"of a later office":    {func(c *Claims) { c.NotBefore = issued.Add(9 * 24 * time.Hour) }, Expect{}, ErrEarly},
		"before the office":    {same, Expect{Now: issued.Add(-time.Hour)}, ErrClock},
		"of an old generation": {same, Expect{MinGeneration: 4}, ErrOldGeneration},
		"of a revoked license": {same, Expect{Revocations: &Revocations{ProductID: "atlas", Licenses: []RevokedLicense{{LicenseHash("lic_1"), AllGenerations, issued}}}}, ErrRevoked},
		"of a condemned key":   {same, Expect{Revocations: &Revocations{ProductID: "atlas", CondemnedKeys: []string{must(KeyID(vendor.Public()))}}}, ErrCondemnedKey},
		"for newer builds":     {func(c *Claims) { c.UpdatesUntil = issued }, Expect{BuiltAt: issued.Add(time.Hour)}, ErrUpdatesEnded},
	} {
		t.Run(name, func(t *testing.T) {
			of := officeClaims(office)
			c.change(&of)
			f, err := keys.Verify(lend(must(Sign(of, vendor)), office, func(l *Claims) {
				l.Generation, l.IssuedAt, l.NotBefore = 9, issued.AddDate(-1, 0, 0), issued.AddDate(-1, 0, 0)
			}))
			if err != nil {
				t.Fatal(err)
			}
			c.want.ProductID, c.want.Fingerprint = "atlas", "machine"
			if c.want.Now.IsZero() {
				c.want.Now = issued.Add(time.Hour)
			}
			if err := f.Check(c.want); !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
		})
	}
}

// TestOfficeFileSize: the largest file that the vendor issues for an office fits into
// the headers of the files that the office signs.
func TestOfficeFileSize(t *testing.T) {
	is := is.New(t)
	vendor, office := edKey('a'), edKey('o')
	fits := officeClaims(office)
	n := 0
	for ; fits.Validate() == nil; n++ {
		fits.Entitlements[fmt.Sprint(n)] = "x"
	}
	require.ErrorIs(t, fits.Validate(), ErrTooLarge)
	delete(fits.Entitlements, fmt.Sprint(n-1))
	lender, err := NewLender(must(Sign(fits, vendor)), office)
	is.NoErr(err)
	text := must(lender.Sign(lentClaims()))
	require.AtMost(t, len(strings.Split(text, ".")[0]), maxHeaderText)
	_, err = set(t, vendor).Verify(text)
	is.NoErr(err)
}

func TestNewLenderRefuses(t *testing.T) {
	vendor, office := edKey('a'), edKey('o')
	file := must(Sign(officeClaims(office), vendor))
	for name, c := range map[string]struct {
		answer string
		key    crypto.Signer
		want   error
	}{
		"nothing":         {"", office, ErrMalformed},
		"a program":       {must(Sign(fullClaims(), vendor)), office, ErrLent},
		"another office":  {file, edKey('p'), ErrLent},
		"three texts":     {file + " x x", office, ErrMalformed},
		"a part":          {strings.Split(file, ".")[0], office, ErrTruncated},
		"something else":  {"a.b.c", office, ErrEncoding},
		"a list":          {must(SignRevocations(Revocations{ProductID: "atlas", Sequence: 1, IssuedAt: issued, ExpiresAt: issued}, vendor)), office, ErrMalformed},
		"a request of it": {must(SignOfficeRequest(OfficeRequest{Seats: 3}, office)), office, ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewLender(c.answer, c.key)
			require.ErrorIs(t, err, c.want)
		})
	}
	lender := must(NewLender(file, office))
	for name, change := range map[string]func(*Claims){
		"license": func(c *Claims) { c.LicenseID = "lic_2" }, "product": func(c *Claims) { c.ProductID = "other" },
		"machine": func(c *Claims) { c.FingerprintHash = "" }, "activation": func(c *Claims) { c.ActivationID = "" },
	} {
		t.Run(name, func(t *testing.T) {
			c := lentClaims()
			change(&c)
			_, err := lender.Sign(c)
			require.ErrorIs(t, err, ErrLent)
		})
	}
}

func TestOfficeRequest(t *testing.T) {
	is := is.New(t)
	office := edKey('o')
	text := must(SignOfficeRequest(OfficeRequest{Seats: 3, KeyHash: KeyHash("abcde-fghjk")}, office))
	require.AtMost(t, len(text), 600) // for a QR code
	is.True(IsOfficeRequest("\n" + text))
	is.True(!IsOfficeRequest(must(NewRequest("", "machine").Text())))
	r, err := ParseOfficeRequest(" " + text[:100] + "\r\n" + text[100:] + "\n")
	is.NoErr(err)
	want := OfficeRequest{office.Public(), 3, KeyHash("ABCDE FGHJK"), nil}
	is.Equal(r, want)

	// The longest names of as many meters as a license may have fit.
	want.Meters = map[string]int64{}
	for i := range 20 {
		want.Meters[fmt.Sprintf("%064d", i)] = maxNumber
	}
	r, err = ParseOfficeRequest(must(SignOfficeRequest(want, office)))
	is.NoErr(err)
	is.Equal(r, want)

	other := edKey('p')
	parts := strings.Split(text, ".")
	head := fmt.Sprintf(`{"alg":"EdDSA","kid":%q,"typ":"license-office-request+jwt"}`, must(KeyID(office.Public())))
	payload := string(must(decode(parts[1])))
	for name, forged := range map[string]string{
		"empty":              "",
		"truncated":          text[:len(text)-1],
		"more seats":         parts[0] + "." + base64url.EncodeToString([]byte(strings.Replace(payload, `"seats":3`, `"seats":4`, 1))) + "." + parts[2],
		"no seats":           raw(t, head, strings.Replace(payload, `"seats":3`, `"seats":0`, 1), office),
		"totals for any key": raw(t, head, strings.Replace(payload, `"key_hash"`, `"meters":{"exports":1},"x"`, 1), office),
		"a negative total":   raw(t, head, payload[:len(payload)-1]+`,"meters":{"exports":-1}}`, office),
		"a broken total":     raw(t, head, payload[:len(payload)-1]+`,"meters":{"exports":1.5}}`, office),
		"no jwk":             raw(t, head, `{"seats":3}`, office),
		"another jwk":        raw(t, head, payload, other),
		"of another typ":     must(sign(Type, []byte(payload), office, "")),
		"a file":             must(Sign(fullClaims(), office)),
		"a private key":      raw(t, head, strings.Replace(payload, `"crv"`, `"d":"x","crv"`, 1), office),
		"larger than 4 KiB":  raw(t, head, payload[:len(payload)-1]+`,"x":"`+strings.Repeat("x", 4<<10)+`"}`, office),
		"a curve like P-521": raw(t, head, strings.Replace(payload, `"Ed25519"`, `"Ed448"`, 1), office),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseOfficeRequest(forged)
			require.ErrorIs(t, err, ErrRequest)
		})
	}
	many := map[string]int64{}
	for i := range 400 {
		many[fmt.Sprint(i)] = 1
	}
	for _, c := range []struct {
		of   OfficeRequest
		want error
	}{
		{OfficeRequest{}, ErrMalformed},
		{OfficeRequest{Seats: 1, Meters: map[string]int64{"exports": 1}}, ErrMalformed},
		{OfficeRequest{Seats: 1, KeyHash: "x", Meters: map[string]int64{"exports": -1}}, ErrMalformed},
		{OfficeRequest{Seats: 1, KeyHash: "x", Meters: map[string]int64{"exports": maxNumber + 1}}, ErrMalformed},
		{OfficeRequest{Seats: 1, KeyHash: "x", Meters: map[string]int64{"": 1}}, ErrMalformed},
		{OfficeRequest{Seats: 1, KeyHash: "x", Meters: many}, ErrTooLarge},
	} {
		_, err = SignOfficeRequest(c.of, office)
		require.ErrorIs(t, err, c.want)
	}
}
