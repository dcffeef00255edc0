package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A meterBar is what was used of a meter in its present period.
type meterBar struct {
	seatMeter
	Name   string
	Resets *moment // nil: never
}

func (v *visit) meterBar(u api.MeterUse) meterBar {
	b := meterBar{Name: u.Name, seatMeter: seatMeter{Text: thousands(u.Used) + " used"}}
	if u.Limit != nil {
		b.seatMeter = usedOf(u.Used, *u.Limit)
		b.Text = thousands(u.Used) + " of " + thousands(*u.Limit) + " used"
	}
	if u.ResetsAt != nil {
		b.Resets = v.moment(*u.ResetsAt)
	}
	return b
}
