package license

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
)

// GiveNotices appends a batch of due expiry notices.
func (s *Service) GiveNotices(ctx context.Context) (more bool, err error) { return s.giveNotices(ctx) }

// Purge removes a batch of expired entries.
func (s *Service) Purge(ctx context.Context) (more bool, err error) { return s.purge(ctx) }

// StoreUsage stores the usage and the refusals that wait in memory.
func (s *Service) StoreUsage(ctx context.Context) error {
	_, err := s.flush(ctx)
	return err
}

// Matches reports whether a search for a text finds a license by its words. Tests
// compare what is stored with it.
func Matches(l api.License, text string) bool {
	words := searchWords(text)
	rec := record.License{Name: l.Name}
	rec.CustomerID, rec.ProductID = l.CustomerID, l.ProductID
	return len(words) > 0 && containsAll(textOf(rec, l.Metadata), words)
}

// TracedKinds returns the kinds of entries that the list of traces has, and
// TracedEvents the types of events.
func TracedKinds() (kinds []string) {
	for _, t := range traces() {
		kinds = append(kinds, t.kinds...)
	}
	return kinds
}

func TracedEvents() (types []string) {
	for _, t := range traces() {
		types = append(types, t.events...)
	}
	return types
}
