package payment

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// tolerance is how far the time of a signature may be from now. A repeated event changes
// nothing, so it only keeps stolen requests out.
const tolerance = 5 * time.Minute

// errSignature is the answer to a request that is not from the provider, or whose secret is
// that of another endpoint.
var errSignature = errors.New("no signature of this request is right; is the secret that of this endpoint?")

// sign returns the HMAC of the parts.
func sign(secret []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, secret)
	for _, part := range parts {
		io.WriteString(mac, part)
	}
	return mac.Sum(nil)
}

// anySigned returns an error unless one of the signatures is that of the parts with one of the
// secrets: of two while one replaces the other.
func anySigned(secrets []string, signatures [][]byte, parts ...string) error {
	for _, secret := range secrets {
		want := sign([]byte(secret), parts...)
		if slices.ContainsFunc(signatures, func(got []byte) bool { return hmac.Equal(got, want) }) {
			return nil
		}
	}
	return errSignature
}

// timedSigned checks a header with a time and signatures in hexadecimal, such as
// "t=1700000000,v1=0a…", of the time and the body.
func timedSigned(secrets []string, header, separator, timeName, name, between string, body []byte, now time.Time) error {
	var at string
	var signatures [][]byte
	for part := range strings.SplitSeq(header, separator) {
		switch is, value, _ := strings.Cut(strings.TrimSpace(part), "="); is {
		case timeName:
			at = value
		case name:
			if signature, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, signature)
			}
		}
	}
	if err := onTime(at, now); err != nil {
		return err
	}
	return anySigned(secrets, signatures, at, between, string(body))
}

// onTime checks the time of a signature, in seconds since 1970.
func onTime(seconds string, now time.Time) error {
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return errors.New("the request has no signature with a time")
	}
	if age := now.Sub(time.Unix(at, 0)); age > tolerance || age < -tolerance {
		return fmt.Errorf("the signature is of %s, %s from now; is the clock right?", time.Unix(at, 0).UTC().Format(time.RFC3339), age.Round(time.Second))
	}
	return nil
}

// validate returns an error if there is no secret, or an empty one, with which anybody can
// sign, or if States has a meaning that there is not.
func validate(provider string, secrets []string, states map[string]api.PurchaseState) error {
	var all []error
	if len(secrets) == 0 || slices.Contains(secrets, "") {
		all = append(all, errors.New("payment: "+provider+".Secrets must have the signing secret of the webhook, and no empty one"))
	}
	for _, state := range states {
		if !slices.Contains([]api.PurchaseState{api.PurchaseActive, api.PurchasePaused, api.PurchaseEnded, api.PurchaseRefunded, ""}, state) {
			all = append(all, errors.New("payment: "+provider+".States must have the meanings active, paused, ended or refunded, or an empty one for a state that says nothing"))
			break
		}
	}
	return errors.Join(all...)
}

// mustBe panics if an account cannot be used.
func mustBe(err error) {
	if err != nil {
		panic(err.Error())
	}
}
