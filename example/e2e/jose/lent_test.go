package jose

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
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

// unseen are the forgeries of vectors.json with two good signatures: a program compares
// the claims itself, and the leeway of a library is for exp too.
var unseen = []string{
	"lent: a longer end", "lent: another license", "lent: any machine", "lent: no activation",
	"lent: an office of the office", "lent: to another machine", "lent: expired",
}

// A vector is a file that an office signed, and when to verify it.
type vector struct {
	Name, Text string
	Now        int64
	Valid      bool
}

// A verifier verifies a file as a program would that has the keys of the vendor: the file
// of the office in the header with them, and the file with the jwk of the office.
type verifier func(keys jose.JSONWebKeySet, text string, now time.Time) error

// officeKeys returns the jwk in the claims of the file of an office.
func officeKeys(claims any) (set jose.JSONWebKeySet, err error) {
	data, err := json.Marshal(claims)
	if err != nil {
		return set, err
	}
	var file struct {
		Office *struct{ JWK jose.JSONWebKey }
	}
	if err = json.Unmarshal(data, &file); err == nil && file.Office == nil {
		err = errors.New("not the file of an office")
	}
	if err == nil {
		set.Keys = []jose.JSONWebKey{file.Office.JWK}
	}
	return set, err
}

// withGolangJWT finds the key of the office in the function that golang-jwt asks for a key.
func withGolangJWT(keys jose.JSONWebKeySet, text string, now time.Time) error {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"EdDSA", "ES256"}), jwt.WithAudience("atlas"), jwt.WithExpirationRequired(),
		jwt.WithLeeway(licensefile.Leeway), jwt.WithTimeFunc(func() time.Time { return now }))
	of := func(keys jose.JSONWebKeySet) jwt.Keyfunc {
		return func(token *jwt.Token) (any, error) {
			kid, _ := token.Header["kid"].(string)
			for _, k := range keys.Key(kid) {
				return k.Key, nil
			}
			return nil, errors.New("unknown kid")
		}
	}
	_, err := parser.Parse(text, func(token *jwt.Token) (any, error) {
		file, _ := token.Header["office"].(string)
		office, err := parser.Parse(file, of(keys))
		if err != nil {
			return nil, err
		}
		lender, err := officeKeys(office.Claims)
		if err != nil {
			return nil, err
		}
		return of(lender)(token)
	})
	return err
}

func withGoJose(keys jose.JSONWebKeySet, text string, now time.Time) error {
	algorithms := []jose.SignatureAlgorithm{jose.EdDSA, jose.ES256}
	claims := func(token *josejwt.JSONWebToken, keys jose.JSONWebKeySet) (all map[string]any, err error) {
		var standard josejwt.Claims
		if err := token.Claims(keys, &all, &standard); err != nil {
			return nil, err
		}
		return all, standard.ValidateWithLeeway(josejwt.Expected{AnyAudience: josejwt.Audience{"atlas"}, Time: now}, licensefile.Leeway)
	}
	token, err := josejwt.ParseSigned(text, algorithms)
	if err != nil {
		return err
	}
	file, _ := token.Headers[0].ExtraHeaders["office"].(string)
	office, err := josejwt.ParseSigned(file, algorithms)
	if err != nil {
		return err
	}
	all, err := claims(office, keys)
	if err != nil {
		return err
	}
	lender, err := officeKeys(all)
	if err == nil {
		_, err = claims(token, lender)
	}
	return err
}

// TestLentFiles: each library verifies the files that offices sign, and refuses each
// forgery but the ones that only the comparisons of a program find.
func TestLentFiles(t *testing.T) {
	is := is.New(t)
	data, err := os.ReadFile("../../../licensing/licensefile/testdata/vectors.json")
	is.NoErr(err)
	var vectors struct {
		Keys  json.RawMessage
		Files []vector
	}
	is.NoErr(json.Unmarshal(data, &vectors))
	vectors.Files = slices.DeleteFunc(vectors.Files, func(v vector) bool { return !strings.HasPrefix(v.Name, "lent: ") })
	var want []string
	for _, v := range vectors.Files {
		if v.Valid || slices.Contains(unseen, v.Name) {
			want = append(want, v.Name)
		}
	}
	for name, verify := range map[string]verifier{"golang-jwt": withGolangJWT, "go-jose": withGoJose} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			var keys jose.JSONWebKeySet
			is.NoErr(json.Unmarshal(vectors.Keys, &keys))
			var accepted []string
			for _, v := range vectors.Files {
				if verify(keys, v.Text, time.Unix(v.Now, 0)) == nil {
					accepted = append(accepted, v.Name)
				}
			}
			is.Equal(accepted, want)
		})
	}
	t.Run("jose", func(t *testing.T) {
		is := is.New(t)
		input, err := json.Marshal(vectors)
		is.NoErr(err)
		var accepted []string
		is.NoErr(json.Unmarshal(node.Run(t, node.Command{Dir: node.Install(t, "testdata"), Input: input}, "node", "lent.js"), &accepted))
		is.Equal(accepted, want)
	})
}

// TestLentByLibrary: licensefile verifies a file of an office that go-jose has signed.
func TestLentByLibrary(t *testing.T) {
	all := fixtures(t)
	for i, office := range all {
		vendor := all[1-i]
		t.Run(office.alg, func(t *testing.T) {
			is := is.New(t)
			claims := vendor.claims
			claims.Office = &licensefile.Office{Key: office.signer.Public(), Seats: 3}
			file, err := licensefile.Sign(claims, vendor.signer)
			is.NoErr(err)
			signer, err := jose.NewSigner(
				jose.SigningKey{Algorithm: jose.SignatureAlgorithm(office.alg), Key: jose.JSONWebKey{Key: office.signer, KeyID: office.kid}},
				(&jose.SignerOptions{}).WithType(licensefile.Type).WithHeader("office", file))
			is.NoErr(err)
			own := office.claims
			own.ID, own.ActivationID, own.ExpiresAt = "lent-1", "act_1", now.Add(time.Minute)
			text, err := josejwt.Signed(signer).Claims(fixture{claims: own}.wire(t)).Serialize()
			is.NoErr(err)
			got, err := vendor.keys.Verify(text)
			is.NoErr(err)
			is.Equal(got.KeyID, vendor.kid)
			is.Equal(got.Claims, own)
			is.NoErr(got.Check(licensefile.Expect{ProductID: "atlas", Fingerprint: "machine", Now: now}))
		})
	}
}
