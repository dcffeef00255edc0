package licensefile

import (
	"crypto"
	"crypto/rand"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// FuzzVerify alters a text: only the original, apart from white space around
// it, verifies.
func FuzzVerify(f *testing.F) {
	signer := edKey('a')
	keys := set(f, signer)
	file := must(Sign(fullClaims(), signer))
	list := must(SignRevocations(leastRevocations(), signer))
	f.Add(file)
	f.Add(list)
	f.Add(file[:len(file)-1])
	f.Add(strings.Replace(file, ".", "..", 1))
	f.Add("e30.e30.e30")
	f.Fuzz(func(t *testing.T, text string) {
		bare := strings.Trim(text, " \t\r\n")
		if _, err := keys.Verify(text); (err == nil) != (bare == file) {
			t.Errorf("Verify: %v", err)
		}
		if _, err := keys.VerifyRevocations(text); (err == nil) != (bare == list) {
			t.Errorf("VerifyRevocations: %v", err)
		}
	})
}

// FuzzClaims signs any header and payload: what verifies can be signed again
// and has the same claims.
func FuzzClaims(f *testing.F) {
	signer := edKey('a')
	keys := set(f, signer)
	for _, text := range []string{must(Sign(fullClaims(), signer)), must(Sign(leastClaims(), signer)), must(SignRevocations(leastRevocations(), signer))} {
		parts := strings.Split(text, ".")
		f.Add(must(decode(parts[0])), must(decode(parts[1])))
	}
	f.Add([]byte(`{"alg":"EdDSA","alg":"none"}`), []byte(`{"aud":["atlas"],"exp":1e9,"entitlements":{"a":{}}}`))
	f.Fuzz(func(t *testing.T, head, payload []byte) {
		text := base64url.EncodeToString(head) + "." + base64url.EncodeToString(payload)
		signature, err := signer.Sign(rand.Reader, []byte(text), crypto.Hash(0))
		if err != nil {
			t.Fatal(err)
		}
		text += "." + base64url.EncodeToString(signature)
		if r, err := keys.VerifyRevocations(text); err == nil {
			if _, err := SignRevocations(r, signer); err != nil {
				t.Errorf("a list that verifies cannot be signed: %v", err)
			}
		}
		file, err := keys.Verify(text)
		if err != nil {
			return
		}
		again, err := Sign(file.Claims, signer)
		if errors.Is(err, ErrTooLarge) { // the encoding of Sign may be longer
			return
		}
		if err != nil {
			t.Fatalf("claims that verify cannot be signed: %v", err)
		}
		read, err := keys.Verify(again)
		if err != nil || !reflect.DeepEqual(read, file) {
			t.Errorf("read %+v and %v, want %+v", read, err, file)
		}
	})
}

// FuzzParseKeys parses any key set: what is read is written and read alike.
func FuzzParseKeys(f *testing.F) {
	f.Add(must(json.Marshal(set(f, edKey('a'), ecKey(f)))))
	f.Add([]byte(`{"keys":[{"kty":"RSA"},{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`))
	f.Fuzz(func(t *testing.T, jwks []byte) {
		keys, err := ParseKeys(jwks)
		if err != nil {
			return
		}
		again, err := ParseKeys(must(json.Marshal(keys)))
		if err != nil || !reflect.DeepEqual(again, keys) {
			t.Errorf("read %v and %v, want %v", again, err, keys)
		}
	})
}
