package failing

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"
)

// TestEvents: an event is a problem from the third failure on, or from the first one that is
// certain, until it passes or all have passed since.
func TestEvents(t *testing.T) {
	is := is.New(t)
	var e Events
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fail := func(provider, about, reason string, certain bool) {
		at = at.Add(time.Minute)
		e.Failed(provider, about, errors.New(reason), certain, at)
	}
	fail("stripe", "sub_1", "busy", false)
	fail("stripe", "sub_1", "busy", false)
	is.Equal(len(e.Problems()), 0)
	fail("stripe", "sub_2", "busy", false) // another one
	is.Equal(len(e.Problems()), 0)
	fail("stripe", "sub_1", "still busy", false)
	first := at.Add(-3 * time.Minute)
	is.Equal(e.Problems(), []Problem{{"stripe", "still busy", first}})
	e.Passed("stripe", "sub_2")
	is.Equal(len(e.Problems()), 1)
	fail("polar", "orders/1", "new state", true)
	fail("stripe", "sub_3", "new state", true)
	is.Equal(e.Problems(), []Problem{{"polar", "new state", at.Add(-time.Minute)}, {"stripe", "new state", first}})
	e.Passed("stripe", "sub_1")
	is.Equal(e.Problems()[1], Problem{"stripe", "new state", at})
	e.AllPassed("stripe", at) // which began before the last failure
	is.Equal(len(e.Problems()), 2)
	e.AllPassed("stripe", at.Add(time.Second))
	is.Equal(len(e.Problems()), 1)
	is.Equal(e.About("polar"), []string{"orders/1"})
}

// TestEventsAreFew: at most 100 are remembered, the newest.
func TestEventsAreFew(t *testing.T) {
	is := is.New(t)
	var e Events
	for n := range 300 {
		e.Failed("stripe", fmt.Sprint(n), errors.New("busy"), false, time.Unix(int64(n), 0))
	}
	about := e.About("stripe")
	is.Equal([]any{len(about), about[0], about[99]}, []any{100, "200", "299"})
}
