package licensefile_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// vendor is the private key of these examples. A real one comes from
// crypto/rand, a KMS or an HSM.
var vendor = ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))

// jwks is what a program embeds with //go:embed keys.json.
var jwks = []byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"gyClGXfYw4yopJJ8Zw31gh5El2GUXhXp77JqFQnSMOo"}]}`)

// text is a file for one machine.
var text = func() string {
	text, err := licensefile.Sign(licensefile.Claims{
		ID: "4f1c", LicenseID: "lic_01", ProductID: "atlas", Generation: 1,
		IssuedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		ExpiresAt:       time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		FingerprintHash: licensefile.FingerprintHash("lic_01", "machine-1"),
		Entitlements:    map[string]any{"export": true, "users": 25.0},
	}, vendor)
	if err != nil {
		log.Fatal(err)
	}
	return text
}()

// now is the time at which these examples run.
var now = time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)

func Example() {
	keys, err := licensefile.ParseKeys(jwks)
	if err != nil {
		log.Fatal(err)
	}
	file, err := keys.Verify(text)
	if err == nil {
		err = file.Check(licensefile.Expect{ProductID: "atlas", Fingerprint: "machine-1", Now: now})
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Entitlements["users"], file.ExpiresAt.Format(time.DateOnly))
	// Output: 25 2026-02-01
}

func ExampleFile_Check() {
	keys, err := licensefile.ParseKeys(jwks)
	if err != nil {
		log.Fatal(err)
	}
	file, err := keys.Verify(text)
	if err != nil {
		log.Fatal(err)
	}
	for _, want := range []licensefile.Expect{
		{ProductID: "atlas", Fingerprint: "machine-1", Now: now},
		{ProductID: "atlas", Fingerprint: "machine-2", Now: now},
		{ProductID: "atlas", Fingerprint: "machine-1", Now: now.AddDate(0, 1, 0)},
		{ProductID: "atlas", Fingerprint: "machine-1", Now: now, Floor: now.AddDate(0, 0, 3)},
	} {
		err := file.Check(want)
		fmt.Println(err == nil, errors.Is(err, licensefile.ErrExpired), err)
	}
	// Output:
	// true false <nil>
	// false false licensefile: for another fingerprint
	// false true licensefile: expired at 2026-02-01T00:00:00Z
	// false false licensefile: the clock of this machine was set back
}

func ExampleKeySet_VerifyRevocations() {
	signed, err := licensefile.SignRevocations(licensefile.Revocations{
		ProductID: "atlas", Sequence: now.UnixMilli(), IssuedAt: now, ExpiresAt: now.AddDate(0, 0, 7),
		Licenses: []licensefile.RevokedLicense{{
			Hash: licensefile.LicenseHash("lic_01"), MinGeneration: 2, Until: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		}},
	}, vendor)
	if err != nil {
		log.Fatal(err)
	}

	keys, err := licensefile.ParseKeys(jwks)
	if err != nil {
		log.Fatal(err)
	}
	list, err := keys.VerifyRevocations(signed)
	if err == nil {
		err = list.Check("atlas", now)
	}
	if err != nil {
		log.Fatal(err)
	}
	file, err := keys.Condemn(list.CondemnedKeys...).Verify(text)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Check(licensefile.Expect{ProductID: "atlas", Fingerprint: "machine-1", Now: now, Revocations: &list}))
	// Output: licensefile: the license has changed since the file was issued; get a new file
}

func ExampleSign() {
	text, err := licensefile.Sign(licensefile.Claims{
		ID: "77aa", LicenseID: "lic_01", ProductID: "atlas", Generation: 1,
		IssuedAt: now, NotBefore: now, ExpiresAt: now.AddDate(0, 0, 14),
	}, vendor)
	fmt.Println(strings.Count(text, "."), err)
	// Output: 2 <nil>
}

func ExampleNewKeySet() {
	keys, err := licensefile.NewKeySet(vendor.Public())
	if err != nil {
		log.Fatal(err)
	}
	file, err := keys.Verify(text)
	fmt.Println(file.KeyID == keys.IDs()[0], err)
	// Output: true <nil>
}

func ExampleRequest() {
	request := licensefile.NewRequest("8X2KQ-4M7TB-9H1RD-P6WZE-3C5NV", "machine-1") // in the program
	text, err := request.Text()
	if err != nil {
		log.Fatal(err)
	}

	asked, err := licensefile.ParseRequest(text) // at the vendor
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(asked.Fingerprint, asked.KeyHash == licensefile.KeyHash("8x2kq4m7tb9h1rdp6wze3c5nv"), len(text) < 400)
	// Output: machine-1 true true
}
