package dashboard

import (
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A chart shows counts over time as a bar chart and as a table. Positions and
// sizes are percentages of the plot, so that text keeps its size at any width.
type chart struct {
	ID       string // the id of its heading
	Title    string
	Column   string // the heading of the first column of the table
	Counted  string // the heading of the second column
	Summary  string
	Link     string // the filtered list, as a reference from dashboard/; empty: none
	LinkText string
	Empty    bool // every count is zero
	Bars     []bar
	Grid     []tick // horizontal lines, from zero up
	Ticks    []tick // vertical lines
	Rows     []figure

	scale float64 // percent for a count of one
}

// A bar is the count of one day or week. The slot is the area of its tooltip.
type bar struct {
	X, Y, Width, Height string
	Slot, SlotWidth     string
	Refused             string // the height of the part of refused calls; empty: none
	RefusedY            string
	Link                string // as a reference from dashboard/; empty: none
	Label               string
}

// A tick is a line across the plot with a label. At is its position.
type tick struct {
	At    string
	Label string
	Minor bool // the label is hidden on narrow screens
}

// A figure is one row of the table.
type figure struct {
	Label, ISO string
	N          int64
}

// newChart returns a chart of the figures. Each figure is a count for one unit
// of time, which is "a day" or "a week".
func newChart(id, title, counted, unit string, figures []license.Figure) chart {
	c := chart{ID: id, Title: title, Column: "Day", Counted: counted}
	if unit == "a week" {
		c.Column = "Week of"
	}
	var total, most int64
	for _, f := range figures {
		total, most = total+f.N, max(most, f.N)
		c.Rows = append(c.Rows, figure{f.From.Format("2 Jan 2006"), f.From.Format(time.DateOnly), f.N})
	}
	if total == 0 {
		c.Empty, c.Summary = true, "None."
		return c
	}
	c.Summary = thousands(total) + " total, peak " + thousands(most) + " " + unit + "."
	step := gridStep(most)
	top := (most + step - 1) / step * step
	for n := int64(0); n <= top; n += step {
		c.Grid = append(c.Grid, tick{At: percent(100 - 100*float64(n)/float64(top)), Label: axisLabel(n)})
	}
	c.scale = 100 / float64(top)
	slot := 100 / float64(len(figures))
	for i, f := range figures {
		height := 100 * float64(f.N) / float64(top)
		if f.N > 0 {
			height = max(height, 1) // visible next to a large count
		}
		x := slot * float64(i)
		c.Bars = append(c.Bars, bar{
			X: percent(x + slot*.1), Width: percent(slot * .8), Y: percent(100 - height), Height: percent(height),
			Slot: percent(x), SlotWidth: percent(slot), Label: c.Rows[i].Label + ": " + thousands(f.N),
		})
	}
	c.Ticks = timeTicks(figures, slot)
	return c
}

// stackRefused shows a part of the count of each bar as refused.
func (c *chart) stackRefused(figures []license.Figure) {
	for i := range c.Bars {
		n := figures[i].N
		if n == 0 {
			continue
		}
		height := max(1, c.scale*float64(n))
		c.Bars[i].Refused, c.Bars[i].RefusedY = percent(height), percent(100-height)
		c.Bars[i].Label += ", " + thousands(n) + " refused"
	}
}

// timeTicks returns ticks at the months of the figures or, if they cover little
// more than a month, at the weeks.
func timeTicks(figures []license.Figure, slot float64) (list []tick) {
	months := figures[len(figures)-1].From.Sub(figures[0].From) > 40*24*time.Hour
	for i, f := range figures {
		at := slot * float64(i)
		label := ""
		switch {
		case months && (i == 0 && f.From.Day() == 1 || i > 0 && f.From.Month() != figures[i-1].From.Month()):
			if label = f.From.Format("Jan"); f.From.Month() == time.January {
				label = f.From.Format("2006")
			}
		case !months && f.From.Weekday() == time.Monday:
			label = f.From.Format("2 Jan")
		default:
			continue
		}
		if at > 94 {
			label = "" // there is no room
		}
		list = append(list, tick{At: percent(at), Label: label})
	}
	const most = 6 // labels on a narrow screen
	for i := range list {
		list[i].Minor = len(list) > most && i%2 == 1
	}
	return list
}

// weekly adds up daily figures by weeks from Monday. The first and the last can
// be parts of a week.
func weekly(figures []license.Figure) (list []license.Figure) {
	for i, f := range figures {
		if i == 0 || f.From.Weekday() == time.Monday {
			list = append(list, license.Figure{From: f.From})
		}
		list[len(list)-1].N += f.N
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

// percent formats a position or a size for an SVG attribute.
func percent(x float64) string {
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
	return thousands(n)
}

// thousands formats a number with thousands separators: "12,345".
func thousands(n int64) string {
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
