package license

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// GiveNotices appends a batch of due expiry notices.
func (s *Service) GiveNotices(ctx context.Context) (more bool, err error) {
	return s.notices().GiveNotices(ctx)
}

// Purge removes a batch of expired entries.
func (s *Service) Purge(ctx context.Context) (more bool, err error) { return s.purge(ctx) }

// StoreUsage stores the usage and the refusals that wait in memory.
func (s *Service) StoreUsage(ctx context.Context) error {
	_, err := s.refusals().Flush(ctx)
	return err
}

// Matches reports whether a search for a text finds a license by its words. Tests
// compare what is stored with it.
func Matches(l api.License, text string) bool {
	words := call.SearchWords(text)
	rec := record.License{Name: l.Name}
	rec.CustomerID, rec.ProductID = l.CustomerID, l.ProductID
	return len(words) > 0 && call.ContainsAll(call.TextOf(rec, l.Metadata), words)
}
