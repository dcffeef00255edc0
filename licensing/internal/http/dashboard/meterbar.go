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
	b := meterBar{seatMeter: usedOf(u.Used, u.Limit), Name: u.Name, Resets: v.momentOf(u.ResetsAt)}
	b.Text = usedText(u.Used, u.Limit)
	return b
}

// usedText says how much was used of a limit; nil: there is none.
func usedText(used int64, limit *int64) string {
	if limit == nil {
		return thousands(used) + " used"
	}
	return thousands(used) + " of " + thousands(*limit) + " used"
}
