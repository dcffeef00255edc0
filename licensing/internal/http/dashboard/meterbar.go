package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// A meterBar is what was used of a meter in its present period.
type meterBar struct {
	seatMeter
	Name   string
	Resets *kit.Moment // nil: never
}

func meterBarOf(v *kit.Visit, u api.MeterUse) meterBar {
	b := meterBar{seatMeter: usedOf(u.Used, u.Limit), Name: u.Name, Resets: v.MomentOf(u.ResetsAt)}
	b.Text = kit.UsedText(u.Used, u.Limit)
	return b
}
