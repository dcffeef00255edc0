package dashboard

import (
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A sample has the first licenses, at most [maxCounted], that match the search,
// the product and the customer of a list. It gives the numbers on the status tabs.
type sample struct {
	licenses []license.License
	all      matchCount // on the tab with all licenses
	more     bool       // more licenses match
	at       time.Time
}

// unsearched reports whether a list has no search, product or customer.
func (f filter) unsearched() bool { return f.Search == "" && f.Product == "" && f.Customer == "" }

// samples reports whether the licenses of the list are those of its sample.
func (f filter) samples(p license.ListParams) bool {
	return f.Status == "" && p.ExpiresAfter.IsZero()
}

// sample reads the sample of a list, of which result is the page that p selects.
func (v *visit) sample(f filter, p license.ListParams, result license.Page[license.License]) (*sample, error) {
	s := sample{at: v.h.opts.Now()}
	every := filter{Search: f.Search, Product: f.Product, Customer: f.Customer}
	if f.samples(p) && p.Cursor == "" { // the page is the beginning of the sample
		s.licenses, s.more, p.Cursor = result.Data, result.HasMore, result.NextCursor
	} else {
		p, s.more = every.params(s.at), true
	}
	if s.more {
		p.Limit = maxCounted - len(s.licenses)
		rest, err := v.licenses.List(v.r.Context(), p)
		if err != nil {
			return nil, err
		}
		s.licenses, s.more = slices.Concat(s.licenses, rest.Data), rest.HasMore
	}
	s.all = matchCount{int64(len(s.licenses)), s.more}
	if s.more {
		if n, ok, err := v.storedCount(every, nil); err != nil {
			return nil, err
		} else if ok {
			s.all = matchCount{n: n}
		}
	}
	return &s, nil
}

// count returns the number on the tab with a filter. It is empty if none of the
// sample match and there are more licenses.
func (s *sample) count(tab filter) string {
	if tab.Status == "" {
		return s.all.number()
	}
	n := matchCount{more: s.more}
	p := tab.params(s.at)
	for _, l := range s.licenses {
		soon := tab.Expires == "" || l.ExpiresAt != nil && !l.ExpiresAt.Before(p.ExpiresAfter) && l.ExpiresAt.Before(p.ExpiresBefore)
		if l.Status == p.Status && soon {
			n.n++
		}
	}
	if n.n == 0 && n.more {
		return ""
	}
	return n.number()
}
