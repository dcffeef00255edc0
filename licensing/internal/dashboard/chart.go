package dashboard

import (
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A chart shows counts over time as a bar chart and as a table.
type chart struct {
	ID      string // the id of its heading
	Title   string
	Column  string // the heading of the first column of the table
	Summary string
	Bars    []bar
	Rows    []figure
	Width   int // of the viewBox of the SVG
}

// The sizes of the chart and its bars, in units of the viewBox of the SVG.
const (
	chartHeight  = 100
	barStep      = 10
	barWidth     = 8
	minBarHeight = 3 // keeps a small count visible next to a large one
)

// A bar is one rectangle of the chart.
type bar struct {
	X, Y, Width, Height int
	Label               string
}

// A figure is one row of the table.
type figure struct {
	Label, ISO string
	N          int64
}

// First and Last return the labels of the two ends of the axis.
func (c chart) First() string { return c.Rows[0].Label }
func (c chart) Last() string  { return c.Rows[len(c.Rows)-1].Label }

// newChart returns a chart of the figures. Each figure is a count for one unit
// of time, which is "a day" or "a week".
func newChart(id, title, column, unit string, figures []license.Figure) chart {
	c := chart{ID: id, Title: title, Column: column, Width: len(figures) * barStep}
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
			height := max(minBarHeight, int(f.N*chartHeight/most))
			c.Bars = append(c.Bars, bar{i*barStep + (barStep-barWidth)/2, chartHeight - height, barWidth, height, label + ": " + thousands(f.N)})
		}
	}
	return c
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
