//go:build linux

package office

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

var long = flag.Duration("long", 0, "how long programs come and go in TestKills; 0: 7 seconds")

const (
	seats    = 8
	machines = 16 // with 4 programs each
	// A program with a seat for each process stops when its lease ends.
	lease = 3 * time.Second
)

// newOffice starts the office of a site, with the lease of the tests.
func newOffice(t *testing.T) *site {
	t.Helper()
	s := newSite(t, api.Terms{MaxActivations: new(int64(seats))})
	s.carry(s.answer(s.request(seats), api.Duration{Days: 10}))
	s.start()
	s.setLease(lease)
	return s
}

// admit opens programs in the network of the office, which is that of the test, and returns
// how many are valid. The others get activation_limit.
func (s *site) admit(programs int) (valid int) {
	s.t.Helper()
	is := is.New(s.t)
	for range programs {
		p, err := program.Open(program.Options{
			URL: "http://" + s.addr + "/licensing", Keys: []byte(s.keys), ProductID: "atlas", Key: s.license.Key,
			Dir: filepath.Join(s.t.TempDir(), "license"), PerProcess: true,
		})
		is.NoErr(err)
		defer p.Close()
		if p.Status().Valid {
			valid++
		} else {
			is.Equal(p.Status().Code, api.VerdictActivationLimit)
		}
	}
	return valid
}

// TestKills: 64 programs come and go, and are killed with their machines, while the office
// is killed and started again. At no instant may more programs run than there are seats.
// Afterwards a program that was closed has no seat, one that was killed has none after its
// lease, and one that has its license file on a disk has its seat until that file has
// expired.
func TestKills(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newOffice(t)
	desk := s.boot(job{Machine: "desk-1"})
	held := desk.await(t, api.VerdictValid).Add(licensefile.Leeway)
	desk.kill()

	spans := []span{{time.Now(), held}} // the office keeps the seat of desk-1
	lives, killed := 0, 0
	end := func(m *machine, how func(*machine)) {
		how(m)
		spans = append(spans, m.spans()...)
		lives += len(m.lives)
	}
	all := make([]*machine, machines)
	for i := range all {
		all[i] = s.boot(job{Programs: 4, Come: true})
	}
	kills := 0
	for began := time.Now(); time.Since(began) < cmp.Or(*long, 7*time.Second); {
		time.Sleep(200*time.Millisecond + rand.N(200*time.Millisecond))
		i := rand.N(len(all))
		end(all[i], (*machine).kill)
		killed++
		all[i] = s.boot(job{Programs: 4, Come: true})
		if killed%4 == 1 {
			s.office.Kill()
			time.Sleep(rand.N(100 * time.Millisecond))
			s.start()
			kills++
		}
	}
	for _, m := range all {
		end(m, (*machine).stop)
	}
	n, at := most(spans, time.Time{})
	t.Logf("%d lives of programs, %d valid; %d machines and %d offices killed; at most %d seats used at an instant", lives, len(spans)-1, killed, kills, n)
	if n > seats {
		t.Errorf("at %v, %d seats are used; there are %d", at, n, seats)
	}
	is.True(n > seats/2) // otherwise there was no rush

	time.Sleep(lease)
	free := seats - 1
	if time.Now().After(held) {
		free = seats
	}
	is.Equal(s.admit(free+1), free)
	is.Equal(s.admit(free+1), free) // those were closed
}

// TestRestoredBackup: the office does not know of the seats that it lent after the backup
// which is restored. So more programs may run than there are seats, but only for a lease.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newOffice(t)
	is.NoErr(exec.CommandContext(t.Context(), command, "backup", "--store", s.path("office.db"), s.path("copy.db")).Run())
	first := s.boot(job{Programs: seats})
	for range seats {
		first.await(t, api.VerdictValid)
	}
	second := s.boot(job{Programs: seats})
	for range seats {
		second.await(t, api.VerdictActivationLimit)
	}
	s.office.Kill()
	for _, file := range []string{"office.db", "office.db-wal", "office.db-shm"} {
		is.NoErr(os.RemoveAll(s.path(file)))
	}
	is.NoErr(os.Rename(s.path("copy.db"), s.path("office.db")))
	restored := time.Now()
	s.start()
	time.Sleep(time.Until(restored.Add(2 * lease)))
	is.Equal(s.admit(1), 0)
	first.stop()
	second.stop()
	spans := append(first.spans(), second.spans()...)
	n, _ := most(spans, time.Time{})
	later, at := most(spans, restored.Add(lease))
	t.Logf("at most %d programs ran at an instant, and %d a lease after the backup was restored", n, later)
	is.True(n >= seats) // how many more depends on how soon the office starts
	if later > seats {
		t.Errorf("%d programs run at %v, a lease after the backup was restored; there are %d seats", later, at, seats)
	}
	is.Equal(s.admit(seats+1), seats)
}
