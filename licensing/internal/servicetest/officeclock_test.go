package servicetest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// lendTwo runs a test in a network whose office lends two seats, to p1 and p2.
func lendTwo(t *testing.T, test func(n *closedNetwork, p1, p2 lentProgram)) {
	synctest.Test(t, func(t *testing.T) {
		n := newClosedNetwork(t, api.Terms{MaxActivations: new(int64(2))})
		n.run(n.answer(2, 90*24), 2)
		p1, p2 := n.open("pc-1"), n.open("pc-2")
		time.Sleep(6 * time.Hour) // otherwise an earlier time is before the answer
		n.Equal(valid(p1, p2), 2)
		n.refuses()
		test(n, p1, p2)
	})
}

// TestOfficeClockAhead: with its clock set ahead, an office ends leases early and lends the
// seats again. The programs that had them run until their license files expire, at most for
// two leases. A seat that was lent by the wrong clock is free as much later, once the clock
// is right.
func TestOfficeClockAhead(t *testing.T) {
	lendTwo(t, func(n *closedNetwork, p1, p2 lentProgram) {
		p1.cable.pulled.Store(true) // otherwise they would ask, and be refused
		p2.cable.pulled.Store(true)
		began := time.Now()
		n.ahead.Store(int64(12 * time.Hour))
		p3, p4 := n.open("pc-3"), n.open("pc-4")
		n.refuses()
		n.Equal(valid(p1, p2, p3, p4), 4)
		time.Sleep(2 * n.lease)
		n.Equal(valid(p1, p2), 0)
		n.Equal(p1.Status().Code, program.CodeFileExpired)
		p1.cable.pulled.Store(false)
		time.Sleep(n.lease)
		n.Equal(p1.Status().Code, api.VerdictActivationLimit)

		n.ahead.Store(0)
		time.Sleep(2 * n.lease)
		n.Equal(valid(p1, p3, p4), 2)
		p3.cable.pulled.Store(true) // as if it had crashed
		for time.Since(began) < 12*time.Hour {
			n.True(valid(p1, p3, p4) <= 2)
			n.True(!p1.Status().Valid)
			time.Sleep(10 * time.Minute)
		}
		time.Sleep(6 * n.lease)
		n.True(p1.Status().Valid)
	})
}

// TestOfficeClockBack: with its clock set back, an office lends no seat twice, and the seat
// of a program that crashed is free as much later. A program that knows a later time runs
// until its license file expires, and refuses files that have expired already.
func TestOfficeClockBack(t *testing.T) {
	lendTwo(t, func(n *closedNetwork, p1, p2 lentProgram) {
		p1.cable.pulled.Store(true) // as if it had crashed
		began := time.Now()
		n.ahead.Store(-int64(n.lease / 2))
		p3 := n.open("pc-3")
		for time.Since(began) < 2*n.lease { // after which p1 cannot run
			n.True(p2.Status().Valid)
			n.True(!p3.Status().Valid)
			time.Sleep(time.Minute)
		}
		time.Sleep(3 * n.lease)
		n.Equal(valid(p2, p3), 2)

		n.ahead.Store(-int64(5 * n.lease))
		until := p2.Status().ValidUntil
		time.Sleep(time.Until(until) - time.Second)
		n.Equal(len(p2.Status().Warnings), 1)
		n.Equal(p2.Status().Warnings[0].Code, program.CodeUntrusted)
		n.Equal(valid(p2, p3), 2)
		n.refuses()
		time.Sleep(2 * n.lease)
		n.Equal(p2.Status().Code, program.CodeFileExpired)
		n.True(p3.Status().Valid) // it knows only that the answer of the vendor is older
		n.refuses()
		n.ahead.Store(0)
		time.Sleep(n.lease)
		n.Equal(valid(p2, p3), 2)
		n.refuses()
	})
}

// TestOfficeRestored: a backup of an office does not know of the seats that were lent after
// it. Programs that have them run beside the limit until their license files expire, and
// afterwards no more than there are seats.
func TestOfficeRestored(t *testing.T) {
	lendTwo(t, func(n *closedNetwork, p1, p2 lentProgram) {
		p2.cable.pulled.Store(true)
		n.store = memory.New() // as in a backup of before the programs started
		n.office.Store(nil)
		n.run(n.answer(2, 24), 2)
		p3, p4 := n.open("pc-3"), n.open("pc-4")
		n.Equal(valid(p1, p2, p3, p4), 4)
		time.Sleep(n.lease) // p1 asks
		n.Equal(p1.Status().Code, api.VerdictNotActivated)
		time.Sleep(n.lease)
		n.Equal(p2.Status().Code, program.CodeFileExpired)
		p2.cable.pulled.Store(false)
		time.Sleep(3 * n.lease)
		n.Equal(valid(p1, p2), 0)
		n.Equal(valid(p3, p4), 2)
	})
}

// TestOfficeProvesNoTime: what an office with a wrong clock signs does not keep a program
// from running when the clock is right.
func TestOfficeProvesNoTime(t *testing.T) {
	lendTwo(t, func(n *closedNetwork, p1, _ lentProgram) {
		for _, ahead := range []time.Duration{10 * 24 * time.Hour, -n.lease / 2, 0} {
			n.ahead.Store(int64(ahead))
			time.Sleep(3 * n.lease)
			n.True(p1.Status().Valid)
			n.NoErr(p1.Close())
			floor, err := os.ReadFile(filepath.Join(p1.opts.Dir, "clock"))
			n.NoErr(err)
			seconds, err := strconv.ParseInt(strings.TrimSpace(string(floor)), 10, 64)
			n.NoErr(err)
			n.True(!time.Unix(seconds, 0).After(time.Now()))
			p1 = n.start(p1)
			n.True(p1.Status().Valid)
		}
	})
}
