//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/qr"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	shipped "github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

const day = 24 * time.Hour

func newSigner(t *testing.T) crypto.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	is.New(t).NoErr(err)
	return key
}

// newService returns an office in this process that has the license key of the vendor.
func (v *vendor) newService(now func() time.Time) *officeService {
	v.t.Helper()
	is, dir := is.New(v.t), v.t.TempDir()
	o := &officeService{
		options: licensing.Options{Now: now}, signer: newSigner(v.t),
		keyFile: filepath.Join(dir, "license"), answerFile: filepath.Join(dir, "answer"),
	}
	is.NoErr(writeSecret(o.keyFile, v.license.Key+"\n"))
	is.NoErr(o.start(v.t.Context(), memory.New()))
	return o
}

// lend has the vendor answer the request of an office for seats.
func (v *vendor) lend(o *officeService, seats int64, lifetime api.Duration) string {
	v.t.Helper()
	request, err := o.request(v.t.Context(), seats)
	is.New(v.t).NoErr(err)
	return v.answer(v.license, request, lifetime)
}

// TestOfficeExchange: programs activate and get files while answers, with more seats and
// fewer, replace one another. None is refused.
func TestOfficeExchange(t *testing.T) {
	const programs, answers = 4, 12
	is := is.New(t)
	v := newVendor(t, nil)
	o := v.newService(nil)
	take := func(seats int64) {
		is.NoErr(o.take(t.Context(), v.lend(o, seats, api.Duration{Days: 90}), license.Caller{}, true))
	}
	take(programs)
	ctx, stop := context.WithCancel(t.Context())
	server := httptest.NewServer(o)
	defer server.Close()
	var work, using sync.WaitGroup
	work.Go(func() { o.run(ctx) })
	done := make(chan struct{})
	for i := range programs {
		using.Go(func() {
			for n := 0; ; n++ {
				p, err := shipped.Open(shipped.Options{
					URL: server.URL + mount, Keys: v.keys, ProductID: "atlas", Key: v.license.Key,
					Fingerprint: "pc-" + strconv.Itoa(i), Dir: filepath.Join(filepath.Dir(o.keyFile), strconv.Itoa(i), strconv.Itoa(n)),
				})
				if err != nil {
					t.Error(err)
					return
				}
				if s := p.Status(); s.Code != api.VerdictValid {
					t.Errorf("program %d was refused: %+v", i, s)
				}
				p.Close()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for n := range int64(answers) {
		take(programs + n%2)
		time.Sleep(50 * time.Millisecond)
	}
	close(done)
	using.Wait()
	stop()
	work.Wait()
	text, err := os.ReadFile(o.answerFile)
	is.NoErr(err)
	is.Equal(strings.TrimSpace(string(text)), o.current.Load().answer)
	l, err := o.current.Load().Service().Get(t.Context(), v.license.ID)
	is.NoErr(err)
	is.Equal(*l.MaxActivations, int64(programs+(answers-1)%2))
}

// TestOfficeRefusedAnswers: a bad answer changes neither the seats nor the answer file.
func TestOfficeRefusedAnswers(t *testing.T) {
	var ago time.Duration
	v := newVendor(t, func() time.Time { return time.Now().Add(-ago) })
	o := v.newService(nil)
	quarter := api.Duration{Days: 90}
	request, err := o.request(t.Context(), 2)
	is.New(t).NoErr(err)
	other, err := licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: 2}, newSigner(t))
	is.New(t).NoErr(err)
	ago = day
	older := v.answer(v.license, request, quarter)
	ago = 10 * day
	ended := v.answer(v.license, request, api.Duration{Days: 9})
	ago = 0
	good := v.answer(v.license, request, quarter)
	f, err := v.Service().IssueFile(t.Context(), api.IssueFileParams{LicenseID: v.license.ID, Fingerprint: "pc"})
	is.New(t).NoErr(err)
	forProgram, err := v.Files().Sign(t.Context(), *f.FileClaims())
	is.New(t).NoErr(err)
	another, err := licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: 2}, o.signer)
	is.New(t).NoErr(err)

	is.New(t).Equal(o.take(t.Context(), ended, license.Caller{}, true), errEndedAnswer)
	is.New(t).True(o.current.Load().claims == nil)
	is.New(t).NoErr(o.take(t.Context(), good, license.Caller{}, true))
	for name, c := range map[string]struct {
		answer string
		want   error
	}{
		"cut off":             {strings.Fields(good)[0][:len(strings.Fields(good)[0])-2], errCutAnswer},
		"a list cut off":      {good[:len(good)-2], errCutAnswer},
		"older":               {older, errOlderAnswer},
		"another license":     {v.answer(v.sell("Other Ltd"), another, quarter), errOtherLicense},
		"another office":      {v.answer(v.license, other, quarter), licensefile.ErrLent},
		"a file of a program": {forProgram, licensefile.ErrLent},
		"the request":         {request, licensefile.ErrMalformed},
		"nothing":             {"", licensefile.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			require.ErrorIs(t, o.take(t.Context(), c.answer, license.Caller{}, true), c.want)
			is.Equal(o.current.Load().answer, good)
			text, err := readSecret(o.answerFile)
			is.NoErr(err)
			is.Equal(text, good)
		})
	}
}

// TestOfficeNewKey: when the vendor has replaced the license key, the office has it with the
// answer to the next request.
func TestOfficeNewKey(t *testing.T) {
	is := is.New(t)
	v := newVendor(t, nil)
	o := v.newService(nil)
	is.NoErr(o.take(t.Context(), v.lend(o, 2, api.Duration{Days: 90}), license.Caller{}, true))
	l, err := v.Service().Rekey(t.Context(), api.RekeyLicenseParams{ID: v.license.ID})
	is.NoErr(err)
	is.NoErr(writeSecret(o.keyFile, l.Key))
	is.NoErr(o.take(t.Context(), v.lend(o, 2, api.Duration{Days: 90}), license.Caller{Actor: "operator:ida"}, true))
	got, err := o.current.Load().Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(got.Key, l.Key)
	events, err := o.current.Load().Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventLicenseRekeyed}})
	is.NoErr(err)
	is.Equal(len(events.Data), 1)
	is.Equal(events.Data[0].Actor, "operator:ida")
}

// TestOfficeStartsWithoutKey: an office that has lost its license key starts, and lends when
// the key is there again.
func TestOfficeStartsWithoutKey(t *testing.T) {
	is := is.New(t)
	v := newVendor(t, nil)
	o := v.newService(nil)
	is.NoErr(o.take(t.Context(), v.lend(o, 2, api.Duration{Days: 90}), license.Caller{}, true))
	is.NoErr(os.Remove(o.keyFile))
	again := &officeService{signer: o.signer, keyFile: o.keyFile, answerFile: o.answerFile}
	is.NoErr(again.start(t.Context(), o.store))
	is.True(again.current.Load().claims == nil)
	seen := again.poll(t.Context(), again.poll(t.Context(), ""))
	is.True(again.current.Load().claims == nil)
	is.NoErr(writeSecret(o.keyFile, v.license.Key))
	is.Equal(again.poll(t.Context(), seen), "")
	is.Equal(again.current.Load().answer, o.current.Load().answer)
}

// TestOfficeStopped: an office that is stopped after it has saved an answer, the first or a
// later one, starts with it.
func TestOfficeStopped(t *testing.T) {
	is := is.New(t)
	v := newVendor(t, nil)
	o := v.newService(nil)
	for _, seats := range []int64{2, 3} {
		is.NoErr(writeSecret(o.answerFile, v.lend(o, seats, api.Duration{Days: 90})+"\n"))
		o = &officeService{signer: o.signer, keyFile: o.keyFile, answerFile: o.answerFile, store: o.store}
		is.NoErr(o.start(t.Context(), o.store))
		is.Equal(o.current.Load().claims.Office.Seats, seats)
		l, err := o.current.Load().Service().Get(t.Context(), v.license.ID)
		is.NoErr(err)
		is.Equal(*l.MaxActivations, seats)
	}
}

// TestOfficePageWarns: the page says from 30, 7 and 1 days before the end of the file that
// it ends, and then that it has ended.
func TestOfficePageWarns(t *testing.T) {
	for left, want := range map[time.Duration]string{
		40 * day: "", 29 * day: `warn">The license file of the office ends within 30 days, at `, 6 * day: `warn">The license file of the office ends within 7 days, at `,
		12 * time.Hour: `warn">The license file of the office ends within a day, at `, -time.Hour: `bad">The license file of the office has ended, at `,
		91 * day: `warn">The clock of the office is behind: its license file was issued at `,
	} {
		t.Run(left.String(), func(t *testing.T) {
			is := is.New(t)
			v := newVendor(t, func() time.Time { return time.Now().Add(left - 90*day) })
			o := v.newService(nil)
			is.NoErr(o.take(t.Context(), v.lend(o, 2, api.Duration{Days: 90}), license.Caller{}, false))
			w := httptest.NewRecorder()
			o.show(w, httptest.NewRequest(http.MethodGet, officePage, nil), o.current.Load(), "", "")
			is.Equal(w.Code, http.StatusOK)
			require.Contains(t, w.Body.String(), "0 of 2 seats in use", "Request for 2 seats<")
			if want == "" {
				require.NotContains(t, w.Body.String(), "The license file of the office", "The clock of the office")
			} else {
				require.Contains(t, w.Body.String(), want)
			}
		})
	}
}

// TestOfficeSaysWhyItRefuses: the page says why the answer in the answer file was refused,
// until there is a good one. The log says once what an administrator has to do.
func TestOfficeSaysWhyItRefuses(t *testing.T) {
	is := is.New(t)
	v := newVendor(t, nil)
	o := v.newService(nil)
	problem := func() string {
		page, err := o.view(t.Context(), o.current.Load(), "")
		is.NoErr(err)
		return page.Problem
	}
	o.poll(t.Context(), "")
	is.Equal(problem(), "")
	foreign, err := licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: 2}, newSigner(t))
	is.NoErr(err)
	is.NoErr(writeSecret(o.answerFile, v.answer(v.license, foreign, api.Duration{Days: 90})))
	o.poll(t.Context(), o.poll(t.Context(), ""))
	is.Equal(problem(), "The answer in "+o.answerFile+" was refused. The license file is that of an office with another key.")
	is.NoErr(o.take(t.Context(), v.lend(o, 2, api.Duration{Days: 90}), license.Caller{}, true))
	is.Equal(problem(), "")

	var log bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	l := o.current.Load()
	is.Equal(l.sayNotice(t.Context(), ""), "")
	l.claims.IssuedAt = time.Now().Add(time.Hour)
	l.sayNotice(t.Context(), l.sayNotice(t.Context(), ""))
	is.Equal(strings.Count(log.String(), "The clock of the office is behind"), 1)
}

// TestOfficePageLongRequest: a request with many meters may be too long for a QR code.
func TestOfficePageLongRequest(t *testing.T) {
	is := is.New(t)
	for length, want := range map[int]string{qr.MaxLength: `aria-label="QR code of the request"`, qr.MaxLength + 1: "The request is too long for a QR code."} {
		var page strings.Builder
		text := strings.Repeat("x", length)
		is.NoErr(officeTemplate.Execute(&page, pageView{Key: "k", Seats: 1, Request: text, QR: qr.Draw(text)}))
		require.Contains(t, page.String(), want)
	}
}

// program opens a program on a machine.
func (v *vendor) program(url, machine string) *shipped.License {
	v.t.Helper()
	p, err := shipped.Open(shipped.Options{
		URL: url + mount, Keys: v.keys, ProductID: "atlas", Key: v.license.Key, Fingerprint: machine, Dir: v.t.TempDir(),
	})
	is.New(v.t).NoErr(err)
	v.t.Cleanup(func() { p.Close() })
	return p
}

// TestOfficeBack: the office cannot verify an answer, so an administrator can go back to the
// last one that a program has used.
func TestOfficeBack(t *testing.T) {
	is := is.New(t)
	v := newVendor(t, nil)
	o := v.newService(nil)
	server := httptest.NewServer(o)
	defer server.Close()
	page := func() string {
		w := httptest.NewRecorder()
		o.show(w, httptest.NewRequest(http.MethodGet, officePage, nil), o.current.Load(), "", "")
		is.Equal(w.Code, http.StatusOK)
		return w.Body.String()
	}
	take := func(answer string) { is.NoErr(o.take(t.Context(), answer, license.Caller{}, true)) }
	passed := func() { // acceptedAfter
		w := o.current.Load().watch
		w.mu.Lock()
		defer w.mu.Unlock()
		for name, u := range w.programs {
			if !u.checked.IsZero() {
				u.checked = u.checked.Add(-acceptedAfter)
			}
			w.programs[name] = u
		}
	}
	quarter := api.Duration{Days: 90}
	good := v.lend(o, 2, quarter)
	take(good)
	require.NotContains(t, page(), "Back to the answer of")

	broken := func() string { // the signature of the file, in the middle
		answer := strings.Fields(v.lend(o, 3, quarter))
		dot := strings.LastIndexByte(answer[0], '.')
		signature := []byte(answer[0][dot+1:])
		signature[0], signature[40] = 'A'+(signature[0]-'A'+1)%2, 'A'+(signature[40]-'A'+1)%2
		return answer[0][:dot+1] + string(signature) + " " + strings.Join(answer[1:], "")
	}
	time.Sleep(time.Second) // answers have whole seconds
	date := o.current.Load().claims.IssuedAt.UTC().Format("2 January 2006, 15:04 UTC")
	for range 2 { // also after another one that is broken
		take(broken())
		p := v.program(server.URL, "pc-1")
		is.Equal(p.Status().Code, shipped.CodeUntrusted)
		require.ErrorIs(t, p.Refresh(t.Context()), licensefile.ErrSignature)
		passed()
		require.Contains(t, page(), "Back to the answer of "+date)
		time.Sleep(time.Second)
	}
	again := &officeService{signer: o.signer, keyFile: o.keyFile, answerFile: o.answerFile}
	is.NoErr(again.start(t.Context(), o.store))
	_, earlier := again.earlier(again.current.Load())
	is.True(earlier != nil) // also after a restart
	is.NoErr(o.back(t.Context(), license.Caller{Actor: "operator:ida"}))
	is.Equal(o.current.Load().answer, good)
	text, err := readSecret(o.answerFile)
	is.NoErr(err)
	is.Equal(text, good)
	is.Equal(v.program(server.URL, "pc-1").Status().Code, api.VerdictValid)
	require.NotContains(t, page(), "Back to the answer of")
	is.True(o.back(t.Context(), license.Caller{}) != nil)

	better := v.lend(o, 3, quarter)
	take(better)
	p := v.program(server.URL, "pc-2")
	is.Equal(p.Status().Code, api.VerdictValid)
	require.Contains(t, page(), "Back to the answer of "+date)
	is.NoErr(p.Refresh(t.Context())) // it asks for no other file
	require.Contains(t, page(), "Back to the answer of "+date)
	passed()
	require.NotContains(t, page(), "Back to the answer of")
}

// TestOfficeAnswersFromMail: what mail does to an answer does not matter, on the page and in
// the answer file.
func TestOfficeAnswersFromMail(t *testing.T) {
	is := is.New(t)
	v := newVendor(t, nil)
	o := v.newService(nil)
	mail := func(text string) (mailed string) {
		for ; len(text) > 75; text = text[75:] {
			mailed += text[:75] + "=\r\n"
		}
		return "\ufeff" + mailed + text + "\r\n"
	}
	good := v.lend(o, 2, api.Duration{Days: 90})
	is.NoErr(o.take(t.Context(), mail(good), license.Caller{}, true))
	is.Equal(o.current.Load().answer, good)
	time.Sleep(time.Second)
	good = v.lend(o, 3, api.Duration{Days: 90})
	is.NoErr(os.WriteFile(o.answerFile, []byte(mail(good)), 0o600))
	is.Equal(o.poll(t.Context(), o.poll(t.Context(), "")), "")
	is.Equal(o.current.Load().answer, good)
	is.Equal(o.poll(t.Context(), ""), "") // it is not read again
}

// A faultyStore fails each Update in the worst way.
type faultyStore struct {
	store.Store
	fault atomic.Pointer[func()]
}

func (s *faultyStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if fault := s.fault.Load(); fault != nil {
		(*fault)()
	}
	return s.Store.Update(ctx, fn)
}

// TestOfficeSurvives: a panic while the office takes an answer does not end the process, and
// the office lends as before until it has taken the answer.
func TestOfficeSurvives(t *testing.T) {
	for name, fault := range map[string]func(){"panic": func() { panic("out of order") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			v := newVendor(t, nil)
			st := &faultyStore{Store: memory.New()}
			o := v.newService(nil)
			is.NoErr(o.start(t.Context(), st))
			is.NoErr(o.take(t.Context(), v.lend(o, 2, api.Duration{Days: 90}), license.Caller{}, true))
			before := o.current.Load()
			answer := v.lend(o, 3, api.Duration{Days: 90})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			done := make(chan error)
			go func() {
				err := errors.New("run ended its goroutine")
				defer func() { done <- err }()
				err = o.run(ctx)
			}()
			st.fault.Store(&fault)
			is.NoErr(os.WriteFile(o.answerFile, []byte(answer), 0o600))
			until := func(ok func() bool) {
				t.Helper()
				for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("it did not happen")
					}
				}
			}
			until(func() bool { return o.refusal.Load() != nil })
			is.True(o.current.Load() == before)
			again := &officeService{options: o.options, signer: o.signer, keyFile: o.keyFile, answerFile: o.answerFile}
			is.NoErr(again.start(t.Context(), st))
			st.fault.Store(nil)
			until(func() bool { return o.current.Load().claims.Office.Seats == 3 })
			stop()
			is.NoErr(<-done)
		})
	}
}
