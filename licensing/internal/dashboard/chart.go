package dashboard

import (
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A chart is figures over time as bars, drawn here, and as a table of the same
// figures.
type chart struct {
	ID      string // of its heading
	Title   string
	Column  string // the heading of the table's first column
	Summary string
	Bars    []bar
	Rows    []figure
	Width   int // of the drawing, in units of a bar's place
}

// The drawing's height, and what a bar takes of its place, both in hundredths.
const (
	chartHeight = 100
	barPlace    = 10
	barWidth    = 8
	barLeast    = 3 // so that one is seen beside a thousand
)

// A bar stands on the ground of the drawing.
type bar struct {
	X, Y, Width, Height int
	Label               string
}

// A figure is a row of the table.
type figure struct {
	Label, ISO string
	N          int64
}

// First and Last are what the ends of the axis say.
func (c chart) First() string { return c.Rows[0].Label }
func (c chart) Last() string  { return c.Rows[len(c.Rows)-1].Label }

// newChart draws figures. Each counts something in one of the given units of
// time: "a day", "a week".
func newChart(id, title, column, unit string, figures []license.Figure) chart {
	c := chart{ID: id, Title: title, Column: column, Width: len(figures) * barPlace}
	var total, most int64
	for _, f := range figures {
		total, most = total+f.N, max(most, f.N)
	}
	c.Summary = thousands(total) + " total, peak " + thousands(most) + " " + unit + "."
	if total == 0 {
		c.Summary = "None."
	}
	for i, f := range figures {
		label := f.From.Format("2 Jan 2006")
		c.Rows = append(c.Rows, figure{label, f.From.Format(time.DateOnly), f.N})
		if f.N > 0 {
			height := max(barLeast, int(f.N*chartHeight/most))
			c.Bars = append(c.Bars, bar{i*barPlace + (barPlace-barWidth)/2, chartHeight - height, barWidth, height, label + ": " + thousands(f.N)})
		}
	}
	return c
}

// thousands writes a number with its thousands apart: "12,345".
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
