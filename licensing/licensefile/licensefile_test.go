package licensefile

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// issued is when the files of these tests are issued.
var issued = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// edKey returns an Ed25519 key that is the same in each run.
func edKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))
}

func ecKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func set(t testing.TB, signers ...crypto.Signer) *KeySet {
	t.Helper()
	var public []crypto.PublicKey
	for _, s := range signers {
		public = append(public, s.Public())
	}
	keys, err := NewKeySet(public...)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// fullClaims has every claim.
func fullClaims() Claims {
	return Claims{
		ID: "file-1", Issuer: "https://example.com", LicenseID: "lic_1", ProductID: "atlas", Name: "Acme <Ltd> ü", Generation: 3,
		IssuedAt: issued, NotBefore: issued.Add(-time.Hour), ExpiresAt: issued.Add(14 * 24 * time.Hour),
		LicenseExpiresAt: issued.Add(365 * 24 * time.Hour), ActivationID: "act_1",
		FingerprintHash: FingerprintHash("lic_1", "machine"),
		Entitlements:    map[string]any{"export": true, "users": 25.0, "plan": "pro <&> ü"},
		RecheckAfter:    3600, Nonce: "n-1",
	}
}

// leastClaims has only the required claims.
func leastClaims() Claims {
	return Claims{
		ID: "file-2", LicenseID: "lic_1", ProductID: "atlas", Generation: 1,
		IssuedAt: issued, NotBefore: issued, ExpiresAt: issued.Add(time.Hour),
	}
}

// raw signs any header and payload, as a faulty or hostile issuer would.
func raw(t testing.TB, head, payload string, signer crypto.Signer) string {
	t.Helper()
	text := base64url.EncodeToString([]byte(head)) + "." + base64url.EncodeToString([]byte(payload))
	signature, err := signer.Sign(rand.Reader, []byte(text), crypto.Hash(0))
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64url.EncodeToString(signature)
}

func TestFilesVerify(t *testing.T) {
	for name, signer := range map[string]crypto.Signer{"EdDSA": edKey('a'), "ES256": ecKey(t)} {
		for _, claims := range []Claims{fullClaims(), leastClaims()} {
			t.Run(name+"/"+claims.ID, func(t *testing.T) {
				is := is.New(t)
				text, err := Sign(claims, signer)
				is.NoErr(err)
				require.AtMost(t, len(text), compactSize(must(claims.payload())))
				file, err := set(t, edKey('z'), signer).Verify("\r\n " + text + "\n")
				is.NoErr(err)
				is.Equal(file.Claims, claims)
				id, err := KeyID(signer.Public())
				is.NoErr(err)
				is.Equal(file.KeyID, id)
			})
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestThumbprint compares with the example of RFC 8037 appendix A.3.
func TestThumbprint(t *testing.T) {
	is := is.New(t)
	public, err := decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
	is.NoErr(err)
	id, err := KeyID(ed25519.PublicKey(public))
	is.NoErr(err)
	is.Equal(id, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
}

func TestVerifyRefuses(t *testing.T) {
	signer, other, ec := edKey('a'), edKey('b'), ecKey(t)
	keys := set(t, signer, ec)
	text := must(Sign(fullClaims(), signer))
	parts := strings.Split(text, ".")
	payload := string(must(fullClaims().MarshalJSON()))
	kid := must(KeyID(signer.Public()))
	head := func(members string) string {
		return fmt.Sprintf(`{"typ":"license-file+jwt","kid":%q,"alg":"EdDSA"%s}`, kid, members)
	}
	list := must(SignRevocations(Revocations{ProductID: "atlas", Sequence: 1, IssuedAt: issued, ExpiresAt: issued.Add(time.Hour)}, signer))
	swap := func(old, new string) string { return strings.Replace(head(""), old, new, 1) }
	lastBit := func(part string) string { // the same bytes, encoded with a trailing bit that is not zero
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		last := strings.IndexByte(alphabet, part[len(part)-1])
		return part[:len(part)-1] + string(alphabet[last+1])
	}
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"altered payload":              {parts[0] + "." + base64url.EncodeToString([]byte(strings.Replace(payload, "25", "99", 1))) + "." + parts[2], ErrSignature},
		"altered signature":            {parts[0] + "." + parts[1] + "." + strings.Repeat("A", 86), ErrSignature},
		"altered header":               {base64url.EncodeToString([]byte(head(`,"x":1`))) + "." + parts[1] + "." + parts[2], ErrSignature},
		"longer signature":             {text + "AAAA", ErrSignature},
		"empty":                        {"", ErrTruncated},
		"truncated by one":             {text[:len(text)-1], ErrTruncated},
		"without the signature":        {parts[0] + "." + parts[1] + ".", ErrTruncated},
		"truncated in the payload":     {parts[0] + "." + parts[1][:9], ErrTruncated},
		"four parts":                   {text + ".", ErrMalformed},
		"re-encoded with padding":      {text + "==", ErrEncoding},
		"re-encoded with a line":       {parts[0] + "." + parts[1][:20] + "\n" + parts[1][20:] + "." + parts[2], ErrEncoding},
		"re-encoded with a bit":        {parts[0] + "." + parts[1] + "." + lastBit(parts[2]), ErrEncoding},
		"re-encoded in std base64":     {parts[0] + "." + parts[1] + "+" + "." + parts[2], ErrEncoding},
		"duplicate header member":      {raw(t, head(`,"alg":"EdDSA"`), payload, signer), ErrDuplicate},
		"duplicate kid":                {raw(t, head(`,"kid":"x"`), payload, signer), ErrDuplicate},
		"duplicate escaped member":     {raw(t, head(`,"\u0061lg":"none"`), payload, signer), ErrDuplicate},
		"duplicate claim":              {raw(t, head(""), strings.Replace(payload, `{"iss"`, `{"exp":9999999999,"iss"`, 1), signer), ErrDuplicate},
		"duplicate entitlement":        {raw(t, head(""), strings.Replace(payload, `"users":25`, `"users":25,"users":99`, 1), signer), ErrDuplicate},
		"claim in another case":        {raw(t, head(""), strings.Replace(payload, `"exp"`, `"EXP"`, 1), signer), ErrMalformed},
		"alg none":                     {raw(t, swap("EdDSA", "none"), payload, signer), ErrAlgorithm},
		"alg HS256":                    {raw(t, swap("EdDSA", "HS256"), payload, signer), ErrAlgorithm},
		"alg of the other key":         {raw(t, swap("EdDSA", "ES256"), payload, signer), ErrAlgorithm},
		"typ of any token":             {raw(t, swap("license-file+jwt", "JWT"), payload, signer), ErrType},
		"no typ":                       {raw(t, swap(`"typ":"license-file+jwt",`, ""), payload, signer), ErrType},
		"a revocation list":            {list, ErrType},
		"crit":                         {raw(t, head(`,"crit":["exp"]`), payload, signer), ErrCritical},
		"zip":                          {raw(t, head(`,"zip":"DEF"`), payload, signer), ErrCompressed},
		"b64":                          {raw(t, head(`,"b64":true`), payload, signer), ErrUnencoded},
		"unknown kid":                  {must(Sign(fullClaims(), other)), ErrUnknownKey},
		"kid of another key":           {raw(t, swap(kid, must(KeyID(ec.Public()))), payload, signer), ErrAlgorithm},
		"no kid":                       {raw(t, swap(`"kid":"`+kid+`",`, ""), payload, signer), ErrNoKeyID},
		"empty kid":                    {raw(t, swap(kid, ""), payload, signer), ErrMalformed},
		"another key under the kid":    {raw(t, head(""), payload, other), ErrSignature},
		"header that is no object":     {raw(t, `[]`, payload, signer), ErrMalformed},
		"payload that is no JSON":      {raw(t, head(""), "exp", signer), ErrMalformed},
		"payload with data behind":     {raw(t, head(""), payload+"{}", signer), ErrMalformed},
		"payload in Latin-1":           {raw(t, head(""), strings.Replace(payload, "ü", "\xfc", 1), signer), ErrMalformed},
		"payload nested deeply":        {raw(t, head(""), `{"x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`, signer), ErrMalformed},
		"no exp":                       {raw(t, head(""), strings.Replace(payload, `"exp":`, `"ex":`, 1), signer), ErrMalformed},
		"exp as text":                  {raw(t, head(""), strings.Replace(payload, `"exp":`, `"exp":"9",`+`"ex":`, 1), signer), ErrMalformed},
		"exp of the year 10000":        {raw(t, head(""), strings.Replace(payload, `"exp":`, `"exp":253402300800,`+`"ex":`, 1), signer), ErrMalformed},
		"two audiences":                {raw(t, head(""), strings.Replace(payload, `"atlas"`, `["atlas","other"]`, 1), signer), ErrMalformed},
		"exp with a fraction":          {raw(t, head(""), strings.Replace(payload, `"exp":`, `"exp":1.5,`+`"ex":`, 1), signer), ErrMalformed},
		"gen of 2^53":                  {raw(t, head(""), strings.Replace(payload, `"gen":3`, `"gen":9007199254740992`, 1), signer), ErrMalformed},
		"gen of zero":                  {raw(t, head(""), strings.Replace(payload, `"gen":3`, `"gen":0`, 1), signer), ErrMalformed},
		"entitlement that is an array": {raw(t, head(""), strings.Replace(payload, `"users":25`, `"users":[]`, 1), signer), ErrMalformed},
		"too large":                    {raw(t, head(""), strings.Replace(payload, `{"iss"`, `{"x":"`+strings.Repeat("x", MaxSize)+`","iss"`, 1), signer), ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keys.Verify(c.text)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestVerifyAccepts(t *testing.T) {
	signer := edKey('a')
	kid := must(KeyID(signer.Public()))
	payload := string(must(leastClaims().MarshalJSON()))
	for name, c := range map[string]struct{ head, payload string }{
		"the alg of RFC 9864":    {`{"alg":"Ed25519","typ":"license-file+jwt","kid":"` + kid + `"}`, payload},
		"keys in the header":     {`{"alg":"EdDSA","typ":"license-file+jwt","jku":"https://x","jwk":{"kty":"OKP"},"x5c":[],"kid":"` + kid + `"}`, payload},
		"an array with one aud":  {`{"alg":"EdDSA","typ":"license-file+jwt","kid":"` + kid + `"}`, strings.Replace(payload, `"atlas"`, `["atlas"]`, 1)},
		"a claim of the future":  {`{"alg":"EdDSA","typ":"license-file+jwt","kid":"` + kid + `"}`, strings.Replace(payload, `{`, `{"Exp":1,"new":{"a":[null]},`, 1)},
		"gen as a float":         {`{"alg":"EdDSA","typ":"license-file+jwt","kid":"` + kid + `"}`, strings.Replace(payload, `"gen":1`, `"gen":1.0e+00`, 1)},
		"white space in objects": {"{ \"alg\":\"EdDSA\",\n\"typ\":\"license-file+jwt\",\"kid\":\"" + kid + "\" }", " " + payload + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			file, err := set(t, signer).Verify(raw(t, c.head, c.payload, signer))
			is.NoErr(err)
			is.Equal(file.Claims, leastClaims())
		})
	}
}

func TestSignRefuses(t *testing.T) {
	is := is.New(t)
	large := fullClaims()
	large.Entitlements = map[string]any{}
	for i := range 100 {
		large.Entitlements[fmt.Sprint(i)] = strings.Repeat("x", 255)
	}
	require.ErrorIs(t, large.Validate(), ErrTooLarge)
	_, err := Sign(large, edKey('a'))
	require.ErrorIs(t, err, ErrTooLarge)
	require.Contains(t, err.Error(), "entitlements")
	for name, spoil := range map[string]func(*Claims){
		"no license":          func(c *Claims) { c.LicenseID = "" },
		"no product":          func(c *Claims) { c.ProductID = "" },
		"no ID":               func(c *Claims) { c.ID = "" },
		"no expiry":           func(c *Claims) { c.ExpiresAt = time.Time{} },
		"no generation":       func(c *Claims) { c.Generation = 0 },
		"large generation":    func(c *Claims) { c.Generation = maxNumber + 1 },
		"no issue time":       func(c *Claims) { c.IssuedAt = time.Time{} },
		"start before 1970":   func(c *Claims) { c.NotBefore = time.Unix(-1, 0) },
		"end after 9999":      func(c *Claims) { c.LicenseExpiresAt = time.Unix(maxTime+1, 0) },
		"negative recheck":    func(c *Claims) { c.RecheckAfter = -1 },
		"integer entitlement": func(c *Claims) { c.Entitlements = map[string]any{"users": 1} },
		"NaN":                 func(c *Claims) { c.Entitlements = map[string]any{"users": math.NaN()} },
		"false entitlement":   func(c *Claims) { c.Entitlements = map[string]any{"export": false} },
		"channel entitlement": func(c *Claims) { c.Entitlements = map[string]any{"export": make(chan int)} },
	} {
		t.Run(name, func(t *testing.T) {
			c := fullClaims()
			spoil(&c)
			require.ErrorIs(t, c.Validate(), ErrMalformed)
			_, err := Sign(c, edKey('a'))
			require.ErrorIs(t, err, ErrMalformed)
		})
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	is.NoErr(err)
	_, err = Sign(fullClaims(), p384)
	require.ErrorIs(t, err, ErrKeyType)
}

// TestClaimsKeepTheirForm compares the JSON form with what an issuer may have
// stored.
func TestClaimsKeepTheirForm(t *testing.T) {
	is := is.New(t)
	c := fullClaims()
	c.ExpiresAt = c.ExpiresAt.Add(999 * time.Millisecond)
	stored, err := json.Marshal(c)
	is.NoErr(err)
	var read Claims
	is.NoErr(json.Unmarshal(stored, &read))
	is.Equal(read, fullClaims())
}
