package dashboard

import "github.com/seed-d8a106b4/licensekit/licensing/license"

// maxCounted is the number of licenses that are read to count the matches of a
// filter for which no count is kept.
const maxCounted = 100

// A matchCount is the number of licenses that match a filter.
type matchCount struct {
	n    int64
	more bool // there are more than n
}

// text returns the number with a unit, such as "1 license" or "100+ licenses".
func (m matchCount) text(unit string) string {
	if m.n == 1 && !m.more {
		return "1 " + unit
	}
	return m.number() + " " + unit + "s"
}

func (m matchCount) number() string {
	if m.more {
		return thousands(m.n) + "+"
	}
	return thousands(m.n)
}

// matches counts the licenses that match a filter. Of these, result is the page
// that p selects. It takes the number from the stored counts if they have it, and
// otherwise reads a limited number of licenses, unless the sample has them.
func (v *visit) matches(f filter, p license.ListParams, result license.Page[license.License], counts *license.Overview, s *sample) (matchCount, error) {
	if p.Cursor == "" && !result.HasMore {
		return matchCount{n: int64(len(result.Data))}, nil
	}
	if s != nil && f.samples(p) {
		return s.all, nil
	}
	if n, ok, err := v.storedCount(f, counts); ok || err != nil {
		return matchCount{n: n}, err
	}
	read := 0
	if p.Cursor == "" { // the page is the beginning of the list
		read = len(result.Data)
		p.Cursor = result.NextCursor
	} else {
		p.Cursor = ""
	}
	p.Limit = maxCounted - read
	rest, err := v.licenses.List(v.r.Context(), p)
	return matchCount{int64(read + len(rest.Data)), rest.HasMore}, err
}

// storedCount returns the number of licenses that match a filter if it is stored
// and exact. The counts are nil if they do not apply.
func (v *visit) storedCount(f filter, counts *license.Overview) (n int64, ok bool, err error) {
	ordered := f.order() == sortSoonest || f.order() == sortLatest // without the licenses that have no expiry
	switch status := license.Status(f.Status); (filter{Search: f.Search, Status: f.Status, Product: f.Product, Customer: f.Customer, Expires: f.Expires}) {
	case filter{}:
		if counts != nil && !ordered {
			return counts.Total, true, nil
		}
	case filter{Status: f.Status}:
		if counts != nil && (!ordered || status == license.StatusExpired) {
			return counts.ByStatus[status], true, nil
		}
	case filter{Status: string(license.StatusActive), Expires: expiringFilter}:
		if counts != nil {
			return counts.Expiring, true, nil
		}
	case filter{Product: f.Product}:
		if !ordered {
			return v.totalOf(products, f.Product)
		}
	case filter{Customer: f.Customer}:
		return v.totalOf(customers, f.Customer)
	}
	return 0, false, nil
}

// totalOf returns the number of licenses of a customer or product, if the counts
// do not lag behind.
func (v *visit) totalOf(d directory, id string) (n int64, ok bool, err error) {
	n, lag, err := d.total(v.r.Context(), v.licenses, id)
	return n, lag == nil && err == nil, err
}
