// Command commerce replays what payment providers report about a subscription, in a
// random order and with repetitions, and shows that the license ends the same:
//
//	go run ./commerce
//
// The payloads in testdata have the shapes that the providers document, and are signed: those
// of Stripe by Stripe's library.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"log"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

//go:embed testdata
var recorded embed.FS

// A provider has the recorded payloads of one subscription, in the order in which
// they happened.
type provider struct {
	Name      string
	reference string
	payloads  []json.RawMessage
}

func providers() ([]provider, error) {
	all := []provider{
		{Name: "stripe", reference: "stripe:si_Na6dzxczY5fwHx"},
		{Name: "paddle", reference: "paddle:sub_01hv8x29kz0t586xy6zn1a62ny:pro_01gsz4t5hdjse780zja8vvr7jg"},
		{Name: "lemonsqueezy", reference: "lemonsqueezy:7"},
		{Name: "polar", reference: "polar:a1b2c3d4-0000-4000-8000-000000000001"},
	}
	for i, p := range all {
		file, err := recorded.ReadFile("testdata/" + p.Name + ".json")
		if err == nil {
			err = json.Unmarshal(file, &all[i].payloads)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// plans are the IDs of the prices in the payloads, and the activations of a unit.
var plans = map[string]int64{
	"price_basic": 1, "price_pro": 5, "pri_basic": 1, "pri_pro": 5, "9": 1, "10": 5,
	"d8dd2de1-21b7-4a41-8bc3-ce909c0cfe23": 1, "0f1a2b3c-21b7-4a41-8bc3-ce909c0cfe24": 5,
	"price_once": 1, "pri_once": 1, "11": 1, "2b3c4d5e-21b7-4a41-8bc3-ce909c0cfe25": 1, // paid once
}

// newSales returns the sales of a shop on an empty store.
func newSales(ctx context.Context, st store.Store) (*selling.Service, error) {
	sales := selling.New(license.New(st, license.Options{}))
	return sales, putPlans(ctx, sales)
}

func putPlans(ctx context.Context, sales *selling.Service) error {
	for id, seats := range plans {
		if _, err := sales.PutPlan(ctx, api.PutPlanParams{ID: id, ProductID: "atlas", Terms: api.Terms{MaxActivations: &seats}}); err != nil {
			return err
		}
	}
	return nil
}

// accounts returns accounts at the providers before the first event. That of Stripe is as the
// last of the payloads says: a handler reads it after all changes.
func (p provider) accounts() (accounts, error) {
	a := accounts{fakestripe.New(), paddleAccount{}}
	if p.Name != "stripe" {
		return a, nil
	}
	var event struct {
		Data struct{ Object map[string]any }
	}
	err := json.Unmarshal(p.payloads[len(p.payloads)-1], &event)
	if err == nil {
		a.stripe[event.Data.Object["id"].(string)] = event.Data.Object
	}
	return a, err
}

// shuffled returns the numbers of the payloads in a random order, three of them twice. Paddle's
// handler reads the account, so it has to hear of a subscription before that ends.
func (p provider) shuffled() []int {
	order := rand.Perm(len(p.payloads))
	for range 3 {
		order = slices.Insert(order, rand.IntN(len(order)+1), rand.IntN(len(p.payloads)))
	}
	if p.Name == "paddle" {
		order = slices.Insert(order, 0, 0)
	}
	return order
}

// outcome describes the license of the subscription.
func (p provider) outcome(ctx context.Context, sales *selling.Service) (string, error) {
	f, err := sales.GetPurchase(ctx, p.reference)
	if err != nil {
		return "", err
	}
	if f.License == nil {
		return "no license: waiting for " + string(f.Waiting), nil
	}
	l := f.License
	return fmt.Sprintf("%s, plan %s, %d activations, %s until %s", l.Name, l.PlanID, *l.MaxActivations, l.Status, l.ExpiresAt.Format(time.RFC3339)), nil
}

// deliver delivers payloads to the handler of the provider.
func (p provider) deliver(ctx context.Context, sales *selling.Service, order []int) error {
	a, err := p.accounts()
	for _, n := range order {
		if err == nil {
			err = a.happen(p.Name, p.payloads[n])
		}
		if err != nil {
			return err
		}
		if w := a.deliver(ctx, sales, p.Name, p.payloads[n]); w.Code != http.StatusOK {
			return fmt.Errorf("%s: %d %s", p.Name, w.Code, w.Body)
		}
	}
	return err
}

// replay delivers payloads in an order, to a shop of their own.
func (p provider) replay(ctx context.Context, st store.Store, order []int) (string, error) {
	sales, err := newSales(ctx, st)
	if err == nil {
		err = p.deliver(ctx, sales, order)
	}
	if err != nil {
		return "", err
	}
	return p.outcome(ctx, sales)
}

var page = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Shuffle and replay</title>
<h1>Shuffle and replay</h1>
{{range .}}<h2>{{.Name}}</h2>
<p>Delivered: {{.Order}}</p>
<p>License: {{.Outcome}}</p>
<p>In the order in which it happened: {{.Want}} — <strong>{{if eq .Want .Outcome}}the same{{else}}DIFFERENT{{end}}</strong></p>
{{end}}<form method="post"><button>Shuffle and replay</button></form>
</html>`))

type replayed struct{ Name, Order, Outcome, Want string }

func serve(w http.ResponseWriter, r *http.Request) {
	all, err := providers()
	var rows []replayed
	for _, p := range all {
		inOrder := make([]int, len(p.payloads))
		for i := range inOrder {
			inOrder[i] = i
		}
		row := replayed{Name: p.Name}
		order := inOrder
		if r.Method == http.MethodPost {
			order = p.shuffled()
		}
		row.Order = strings.Trim(fmt.Sprint(order), "[]")
		if err == nil {
			row.Want, err = p.replay(r.Context(), memory.New(), inOrder)
		}
		if err == nil {
			row.Outcome, err = p.replay(r.Context(), memory.New(), order)
		}
		rows = append(rows, row)
	}
	if err == nil {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		err = page.Execute(w, rows)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func main() {
	const addr = "127.0.0.1:8090"
	fmt.Println("Shuffle and replay: http://" + addr)
	server := &http.Server{Addr: addr, Handler: http.HandlerFunc(serve), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
