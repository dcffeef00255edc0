package license_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A claimModel says what one license is after some steps, by the rules of claims. It shares
// no code with the service.
type claimModel struct {
	customer, email        string
	deleted, revoked, held bool            // held: suspended by an operator
	suspended              map[string]bool // customers
	said                   string          // the address that the purchase has
	deaf                   bool            // the purchase hears no address of the guest
}

func (m *claimModel) status() string {
	switch {
	case m.deleted:
		return "deleted"
	case m.revoked:
		return "revoked"
	case m.held || m.suspended[m.customer]:
		return "suspended"
	}
	return "active"
}

// claim is a claim by a customer, or by an address without one. It returns what is answered.
func (m *claimModel) claim(customer, email string) string {
	nobodys := strings.HasPrefix(m.customer, "batch:") || strings.HasPrefix(m.customer, "mail:")
	mine := m.customer == customer
	if customer == "" {
		customer = "mail:" + email
		mine = m.email == email && (!nobodys || m.customer == customer)
	}
	switch {
	case m.deleted:
		return "not found"
	case mine:
		return "same"
	case !nobodys:
		return "claimed"
	case m.status() != "active":
		return "state"
	}
	m.customer, m.email, m.said, m.deaf = customer, email, "", true
	return "new"
}

func (m *claimModel) move(customer, email string, deaf bool) {
	if !m.deleted && m.customer != customer {
		m.customer, m.email, m.deaf = customer, email, m.deaf || deaf
	}
}

func (m *claimModel) erase(customer string) {
	delete(m.suspended, customer)
	m.deleted = m.deleted || m.customer == customer
}

func (m *claimModel) hear(email string) {
	if !m.deleted && !m.revoked && !m.deaf && m.said != email {
		m.said, m.email = email, email
	}
}

// A claimRun is a license and its model.
type claimRun struct {
	*testing.T
	*seller
	model  claimModel
	id     string
	key    string
	bought bool
	now    float64 // the instant of the last event of the purchase
}

func newClaimRun(t *testing.T, bought bool) *claimRun {
	r := &claimRun{T: t, seller: newSeller(t, memory.New()), bought: bought, model: claimModel{customer: "batch:spring", suspended: map[string]bool{}}}
	if bought {
		r.model.customer, r.model.email, r.model.said = "mail:guest@example.com", "guest@example.com", "guest@example.com"
		l := r.tell(t, "shop:1", event{At: onDay(0), CustomerID: r.model.customer, PlanID: "forever", State: "active", Metadata: map[string]*string{"email": &r.model.said}}).License
		r.id, r.key = l.ID, l.Key
		return r
	}
	b, err := r.CreateBatch(t.Context(), api.CreateBatchParams{Count: 1, CreateLicenseParams: api.CreateLicenseParams{Name: "Spring", CustomerID: "batch:spring", PlanID: "forever"}})
	r.must(err)
	r.id, r.key = b.Data[0].ID, b.Data[0].Key
	return r
}

func (r *claimRun) must(err error) {
	r.Helper()
	if err != nil && !(errors.Is(err, api.ErrNotFound) && r.model.deleted) {
		r.Fatal(err)
	}
}

// claimed compares the answer to a claim with that of the model.
func (r *claimRun) claimed(err error, want string) {
	r.Helper()
	got := fmt.Sprint(err)
	switch {
	case errors.Is(err, api.ErrNotFound):
		got = "not found"
	case errors.Is(err, api.ErrClaimed):
		got = "claimed"
	case errors.Is(err, api.ErrStateForbids):
		got = "state"
	case err == nil && (want == "same" || want == "new"):
		got = want
	}
	if got != want {
		r.Fatalf("a claim is answered %s, want %s", got, want)
	}
}

// claimSteps are what can happen to the license.
var claimSteps = []struct {
	name string
	do   func(r *claimRun)
}{
	{"ada claims", func(r *claimRun) {
		_, err := r.Customer("ada").Claim(r.Context(), r.key)
		r.claimed(err, r.model.claim("ada", ""))
	}},
	{"bo claims with an address", func(r *claimRun) {
		_, err := r.Claim(r.Context(), api.ClaimLicenseParams{Key: r.key, CustomerID: "bo", Email: "bo@example.com"})
		r.claimed(err, r.model.claim("bo", "bo@example.com"))
	}},
	{"an address claims", func(r *claimRun) {
		_, err := r.Mailbox("eve@example.com").Claim(r.Context(), r.key)
		r.claimed(err, r.model.claim("", "eve@example.com"))
	}},
	{"the batch is suspended, or reinstated", func(r *claimRun) { r.toggle("batch:spring") }},
	{"ada is suspended, or reinstated", func(r *claimRun) { r.toggle("ada") }},
	{"an operator suspends or reinstates", func(r *claimRun) {
		var err error
		switch {
		case r.model.status() == "active":
			_, err = r.Suspend(r.Context(), api.ChangeStateParams{ID: r.id})
			r.model.held = true
		case r.model.status() == "suspended" && !r.model.suspended[r.model.customer]:
			_, err = r.Reinstate(r.Context(), api.ChangeStateParams{ID: r.id})
			r.model.held = false
		}
		r.must(err)
	}},
	{"an operator revokes", func(r *claimRun) {
		if r.model.status() != "revoked" {
			_, err := r.Revoke(r.Context(), api.ChangeStateParams{ID: r.id})
			r.must(err)
			r.model.revoked = true
		}
	}},
	{"the ID is corrected", func(r *claimRun) {
		_, err := r.Update(r.Context(), api.UpdateLicenseParams{ID: r.id, CustomerID: ptr("carl")})
		r.must(err)
		r.model.move("carl", r.model.email, false)
	}},
	{"it is transferred", func(r *claimRun) {
		if r.model.customer != "dora" && r.model.status() != "revoked" {
			_, err := r.Transfer(r.Context(), api.TransferLicenseParams{ID: r.id, CustomerID: "dora", KeepKey: true})
			r.must(err)
			r.model.move("dora", "", true)
		}
	}},
	{"the batch is erased", func(r *claimRun) { r.erase("batch:spring") }},
	{"ada is erased", func(r *claimRun) { r.erase("ada") }},
	{"the guest says the address", func(r *claimRun) { r.hear("guest@example.com") }},
	{"the guest has another address", func(r *claimRun) { r.hear("guest.new@example.com") }},
}

func (r *claimRun) toggle(customer string) {
	change := r.SuspendCustomer
	if r.model.suspended[customer] = !r.model.suspended[customer]; !r.model.suspended[customer] {
		change = r.ReinstateCustomer
	}
	_, err := change(r.Context(), api.ChangeCustomerStateParams{CustomerID: customer})
	r.must(err)
}

func (r *claimRun) erase(customer string) {
	_, err := r.EraseCustomer(r.Context(), customer)
	r.must(err)
	r.model.erase(customer)
}

func (r *claimRun) hear(email string) {
	if r.bought {
		r.now++
		r.tell(r.T, "shop:1", event{At: onDay(r.now), CustomerID: "mail:guest@example.com", PlanID: "forever", Metadata: map[string]*string{"email": &email}})
		r.model.hear(email)
	}
}

// compare compares the license with the model: also what the address opens.
func (r *claimRun) compare() {
	r.Helper()
	got := "deleted"
	l, err := r.Get(r.Context(), r.id)
	if err == nil {
		got = fmt.Sprint(l.Status, " ", l.CustomerID, " ", l.Metadata["email"])
	}
	want := r.model.status()
	if !r.model.deleted {
		want = fmt.Sprint(want, " ", r.model.customer, " ", r.model.email)
	}
	if got != want {
		r.Fatalf("the license is %q, want %q", got, want)
	}
	for _, address := range []string{"guest@example.com", "guest.new@example.com", "bo@example.com", "eve@example.com"} {
		page, err := r.Mailbox(address).List(r.Context(), api.ListLicensesParams{})
		r.must(err)
		if opens := !r.model.deleted && r.model.email == address; opens != (len(page.Data) == 1) {
			r.Fatalf("%s opens %d licenses, want %v", address, len(page.Data), opens)
		}
	}
}

func (r *claimRun) steps(steps ...int) {
	r.Helper()
	var names []string
	defer func() {
		if r.Failed() {
			r.Logf("bought: %v; %s", r.bought, strings.Join(names, "; "))
		}
	}()
	for _, i := range steps {
		names = append(names, claimSteps[i].name)
		claimSteps[i].do(r)
		r.compare()
	}
}

// TestClaimModel compares the rules of claims with a model: all orders of three steps, without
// -histories 100 a seventh of them, and long random ones.
func TestClaimModel(t *testing.T) {
	n, every := len(claimSteps), 7
	if *numHistories >= 100 {
		every = 1
	}
	for _, bought := range []bool{false, true} {
		for order := 0; order < n*n*n; order += every {
			newClaimRun(t, bought).steps(order%n, order/n%n, order/n/n)
		}
		for seed := range uint64(3 * *numHistories) {
			random := rand.New(rand.NewPCG(seed, 0))
			r := newClaimRun(t, bought)
			for range 12 {
				r.steps(random.IntN(n))
			}
		}
	}
}
