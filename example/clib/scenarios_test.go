package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/version"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// TestScenarios: a program in each language sees what a Go program sees.
func TestScenarios(t *testing.T) {
	each(t, languages, func(t *testing.T, start func(env ...string) *exec.Cmd) {
		for _, sc := range scenarios {
			t.Run(sc.name, func(t *testing.T) { sc.play(newScene(t, start)) })
		}
	})
}

var scenarios = []struct {
	name string
	play func(s *scene)
}{
	{"first start", func(s *scene) {
		p := s.opened(nil)
		p.is("true valid The license is valid.", "valid")
		p.is("true", "has", "export")
		p.is("false", "has", "nothing")
		p.is("5", "number", "users")
		p.is("none", "number", "tier")
		p.is("Größe 株", "text", "tier")
		p.is("none", "text", "users")
		st, warnings := p.status()
		s.Equal(st["licensed_to"], "Größe 株 Ltd")
		s.Equal(warnings, "")
		until, err := strconv.ParseInt(p.do("valid_until"), 10, 64)
		s.NoErr(err)
		s.True(time.Until(time.Unix(until, 0)) > 13*24*time.Hour)
		s.Equal(s.seats(), 1)
		p.is("true", "close")
		p.end()
	}},
	{"wrong options", func(s *scene) {
		p := s.prog()
		p.is(`!invalid_option the JSON is not valid: unknown field "prodct_id"`, "open", s.options(map[string]any{"prodct_id": "x"}))
		p.is("!invalid_option url has a value of the wrong type: number", "open", s.options(map[string]any{"url": 1}))
		p.is("!invalid_option the JSON is not valid: …", "open", s.options(map[string]any{"built_at": 1}))
		p.is("!invalid_option product_id must be set", "open", s.options(map[string]any{"product_id": nil}))
		p.is("!invalid_option keys must be the answer of GET /file/keys: …", "open", s.options(map[string]any{"keys": map[string]any{}}))
		p.is("!invalid_option also_product_id must be another product than product_id", "open", s.options(map[string]any{"also_product_id": "atlas"}))
		p.is("!invalid_option proxy must be a URL …", "open", s.options(map[string]any{"proxy": "proxy"}))
		p.is("!invalid_option ca must have …", "open", s.options(map[string]any{"ca": "x"}))
		p.is("!invalid_option the JSON is not valid: …", "fixed", `{"vlaid":true}`)
		p.is("!invalid_option valid has a value of the wrong type: number", "fixed", `{"valid":1}`)
		p.is("ok", "open", s.options(map[string]any{"keys": string(s.keys)})) // as a text
		p.is("true…", "valid")
		p.end()
	}},
	{"wrong key", func(s *scene) {
		p := s.opened(map[string]any{"key": nil})
		p.is("false no_key No license key is set; enter one.", "valid")
		p.is("!not_found …", "set_key", "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA", 0)
		p.is("false no_key…", "valid")
		p.is("ok", "set_key", " "+s.license.Key+" ", 0)
		p.is("true valid…", "valid")
		p.is("true", "close")
		p.is("ok", "open", s.options(map[string]any{"key": nil})) // it was stored
		p.is("true valid…", "valid")
	}},
	{"offline restart", func(s *scene) {
		p := s.opened(nil)
		p.end()
		s.mode.Store("dead")
		p = s.opened(nil)
		p.is("true", "has", "export")
		p.is("!unreachable …", "refresh", 0)
		_, warnings := p.status()
		s.Equal(warnings, "unreachable")
		p.is("true", "has", "export")
	}},
	{"unreachable", func(s *scene) {
		s.mode.Store("dead")
		p := s.opened(nil)
		p.is("false unreachable The licensing service cannot be reached; check the network connection.", "valid")
		p.is("!unreachable …", "set_key", s.license.Key, 0)
		s.mode.Store("stalls")
		began := time.Now()
		p.is("!timeout …", "set_key", s.license.Key, 300)
		s.True(time.Since(began) < 5*time.Second)
	}},
	{"suspended", func(s *scene) {
		p := s.opened(nil)
		p.is("ok", "watch")
		_, err := s.service().Suspend(s.Context(), api.ChangeStateParams{ID: s.license.ID, Reason: "Rechnung fällig"})
		s.NoErr(err)
		p.is("ok", "refresh", 0)
		p.is("false suspended The license is suspended: Rechnung fällig", "valid")
		p.is("false", "has", "export")
		p.is("!suspended The license is suspended: Rechnung fällig", "set_key", s.license.Key, 0)
		noticed := "0"
		for range 30 {
			if noticed = p.do("noticed"); noticed != "0" {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		s.True(noticed != "0")
		p.is("true", "close")
		s.mode.Store("dead")
		p.is("ok", "open", s.options(nil))
		p.is("false suspended…", "valid")
		s.mode.Store("answers")
		_, err = s.service().Reinstate(s.Context(), api.ChangeStateParams{ID: s.license.ID})
		s.NoErr(err)
		p.is("ok", "refresh", 0)
		p.is("true valid…", "valid")
	}},
	{"expires without the network", func(s *scene) {
		p := s.prog()
		p.do("version") // it has started
		end := time.Now().Add(4 * time.Second)
		s.create(api.CreateLicenseParams{ExpiresAt: &end, Terms: api.Terms{Entitlements: map[string]any{"export": true}}})
		p.is("ok", "open", s.options(nil))
		p.is("true valid The license is valid until …", "valid")
		s.mode.Store("dead")
		time.Sleep(time.Until(end) + 1100*time.Millisecond) // the clock of the file is up to a second behind
		p.is("false expired The license expired on …", "valid")
		p.is("false", "has", "export")
		p.is("0", "valid_until")
	}},
	{"seats", func(s *scene) {
		s.update(api.UpdateLicenseParams{MaxActivations: api.To(int64(1))})
		one := s.opened(nil)
		one.is("true…", "valid")
		two := s.opened(map[string]any{"fingerprint": "pc-2", "dir": s.dir + "2"})
		two.is("false activation_limit…", "valid")
		two.is("ok", "take_over", 0)
		two.is("true…", "valid")
		one.is("true…", "valid") // from its file, until it asks
		one.is("ok", "refresh", 0)
		one.is("false evicted…", "valid")
		two.is("ok", "release", 0)
		two.is("false not_activated…", "valid")
		s.Equal(s.seats(), 0)
		one.is("ok", "set_key", s.license.Key, 0)
		one.is("true…", "valid")
	}},
	{"devices", func(s *scene) {
		one := s.opened(map[string]any{"name": "Büro 株", "version": "2.1.0"})
		one.is("true…", "valid")
		two := s.opened(map[string]any{"fingerprint": "pc-2", "dir": s.dir + "2"})
		three := s.opened(map[string]any{"fingerprint": "pc-3", "dir": s.dir + "3"})
		three.is("false activation_limit…", "valid")
		all := two.devices()
		s.Equal(len(all), 2)
		first := slices.IndexFunc(all, func(d program.Device) bool { return d.Fingerprint == "pc-1" })
		s.Equal(all[first].Name, "Büro 株")
		s.Equal(all[first].Metadata, map[string]string{"version": "2.1.0"})
		s.True(!all[first].This && all[1-first].This)
		three.is("!not_found The license has no such device.", "free_device", "act_x", 0)
		three.is("ok", "free_device", all[first].ID, 0)
		three.is("ok", "refresh", 0)
		three.is("true…", "valid")
		one.is("ok", "refresh", 0)
		one.is("false not_activated…", "valid")
		two.is("ok", "free_device", all[1-first].ID, 0) // its own
		two.is("false not_activated…", "valid")
		s.Equal(s.seats(), 1)
	}},
	{"a bundle", func(s *scene) {
		p := s.prog()
		s.create(api.CreateLicenseParams{ProductID: "suite", Terms: api.Terms{Entitlements: map[string]any{"atlas": true, "export": true}}})
		p.is("ok", "open", s.options(nil))
		p.is("false product_mismatch…", "valid")
		p.is("true", "close")
		p.is("ok", "open", s.options(map[string]any{"also_product_id": "suite"}))
		p.is("true…", "valid")
		p.is("true", "has", "export")
	}},
	{"clock set back", func(s *scene) {
		p := s.opened(nil)
		p.end()
		// As if the program had run until in three hours, and the clock was set back then.
		late := strconv.FormatInt(time.Now().Add(3*time.Hour).Unix(), 10)
		s.NoErr(os.WriteFile(filepath.Join(s.dir, "clock"), []byte(late+"\n"), 0o600))
		s.mode.Store("dead")
		p = s.opened(nil)
		p.is("false clock_changed The clock of this machine is wrong; …", "valid")
		s.mode.Store("answers")
		p.is("ok", "refresh", 0)
		p.is("true…", "valid")
	}},
	{"air gap", func(s *scene) {
		p := s.opened(map[string]any{"url": nil, "key": nil})
		p.is("false no_file…", "valid")
		p.is("!no_service…", "set_key", s.license.Key, 0)
		answer := func(request string) string {
			file, err := s.service().IssueFile(s.Context(), api.IssueFileParams{LicenseID: s.license.ID, Request: request, Lifetime: api.Duration{Hours: 10}})
			s.NoErr(err)
			text, err := s.handler.Files().Sign(s.Context(), *file.FileClaims())
			s.NoErr(err)
			return text
		}
		request := p.do("request")
		text := answer(request)
		p.is("!file_unreadable …", "install", "nonsense")
		p.is("!file_untrusted …", "install", text[:len(text)-20]+strings.Repeat("A", 20))
		p.is("ok", "install", text)
		p.is("true…", "valid")
		p.is("!file_other_request …", "install", func() string { _ = p.do("request"); return answer(request) }())
		p.end()
		p = s.opened(map[string]any{"url": nil, "key": nil})
		p.is("true…", "valid")
	}},
	{"usage", func(s *scene) {
		s.update(api.UpdateLicenseParams{Meters: api.To(map[string]*api.MeterChange{"exports": {Limit: api.To[int64](3)}, "calls": {}})})
		p := s.opened(nil)
		p.is("ok", "use", "exports", 2, 0)
		p.is("!usage_limit …", "use", "exports", 2, 0)
		p.is("!meter_missing …", "use", "nothing", 1, 0)
		p.is("true", "count", "calls", 40)
		p.is("true", "count", "calls", 4_000_000_000)
		p.is("true", "close") // reports
		page, err := s.handler.Metering().ListUsage(s.Context(), api.ListUsageParams{LicenseID: s.license.ID})
		s.NoErr(err)
		used := map[string]int64{}
		for _, m := range page.Data {
			used[m.Meter] = m.Used
		}
		s.Equal(used, map[string]int64{"exports": 2, "calls": 4_000_000_040})
		s.mode.Store("dead")
		p.is("ok", "open", s.options(nil))
		p.is("!unreachable …", "use", "exports", 1, 0)
	}},
	{"activated in the browser", func(s *scene) {
		p := s.opened(map[string]any{"key": nil})
		p.is("!no_link …", "link_wait", 100)
		var link struct{ URL, Code string }
		s.NoErr(json.Unmarshal([]byte(p.do("link")), &link))
		s.Equal(link.URL, "https://acme.example/account/licenses/link?code="+link.Code)
		p.is("!timeout …", "link_wait", 100)
		s.mode.Store("slow") // some bindings wait a second at a time
		_, err := s.service().Customer("cus_1").ApproveLink(s.Context(), api.ApproveLinkParams{Code: link.Code, LicenseID: s.license.ID})
		s.NoErr(err)
		p.is("ok", "link_wait", 60_000)
		p.is("true…", "valid")
	}},
	{"a seat for each process", func(s *scene) {
		s.update(api.UpdateLicenseParams{LeaseSeconds: api.To(int64(600))})
		each := map[string]any{"per_process": true}
		one, two, three := s.opened(each), s.opened(each), s.opened(each)
		one.is("true…", "valid")
		two.is("true…", "valid")
		three.is("false activation_limit…", "valid")
		one.is("true", "close")
		three.is("ok", "set_key", s.license.Key, 0)
		two.kill() // keeps its seat until its lease ends
		s.Equal(s.seats(), 2)
	}},
	{"two processes", func(s *scene) {
		var work sync.WaitGroup
		progs := []*prog{s.prog(), s.prog()}
		for _, p := range progs {
			work.Go(func() {
				for range 5 {
					p.is("ok", "open", s.options(nil))
					p.is("true valid…", "valid")
					p.is("ok", "refresh", 0)
					p.is("true", "close")
				}
			})
		}
		work.Wait()
		s.Equal(s.seats(), 1)
	}},
	{"killed", func(s *scene) {
		s.update(api.UpdateLicenseParams{Meters: api.To(map[string]*api.MeterChange{"calls": {}})})
		p := s.opened(nil)
		p.is("true", "count", "calls", 7)
		p.kill()
		s.mode.Store("dead")
		p = s.opened(nil)
		p.is("true…", "valid")
		s.mode.Store("answers")
	}},
	{"closed", func(s *scene) {
		p := s.opened(nil)
		p.is("true", "close")
		p.is("false", "close")
		p.is("false closed The license is closed.", "valid")
		p.is("false", "has", "export")
		p.is("none", "text", "tier")
		p.is("null", "status")
		p.is("!closed …", "refresh", 0)
		p.is("!closed …", "request")
		p.is("!closed …", "install", "x")
		p.is("false", "count", "calls", 1)
		p.end()
	}},
	{"a file alone", func(s *scene) {
		p := s.opened(map[string]any{"url": nil, "key": nil})
		file, err := s.service().IssueFile(s.Context(), api.IssueFileParams{LicenseID: s.license.ID, Request: p.do("request"), Lifetime: api.Duration{Hours: 10}})
		s.NoErr(err)
		text, err := s.handler.Files().Sign(s.Context(), *file.FileClaims())
		s.NoErr(err)
		var claims struct{ Name string }
		s.NoErr(json.Unmarshal([]byte(p.do("verify", string(s.keys), text, `{"product_id":"atlas","fingerprint":"pc-1"}`)), &claims))
		s.Equal(claims.Name, "Größe 株 Ltd")
		p.is("!product_mismatch …", "verify", string(s.keys), text, `{"product_id":"orion","fingerprint":"pc-1"}`)
		p.is("!fingerprint_changed …", "verify", string(s.keys), text, `{"product_id":"atlas","fingerprint":"pc-2"}`)
		p.is("!file_expired …", "verify", string(s.keys), text, `{"product_id":"atlas","fingerprint":"pc-1","now":"2100-01-01T00:00:00Z"}`)
		p.is("!invalid_option …", "verify", "{}", text, `{"product_id":"atlas"}`)
	}},
	{"defaults", func(s *scene) {
		own := map[string]any{"dir": nil, "fingerprint": nil, "name": nil, "product_id": "atlas"}
		p := s.opened(own)
		p.is("true…", "valid")
		page, err := s.service().ListActivations(s.Context(), api.ListActivationsParams{LicenseID: s.license.ID})
		s.NoErr(err)
		s.Equal(len(page.Data), 1)
		s.Equal(len(page.Data[0].Fingerprint), 32) // of the ID of the machine
		host, err := os.Hostname()
		s.NoErr(err)
		s.True(strings.EqualFold(page.Data[0].Name, host))
		p.end()
		s.mode.Store("dead")
		p = s.opened(own)
		p.is("true…", "valid")
		s.mode.Store("answers")
		p.is("ok", "release", 0)
	}},
	{"fixed", func(s *scene) {
		p := s.prog()
		p.is("ok", "fixed", `{"valid":true,"entitlements":{"users":5,"half":-2.5,"many":4000000000,"nothing":0,"empty":"","off":false}}`)
		for name, want := range map[string]string{"users": "5", "half": "-2.5", "many": "4000000000", "nothing": "0", "empty": "none"} {
			p.is(want, "number", name)
		}
		p.is("", "text", "empty")
		p.is("none", "text", "users")
		p.is("true", "has", "off") // whatever its value
		p.is("false", "has", "")
		p.is("ok", "fixed", `{"code":"expired"}`)
		p.is("false expired…", "valid")
	}},
	{"no faults of the language", func(s *scene) {
		p := s.opened(nil)
		p.is(strings.TrimPrefix(version.Of(), "v"), "version")
		p.is("caught", "null") // a signal, in some
		p.is("true", "has", "export")
	}},
	{"a long life", func(s *scene) {
		p := s.prog()
		for range 50 {
			p.is("ok", "open", s.options(nil))
			p.is("true", "has", "export")
			p.is("true", "close")
		}
		s.Equal(s.seats(), 1)
	}},
}
