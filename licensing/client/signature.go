package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// signatureAge is how far the time of a webhook request may be from now.
const signatureAge = 5 * time.Minute

// VerifyWebhook returns the event of a webhook request, which has this header
// and this body, exactly as received. secret is the signing secret of the
// webhook, which begins with "whsec_". The error is [CodeInvalidSignature] if
// the request is not from the service (Standard Webhooks); answer it with 401.
//
// The service may send an event more than once: detect that by Event.ID.
func VerifyWebhook(secret string, header http.Header, body []byte) (api.Event, error) {
	encoded, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) == 0 {
		return api.Event{}, errors.New(`client: the secret must be "whsec_" and base64`)
	}
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)).Abs(); err != nil || age > signatureAge {
		return api.Event{}, fmt.Errorf("client: %w: webhook-timestamp is not within five minutes of now", CodeInvalidSignature)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	want := mac.Sum(nil)
	for signature := range strings.FieldsSeq(header.Get("webhook-signature")) {
		encoded, ok := strings.CutPrefix(signature, "v1,")
		got, err := base64.StdEncoding.DecodeString(encoded)
		if ok && err == nil && hmac.Equal(got, want) {
			var e api.Event
			if err := json.Unmarshal(body, &e); err != nil {
				return api.Event{}, fmt.Errorf("client: the signed event has an unknown form: %w", err)
			}
			return e, nil
		}
	}
	return api.Event{}, fmt.Errorf("client: %w: no signature in webhook-signature matches", CodeInvalidSignature)
}
