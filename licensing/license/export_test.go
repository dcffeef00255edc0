package license

import "context"

// GiveNotices appends a batch of due expiry notices.
func (s *Service) GiveNotices(ctx context.Context) (more bool, err error) { return s.giveNotices(ctx) }

// Purge removes a batch of expired entries.
func (s *Service) Purge(ctx context.Context) (more bool, err error) { return s.purge(ctx) }

// Index brings the indexes up to date with the event feed.
func (s *Service) Index(ctx context.Context) error { return s.catalog.Index(ctx) }

// StoreUsage stores the usage and the refusals that wait in memory.
func (s *Service) StoreUsage(ctx context.Context) error {
	_, err := s.flush(ctx)
	return err
}
