package dashboard

import (
	"testing"

	"github.com/matryer/is"
)

func TestSparkOfPayingEndsAtTheNumberOfNow(t *testing.T) {
	is := is.New(t)
	s := series{Buckets: make([]bucket, 3)}
	for i, n := range []int64{2, -1, 3} {
		s.Buckets[i].Paying = n
	}
	is.Equal(s.sparkOfPaying(4), "M0.0 12.0L50.0 17.5L100.0 1.0") // 2, 1 and 4 of 4
	is.Equal(s.sparkOfPaying(10), "M0.0 5.4L50.0 7.6L100.0 1.0")  // 8, 7 and 10 of 10
	is.Equal(series{Buckets: []bucket{{}, {}}}.sparkOfPaying(0), "")
}
