package kit

import (
	"strconv"
	"time"
)

// A Chart shows validations over time as a bar chart and as a table. Positions and
// sizes are percentages of the plot, so that text keeps its size at any width.
type Chart struct {
	Column  string // the heading of the first column of the table
	Summary string
	Empty   bool   // every count is zero
	Refused string // the number of refused calls; empty: none
	Bars    []bar  // with a row of the table for each
	Grid    []tick // horizontal lines, from zero up
	Ticks   []tick // vertical lines
}

// A bar is the count of one day or week. The slot is the area that a pointer hits.
type bar struct {
	X, Y, Width, Height string
	Slot, SlotWidth     string
	RefusedY, RefusedH  string // the part of refused calls; empty: none
	Date, ISO, Count    string
	Shown               bool // something is counted
}

// A tick is a line across the plot with a label. At is its position.
type tick struct {
	At    string
	Label string
}

// A Figure has the counts of one day or week in UTC.
type Figure struct {
	From       time.Time // start of the day or week
	N, Refused int64     // validations, and refused validations and activations
}

// NewChart returns a chart of the validations and refused calls of days, by week if there are
// few validations.
func NewChart(figures []Figure) Chart {
	c, unit := Chart{Column: "Day"}, "a day"
	var total, most, denied, top int64
	for _, f := range figures {
		total, denied = total+f.N, denied+f.Refused
	}
	if total < usageWeekly {
		c.Column, unit, figures = "Week of", "a week", weekly(figures)
	}
	for _, f := range figures {
		most, top = max(most, f.N), max(top, f.N, f.Refused)
	}
	if top == 0 {
		c.Empty, c.Summary = true, "None."
		return c
	}
	c.Summary = Thousands(total) + " total, peak " + Thousands(most) + " " + unit + "."
	if denied > 0 {
		c.Refused = Thousands(denied)
	}
	step := gridStep(top)
	top = (top + step - 1) / step * step
	for n := int64(0); n <= top; n += step {
		c.Grid = append(c.Grid, tick{At: Percent(100 - 100*float64(n)/float64(top)), Label: axisLabel(n)})
	}
	height := func(n int64) float64 {
		if n == 0 {
			return 0
		}
		return max(100*float64(n)/float64(top), 1) // visible next to a large count
	}
	slot := 100 / float64(len(figures))
	for i, f := range figures {
		x, h, denied := slot*float64(i), height(f.N), height(f.Refused)
		b := bar{
			X: Percent(x + slot*.1), Width: Percent(slot * .8), Y: Percent(100 - h), Height: Percent(h), Slot: Percent(x), SlotWidth: Percent(slot),
			Date: f.From.Format("2 Jan 2006"), ISO: f.From.Format(time.DateOnly), Count: Thousands(f.N),
		}
		if f.Refused > 0 {
			b.RefusedY, b.RefusedH = Percent(100-denied), Percent(denied)
			b.Count += ", " + Thousands(f.Refused) + " refused"
		}
		b.Shown = f.N > 0 || b.RefusedH != ""
		c.Bars = append(c.Bars, b)
	}
	c.Ticks = monthTicks(figures, slot)
	return c
}

// monthTicks returns ticks at the first figures of the months.
func monthTicks(figures []Figure, slot float64) (list []tick) {
	for i, f := range figures {
		if i == 0 && f.From.Day() != 1 || i > 0 && f.From.Month() == figures[i-1].From.Month() {
			continue
		}
		t := tick{At: Percent(slot * float64(i)), Label: f.From.Format("Jan")}
		if f.From.Month() == time.January {
			t.Label = f.From.Format("2006")
		}
		if slot*float64(i) > 94 {
			t.Label = "" // there is no room
		}
		list = append(list, t)
	}
	return list
}

// weekly adds up daily figures by weeks from Monday. The first and the last can
// be parts of a week.
func weekly(figures []Figure) (list []Figure) {
	for i, f := range figures {
		if i == 0 || f.From.Weekday() == time.Monday {
			list = append(list, Figure{From: f.From})
		}
		week := &list[len(list)-1]
		week.N, week.Refused = week.N+f.N, week.Refused+f.Refused
	}
	return list
}

// gridStep returns the distance of the lines of a grid for counts up to most:
// 1, 2 or 5 times a power of ten, so that there are at most five lines.
func gridStep(most int64) int64 {
	for power := int64(1); ; power *= 10 {
		for _, n := range []int64{1, 2, 5} {
			if (most+n*power-1)/(n*power) <= 4 {
				return n * power
			}
		}
	}
}

// Percent formats a position or a size for an SVG attribute.
func Percent(x float64) string {
	return strconv.FormatFloat(x, 'f', 2, 64) + "%"
}

// axisLabel formats the label of an axis: "500", "20k", "1.5M".
func axisLabel(n int64) string {
	short := func(unit int64, suffix string) string {
		return strconv.FormatFloat(float64(n)/float64(unit), 'f', -1, 64) + suffix
	}
	switch {
	case n >= 1_000_000:
		return short(1_000_000, "M")
	case n >= 10_000:
		return short(1_000, "k")
	}
	return Thousands(n)
}

// Thousands formats a number with thousands separators: "12,345".
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
