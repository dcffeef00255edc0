package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A keygenResource is a resource of Keygen's API (JSON:API).
type keygenResource struct {
	ID            string
	Type          string
	Attributes    map[string]any
	Relationships map[string]struct {
		Data json.RawMessage // null, a reference or a list of them
	}
}

// to returns the ID that a relationship to one resource names; empty: none.
func (r keygenResource) to(names ...string) string {
	for _, name := range names {
		var to struct{ ID string }
		if json.Unmarshal(r.Relationships[name].Data, &to) == nil && to.ID != "" {
			return to.ID
		}
	}
	return ""
}

func (r keygenResource) text(name string) string {
	s, _ := r.Attributes[name].(string)
	return s
}

// number returns a whole number, or nil.
func (r keygenResource) number(name string) *int64 {
	if n, ok := r.Attributes[name].(float64); ok && n == math.Trunc(n) {
		return new(int64(n))
	}
	return nil
}

// time returns an instant, or nil.
func (r keygenResource) time(name string) *time.Time {
	if t, err := time.Parse(time.RFC3339, r.text(name)); err == nil {
		return &t
	}
	return nil
}

// Attributes that are carried over, or that say nothing about what a license allows.
var keygenKnown = map[string][]string{
	"licenses": {
		"name", "key", "expiry", "status", "suspended", "maxMachines", "metadata", "created", "updated",
		"uses", "protected", "floating", "strict", "lastValidated", "lastCheckIn", "lastCheckOut", "nextCheckIn", "lastValidatedChecksum", "lastValidatedVersion", "permissions",
	},
	"policies": {"name", "duration", "maxMachines", "metadata", "created", "updated", "floating", "strict", "protected", "expirationStrategy", "expirationBasis"},
}

// readKeygen reads documents with licenses, machines, policies, users and products.
func (m *move) readKeygen(files []string) error {
	all := map[string][]keygenResource{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var doc struct{ Data, Included []keygenResource }
		if err := json.Unmarshal(data, &doc); err != nil {
			return fmt.Errorf("%s: not a list of Keygen's API: %w", name, err)
		}
		for _, r := range append(doc.Data, doc.Included...) {
			// Pages may overlap, and a resource may be included several times.
			if !slices.ContainsFunc(all[r.Type], func(o keygenResource) bool { return o.ID == r.ID }) {
				all[r.Type] = append(all[r.Type], r)
			}
		}
	}
	if len(all["licenses"]) == 0 {
		return fmt.Errorf("no licenses in %s", strings.Join(files, ", "))
	}
	find := func(kind, id string) keygenResource {
		i := slices.IndexFunc(all[kind], func(r keygenResource) bool { return r.ID == id })
		if i < 0 {
			return keygenResource{}
		}
		return all[kind][i]
	}
	product := func(id string) string { return cmp.Or(find("products", id).text("code"), id) }

	for _, p := range all["policies"] {
		m.leaveAttributes("policies", p)
		plan := api.PutPlanParams{ID: p.ID, ProductID: product(p.to("product")), Name: p.text("name"), Terms: api.Terms{MaxActivations: p.number("maxMachines")}}
		if n := p.number("duration"); n != nil {
			plan.Duration = api.Duration{Days: int(*n / 86400), Hours: int(*n % 86400 / 3600), Minutes: int(*n % 3600 / 60), Seconds: int(*n % 60)}
		}
		m.expirationOfPolicy(p, &plan)
		m.plans = append(m.plans, plan)
	}
	for _, l := range all["licenses"] {
		m.leaveAttributes("licenses", l)
		policy := find("policies", l.to("policy"))
		owner := l.to("owner", "user")
		row := api.LicenseRow{State: api.LicenseActive, CreatedAt: l.time("created")}
		row.Name = cmp.Or(l.text("name"), find("users", owner).text("fullName"), find("users", owner).text("email"), "License "+l.ID)
		row.ProductID = product(cmp.Or(l.to("product"), policy.to("product")))
		row.CustomerID = cmp.Or(owner, l.ID)
		if owner == "" {
			m.leave("licenses without an owner, whose customer_id is the id of the license")
		}
		row.Key, row.PlanID = l.text("key"), policy.ID
		row.MaxActivations = l.number("maxMachines")
		if l.Attributes["suspended"] == true || l.text("status") == "SUSPENDED" || l.text("status") == "BANNED" {
			row.State, row.StateReason = api.LicenseSuspended, strings.ToLower(cmp.Or(l.text("status"), "suspended"))
		}
		row.Metadata = map[string]string{"keygen_id": l.ID}
		if email := find("users", owner).text("email"); email != "" {
			row.Metadata["email"] = email
		}
		metadata, _ := l.Attributes["metadata"].(map[string]any)
		for name, v := range metadata {
			text, isText := v.(string)
			if !isText {
				data, _ := json.Marshal(v)
				text = string(data)
			}
			row.Metadata[name] = text
		}
		m.expirationOfLicense(l, policy, &row)
		if row.Key == "" {
			m.leave("licenses whose key is not in the export, such as encrypted ones")
			continue
		}
		m.rows, m.from = append(m.rows, row), append(m.from, "license "+l.ID)
	}
	for range all["machines"] {
		m.leave("machines, whose programs activate again")
	}
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains([]string{"licenses", "policies", "machines", "users", "products"}, kind) {
			m.left[kind] = len(all[kind])
		}
	}
	return nil
}

// leaveAttributes notes the attributes that say something and are not carried over.
func (m *move) leaveAttributes(kind string, r keygenResource) {
	for name, v := range r.Attributes {
		if list, isList := v.([]any); v == nil || v == false || v == "" || v == 0.0 || isList && len(list) == 0 || slices.Contains(keygenKnown[kind], name) {
			continue
		}
		m.leave(fmt.Sprintf("%s with %s %.40v", kind, name, v))
	}
	if metadata, _ := r.Attributes["metadata"].(map[string]any); kind == "policies" && len(metadata) > 0 {
		m.leave("policies with metadata")
	}
}
