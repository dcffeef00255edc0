package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/client"
)

// TestVerifyWebhook uses the example of the specification of Standard Webhooks.
func TestVerifyWebhook(t *testing.T) {
	const (
		secret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		id        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
		timestamp = 1614265330
		signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
		body      = `{"test": 2432232314}`
	)
	for name, tt := range map[string]struct {
		after                 time.Duration
		secret, id, signature string
		timestamp, body       string
		ok                    bool
	}{
		"the example":          {ok: true},
		"a second signature":   {signature: "v1,AAAA v2,x " + signature, ok: true},
		"five minutes late":    {after: 5 * time.Minute, ok: true},
		"five minutes early":   {after: -5 * time.Minute, ok: true},
		"a replay":             {after: 5*time.Minute + time.Second},
		"too early":            {after: -5*time.Minute - time.Second},
		"another body":         {body: `{"test": 2432232315}`},
		"another id":           {id: "msg_2"},
		"another secret":       {secret: "whsec_AAAA"},
		"another time":         {timestamp: "1614265331"},
		"no signature":         {signature: " "},
		"another version":      {signature: "v1a," + signature[3:]},
		"no time":              {timestamp: "x"},
		"a time far away":      {timestamp: "-9223372036854775808"},
		"part of a signature":  {signature: signature[:20]},
		"an invalid secret":    {secret: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		"an empty secret":      {secret: "whsec_"},
		"a secret, not base64": {secret: "whsec_!"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				time.Sleep(time.Until(time.Unix(timestamp, 0).Add(tt.after)))
				or := func(v, otherwise string) string {
					if v == "" {
						return otherwise
					}
					return v
				}
				h := http.Header{}
				h.Set("webhook-id", or(tt.id, id))
				h.Set("webhook-timestamp", or(tt.timestamp, fmt.Sprint(timestamp)))
				h.Set("webhook-signature", or(tt.signature, signature))
				s := or(tt.secret, secret)
				_, err := client.VerifyWebhook(s, h, []byte(or(tt.body, body)))
				is.Equal(err == nil, tt.ok)
				is.Equal(errors.Is(err, client.CodeInvalidSignature), !tt.ok && !strings.Contains(name, "secret") || name == "another secret")
			})
		})
	}
}
