package licensefile

import (
	"errors"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

func TestCheck(t *testing.T) {
	file := File{Claims: fullClaims(), KeyID: "kid-1"}
	unbound := File{Claims: leastClaims()}
	early := File{Claims: fullClaims()}
	early.NotBefore = issued.Add(time.Hour)
	updated := File{Claims: fullClaims()}
	updated.UpdatesUntil = issued
	listed := func(l ...RevokedLicense) *Revocations { return &Revocations{ProductID: "atlas", Licenses: l} }
	hash := LicenseHash("lic_1")
	for name, c := range map[string]struct {
		file   File
		change func(*Expect)
		want   error
	}{
		"now":                            {file, func(*Expect) {}, nil},
		"the nonce":                      {file, func(e *Expect) { e.Nonce = "n-1" }, nil},
		"no fingerprint in the file":     {unbound, func(e *Expect) { e.Fingerprint = "any" }, nil},
		"foreign audience":               {file, func(e *Expect) { e.ProductID = "other" }, ErrProduct},
		"no product asked":               {file, func(e *Expect) { e.ProductID = "" }, ErrProduct},
		"foreign fingerprint":            {file, func(e *Expect) { e.Fingerprint = "other" }, ErrFingerprint},
		"no fingerprint here":            {file, func(e *Expect) { e.Fingerprint = "" }, ErrFingerprint},
		"foreign nonce":                  {file, func(e *Expect) { e.Nonce = "n-2" }, ErrNonce},
		"no nonce in the file":           {unbound, func(e *Expect) { e.Nonce = "n-1" }, ErrNonce},
		"the last instant":               {file, func(e *Expect) { e.Now = file.ExpiresAt.Add(-time.Nanosecond) }, nil},
		"expired":                        {file, func(e *Expect) { e.Now = file.ExpiresAt }, ErrExpired},
		"early":                          {early, func(*Expect) {}, ErrEarly},
		"early within the leeway":        {early, func(e *Expect) { e.Now = early.NotBefore.Add(-Leeway) }, nil},
		"clock behind within the leeway": {file, func(e *Expect) { e.Now = issued.Add(-Leeway) }, nil},
		"clock before the issue":         {file, func(e *Expect) { e.Now = issued.Add(-Leeway - time.Second) }, ErrClock},
		"floor within the leeway":        {file, func(e *Expect) { e.Floor = issued.Add(Leeway) }, nil},
		"clock behind the floor":         {file, func(e *Expect) { e.Floor = issued.Add(Leeway + time.Second) }, ErrClock},
		"the last build with updates":    {updated, func(e *Expect) { e.BuiltAt = issued.Add(time.Second - 1) }, nil}, // times of files have whole seconds
		"a newer build":                  {updated, func(e *Expect) { e.BuiltAt = issued.Add(time.Second) }, ErrUpdatesEnded},
		"generation as seen":             {file, func(e *Expect) { e.MinGeneration = 3 }, nil},
		"old generation":                 {file, func(e *Expect) { e.MinGeneration = 4 }, ErrOldGeneration},
		"empty list":                     {file, func(e *Expect) { e.Revocations = listed() }, nil},
		"another license listed": {file, func(e *Expect) {
			e.Revocations = listed(RevokedLicense{LicenseHash("lic_2"), AllGenerations, issued})
		}, nil},
		"listed with this generation": {file, func(e *Expect) { e.Revocations = listed(RevokedLicense{hash, 3, issued}) }, nil},
		"listed with the next generation": {file, func(e *Expect) {
			e.Revocations = listed(RevokedLicense{LicenseHash("lic_2"), 1, issued}, RevokedLicense{hash, 4, issued})
		}, ErrOldGeneration},
		"revoked": {file, func(e *Expect) { e.Revocations = listed(RevokedLicense{hash, AllGenerations, issued}) }, ErrRevoked},
		"key condemned by the list": {file, func(e *Expect) {
			e.Revocations = &Revocations{ProductID: "atlas", CondemnedKeys: []string{"kid-1"}}
		}, ErrCondemnedKey},
		"list of another product": {file, func(e *Expect) { e.Revocations = &Revocations{ProductID: "other"} }, ErrProduct},
	} {
		t.Run(name, func(t *testing.T) {
			want := Expect{ProductID: "atlas", Fingerprint: "machine", Now: issued}
			c.change(&want)
			if err := c.file.Check(want); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestCheckUsesTheClock(t *testing.T) {
	is := is.New(t)
	check := func(issued time.Time) error {
		c := leastClaims()
		c.IssuedAt, c.NotBefore, c.ExpiresAt = issued, issued, issued.Add(time.Hour)
		return File{Claims: c}.Check(Expect{ProductID: "atlas"})
	}
	now := time.Now()
	is.NoErr(check(now))
	require.ErrorIs(t, check(now.Add(time.Hour)), ErrClock)
	require.ErrorIs(t, check(now.Add(-2*time.Hour)), ErrExpired)
}

func TestFingerprintHash(t *testing.T) {
	is := is.New(t)
	// printf 'licensekit-fp\0lic_1\0machine' | sha256sum | xxd -r -p | basenc --base64url
	is.Equal(FingerprintHash("lic_1", "machine"), "R15bzVulJk3umRAiL_ss46_BDYdQW9cipUW7bRVBeM4")
	is.Equal(FingerprintHash("lic_1", ""), "")
	// printf 'licensekit-rl\0lic_1' | sha256sum | xxd -r -p | head -c 16 | basenc --base64url
	is.Equal(LicenseHash("lic_1"), "1W4Ox3J8V_faUt_x3Cb79A")
}
