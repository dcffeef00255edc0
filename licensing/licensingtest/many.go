package licensingtest

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/store"
)

// manyVariable is the environment variable with the number of activations of
// [seating.many].
const manyVariable = "LICENSING_TEST_ACTIVATIONS"

// many: beside thousands of active activations, exactly the free seats are taken,
// and then exactly those whose leases have ended.
func (s *seating) many() {
	const free, lapsing, lease, crowd = 50, 30, 24 * 3600, 200
	active := 2000
	if text := os.Getenv(manyVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < lapsing {
			s.t.Fatalf("%s must be a number above %d", manyVariable, lapsing)
		}
		active = n
	}
	s.issue(int64(active+1+free), lease)
	s.fill(active, lapsing, lease*time.Second)
	s.contend(1, "first-", 1) // counts them
	s.counted(active + 1)

	s.contend(crowd, "new-", free)
	s.counted(active + 1 + free)
	s.clock.Advance(time.Minute)
	s.contend(crowd, "newer-", lapsing)
	s.counted(active + 1 + free)
}

// fill stores n active activations, without their count. The leases of the first
// ones end in a minute.
func (s *seating) fill(n, lapsing int, lease time.Duration) {
	s.t.Helper()
	for first := 0; first < n; first += store.MaxLimit {
		rows := make([]store.Activation, min(store.MaxLimit, n-first))
		for i := range rows {
			at := first + i
			rows[i] = store.Activation{
				LicenseID: s.id, ID: fmt.Sprintf("act_%026d", at), Fingerprint: fmt.Sprint("old-", at),
				LeaseEndsAt: s.clock.Now().Add(lease), Document: []byte("{}"),
			}
			if at < lapsing {
				rows[i].LeaseEndsAt = s.clock.Now().Add(time.Minute)
			}
		}
		err := s.st.Update(s.t.Context(), func(tx store.Tx) error { return tx.PutActivations(s.t.Context(), rows...) })
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// counted checks how many activations are active, in the store and by the stored
// count that admissions compare with the limit.
func (s *seating) counted(want int) {
	s.t.Helper()
	n, q := 0, store.ActivationQuery{LicenseID: s.id, LiveAt: s.clock.Now(), Limit: store.MaxLimit}
	for more := true; more; {
		rows, err := s.st.Activations(s.t.Context(), q)
		if err != nil {
			s.t.Fatal(err)
		}
		n += len(rows)
		if more = len(rows) == store.MaxLimit; more {
			q.After = rows[len(rows)-1].ID
		}
	}
	counts, err := inner.Of(s.nodes[0]).Find().SeatCounts(s.t.Context(), []string{s.id})
	if err != nil || n != want || counts[s.id].N != want {
		s.t.Errorf("%d activations are active and %d are counted (%v), want %d", n, counts[s.id].N, err, want)
	}
}
