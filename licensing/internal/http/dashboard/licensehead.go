package dashboard

import (
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// licenseHead is the header of the pages of a license, with its tabs.
type licenseHead struct {
	License   api.License
	Tab       string     // the current tab, as the last segment of its path; empty: Overview
	Main      []moveLink // buttons
	More      []moveLink // items of the menu
	Renewable bool
	Used      string // the numbers on tabs
	Refused   string
}

// licenseTab returns the handler of a page of a license. The tab is the last segment
// of its path.
func licenseTab(tab string, show func(*visit, licenseHead) error) func(*visit) error {
	return func(v *visit) error {
		l, err := v.licenses.Get(v.r.Context(), v.r.PathValue("id"))
		if err != nil {
			return err
		}
		head, err := v.licenseHead(l, tab)
		if err != nil {
			return err
		}
		return show(v, head)
	}
}

func (v *visit) licenseHead(l api.License, tab string) (licenseHead, error) {
	seats, err := inner.Of(v.licenses).Find().SeatCounts(v.r.Context(), []string{l.ID})
	if err != nil {
		return licenseHead{}, err
	}
	refusals, err := v.licenses.Refusals(v.r.Context(), api.ListRefusalsParams{ID: l.ID})
	if err != nil {
		return licenseHead{}, err
	}
	var refused int64
	for _, r := range refusals.Data {
		refused += r.Count
	}
	h := licenseHead{License: l, Tab: tab, Renewable: renewable(l)}
	links, err := v.movesOf(l)
	if err != nil {
		return licenseHead{}, err
	}
	for _, m := range links {
		switch {
		case !v.may(accessOfMove(m.Name)):
		case m.Name == "reinstate":
			h.Main = append(h.Main, m)
		default:
			h.More = append(h.More, m)
		}
	}
	if v.admin() {
		if l.Status != api.LicenseRevoked {
			h.More = append([]moveLink{{Name: "plan", Label: "Apply plan"}, {Name: "transfer", Label: "Transfer"}}, h.More...)
		}
		h.More = append(h.More, moveLink{Name: "delete", Label: "Delete", Danger: true})
	}
	n := seats[l.ID]
	h.Used, h.Refused = listedSeats(l, n.N, n.AtLeast).used(), thousands(refused)
	return h, nil
}

// A validityBar shows when a license is valid as a horizontal bar. Positions are
// in units of barWidth.
type validityBar struct {
	Start, Expiry, GraceEnd, Today int
	Starts, Expires, Grace         *moment // Grace is nil without a grace period
	Scheduled                      bool    // the start is in the future
	Expired                        bool
}

// validityWidth is the width of the bar in the viewBox of the SVG.
const validityWidth = 1000

// validityBar returns the bar of a license, or nil if it has no expiry. Without a
// start, the bar begins with the creation of the license.
func (v *visit) validityBar(l api.License) *validityBar {
	if l.ExpiresAt == nil {
		return nil
	}
	now, start, end := v.h.opts.Now(), l.CreatedAt, *l.ExpiresAt
	if l.StartsAt != nil {
		start = *l.StartsAt
	}
	if end.Before(start) { // imported with an expiry in the past
		start = end
	}
	graceEnd := end.Add(time.Duration(l.GraceSeconds) * time.Second)
	first, last := start, graceEnd
	if now.Before(first) {
		first = now
	}
	if now.After(last) {
		last = now
	}
	// In seconds, because the range can exceed that of a Duration.
	length := max(last.Unix()-first.Unix(), 1)
	at := func(t time.Time) int { return int((t.Unix() - first.Unix()) * validityWidth / length) }
	b := &validityBar{
		Start: at(start), Expiry: at(end), GraceEnd: at(graceEnd), Today: min(at(now), validityWidth-4),
		Starts: v.moment(start), Expires: v.moment(end), Scheduled: now.Before(start), Expired: !now.Before(end),
	}
	if l.GraceSeconds > 0 {
		b.Grace = v.moment(graceEnd)
	}
	return b
}

// Valid and Graced return the widths of the two parts of the bar.
func (b validityBar) Valid() int  { return b.Expiry - b.Start }
func (b validityBar) Graced() int { return b.GraceEnd - b.Expiry }

// keyEnd returns the end of a license key that an operator types to confirm: its
// last group, or its last six characters if it has no short groups.
func keyEnd(key string) string {
	end := key[strings.LastIndexByte(key, '-')+1:]
	if end == "" || len(end) > 8 {
		return key[max(0, len(key)-6):]
	}
	return end
}

// keyField returns the field for the end of the key of a license.
func keyField(l api.License) *field {
	return typedField("key", "Last group of the license key", keyEnd(l.Key), "This is not the last group of the key.")
}
