package signin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"time"
)

// Codes follow RFC 6238 with the parameters that all authenticator apps know:
// SHA-1, six digits, 30 seconds. A code of the step before or after the current
// one is accepted too, because clocks differ.
const (
	TOTPDigits = 6
	TOTPStep   = 30 * time.Second
	totpSkew   = 1 // in steps
	TOTPSecret = 20
)

// TOTPEncoding is how authenticator apps take a secret.
var TOTPEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewTOTPSecret returns a new secret for [EnableSecondFactorParams]: 160 random
// bits in base32, as a person types them into an authenticator app.
func NewTOTPSecret() string {
	var secret [TOTPSecret]byte
	rand.Read(secret[:])
	return TOTPEncoding.EncodeToString(secret[:])
}

// TOTPURI returns the otpauth URI of a secret, which authenticator apps open. The
// issuer and the account are names that the app shows.
func TOTPURI(issuer, account, secret string) string {
	q := url.Values{"secret": {secret}, "issuer": {issuer}}
	return "otpauth://totp/" + url.PathEscape(issuer) + ":" + url.PathEscape(account) + "?" + q.Encode()
}

// HOTP returns the code of a counter (RFC 4226).
func HOTP(secret []byte, counter int64, digits int) string {
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, counter)
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	n := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	mod := uint32(1)
	for range digits {
		mod *= 10
	}
	return fmt.Sprintf("%0*d", digits, n%mod)
}

// TOTPStepAt returns the number of the step at a time.
func TOTPStepAt(t time.Time) int64 { return t.Unix() / int64(TOTPStep/time.Second) }

// MatchTOTP returns the step of a code. Only steps after the given one count, so
// that no code can be used twice.
func MatchTOTP(secret []byte, code string, now time.Time, after int64) (step int64, ok bool) {
	for at := TOTPStepAt(now) - totpSkew; at <= TOTPStepAt(now)+totpSkew; at++ {
		if at > after && subtle.ConstantTimeCompare([]byte(HOTP(secret, at, TOTPDigits)), []byte(code)) == 1 {
			step, ok = at, true
		}
	}
	return step, ok
}
