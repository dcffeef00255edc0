package dashboard

import (
	"cmp"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// licenseHead is the header of the pages of a license, with its tabs.
type licenseHead struct {
	License   api.License
	Tab       string        // the current tab, as the last segment of its path; empty: Overview
	Main      []stateChange // buttons
	More      []stateChange // items of the menu
	Renewable bool
	RenewNow  bool          // a renewal is the answer to what is wrong or will be soon
	Admins    []stateChange // what an admin could do in addition
	Seats     seatMeter
	SeatsText string
	Devices   []activationRow // those that were seen last
	Refused   string          // how often it was refused

	refusals []api.Refusal
}

// readLicenseHead reads the license of the path, and what its pages have in common.
func readLicenseHead(v *kit.Visit) (h licenseHead, err error) {
	l, err := readLicense(v)
	if err != nil {
		return h, err
	}
	h = licenseHead{License: l, Tab: strings.TrimPrefix(v.Route.Path, "licenses/{id}"), Renewable: renewable(l)}
	seats, text, active, err1 := seatSummary(v, l)
	refusals, err2 := v.Licenses.Refusals(v.R.Context(), api.ListRefusalsParams{ID: l.ID})
	paused, err3 := inner.Of(v.Licenses).Licenses().Paused(v.R.Context(), l)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return h, err
	}
	h.Seats, h.SeatsText, h.Devices = seats, text, newestSeen(active)
	var refused int64
	for _, r := range refusals.Data {
		refused += r.Count
	}
	h.refusals, h.Refused = refusals.Data, kit.Thousands(refused)
	h.RenewNow = h.Renewable && len(l.Upcoming) == 0 && (l.Status == api.LicenseActive || l.Status == api.LicenseExpired) &&
		l.ExpiresAt != nil && l.ExpiresAt.Before(v.Opts.Now().Add(api.ExpiringSoon))
	if !v.Admin() {
		h.Admins = []stateChange{{Name: "edit", Label: "Edit"}}
	}
	for _, m := range stateChanges {
		switch {
		case !m.fits(l, paused):
		case !v.May(m.access):
			h.Admins = append(h.Admins, m)
		case m.Name == "reinstate":
			h.Main = append(h.Main, m)
		default:
			h.More = append(h.More, m)
		}
	}
	return h, nil
}

// keyEnd returns the end of a license key that an operator types to confirm: its
// last group, or its last six characters if it has no short groups.
func keyEnd(key string) string {
	end := key[strings.LastIndexByte(key, '-')+1:]
	if end == "" || len(end) > 8 {
		return key[max(0, len(key)-6):]
	}
	return end
}
