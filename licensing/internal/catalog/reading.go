package catalog

import (
	"context"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A reading is what is read of the feed for one batch. A license that changes
// later has a later event, so it does no harm that its record is newer.
type reading struct {
	events   []store.Event
	more     bool                      // there may be events after these
	ids      []string                  // of the licenses of events
	licenses map[string]record.License // that exist, by ID
	created  map[string]bool           // IDs of licenses that these events create
	seats    map[string]bool           // IDs of licenses whose activations these events change
}

// read reads up to limit events after a Seq and their licenses. What Recent holds
// is not read from the store.
func (c *Catalog) read(ctx context.Context, r store.Reader, after int64, limit int) (*reading, error) {
	s := &reading{licenses: map[string]record.License{}, created: map[string]bool{}, seats: map[string]bool{}}
	end, err := newest(ctx, r)
	if err != nil || end <= after {
		return s, err
	}
	written := map[string]*store.License{} // by ID; nil: deleted
	if changes := c.Recent.after(after, end, limit); len(changes) > 0 {
		for _, c := range changes {
			s.events = append(s.events, store.Event{Seq: c.Seq, Type: c.Type, Subject: c.Subject})
			if c.Wrote {
				written[c.Subject] = c.License
			}
		}
	} else if s.events, err = r.Events(ctx, store.EventQuery{After: after, Limit: limit}); err != nil || len(s.events) == 0 {
		return s, err
	}
	s.more = s.events[len(s.events)-1].Seq < end
	var missing []string
	var rows []store.License
	seen := make(map[string]bool, len(s.events))
	for _, e := range s.events {
		switch {
		case e.Type == "license.created":
			s.created[e.Subject] = true
		case strings.HasPrefix(e.Type, "activation."):
			s.seats[e.Subject] = true
		}
		if e.Subject == "" || seen[e.Subject] {
			continue
		}
		seen[e.Subject] = true
		s.ids = append(s.ids, e.Subject)
		if l, ok := written[e.Subject]; !ok {
			missing = append(missing, e.Subject)
		} else if l != nil {
			rows = append(rows, *l)
		}
	}
	if len(missing) > 0 {
		read, err := r.Licenses(ctx, store.LicenseQuery{IDs: missing})
		if err != nil {
			return nil, err
		}
		rows = append(rows, read...)
	}
	for _, l := range rows {
		if s.licenses[l.ID], err = record.ReadLicense(l); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// fingerprintTerms returns the words of the fingerprints of a license. If none of
// the events changes its activations, they need not be read: they were indexed
// before, if known, or the license is new.
func (s *reading) fingerprintTerms(ctx context.Context, r store.Reader, id string, indexed map[string]terms) ([]string, error) {
	was, known := indexed[id]
	switch {
	case s.created[id] && !s.seats[id]:
		return nil, nil
	case known && !s.seats[id]:
		return was.fingerprints, nil
	}
	return fingerprintTerms(ctx, r, id)
}
