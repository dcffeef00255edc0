package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
)

func anomalyCases() []testCase {
	return []testCase{
		{"Anomalies", "Mixed", 5, anomalies},
		{"Anomalies", "OneStateForEachEnd", 5, oneState},
	}
}

// oneState has an Update change two entries between the reads of another one, which
// then writes nothing or fails: what it has read is of one state.
func oneState(b *bench) {
	put := func(n int) {
		b.update(func(tx store.Tx) error {
			one, two := entry("kind", 1), entry("kind", 2)
			one.Data, two.Data = []byte{byte(n)}, []byte{byte(n)}
			return tx.PutEntries(b.ctx, one, two)
		})
	}
	put(0)
	for n, how := range []string{"writes nothing", "fails"} {
		var one, two store.Entry
		var failed error
		wait := func() {}
		begun := false
		_ = b.try(func(tx store.Tx) error {
			if one, failed = tx.Entry(b.ctx, "kind", entry("kind", 1).Key); failed != nil {
				return failed
			}
			if !begun {
				begun = true
				wait = b.during(func() { put(n + 1) })
			}
			if two, failed = tx.Entry(b.ctx, "kind", entry("kind", 2).Key); failed != nil || how == "writes nothing" {
				return failed
			}
			return errOnPurpose
		})
		wait()
		if failed == nil {
			b.equal(two.Data, one.Data, "entries that are always alike, read by an Update that %s", how)
		}
	}
}

// A mixture runs Updates of many kinds that meet on few records, each of which leaves
// something true. An Update that sees it broken, also one that fails or writes nothing,
// did not run at any place in the order.
type mixture struct {
	*bench
	mu     sync.Mutex
	raised int      // by Updates that returned nil
	events []string // IDs that were appended by such
	last   int
}

// The records of a mixture: accounts with a sum, pairs of which one is on, and a list
// with at most so many entries.
const (
	accounts, inAccount = 5, 100
	pairsOn             = 3
	longest             = 12
	seatsOfOne          = 6
)

// anomalies mixes Updates from several goroutines while a reader follows the feed.
func anomalies(b *bench) {
	m := &mixture{bench: b}
	rounds := 60
	if testing.Short() {
		rounds = 25
	}
	b.update(func(tx store.Tx) (err error) {
		for i := range accounts {
			err = errors.Join(err, m.put(tx, "account", i, inAccount))
		}
		for i := range 2 * pairsOn {
			err = errors.Join(err, m.put(tx, "pair", i, 1))
		}
		moved := license(500)
		moved.CustomerID = "at 0"
		return errors.Join(err, tx.CreateLicenses(b.ctx, license(400), moved))
	})
	kinds := []func(*rand.Rand) error{
		m.raise, m.turnOff, m.grow, m.transfer, m.sum, m.takeSeat, m.rekey, m.move, m.count, m.appendOnly,
	}
	f := &follower{b: b}
	done := make(chan struct{})
	reading := b.start(func() {
		for {
			f.read()
			select {
			case <-done:
				f.read()
				return
			default:
			}
		}
	})
	b.together(crowd, func(i int) {
		chance := rand.New(rand.NewPCG(uint64(i), 48))
		for n := range rounds {
			kind := kinds[chance.IntN(len(kinds))]
			if n < len(kinds) {
				kind = kinds[(n+i)%len(kinds)]
			}
			if kind(chance) != nil {
				return // for other cases
			}
		}
	})
	close(done)
	<-reading
	b.equal(m.number(b.Store, "count", 0), m.raised, "sum of what Updates have added that returned nil")
	got, want := slices.Sorted(slices.Values(f.ids)), slices.Sorted(slices.Values(m.events))
	b.under(20).equal(got, want, "events read by a follower")
}

// put writes the number of an entry.
func (m *mixture) put(tx store.Tx, kind string, i, n int) error {
	return tx.PutEntries(m.ctx, store.Entry{Kind: kind, Key: entry(kind, i).Key, Data: strconv.AppendInt(nil, int64(n), 10)})
}

// number reads the number of an entry, 0 if there is none.
func (m *mixture) number(r store.Reader, kind string, i int) int {
	e, _ := r.Entry(m.ctx, kind, entry(kind, i).Key)
	n, _ := strconv.Atoi(string(e.Data))
	return n
}

// id returns an unused number for a record.
func (m *mixture) id() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	return 1000 + m.last
}

// never records a failure in the result of an Update.
func (m *mixture) never(what string, wrong bool, got any) {
	if wrong {
		m.fail(got, "never", "%s, read by one Update", what)
	}
}

// append appends an event in an Update, and notes it if the Update returns nil.
func (m *mixture) append(fn func(tx store.Tx) error) error {
	e := event(m.id())
	err := m.try(func(tx store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return tx.AppendEvents(m.ctx, e)
	})
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.events = append(m.events, e.ID)
	}
	return err
}

// raise loses no update.
func (m *mixture) raise(*rand.Rand) error {
	err := m.append(func(tx store.Tx) error { return m.put(tx, "count", 0, m.number(tx, "count", 0)+1) })
	m.note(err)
	return err
}

func (m *mixture) note(err error) {
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.raised++
	}
}

// turnOff leaves one of a pair on, and then turns both on.
func (m *mixture) turnOff(chance *rand.Rand) error {
	i, j := 2*chance.IntN(pairsOn), chance.IntN(2)
	on := 0
	err := m.try(func(tx store.Tx) error {
		on = m.number(tx, "pair", i) + m.number(tx, "pair", i+1)
		if on == 2 {
			return m.put(tx, "pair", i+j, 0)
		}
		return errors.Join(m.put(tx, "pair", i, 1), m.put(tx, "pair", i+1, 1))
	})
	m.never("a pair that is off", err == nil && on == 0, on)
	return err
}

// grow adds to a list that has room, and empties it otherwise.
func (m *mixture) grow(*rand.Rand) error {
	n, next := 0, m.id()
	err := m.try(func(tx store.Tx) error {
		all, err := tx.Entries(m.ctx, store.EntryQuery{Kind: "list"})
		if n = len(all); err != nil || n < longest {
			return errors.Join(err, tx.PutEntries(m.ctx, entry("list", next)))
		}
		return tx.DeleteEntries(m.ctx, "list", entryKeys(all)...)
	})
	m.never("a list that has grown too long", err == nil && n > longest, n)
	return err
}

// transfer moves from account to account, and is sometimes undone.
func (m *mixture) transfer(chance *rand.Rand) error {
	i, j, fails := chance.IntN(accounts), chance.IntN(accounts-1), chance.IntN(3) == 0
	if j >= i {
		j++
	}
	err := m.try(func(tx store.Tx) error {
		from, to := m.number(tx, "account", i), m.number(tx, "account", j)
		if err := m.put(tx, "account", i, from-1); err != nil {
			return err
		}
		if fails {
			return errOnPurpose
		}
		return m.put(tx, "account", j, to+1)
	})
	if errors.Is(err, errOnPurpose) {
		return nil
	}
	return err
}

// sum reads all accounts: in gets or a list, in an Update that writes nothing, or that
// fails, or that panics.
func (m *mixture) sum(chance *rand.Rand) error {
	listed, ends := chance.IntN(2) == 0, chance.IntN(3)
	sum := 0
	err := func() (err error) {
		defer func() {
			if ends == 2 {
				_ = recover()
			}
		}()
		return m.try(func(tx store.Tx) error {
			sum = 0
			if listed {
				all, err := tx.Entries(m.ctx, store.EntryQuery{Kind: "account"})
				if err != nil {
					return err
				}
				for _, e := range all {
					n, _ := strconv.Atoi(string(e.Data))
					sum += n
				}
			} else {
				for i := range accounts {
					e, err := tx.Entry(m.ctx, "account", entry("account", i).Key)
					if err != nil {
						return err
					}
					n, _ := strconv.Atoi(string(e.Data))
					sum += n
				}
			}
			switch {
			case ends == 1:
				return errOnPurpose
			case ends == 2 && sum != accounts*inAccount:
				panic("on purpose")
			}
			return nil
		})
	}()
	if errors.Is(err, errOnPurpose) {
		err = nil
	}
	m.never("accounts with another sum", err == nil && sum != accounts*inAccount, sum)
	return err
}

// takeSeat counts the activations of a license in a list before it adds one.
func (m *mixture) takeSeat(chance *rand.Rand) error {
	n, next, gone := 0, m.id(), chance.IntN(seatsOfOne)
	err := m.try(func(tx store.Tx) error {
		all, err := tx.Activations(m.ctx, store.ActivationQuery{LicenseID: license(400).ID})
		if n = len(all); err != nil || n < seatsOfOne {
			return errors.Join(err, tx.PutActivations(m.ctx, activation(license(400).ID, next)))
		}
		return tx.DeleteActivations(m.ctx, license(400).ID, all[gone].ID)
	})
	m.never("more activations than seats", err == nil && n > seatsOfOne, n)
	return err
}

// rekey takes a unique key, gives it up for another, or deletes its license.
func (m *mixture) rekey(chance *rand.Rand) error {
	key, other, next, how := word("shared", chance.IntN(4)), word("shared", chance.IntN(4)), m.id(), chance.IntN(3)
	lost := false
	err := m.try(func(tx store.Tx) error {
		l := license(next)
		l.Key, lost = key, false
		err := tx.CreateLicenses(m.ctx, l)
		if !errors.Is(err, store.ErrExists) {
			return err
		}
		l, err = tx.LicenseByKey(m.ctx, key)
		if lost = errors.Is(err, store.ErrNotFound); lost {
			return nil
		}
		if err != nil || how == 0 {
			return errors.Join(err, tx.DeleteLicense(m.ctx, l.ID))
		}
		l.Key = other
		if err = tx.UpdateLicense(m.ctx, l); errors.Is(err, store.ErrExists) {
			return nil
		}
		return err
	})
	m.never("a key that is taken and that no license has", err == nil && lost, key)
	return err
}

// move moves a license twice, or looks where it is.
func (m *mixture) move(chance *rand.Rand) error {
	to, looks := []string{fmt.Sprint("at ", chance.IntN(3)), fmt.Sprint("at ", chance.IntN(3))}, chance.IntN(2) == 0
	n := 1
	err := m.try(func(tx store.Tx) error {
		if n = 1; looks {
			n = 0
			for i := range 3 {
				found, err := tx.Licenses(m.ctx, store.LicenseQuery{CustomerID: fmt.Sprint("at ", i)})
				if err != nil {
					return err
				}
				n += len(found)
			}
			return m.put(tx, "seen", 0, n)
		}
		for _, to := range to {
			l, err := tx.License(m.ctx, license(500).ID)
			l.CustomerID = to
			if err = errors.Join(err, tx.UpdateLicense(m.ctx, l)); err != nil {
				return err
			}
		}
		return nil
	})
	m.never("a license that is at several places, or at none", err == nil && n != 1, n)
	return err
}

// count raises the number in an Update that also counts licenses, which some backends
// do in another way.
func (m *mixture) count(*rand.Rand) error {
	err := m.append(func(tx store.Tx) error {
		n := m.number(tx, "count", 0)
		if _, err := tx.CountLicenses(m.ctx, store.LicenseQuery{}); err != nil {
			return err
		}
		return m.put(tx, "count", 0, n+1)
	})
	m.note(err)
	return err
}

// appendOnly reads nothing.
func (m *mixture) appendOnly(*rand.Rand) error {
	return m.append(func(store.Tx) error { return nil })
}
