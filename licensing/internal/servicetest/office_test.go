package servicetest

import (
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// officeKey returns the signing key of an office, the same in each run.
func officeKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))
}

// officeRequest returns the request text of an office.
func officeRequest(t testing.TB, key string, seats int64, office ed25519.PrivateKey) string {
	t.Helper()
	text, err := licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: seats, KeyHash: licensefile.KeyHash(key)}, office)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestOfficeTakesSeats: the file of an office holds as many seats as it says, until it
// expires, and no more are lent.
func TestOfficeTakesSeats(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	keys, err := licensefile.ParseKeys(c.do("GET", "/file/keys", "").Body.Bytes())
	is.NoErr(err)
	l := c.do("POST", "/license", `{"name":"n","product_id":"atlas","customer_id":"c","max_activations":5,"entitlements":{"export":true}}`)
	id, key := l.json["id"].(string), l.json["key"].(string)
	advance := func(d time.Duration) {
		c.Clock.Advance(d)
		c.token = c.Token()
	}
	activate := func(fingerprint, more string) answer {
		return c.do("POST", "/license/activate", `{"key":"`+key+`","fingerprint":"`+fingerprint+`"`+more+`}`, "Authorization", "")
	}
	issue := func(seats int64, office ed25519.PrivateKey, more string) answer {
		t.Helper()
		return c.do("POST", "/license/"+id+"/file", `{"request":"`+officeRequest(t, key, seats, office)+`"`+more+`}`)
	}
	type seat struct {
		fingerprint string
		held        time.Time
	}
	seats := func() (all []seat) {
		t.Helper()
		page, err := c.Handler.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: id})
		is.NoErr(err)
		for _, a := range page.Data {
			s := seat{fingerprint: a.Fingerprint}
			if a.HeldUntil != nil {
				s.held = *a.HeldUntil
			}
			all = append(all, s)
		}
		slices.SortStableFunc(all, func(a, b seat) int { return strings.Compare(a.fingerprint, b.fingerprint) })
		return all
	}
	office, other := officeKey('o'), officeKey('p')
	officeID, err := licensefile.KeyID(office.Public())
	is.NoErr(err)
	is.Equal(activate("pc-1", "").Code, http.StatusOK)
	begin := c.Clock.Now()

	issued := issue(3, office, `,"lifetime":"P90D"`)
	is.Equal(issued.Code, http.StatusOK)
	is.Equal(issued.json["activation"].(map[string]any)["status"], "live")
	texts := strings.Fields(issued.json["file"].(string))
	is.Equal(len(texts), 2)
	f, err := keys.Verify(texts[0])
	is.NoErr(err)
	is.Equal(f.Office.Key, office.Public())
	is.Equal(f.Office.Seats, int64(3))
	is.Equal(f.FingerprintHash, licensefile.FingerprintHash(id, licensefile.OfficeFingerprint(officeID, 1)))
	list, err := keys.VerifyRevocations(texts[1])
	is.NoErr(err)
	is.True(list.Covers(id))
	lender, err := licensefile.NewLender(issued.json["file"].(string), office)
	is.NoErr(err)
	is.Equal(lender.Claims, f.Claims)

	end := begin.AddDate(0, 0, 90).Truncate(time.Second).Add(licensefile.Leeway)
	var three []seat
	for n := range int64(3) {
		three = append(three, seat{licensefile.OfficeFingerprint(officeID, n+1), end})
	}
	three = append(three, seat{"pc-1", time.Time{}})
	is.Equal(seats(), three)

	// Another office gets all its seats, or none.
	advance(time.Second)
	full := issue(2, other, "")
	is.Equal(full.json["code"], "activation_limit")
	is.Equal(seats(), three)
	is.Equal(activate("pc-2", "").Code, http.StatusOK)
	is.Equal(activate("pc-3", "").json["code"], "activation_limit")

	// Nothing but force frees a seat of an office.
	is.Equal(activate("pc-3", `,"take_over":"oldest"`).Code, http.StatusOK) // that of pc-1
	is.Equal(activate("pc-1", `,"take_over":"oldest"`).Code, http.StatusOK) // that of pc-2, which is younger than the office
	is.Equal(c.do("POST", "/license/deactivate", `{"key":"`+key+`","fingerprint":"`+three[0].fingerprint+`"}`, "Authorization", "").json["code"], "seat_held")
	is.Equal(len(seats()), 5)

	// The same request, again, changes nothing but the dates.
	events := len(c.do("GET", "/event?limit=200", "").json["data"].([]any))
	advance(time.Hour)
	is.Equal(issue(3, office, `,"lifetime":"P90D"`).Code, http.StatusOK)
	is.Equal(seats()[:3], three[:3])
	is.Equal(len(c.do("GET", "/event?limit=200", "").json["data"].([]any)), events)

	// A renewal with fewer seats leaves the rest to the earlier file.
	advance(80 * 24 * time.Hour)
	renewed := issue(2, office, `,"lifetime":"P90D"`)
	is.Equal(renewed.Code, http.StatusOK)
	later := c.Clock.Now().AddDate(0, 0, 90).Truncate(time.Second).Add(licensefile.Leeway)
	is.Equal(seats()[:3], []seat{{three[0].fingerprint, later}, {three[1].fingerprint, later}, three[2]})
	is.Equal(activate("pc-4", "").json["code"], "activation_limit")
	advance(end.Sub(c.Clock.Now()))
	is.Equal(activate("pc-4", "").Code, http.StatusOK)
	is.Equal(issue(3, office, "").json["code"], "activation_limit")

	// A lowered limit gives the office no more than its oldest seats.
	is.Equal(c.do("PATCH", "/license/"+id, `{"max_activations":1}`).Code, http.StatusOK)
	advance(80 * 24 * time.Hour)
	is.Equal(issue(2, office, "").json["code"], "activation_limit")
	is.Equal(issue(1, office, "").Code, http.StatusOK)

	// All are free when the files have expired.
	is.Equal(c.do("PATCH", "/license/"+id, `{"max_activations":5}`).Code, http.StatusOK)
	advance(15 * 24 * time.Hour) // longer than that of one seat
	is.Equal(issue(2, other, "").Code, http.StatusOK)
}

// TestOfficeRequests says which requests of offices are refused, and that a customer can
// answer one.
func TestOfficeRequests(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	entitlements := `{"export":true`
	for i := range 40 {
		entitlements += fmt.Sprintf(`,"entitlement-%d":"%s"`, i, strings.Repeat("x", 40))
	}
	l := c.do("POST", "/license", `{"name":"n","product_id":"atlas","customer_id":"c","max_activations":500,"entitlements":`+entitlements+`}}`)
	id := l.json["id"].(string)
	issue := func(request string) answer {
		t.Helper()
		return c.do("POST", "/license/"+id+"/file", `{"request":"`+request+`"}`)
	}
	field := func(a answer) string {
		t.Helper()
		is.Equal(a.Code, http.StatusUnprocessableEntity)
		return a.Body.String()
	}
	office := officeKey('o')
	text := officeRequest(t, l.json["key"].(string), 200, office)
	require.Contains(t, field(issue(text)), "/entitlements", "do not fit into the file of an office")
	is.Equal(c.do("PATCH", "/license/"+id, `{"entitlements":null}`).Code, http.StatusOK)
	require.Contains(t, field(issue(text[:len(text)-1])), "the whole request text of the office")
	require.Contains(t, field(issue(officeRequest(t, "", 201, office))), "more than 200 seats")
	require.Contains(t, field(issue(officeRequest(t, "OTHER-KEY", 1, office))), "another license key")
	is.Equal(len(c.do("GET", "/license/"+id+"/activation", "").json["data"].([]any)), 0)
	began := time.Now()
	is.Equal(issue(text).Code, http.StatusOK)
	t.Logf("200 seats took %v", time.Since(began))
	is.Equal(c.do("POST", "/license/"+id+"/suspend", "").Code, http.StatusOK)
	is.Equal(issue(text).json["code"], "suspended")

	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	own, _ := host.license("cus_ada", "Workshop")
	w := host.visit("POST", own.ID+"/request", url.Values{"request": {officeRequest(t, own.Key, 1, office)}})
	is.Equal(w.Code, http.StatusOK)
	_, err := licensefile.NewLender(w.Body.String(), office)
	is.NoErr(err)
	for _, c := range []struct {
		seats        int64
		entitlements string
		says         string
	}{
		{200, "x", "fewer free devices than the office asks for"},
		{201, "x", "fewer free devices than the office asks for"},
		{1, strings.Repeat("x", 250), "cannot be used without a network"},
	} {
		_, err := host.Handler.Service().Update(t.Context(), api.UpdateLicenseParams{ID: own.ID, Entitlements: api.To(map[string]any{
			"a": c.entitlements, "b": c.entitlements, "c": c.entitlements, "d": c.entitlements, "e": c.entitlements, "f": c.entitlements,
			"g": c.entitlements, "h": c.entitlements, "i": c.entitlements, "j": c.entitlements, "k": c.entitlements,
		})})
		is.NoErr(err)
		w := host.visit("POST", own.ID+"/request", url.Values{"request": {officeRequest(t, own.Key, c.seats, office)}})
		is.Equal(w.Code, http.StatusConflict)
		require.Contains(t, w.Body.String(), c.says)
	}
}

// TestOfficeTakesAllOrNothing: also in an Update of the host that goes on after a refusal.
func TestOfficeTakesAllOrNothing(t *testing.T) {
	for name, c := range map[string]struct {
		terms api.Terms
		fails bool // the Update, because it was refused after a part
	}{
		"too few seats":        {api.Terms{MaxActivations: new(int64(2))}, false},
		"too few activations":  {api.Terms{MaxActivations: new(int64(9)), Meters: map[string]api.Meter{api.MeterActivations: {Limit: new(int64(2))}}}, true},
		"no activation at all": {api.Terms{MaxActivations: new(int64(9)), Meters: map[string]api.Meter{api.MeterActivations: {Limit: new(int64(0))}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVendorOfOffices(t, memory.New(), c.terms)
			request := officeRequest(t, v.l.Key, 3, officeKey('o'))
			err := v.Service().Atomically(t.Context(), func(s *license.Service) error {
				_, err := s.IssueFile(t.Context(), api.IssueFileParams{LicenseID: v.l.ID, Request: request})
				require.ErrorIs(t, err, api.ErrDenied)
				return nil
			})
			v.is.Equal(err != nil, c.fails)
			page, err := v.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: v.l.ID})
			v.is.NoErr(err)
			v.is.Equal(len(page.Data), 0)
		})
	}
}

// TestOfficeLendsWhatItsFileSays: the owner of an office cannot raise the number of seats,
// and a renewal with fewer counts as soon as the office has it.
func TestOfficeLendsWhatItsFileSays(t *testing.T) {
	v := newVendorOfOffices(t, memory.New(), api.Terms{MaxActivations: new(int64(9))})
	o := v.open('o')
	renew := func(seats int64) {
		t.Helper()
		o.seats = seats
		o.report()
	}
	lend := func(machine string) error {
		v.now = v.now.Add(time.Second) // the oldest seats stay
		f, err := o.Service().IssueFile(t.Context(), api.IssueFileParams{Key: v.l.Key, Fingerprint: machine})
		if err == nil {
			_, err = o.Files().Sign(t.Context(), *f.FileClaims())
		}
		return err
	}
	set := func(limit api.Change[int64]) {
		t.Helper()
		_, err := o.Service().Update(t.Context(), api.UpdateLicenseParams{ID: v.l.ID, MaxActivations: limit})
		v.is.NoErr(err)
	}
	renew(3)
	for _, limit := range []api.Change[int64]{api.To[int64](100), api.ToNull[int64]()} {
		set(limit)
		for _, machine := range []string{"pc-1", "pc-2", "pc-3"} {
			v.is.NoErr(lend(machine))
		}
		require.ErrorIs(t, lend("pc-4"), api.ErrActivationLimit)
		verdict, err := o.Service().Validate(t.Context(), api.ValidateKeyParams{Key: v.l.Key, Fingerprint: "pc-4"})
		v.is.NoErr(err)
		v.is.Equal(verdict.Code, api.VerdictNotActivated)
		v.is.Equal(verdict.Reasons[1].Code, api.VerdictActivationLimit)
		v.is.Equal(*verdict.License.MaxActivations, int64(3))
	}
	_, err := o.Service().Activate(t.Context(), api.ActivateKeyParams{Key: v.l.Key, Fingerprint: "pc-4"})
	require.ErrorIs(t, err, api.ErrActivationLimit)
	set(api.To[int64](2)) // fewer, if the owner likes
	require.ErrorIs(t, lend("pc-4"), api.ErrActivationLimit)
	set(api.To[int64](100))

	renew(2)
	v.now = v.now.Add(110 * time.Minute) // the leases of an hour have ended, and the files last for ten minutes
	v.is.NoErr(lend("pc-1"))
	v.is.NoErr(lend("pc-2"))
	v.is.True(lend("pc-3") != nil)
	v.now = v.now.Add(3 * time.Hour)
	v.is.NoErr(lend("pc-3"))
	v.is.NoErr(lend("pc-4"))
	require.ErrorIs(t, lend("pc-1"), api.ErrActivationLimit)
	renew(3)
	v.is.NoErr(lend("pc-1"))

	// Another license in the store of the office is not lent at all.
	other, err := o.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "c", Terms: api.Terms{MaxActivations: new(int64(50))}})
	v.is.NoErr(err)
	f, err := o.Service().IssueFile(t.Context(), api.IssueFileParams{Key: other.Key, Fingerprint: "pc-9"})
	v.is.NoErr(err)
	_, err = o.Files().Sign(t.Context(), *f.FileClaims())
	require.ErrorIs(t, err, licensefile.ErrLent)
}

// TestSeatsOfOfficesAreTheirs: nothing but the request of an office takes a seat with a
// fingerprint of an office, or gets a file for one.
func TestSeatsOfOfficesAreTheirs(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{PortalURL: "https://example.com/account"})
	l := c.do("POST", "/license", `{"name":"n","product_id":"atlas","customer_id":"c","max_activations":5}`)
	id, key := l.json["id"].(string), l.json["key"].(string)
	office := officeKey('o')
	keyID, err := licensefile.KeyID(office.Public())
	is.NoErr(err)
	taken, free := licensefile.OfficeFingerprint(keyID, 1), licensefile.OfficeFingerprint(keyID, 2)
	issued := c.do("POST", "/license/"+id+"/file", `{"request":"`+officeRequest(t, key, 1, office)+`"}`)
	is.Equal(issued.Code, http.StatusOK)
	seat := issued.json["activation"].(map[string]any)["id"].(string)
	for _, fingerprint := range []string{taken, free, "office:"} {
		text, err := licensefile.NewRequest(key, fingerprint).Text()
		is.NoErr(err)
		for _, r := range []struct{ path, body, field string }{
			{"/license/activate", `{"key":"` + key + `","fingerprint":"` + fingerprint + `"}`, "/fingerprint"},
			{"/license/activate", `{"key":"` + key + `","fingerprint":"` + fingerprint + `","file":"P1D"}`, "/fingerprint"},
			{"/license/validate", `{"key":"` + key + `","fingerprint":"` + fingerprint + `","file":"P1D"}`, "/fingerprint"},
			{"/license/file", `{"key":"` + key + `","fingerprint":"` + fingerprint + `"}`, "/fingerprint"},
			{"/license/file", `{"key":"` + key + `","request":"` + text + `"}`, "/request"},
			{"/license/file", `{"key":"` + key + `","activation_id":"` + seat + `"}`, "/activation_id"},
			{"/license/" + id + "/file", `{"fingerprint":"` + fingerprint + `"}`, "/fingerprint"},
			{"/license/" + id + "/file", `{"request":"` + text + `"}`, "/request"},
			{"/license/" + id + "/file", `{"activation_id":"` + seat + `"}`, "/activation_id"},
			{"/license/link", `{"product_id":"atlas","fingerprint":"` + fingerprint + `"}`, "/fingerprint"},
		} {
			a := c.do("POST", r.path, r.body)
			is.Equal(a.Code, http.StatusUnprocessableEntity) // of r
			is.Equal(a.json["errors"].([]any)[0].(map[string]any)["pointer"], "#"+r.field)
		}
	}
	is.Equal(len(c.do("GET", "/license/"+id+"/activation", "").json["data"].([]any)), 1)
}

// officeAnswer returns the key of an office and its license file, which begins at a time.
func officeAnswer(t testing.TB, at time.Time, lifetime time.Duration) (key ed25519.PrivateKey, answer string) {
	t.Helper()
	key = officeKey('o')
	answer, err := licensefile.Sign(licensefile.Claims{
		ID: "file-1", LicenseID: "lic_1", ProductID: "atlas", Generation: 1, IssuedAt: at, NotBefore: at, ExpiresAt: at.Add(lifetime),
		Office: &licensefile.Office{Key: key.Public(), Seats: 3},
	}, officeKey('v'))
	if err != nil {
		t.Fatal(err)
	}
	return key, answer
}

// TestOfficeHealth: Health says 30, 7 and 1 days before that the file of an office ends.
func TestOfficeHealth(t *testing.T) {
	const day = 24 * time.Hour
	begin := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		lifetime, left time.Duration
		want           string // in the detail; empty: no problem
		first          time.Duration
	}{
		{90 * day, 30*day + 1, "", 0},
		{90 * day, 30 * day, "ends within 30 days", 30 * day},
		{90 * day, 7*day + 1, "ends within 30 days", 30 * day},
		{90 * day, 7 * day, "ends within 7 days", 30 * day},
		{90 * day, day, "ends within a day", 30 * day},
		{90 * day, 1, "ends within a day", 30 * day},
		{90 * day, 0, "has ended", 30 * day},
		{14 * day, 7*day + 1, "", 0},
		{14 * day, 7 * day, "ends within 7 days", 7 * day},
		{day, 1, "", 0},
		{day, -time.Hour, "has ended", 0},
	} {
		t.Run(fmt.Sprint(c.lifetime, c.left), func(t *testing.T) {
			is := is.New(t)
			key, answer := officeAnswer(t, begin, c.lifetime)
			end := begin.Add(c.lifetime)
			h := licensing.NewHandler(memory.New(), licensing.Options{
				Logger: slog.New(slog.DiscardHandler), SigningKeys: []files.SigningKey{{Signer: key, Office: answer}}, Now: func() time.Time { return end.Add(-c.left) },
			})
			found := slices.DeleteFunc(h.Health(t.Context()).Problems, func(p licensing.HealthProblem) bool { return p.Code != licensing.HealthOfficeEnding })
			if c.want == "" {
				is.Equal(len(found), 0)
				return
			}
			is.Equal(len(found), 1)
			is.Equal(found[0].Subject, "atlas")
			require.Contains(t, found[0].Detail, " "+c.want+", at "+end.Format(time.RFC3339)+".")
			is.Equal(*found[0].Since, end.Add(-c.first))
		})
	}
}
