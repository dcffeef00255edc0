package host

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// receiverPath is where the application gets its own events, as another
// program would.
const receiverPath = "/hook"

// A receiver prints the events that are sent to it, and that the secret of
// the webhook has signed (standardwebhooks.com). There are libraries for this;
// it is here to show how little there is to it.
type receiver struct {
	secret []byte
	out    io.Writer
}

// signatureAge is how old a message may be, so that a copy is of no use later.
const signatureAge = 5 * time.Minute

func (rc receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		http.Error(w, "The body cannot be read.", http.StatusBadRequest)
		return
	}
	if !rc.verify(r.Header, body) {
		http.Error(w, "The signature is not good.", http.StatusUnauthorized)
		return
	}
	var e license.Event
	if err := json.Unmarshal(body, &e); err != nil {
		http.Error(w, "The body is not an event.", http.StatusBadRequest)
		return
	}
	// The same event may come again, with the same id: a receiver that does
	// more than print keeps the ids it has seen.
	fmt.Fprintf(rc.out, "event  %s  %s  by %s\n", e.Type, e.Subject, e.Actor)
	w.WriteHeader(http.StatusNoContent)
}

// verify reports whether one of the signatures is by the secret, over the id,
// the time and the body of the message.
func (rc receiver) verify(h http.Header, body []byte) bool {
	at, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > signatureAge {
		return false
	}
	mac := hmac.New(sha256.New, rc.secret)
	fmt.Fprintf(mac, "%s.%d.", h.Get("webhook-id"), at)
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for signature := range strings.FieldsSeq(h.Get("webhook-signature")) {
		if hmac.Equal([]byte(signature), []byte(want)) {
			return true
		}
	}
	return false
}

// receiverNote marks the webhook that leads here.
const receiverNote = "The example's own receiver"

// newReceiver makes a webhook that leads to this process at root. In a database
// that is kept there is one already: it gets the new address, and another
// secret, since the old one is not kept.
func newReceiver(ctx context.Context, svc *license.Service, root string, out io.Writer) (receiver, error) {
	address := root + receiverPath
	all, err := svc.Webhooks(ctx)
	if err != nil {
		return receiver{}, err
	}
	var secret string
	for _, w := range all {
		if w.Description != receiverNote {
			continue
		}
		active := license.WebhookActive
		if _, err = svc.UpdateWebhook(ctx, license.UpdateWebhookParams{ID: w.ID, URL: &address, Status: &active}); err == nil {
			_, secret, err = svc.RotateWebhookSecret(ctx, license.RotateWebhookParams{ID: w.ID})
		}
		break
	}
	if secret == "" && err == nil {
		_, secret, err = svc.CreateWebhook(ctx, license.CreateWebhookParams{
			URL: address, Description: receiverNote, Types: []string{"license.*", "activation.*"},
		})
	}
	if err != nil {
		return receiver{}, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	return receiver{key, out}, err
}
