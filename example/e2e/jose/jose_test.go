package jose

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"
	"github.com/golang-jwt/jwt/v5"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/node"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// now is when the files of these tests are issued and verified.
var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// A fixture is a key with a file and a revocation list that licensefile has
// signed with it.
type fixture struct {
	alg                 string
	signer              crypto.Signer
	keys                *licensefile.KeySet
	jwks                []byte
	kid                 string
	claims              licensefile.Claims
	file, altered, list string
}

func fixtures(t *testing.T) []fixture {
	t.Helper()
	is := is.New(t)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	is.NoErr(err)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	is.NoErr(err)
	other, _, err := ed25519.GenerateKey(rand.Reader)
	is.NoErr(err)
	all := []fixture{{alg: "EdDSA", signer: ed}, {alg: "ES256", signer: ec}}
	for i := range all {
		f := &all[i]
		f.keys, err = licensefile.NewKeySet(other, f.signer.Public())
		is.NoErr(err)
		f.jwks, err = json.Marshal(f.keys)
		is.NoErr(err)
		f.kid = f.keys.IDs()[1]
		f.claims = licensefile.Claims{
			ID: "file-1", LicenseID: "lic_1", ProductID: "atlas", Generation: 2,
			IssuedAt: now, NotBefore: now, ExpiresAt: now.Add(time.Hour),
			FingerprintHash: licensefile.FingerprintHash("lic_1", "machine"),
			Entitlements:    map[string]any{"export": true, "users": 25.0, "plan": "pro <&> ü"},
		}
		f.file, err = licensefile.Sign(f.claims, f.signer)
		is.NoErr(err)
		more := f.claims
		more.Entitlements = map[string]any{"users": 99.0}
		better, err := licensefile.Sign(more, f.signer)
		is.NoErr(err)
		of, with := strings.Split(f.file, "."), strings.Split(better, ".")
		f.altered = of[0] + "." + with[1] + "." + of[2]
		f.list, err = licensefile.SignRevocations(licensefile.Revocations{
			ProductID: "atlas", Sequence: now.UnixMilli(), IssuedAt: now, ExpiresAt: now.Add(time.Hour),
		}, f.signer)
		is.NoErr(err)
	}
	return all
}

// same verifies a file of a library and compares its claims.
func (f fixture) same(t *testing.T, text string) {
	t.Helper()
	is := is.New(t)
	file, err := f.keys.Verify(text)
	is.NoErr(err)
	is.Equal(file.KeyID, f.kid)
	is.Equal(file.Claims, f.claims)
	is.NoErr(file.Check(licensefile.Expect{ProductID: "atlas", Fingerprint: "machine", Now: now}))
}

// wire returns the claims as a library knows them: a JSON object.
func (f fixture) wire(t *testing.T) (m map[string]any) {
	t.Helper()
	is := is.New(t)
	data, err := json.Marshal(f.claims)
	is.NoErr(err)
	is.NoErr(json.Unmarshal(data, &m))
	return m
}

func TestGolangJWT(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.alg, func(t *testing.T) {
			is := is.New(t)
			method := jwt.GetSigningMethod(f.alg)
			parser := jwt.NewParser(jwt.WithValidMethods([]string{f.alg}), jwt.WithAudience("atlas"), jwt.WithExpirationRequired(),
				jwt.WithTimeFunc(func() time.Time { return now }))
			key := func(token *jwt.Token) (any, error) {
				is.Equal(token.Header["kid"], f.kid)
				return f.signer.Public(), nil
			}
			token, err := parser.Parse(f.file, key)
			is.NoErr(err)
			is.Equal(map[string]any(token.Claims.(jwt.MapClaims)), f.wire(t))
			_, err = parser.Parse(f.altered, key)
			is.True(err != nil)
			_, err = parser.Parse(f.list, key) // golang-jwt ignores typ
			is.True(err != nil)

			made := jwt.NewWithClaims(method, jwt.MapClaims(f.wire(t)))
			made.Header["kid"], made.Header["typ"] = f.kid, licensefile.Type
			text, err := made.SignedString(f.signer)
			is.NoErr(err)
			f.same(t, text)
		})
	}
}

func TestGoJose(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.alg, func(t *testing.T) {
			is := is.New(t)
			var set jose.JSONWebKeySet
			is.NoErr(json.Unmarshal(f.jwks, &set))
			keys := set.Key(f.kid)
			is.Equal(len(keys), 1)
			is.True(keys[0].Valid() && keys[0].IsPublic())
			thumbprint, err := keys[0].Thumbprint(crypto.SHA256)
			is.NoErr(err)
			is.Equal(base64.RawURLEncoding.EncodeToString(thumbprint), f.kid)

			algorithms := []jose.SignatureAlgorithm{jose.SignatureAlgorithm(f.alg)}
			read := func(text string) (map[string]any, error) {
				token, err := josejwt.ParseSigned(text, algorithms)
				if err != nil {
					return nil, err
				}
				var m map[string]any
				var standard josejwt.Claims
				if err := token.Claims(set, &m, &standard); err != nil {
					return nil, err
				}
				return m, standard.ValidateWithLeeway(josejwt.Expected{AnyAudience: josejwt.Audience{"atlas"}, Time: now}, 0)
			}
			m, err := read(f.file)
			is.NoErr(err)
			is.Equal(m, f.wire(t))
			_, err = read(f.altered)
			is.True(err != nil)
			_, err = read(f.list) // go-jose ignores typ
			is.True(err != nil)

			signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithms[0], Key: jose.JSONWebKey{Key: f.signer, KeyID: f.kid}},
				(&jose.SignerOptions{}).WithType(licensefile.Type))
			is.NoErr(err)
			text, err := josejwt.Signed(signer).Claims(f.wire(t)).Serialize()
			is.NoErr(err)
			f.same(t, text)

			jwks, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: f.signer.Public(), KeyID: f.kid, Algorithm: f.alg, Use: "sig"}}})
			is.NoErr(err)
			theirs, err := licensefile.ParseKeys(jwks)
			is.NoErr(err)
			is.Equal(theirs.IDs(), []string{f.kid})
		})
	}
}

func TestNodeJose(t *testing.T) {
	is := is.New(t)
	dir := node.Install(t, "testdata")
	for _, f := range fixtures(t) {
		t.Run(f.alg, func(t *testing.T) {
			is := is.New(t)
			input, err := json.Marshal(map[string]any{
				"Keys": json.RawMessage(f.jwks), "Private": jose.JSONWebKey{Key: f.signer}, "Algorithm": f.alg, "Now": now,
				"File": f.file, "Altered": f.altered, "List": f.list, "Claims": f.wire(t),
			})
			is.NoErr(err)
			var report struct {
				Payload                                         map[string]any
				KeyID                                           string
				Altered, Foreign, List, ListWithoutType, Signed string
			}
			is.NoErr(json.Unmarshal(node.Run(t, node.Command{Dir: dir, Input: input}, "node", "exchange.js"), &report))
			is.Equal(report.Payload, f.wire(t))
			is.Equal(report.KeyID, f.kid)
			is.Equal(report.Altered, "ERR_JWS_SIGNATURE_VERIFICATION_FAILED")
			is.Equal(report.Foreign, "ERR_JWT_CLAIM_VALIDATION_FAILED")
			is.Equal(report.List, "ERR_JWT_CLAIM_VALIDATION_FAILED")
			is.Equal(report.ListWithoutType, "ERR_JWT_CLAIM_VALIDATION_FAILED")
			f.same(t, report.Signed)
		})
	}
}
