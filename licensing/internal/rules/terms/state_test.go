package terms_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// What is stored as JSON is read as what it was.
func TestStatesCanBeStored(t *testing.T) {
	is := is.New(t)
	for seed := range 300 {
		r := rand.New(rand.NewPCG(7, uint64(seed)))
		set, _ := randomSet(r, 4)
		s := terms.State{Terms: terms.Terms{ProductID: "app"}}.Follow(nil, set, sec(5))
		want := s.Terms
		edit(r, &want, modelHand{}, sheet{"adds": int64(0)})
		s, _ = s.Edit(set, want, sec(5))
		stored, err := json.Marshal(s)
		is.NoErr(err)
		var read terms.State
		is.NoErr(json.Unmarshal(stored, &read))
		for n := 5; n < horizon; n++ {
			a, _ := s.Pass(sec(n))
			b, _ := read.Pass(sec(n))
			is.Equal(differ(sheetOf(b.Terms), sheetOf(a.Terms)), "")
			one, _ := json.Marshal(a.Hand)
			two, _ := json.Marshal(b.Hand)
			is.Equal(string(one), string(two))
		}
	}
}

func TestNothingIsChangedInPlace(t *testing.T) {
	is := is.New(t)
	for seed := range 300 {
		r := rand.New(rand.NewPCG(8, uint64(seed)))
		set, _ := randomSet(r, 4)
		s := terms.State{Terms: terms.Terms{ProductID: "app"}}.Follow(nil, set, sec(5))
		want := s.Terms
		edit(r, &want, modelHand{}, sheet{"adds": int64(0)})
		s, _ = s.Edit(set, want, sec(5))
		before, _ := json.Marshal([]any{set, s})
		for n := 5; n < horizon; n += 7 {
			later, _ := s.Pass(sec(n))
			later.Edit(set, want, sec(n))
			later.Follow(set, set[:2], sec(n))
			later.PromisedUntil()
			terms.Outdates(s, later)
		}
		after, _ := json.Marshal([]any{set, s})
		is.Equal(string(after), string(before))
	}
}
