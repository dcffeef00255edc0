package operator

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
	totpDigits = 6
	totpStep   = 30 * time.Second
	totpSkew   = 1 // in steps
	totpSecret = 20
)

// base32Secret is how authenticator apps take a secret.
var base32Secret = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewTOTPSecret returns a new secret for [Service.EnableSecondFactor]: 160 random
// bits in base32, as a person types them into an authenticator app.
func NewTOTPSecret() string {
	var secret [totpSecret]byte
	rand.Read(secret[:])
	return base32Secret.EncodeToString(secret[:])
}

// TOTPURI returns the otpauth URI of a secret, which authenticator apps open. The
// issuer and the account are names that the app shows.
func TOTPURI(issuer, account, secret string) string {
	q := url.Values{"secret": {secret}, "issuer": {issuer}}
	return "otpauth://totp/" + url.PathEscape(issuer) + ":" + url.PathEscape(account) + "?" + q.Encode()
}

// hotp returns the code of a counter (RFC 4226).
func hotp(secret []byte, counter int64, digits int) string {
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

// stepAt returns the number of the step at a time.
func stepAt(t time.Time) int64 { return t.Unix() / int64(totpStep/time.Second) }

// matchTOTP returns the step of a code. Only steps after the given one count, so
// that no code can be used twice.
func matchTOTP(secret []byte, code string, now time.Time, after int64) (step int64, ok bool) {
	for at := stepAt(now) - totpSkew; at <= stepAt(now)+totpSkew; at++ {
		if at > after && subtle.ConstantTimeCompare([]byte(hotp(secret, at, totpDigits)), []byte(code)) == 1 {
			step, ok = at, true
		}
	}
	return step, ok
}
