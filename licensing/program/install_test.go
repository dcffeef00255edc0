package program

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// TestAirGap walks: request, install, restart, expire, renew; the service signs.
func TestAirGap(t *testing.T) {
	onStage(t, func(s *stage) {
		is := s.I
		b := s.box("pc-1")
		b.opts.URL = ""
		l := b.open()
		s.is(l, CodeNoFile)
		for _, err := range []error{l.SetKey(s.Context(), "k"), l.TakeOver(s.Context()), l.Release(s.Context())} {
			require.ErrorIs(s.T, err, errNoService)
		}
		answer := func(request string) string {
			file, err := s.service().IssueFile(s.Context(), api.IssueFileParams{
				LicenseID: s.license.ID, Request: request, Lifetime: api.Duration{Hours: 10},
			})
			is.NoErr(err)
			text, err := s.vendor.Handler.Files().Sign(s.Context(), *file.FileClaims())
			is.NoErr(err)
			return text
		}
		request, err := l.Request()
		is.NoErr(err)
		l = b.restart(l)
		again, err := l.Request()
		is.NoErr(err)
		is.Equal(again, request)
		text := answer(request)
		is.NoErr(l.Install("\n" + text + "\n"))
		s.is(l, "valid")
		is.NoErr(l.Install(text)) // twice
		is.Equal(l.Status().LicensedTo, "Acme Ltd")
		require.NotContains(s.T, strings.Join(b.files(), " "), requestName)
		l = b.restart(l)
		s.is(l, "valid")
		request, err = l.Request()
		is.NoErr(err)
		is.True(request != again)
		time.Sleep(10 * time.Hour)
		s.is(l, CodeFileExpired)
		is.NoErr(l.Install(answer(request)))
		s.is(l, "valid")
		is.NoErr(l.Refresh(s.Context()))
		is.Equal(len(s.requests()), 0)

		// Another process of the installation learns of it.
		other := b.open()
		s.move((*license.Service).Suspend, "")
		list, err := s.vendor.Handler.Files().Revocations(s.Context(), "atlas")
		is.NoErr(err)
		time.Sleep(time.Second)
		is.NoErr(l.Install(list))
		s.is(l, api.VerdictRevoked)
		time.Sleep(6 * time.Minute)
		s.is(other, api.VerdictRevoked)
	})
}

// TestInstallVerifiesFirst: what is refused is not stored, and replaces nothing.
func TestInstallVerifiesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		jwks, key := newKey(t)
		_, foreign := newKey(t)
		dir := tempDir(t)
		l, err := open(Options{Keys: jwks, ProductID: "atlas", Fingerprint: "pc-1", Dir: dir}, machineWithID("x"), time.Now)
		is.NoErr(err)
		defer l.Close()
		good := signed(t, key, "pc-1")
		is.NoErr(l.Install(good))
		time.Sleep(time.Minute)
		for want, text := range map[error]string{
			licensefile.ErrSignature:   good[:len(good)-4] + "AAAA",
			licensefile.ErrUnknownKey:  signed(t, foreign, "pc-1"),
			licensefile.ErrFingerprint: signed(t, key, "pc-2"),
			licensefile.ErrProduct:     signed(t, key, "pc-1", func(c *licensefile.Claims) { c.ProductID = "other" }),
			licensefile.ErrExpired:     signed(t, key, "pc-1", func(c *licensefile.Claims) { c.ExpiresAt = c.IssuedAt }),
			licensefile.ErrEarly:       signed(t, key, "pc-1", func(c *licensefile.Claims) { c.NotBefore = c.NotBefore.Add(day) }),
			licensefile.ErrClock:       signed(t, key, "pc-1", func(c *licensefile.Claims) { c.IssuedAt = c.IssuedAt.Add(day) }),
			licensefile.ErrNonce:       signed(t, key, "pc-1", func(c *licensefile.Claims) { c.ID, c.Nonce = "file-2", "of-another-request" }),
			licensefile.ErrMalformed:   "not a license file",
			licensefile.ErrListAhead:   list(t, key, time.Now().Add(2*day)),
			licensefile.ErrStaleList:   list(t, key, time.Now().Add(-8*day)),
		} {
			err := l.Install(text)
			if want == licensefile.ErrMalformed || want == licensefile.ErrSignature {
				is.True(err != nil)
			} else {
				require.ErrorIs(t, err, want)
			}
			is.True(l.Status().Valid)
		}
		is.True(l.Install(signed(t, key, "pc-1", func(c *licensefile.Claims) { c.ID, c.IssuedAt = "old", c.IssuedAt.Add(-time.Hour) })) != nil)
		text, err := disk{dir}.read(licenseName)
		is.NoErr(err)
		require.Contains(t, text, good)
		is.NoErr(l.Install(list(t, key, time.Now())))
		is.True(l.Install(list(t, key, time.Now().Add(-time.Hour))) != nil) // older
		is.NoErr(l.Install(signed(t, key, "pc-1", func(c *licensefile.Claims) { c.ID, c.Generation = "new", 2 })))
		is.True(l.Install(good) != nil) // of an earlier generation
	})
}

// TestStaleList: a list of last week still refuses what it names, with a warning.
func TestStaleList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		jwks, key := newKey(t)
		o := Options{Keys: jwks, ProductID: "atlas", Fingerprint: "pc-1", Dir: tempDir(t)}
		is.NoErr(disk{o.Dir}.write(listName, list(t, key, time.Now().Add(-8*day), func(r *licensefile.Revocations) {
			r.Licenses = []licensefile.RevokedLicense{{Hash: licensefile.LicenseHash("lic_1"), MinGeneration: 2, Until: time.Now().Add(day)}}
		})))
		l, err := open(o, machineWithID("x"), time.Now)
		is.NoErr(err)
		defer l.Close()
		is.Equal(codes(l.Status().Warnings), []api.Code{CodeListStale})
		old := signed(t, key, "pc-1", func(c *licensefile.Claims) { c.IssuedAt = c.IssuedAt.Add(-9 * day) })
		require.ErrorIs(t, l.Install(old), licensefile.ErrOldGeneration)
		is.NoErr(l.Install(signed(t, key, "pc-1", func(c *licensefile.Claims) { c.Generation = 2 })))
		is.True(l.Status().Valid)
	})
}

// TestReplay: the answer to an earlier request does not end a denial.
func TestReplay(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		var old any
		s.meddle(change(func(v map[string]any) {
			if v["file"] != nil {
				old = v["file"]
			}
		}))
		l := b.open()
		s.is(l, "valid")
		s.move((*license.Service).Suspend, "")
		s.meddle(nil)
		s.NoErr(l.Refresh(s.Context()))
		s.is(l, api.VerdictSuspended)
		s.move((*license.Service).Reinstate, "")
		s.meddle(change(func(v map[string]any) { v["file"] = old }))
		require.ErrorIs(s.T, l.Refresh(s.Context()), licensefile.ErrNonce)
		s.is(l, api.VerdictSuspended, CodeUntrusted)
		s.meddle(nil)
		s.NoErr(l.Refresh(s.Context()))
		s.is(l, "valid")
	})
}

// TestInstallFromMail: what mail programs and editors do to a file or a list does not
// matter, and the error of a text that is not whole says what to do.
func TestInstallFromMail(t *testing.T) {
	onStage(t, func(s *stage) {
		jwks, key := newKey(s.T)
		o := Options{Keys: jwks, ProductID: "atlas", Fingerprint: "pc-1", Dir: tempDir(s.T)}
		l, err := open(o, machineWithID("x"), time.Now)
		s.NoErr(err)
		defer l.Close()
		mail := func(text, end string) (mailed string) {
			for ; len(text) > 75; text = text[75:] {
				mailed += text[:75] + end
			}
			return mailed + text
		}
		for _, end := range []string{"\n", "\r\n> ", "=\r\n", "\u200b\n"} {
			time.Sleep(time.Second)
			file := signed(s.T, key, "pc-1", func(c *licensefile.Claims) { c.ID = end })
			s.NoErr(l.Install("\ufeff" + mail(file, end)))
			stored, err := disk{o.Dir}.read(licenseName)
			s.NoErr(err)
			require.Contains(s.T, stored, file)
			s.NoErr(l.Install(mail(list(s.T, key, time.Now()), end)))
		}
		file := signed(s.T, key, "pc-1")
		for name, text := range map[string]string{
			"nothing": "", "words": "Here is your license.", "the beginning": file[:len(file)/2], "the end": file[len(file)/2:], "without a character": file[:9] + file[10:],
			"without a line": file[:150] + file[226:], "a cut signature": file[:len(file)-1], "padding that is not ours": file[:len(file)-1] + "B",
		} {
			err := l.Install(text)
			if err == nil || err.Error() != "program: install: not a whole license file; copy it again" {
				s.Errorf("%s: %v", name, err)
			}
		}
		require.ErrorIs(s.T, l.Install(file[:len(file)-1]), licensefile.ErrTruncated)
	})
}
