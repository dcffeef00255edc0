package program

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// jump is how far the clock of the machine may move from the monotonic clock
// before it counts as set, or the machine as having slept.
const jump = time.Minute

// A clock returns the time at which licenses are checked. A license file with the
// nonce of a request proves the time. From there, the clock advances by the
// monotonic clock, or by the clock of the machine if that moved further, because
// the machine may have slept. Setting the clock of the machine back changes nothing.
type clock struct {
	wall func() time.Time // the clock of the machine, without a monotonic reading
	at   time.Time        // the time at read
	read time.Time        // with a monotonic reading
	then time.Time        // the clock of the machine at read
	// floor is a time that had certainly passed at read: what license files prove
	// and how long the program ran since.
	floor  time.Time
	proven bool // by an answer of the service; nothing else moves the floor then
}

// start begins with the clock of the machine, and with the floor of earlier runs.
func (c *clock) start(floor time.Time) {
	now := c.wall()
	*c = clock{wall: c.wall, at: now, read: time.Now(), then: now, floor: floor}
	if now.Before(floor) && !now.Add(licensefile.Leeway).Before(floor) {
		c.at = floor // within the leeway, each start would win some time
	}
}

// prove sets the clock to a time that is certain.
func (c *clock) prove(t time.Time) {
	*c = clock{wall: c.wall, at: t, read: time.Now(), then: c.wall(), floor: t, proven: true}
}

// follow sets the clock to the time of an office, which is not certain: it moves no
// floor, and an earlier time is the floor.
func (c *clock) follow(t time.Time) {
	floor := c.certain()
	if t.Before(floor) {
		t = floor
	}
	*c = clock{wall: c.wall, at: t, read: time.Now(), then: c.wall(), floor: floor, proven: c.proven}
}

// raise raises the floor to a time that has certainly passed.
func (c *clock) raise(t time.Time) {
	if passed := time.Since(c.read); !c.proven && t.After(c.floor.Add(passed)) {
		c.floor = t.Add(-passed)
	}
}

// now returns the time.
func (c *clock) now() time.Time {
	return c.at.Add(max(time.Since(c.read), c.wall().Sub(c.then)))
}

// certain returns the floor now.
func (c *clock) certain() time.Time {
	if c.floor.IsZero() {
		return c.floor
	}
	return c.floor.Add(time.Since(c.read))
}

// moved returns how far the clock of the machine moved from the monotonic clock
// since the time was last certain.
func (c *clock) moved() time.Duration { return c.wall().Sub(c.then) - time.Since(c.read) }
