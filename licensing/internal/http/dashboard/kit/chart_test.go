package kit

import (
	"testing"
	"time"

	"github.com/matryer/is"
)

// days returns daily figures that begin on a day.
func days(from time.Time, counts ...int64) (list []Figure) {
	for i, n := range counts {
		list = append(list, Figure{From: from.AddDate(0, 0, i), N: n})
	}
	return list
}

func TestGridStep(t *testing.T) {
	is := is.New(t)
	for most, want := range map[int64]int64{1: 1, 4: 1, 5: 2, 8: 2, 9: 5, 20: 5, 21: 10, 100: 50, 2_500_000: 1_000_000} {
		is.Equal(gridStep(most), want)
	}
}

func TestAxisLabel(t *testing.T) {
	is := is.New(t)
	for n, want := range map[int64]string{0: "0", 5000: "5,000", 20_000: "20k", 1_500_000: "1.5M"} {
		is.Equal(axisLabel(n), want)
	}
}

func TestChart(t *testing.T) {
	is := is.New(t)
	from := time.Date(2026, 3, 30, 0, 0, 0, 0, time.UTC)
	c := NewChart(days(from, 0, 500, 100, 800))
	is.Equal(c.Grid, []tick{{At: "100.00%", Label: "0"}, {At: "75.00%", Label: "200"}, {At: "50.00%", Label: "400"}, {At: "25.00%", Label: "600"}, {At: "0.00%", Label: "800"}})
	is.Equal(c.Bars[0].Height, "0.00%")
	is.Equal(c.Bars[1], bar{X: "27.50%", Width: "20.00%", Y: "37.50%", Height: "62.50%", Slot: "25.00%", SlotWidth: "25.00%",
		Date: "31 Mar 2026", ISO: "2026-03-31", Count: "500", Shown: true})
	is.Equal(c.Ticks, []tick{{At: "50.00%", Label: "Apr"}})
	is.True(NewChart(days(from, 0, 0)).Empty)

	// Refused activations are not among the validations.
	refused := days(from, 400, 200)
	refused[1].Refused = 800
	c = NewChart(refused)
	is.Equal(c.Refused, "800")
	is.Equal([]string{c.Bars[1].Height, c.Bars[1].RefusedH, c.Bars[1].Count}, []string{"25.00%", "100.00%", "200, 800 refused"})

	// Few validations are shown by week. The first week begins with the first day, and the next on a Monday.
	saturday := time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC)
	c = NewChart(days(saturday, 1, 1, 1))
	is.Equal([]string{c.Bars[0].ISO, c.Bars[0].Count, c.Bars[1].ISO, c.Bars[1].Count}, []string{"2026-02-28", "2", "2026-03-02", "1"})
}

func TestMonthTicks(t *testing.T) {
	is := is.New(t)
	list := monthTicks(days(time.Date(2025, 12, 20, 0, 0, 0, 0, time.UTC), make([]int64, 100)...), 1)
	is.Equal(list, []tick{{At: "12.00%", Label: "2026"}, {At: "43.00%", Label: "Feb"}, {At: "71.00%", Label: "Mar"}})
	is.Equal(monthTicks(days(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 0, 0), 50), []tick{{At: "0.00%", Label: "Mar"}})
}

func TestWeekly(t *testing.T) {
	is := is.New(t)
	saturday := time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC)
	list := days(saturday, 1, 2, 3, 4)
	list[2].Refused, list[3].Refused = 5, 6
	is.Equal(weekly(list), []Figure{{From: saturday, N: 3}, {From: saturday.AddDate(0, 0, 2), N: 7, Refused: 11}})
}
