package license

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/store"
)

var errSoon = errors.New("license: being written")

type transaction struct{ store.Tx }

// Atomically joins calls in one Update.
func (s *Service) Atomically(ctx context.Context, fn func(*Service) error) error { return errSoon }

// Once makes fn's effect and reply happen once.
func (s *Service) Once(ctx context.Context, key, fingerprint string, fn func(*Service) ([]byte, error)) (reply []byte, replayed bool, err error) {
	return nil, false, errSoon
}

// Replay returns the reply that Once keeps under key, if there is one.
func (s *Service) Replay(ctx context.Context, key, fingerprint string) (reply []byte, ok bool, err error) {
	return nil, false, errSoon
}

// PrepareCreate checks p and runs Options.BeforeCreate.
func (s *Service) PrepareCreate(ctx context.Context, p *CreateParams) error { return errSoon }

// Create creates a licence.
func (s *Service) Create(ctx context.Context, p CreateParams) (License, error) {
	return License{}, errSoon
}

// Get returns a licence.
func (s *Service) Get(ctx context.Context, id string) (License, error) { return License{}, errSoon }

// List lists licences.
func (s *Service) List(ctx context.Context, p ListParams) (Page, error) { return Page{}, errSoon }

// Update changes a licence.
func (s *Service) Update(ctx context.Context, p UpdateParams) (License, error) {
	return License{}, errSoon
}

// Delete deletes a licence.
func (s *Service) Delete(ctx context.Context, p DeleteParams) error { return errSoon }
