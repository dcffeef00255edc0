package mail

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/seed-d8a106b4/licensekit/internal/bidi"
	"github.com/seed-d8a106b4/licensekit/internal/texts"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// Keys mail the key of a license to the address in its metadata when it is created, when it
// gets a new key, and when another customer gets it, but not when it is imported: those
// customers have their keys. They log a license without an address.
type Keys struct {
	// Licenses returns Handler.Service. It is called for each event, so the handler may be
	// made after its subscribers.
	Licenses func() *license.Service
	Send     func(ctx context.Context, m Message) error // of a Server

	Shop  string // the name under the mails; empty: none
	Pages string // URL of the customer pages; empty: the mails have none
	Texts Texts
}

// Subscriber returns the subscriber for licensing.Options. Several processes may have it on
// one store: each event is handled by one of them. An event that fails ten times, for nine
// minutes, is a dead letter, and later ones continue.
func (k Keys) Subscriber() licensing.Subscriber {
	k.Texts = texts.Default(k.Texts)
	return licensing.Subscriber{
		Name:        "mail",
		Types:       []string{api.EventLicenseCreated, api.EventLicenseRekeyed, api.EventLicenseTransferred},
		MaxAttempts: 10,
		Handle:      k.handle,
	}
}

func (k Keys) handle(ctx context.Context, e api.Event) error {
	data, err := e.Decode()
	if err != nil || data.Imported {
		return err
	}
	licenses := k.Licenses()
	l, err := licenses.Get(ctx, e.Subject) // events have no keys
	if errors.Is(err, api.ErrNotFound) {
		return nil // deleted in the meantime
	}
	if err != nil {
		return err // the event is retried after a pause, and later events wait
	}
	opts := licenses.Options()
	to := l.Metadata[opts.EmailKey]
	if to == "" {
		opts.Logger.WarnContext(ctx, "no mail of a key: the metadata of the license has no address", slog.String("license_id", l.ID), slog.String("name", opts.EmailKey))
		return nil
	}
	text := k.Texts.KeyText
	if k.Pages != "" {
		text += k.Texts.PagesText
	}
	values := []string{"name", bidi.Visible(l.Name), "product", cmp.Or(opts.ProductNames[l.ProductID], l.ProductID), "key", l.Key, "url", k.Pages, "shop", k.Shop}
	return k.Send(ctx, Message{
		ID: e.ID, At: e.Timestamp, To: bidi.Visible(to),
		Subject: fill(k.Texts.KeySubject, values...), Text: fill(k.Texts.signed(text, k.Shop), values...),
	})
}

// signed returns the text of a mail with the signature of a shop, if it has a name.
func (t Texts) signed(text, shop string) string {
	if shop == "" {
		return text
	}
	return text + t.Signature
}
