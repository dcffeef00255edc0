package dashboard

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
)

// A series has the numbers of a period by day or, if it is long, by week.
type series struct {
	Unit    string // "day" or "week"
	Buckets []bucket
	Top     string // the label of the upper line
	Zero    string // the position of the line of zero
	Empty   bool
}

// A bucket is a day or a week, drawn as a bar up and a bar down.
type bucket struct {
	sales.Numbers
	From               time.Time
	Date               string
	Slot, Width        string
	X, Bar             string
	Y1, H1, Y2, H2, H3 string // new, renewed on top of it, and ended below zero
}

// seriesOf returns the series of a report.
func seriesOf(rep sales.Report) (s series) {
	s.Unit = "day"
	each := 24 * time.Hour
	if rep.Period.To.Sub(rep.Period.From) > 62*each {
		s.Unit, each = "week", 7*each
	}
	for at := rep.Period.From; at.Before(rep.Period.To); at = at.Add(each) {
		s.Buckets = append(s.Buckets, bucket{From: at, Date: at.Format("2 Jan 2006")})
	}
	for _, d := range rep.Days {
		at, _ := time.Parse(time.DateOnly, d.Day)
		if i := int(at.Sub(rep.Period.From) / each); i >= 0 && i < len(s.Buckets) {
			b := &s.Buckets[i]
			b.New, b.ByHand = b.New+d.New, b.ByHand+d.ByHand
			b.Renewed, b.Ended, b.Converted, b.Paying = b.Renewed+d.Renewed, b.Ended+d.Ended, b.Converted+d.Converted, b.Paying+d.Paying
		}
	}
	var up, down int64
	for _, b := range s.Buckets {
		up, down = max(up, b.New+b.ByHand+b.Renewed), max(down, b.Ended)
	}
	if s.Empty = up+down == 0; s.Empty {
		return s
	}
	up, s.Top = max(up, 1), kit.Thousands(max(up, 1))
	whole, slot := float64(up+down), 100/float64(len(s.Buckets))
	high := func(n int64) float64 { return 100 * float64(n) / whole }
	zero := high(up)
	s.Zero = kit.Percent(zero)
	for i := range s.Buckets {
		b, x := &s.Buckets[i], slot*float64(i)
		b.Slot, b.Width, b.X, b.Bar = kit.Percent(x), kit.Percent(slot), kit.Percent(x+slot*.15), kit.Percent(slot*.7)
		made := b.New + b.ByHand
		b.Y1, b.H1 = kit.Percent(zero-high(made)), kit.Percent(high(made))
		b.Y2, b.H2, b.H3 = kit.Percent(zero-high(made)-high(b.Renewed)), kit.Percent(high(b.Renewed)), kit.Percent(high(b.Ended))
	}
	return s
}

// spark returns the path of a line of one number of each bucket, on a scale from zero, in a view
// box of 100 by 24, or "" if there is none. It calls of once for each bucket, in their order.
func (s series) spark(of func(bucket) int64) string {
	var least, most int64
	numbers := make([]int64, len(s.Buckets))
	for i, b := range s.Buckets {
		n := of(b)
		numbers[i], least, most = n, min(least, n), max(most, n)
	}
	if most == least || len(numbers) < 2 {
		return ""
	}
	points := make([]string, len(numbers))
	for i, n := range numbers {
		points[i] = fmt.Sprintf("%.1f %.1f", 100*float64(i)/float64(len(numbers)-1), 23-22*float64(n-least)/float64(most-least))
	}
	return "M" + strings.Join(points, "L")
}

// sparkOfPaying returns the line of the paying licenses, of which there are some at the end.
func (s series) sparkOfPaying(at int64) string {
	for _, b := range s.Buckets {
		at -= b.Paying
	}
	return s.spark(func(b bucket) int64 { at += b.Paying; return at })
}

// A delta is the change of a number against the period before, in percent.
type delta struct{ Text, Class string }

// deltaOf returns the change; good says whether more is better.
func deltaOf(now, before int64, good bool) *delta {
	if before == 0 || now == before {
		return nil
	}
	d, up := delta{Text: fmt.Sprintf("%+d %%", (100*(now-before))/before)}, now > before
	if d.Class = "down"; up == good {
		d.Class = "up"
	}
	d.Text = strings.Replace(d.Text, "-", "−", 1)
	return &d
}
