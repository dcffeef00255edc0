package licenses

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// MailLink mails a link to the customer pages to the address of a license, by a function, and
// appends an event, which does not have the address. An address that is not valid, or that support has
// changed in the last 24 hours, is an [*api.InvalidError].
func (s Service) MailLink(ctx context.Context, l api.License, mail func(ctx context.Context, address string) error) error {
	address := s.Address(l.Metadata)
	if address == "" {
		return call.InvalidFields([]api.FieldError{{Field: "email", Code: api.FieldInvalidFormat, Detail: "must be one email address; correct it in the metadata of the license"}})
	}
	if err := s.checkUnchanged(ctx, address); err != nil {
		return err
	}
	if err := mail(ctx, address); err != nil {
		return fmt.Errorf("mail a link: %w", err)
	}
	// The mail is on its way, even if the operator does not wait for the answer.
	return s.Write(context.WithoutCancel(ctx), func(tx *call.Tx) error {
		now, err := s.Find(ctx, tx, l.ID)
		if errors.Is(err, api.ErrNotFound) {
			return nil // an event would name a customer who may have been erased
		}
		if err != nil {
			return err
		}
		return s.AppendOther(ctx, tx, store.Event{Type: api.EventCustomerLinkMailed, CustomerID: now.CustomerID})
	})
}
