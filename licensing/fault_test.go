package licensing_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

// Each case is named after a fault that licensing services are known for, and
// shows over HTTP that this one does not have it. Package license has the same
// faults as tests of the rules.
var faults = []struct {
	fault string
	run   func(is *is.I, c *caller, id, key string)
}{
	{"the seats in use are read, then a row is inserted, and two get the last one", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":3}`)
		var wg sync.WaitGroup
		codes := make([]int, 60)
		for i := range codes {
			wg.Go(func() { codes[i] = c.withKey("/license/activate", key, fmt.Sprintf(`,"fingerprint":"pc-%d"`, i)).Code })
		}
		wg.Wait()
		admitted := 0
		for _, code := range codes {
			is.True(code == 200 || code == 409)
			if code == 200 {
				admitted++
			}
		}
		is.Equal(admitted, 3)
	}},
	{"dead machines hold their seats until a worker removes them", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1,"lease_seconds":60}`)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"dead"`).Code, 200)
		c.Clock.Advance(time.Minute) // and nothing runs
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"alive"`).Code, 200)
	}},
	{"a heartbeat revives a lease that has ended, over the limit", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1,"lease_seconds":60}`)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"late"`).Code, 200)
		c.Clock.Advance(time.Minute)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"next"`).Code, 200)
		a := c.withKey("/license/validate", key, `,"fingerprint":"late"`)
		is.Equal(a.json["valid"], false)
		is.Equal(a.json["code"], "lease_ended")
		is.Equal(len(c.do("GET", "/license/"+id+"/activation", "").json["data"].([]any)), 1)
	}},
	{"a heartbeat of an unknown fingerprint is answered as valid", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1,"lease_seconds":60}`)
		a := c.withKey("/license/validate", key, `,"fingerprint":"unheard of"`)
		is.Equal(a.json["valid"], false)
		is.Equal(a.json["code"], "not_activated")
	}},
	{"a heartbeat still renews although the license is suspended, revoked or expired", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1,"lease_seconds":600}`)
		ends := c.withKey("/license/activate", key, `,"fingerprint":"pc"`).json["activation"].(map[string]any)["lease_ends_at"]
		c.Clock.Advance(time.Minute)
		for _, state := range []struct{ method, path, body, code string }{
			{"POST", "/suspend", "", "suspended"},
			{"POST", "/reinstate", "", "valid"},
			{"PATCH", "", `{"expires_at":"` + c.Clock.Now().Format(time.RFC3339) + `"}`, "expired"},
			{"POST", "/revoke", "", "revoked"},
		} {
			is.Equal(c.do(state.method, "/license/"+id+state.path, state.body).Code, 200)
			if state.code == "valid" {
				continue
			}
			a := c.withKey("/license/validate", key, `,"fingerprint":"pc"`)
			is.Equal(a.json["code"], state.code)
			is.Equal(a.json["activation"].(map[string]any)["lease_ends_at"], ends) // not renewed
		}
	}},
	{"who comes back before a sweep trips over the row of the lease that ended", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1,"lease_seconds":60}`)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc"`).Code, 200)
		c.Clock.Advance(time.Hour)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc"`).Code, 200)
	}},
	{"the end of the license is looked at when it comes in, and never when a seat is taken", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"expires_at":"`+c.Clock.Now().Add(time.Hour).Format(time.RFC3339)+`"}`)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc-1"`).Code, 200)
		c.Clock.Advance(time.Hour)
		a := c.withKey("/license/activate", key, `,"fingerprint":"pc-2"`)
		is.Equal(a.Code, 409)
		is.Equal(a.json["code"], "expired")
	}},
	{"an answer does not say how long it holds, and expiry is judged from a stale one", func(is *is.I, c *caller, id, key string) {
		ends := c.Clock.Now().Add(time.Hour)
		c.set(id, `{"expires_at":"`+ends.Format(time.RFC3339)+`"}`)
		a := c.withKey("/license/validate", key, "")
		is.Equal(a.json["next_change_at"], ends.Format(time.RFC3339))
		is.Equal(a.json["recheck_after"], 3600.0)
		is.Equal(a.Header().Get("Cache-Control"), "no-store")
	}},
	{"revoking destroys the record", func(is *is.I, c *caller, id, key string) {
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc"`).Code, 200)
		is.Equal(c.do("POST", "/license/"+id+"/revoke", `{"reason":"refunded"}`).Code, 200)
		is.Equal(c.do("GET", "/license/"+id, "").json["status_reason"], "refunded")
		is.Equal(len(c.do("GET", "/license/"+id+"/activation", "").json["data"].([]any)), 1)
	}},
	{"a seat is stuck on an unreachable machine", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1}`)
		lost := c.withKey("/license/activate", key, `,"fingerprint":"lost"`).json["activation"].(map[string]any)["id"].(string)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"new","take_over":"`+lost+`"`).Code, 200)
		is.Equal(c.withKey("/license/validate", key, `,"fingerprint":"lost"`).json["code"], "evicted") // and its next validation says so
		held := c.do("GET", "/license/"+id+"/activation", "").json["data"].([]any)[0].(map[string]any)["id"].(string)
		is.Equal(c.do("DELETE", "/license/"+id+"/activation/"+held, "").Code, 200)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"third"`).Code, 200)
	}},
	{"a renewal does not show among the events", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"expires_at":"`+c.Clock.Now().Add(time.Hour).Format(time.RFC3339)+`"}`)
		is.Equal(c.do("POST", "/license/"+id+"/renew", `{"duration":"P1Y","reason":"invoice 7"}`).Code, 200)
		events := c.Events()
		last := events[len(events)-1]
		is.Equal(last.Type, "license.renewed")
		require.Contains(c.t, string(last.Data), "invoice 7")
	}},
	{"the answer is vague", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":0}`)
		a := c.withKey("/license/activate", key, `,"fingerprint":"pc"`)
		is.Equal(a.Code, 409)
		reason := a.json["verdict"].(map[string]any)["reasons"].([]any)[0].(map[string]any)
		is.Equal(reason["code"], "activation_limit")
		is.True(reason["detail"] != "")
	}},
}

// set patches a license.
func (c *caller) set(id, patch string) {
	c.t.Helper()
	if a := c.do("PATCH", "/license/"+id, patch); a.Code != 200 {
		c.t.Fatalf("patch: %d %s", a.Code, a.Body)
	}
}

func TestFaultsOfOthers(t *testing.T) {
	for _, f := range faults {
		t.Run(f.fault, func(t *testing.T) {
			c := newCaller(t, licensing.Options{})
			id := c.create("n", "p", "c")
			f.run(is.New(t), c, id, c.keyOf(id))
		})
	}
}
