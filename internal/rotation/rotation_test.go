package rotation

import (
	"testing"
	"time"

	"github.com/matryer/is"
)

type secret struct {
	name string
	end  time.Time
}

func (s secret) Expiry() time.Time          { return s.end }
func (s secret) Until(end time.Time) secret { return secret{s.name, end} }

func TestOverlap(t *testing.T) {
	is := is.New(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	soon, late := now.Add(time.Minute), now.Add(48*time.Hour)
	list := []secret{{"expired", now}, {"soon", soon}, {"late", late}, {"never", time.Time{}}}
	end := now.Add(time.Hour)
	is.Equal(Overlap(list, now, time.Hour+time.Microsecond), []secret{{"soon", soon}, {"late", end}, {"never", end}})
	is.Equal(len(Overlap(list, now, 0)), 0)
	is.Equal(list[3].end, time.Time{}) // the list itself does not change
	is.Equal(Valid(list, soon), []secret{{"late", late}, {"never", time.Time{}}})
}
