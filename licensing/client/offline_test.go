package client_test

import (
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// An issuer signs license files, in a bubble of synctest.
type issuer struct {
	*testing.T
	*is.I
	keys  []crypto.Signer
	trust *licensefile.KeySet
	dir   string // for State
	files int
}

func onPaper(t *testing.T, test func(s *issuer)) {
	synctest.Test(t, func(t *testing.T) {
		s := &issuer{T: t, I: is.New(t), dir: t.TempDir()}
		var public []crypto.PublicKey
		for range 2 {
			pub, key, err := ed25519.GenerateKey(nil)
			if err != nil {
				t.Fatal(err)
			}
			s.keys, public = append(s.keys, key), append(public, pub)
		}
		var err error
		if s.trust, err = licensefile.NewKeySet(public...); err != nil {
			t.Fatal(err)
		}
		test(s)
	})
}

// life is how long a file is valid.
const life = 3 * day

// claims returns those of a file for pc-1, of a license that ends with it.
func (s *issuer) claims() licensefile.Claims {
	s.files++
	now := time.Now().Truncate(time.Second)
	return licensefile.Claims{
		ID: fmt.Sprintf("file-%d", s.files), LicenseID: "lic_1", ProductID: "atlas", Generation: 1,
		IssuedAt: now, NotBefore: now, ExpiresAt: now.Add(life), LicenseExpiresAt: now.Add(life),
		FingerprintHash: licensefile.FingerprintHash("lic_1", "pc-1"), Entitlements: map[string]any{"export": true, "users": 5.0},
	}
}

// file returns a signed file with changed claims.
func (s *issuer) file(change ...func(*licensefile.Claims)) string {
	s.Helper()
	c := s.claims()
	for _, f := range change {
		f(&c)
	}
	text, err := licensefile.Sign(c, s.keys[0])
	if err != nil {
		s.Fatal(err)
	}
	return text
}

// list returns a signed revocation list.
func (s *issuer) list(change func(*licensefile.Revocations)) string {
	s.Helper()
	now := time.Now().Truncate(time.Second)
	r := licensefile.Revocations{ProductID: "atlas", Sequence: now.UnixMilli(), IssuedAt: now, ExpiresAt: now.Add(7 * day)}
	if change != nil {
		change(&r)
	}
	text, err := licensefile.SignRevocations(r, s.keys[1])
	if err != nil {
		s.Fatal(err)
	}
	return text
}

func (s *issuer) options() client.ProgramOptions {
	return client.ProgramOptions{ProductID: "atlas", Fingerprint: "pc-1", Trust: s.trust, State: client.Dir(s.dir)}
}

func (s *issuer) open(opts client.ProgramOptions) *client.Program {
	s.Helper()
	p, err := client.Open(opts)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { p.Close() })
	return p
}

// names returns the files in the state directory.
func (s *issuer) names() (names []string) {
	s.Helper()
	entries, err := os.ReadDir(s.dir)
	s.NoErr(err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (s *issuer) write(name, text string) {
	s.Helper()
	s.NoErr(os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

func TestOpenRefusesWrongOfflineOptions(t *testing.T) {
	is := is.New(t)
	pub, _, err := ed25519.GenerateKey(nil)
	is.NoErr(err)
	trust, err := licensefile.NewKeySet(pub)
	is.NoErr(err)
	for _, o := range []client.ProgramOptions{
		{Trust: trust},
		{ProductID: "atlas", Trust: trust, URL: "example.com"},
		{ProductID: "atlas", Trust: trust, URL: "https://example.com", Offline: -1},
		{ProductID: "atlas", Trust: trust, URL: "https://example.com", Offline: time.Second},
		{ProductID: "atlas", Trust: trust, URL: "https://example.com", ReleaseOnClose: true},
		{ProductID: "atlas", Trust: trust, ReleaseOnClose: true},
		{ProductID: "atlas", URL: "https://example.com", State: client.Dir(".")},
		{ProductID: "atlas", URL: "https://example.com", Files: client.ReadFiles()},
	} {
		_, err := client.Open(o)
		is.True(err != nil)
		require.Contains(t, err.Error(), "client: ProgramOptions.")
	}
}

// TestFromAFileAlone installs a file, restarts, and lets the file expire; a new
// one arrives in the directory.
func TestFromAFileAlone(t *testing.T) {
	onPaper(t, func(s *issuer) {
		is := s.I
		s.dir = filepath.Join(s.dir, "license") // is created
		p := s.open(s.options())
		is.Equal(p.Status().Code, client.CodeNoFile)
		is.True(p.SetKey(s.Context(), "k") != nil)
		is.NoErr(p.Install("\n" + s.file(func(c *licensefile.Claims) { c.ExpiresAt = c.ExpiresAt.Add(day) }) + "\n"))
		st := p.Status()
		is.True(st.Valid)
		is.Equal(st.Source, client.SourceFile)
		is.Equal(st.LicenseID, "lic_1")
		is.True(st.ExpiresAt.Equal(time.Now().Add(life)))
		is.True(st.GraceUntil.Equal(time.Now().Add(life + day)))
		is.True(st.CheckedAt.Equal(time.Now()))
		n, ok := p.Number("users")
		is.True(ok && n == 5)
		is.NoErr(p.Close())
		names := s.names()
		is.Equal(names, []string{"file-1.license", fmt.Sprintf("floor-%d", time.Now().Unix())})

		opts := s.options()
		var changes []client.Code
		opts.OnChange = func(st client.Status) { changes = append(changes, st.Code) }
		p = s.open(opts)
		is.True(p.Status().Valid)
		is.NoErr(os.RemoveAll(s.dir)) // what is in use stays
		time.Sleep(life - time.Second)
		is.Equal(p.Status().Code, client.CodeValid)
		time.Sleep(time.Second)
		is.Equal(p.Status().Code, client.CodeInGrace)
		time.Sleep(day)
		is.Equal(p.Status().Code, client.CodeExpired)
		is.True(!p.Has("export"))
		is.Equal(p.Status().LicenseID, "lic_1")
		synctest.Wait()
		is.NoErr(os.MkdirAll(s.dir, 0o700))
		s.write("from-the-vendor.license", s.file())
		time.Sleep(5*time.Minute + time.Second)
		is.True(p.Status().Valid)
		synctest.Wait()
		is.Equal(changes, []client.Code{"in_grace", "expired", "valid"})
		require.Contains(s.T, p.Metrics(), `code="valid",source="file"`)
		require.Contains(s.T, p.Report(), s.trust.IDs()[1])
	})
}

// TestInstallVerifiesFirst: what is refused is not stored, and replaces
// nothing.
func TestInstallVerifiesFirst(t *testing.T) {
	onPaper(t, func(s *issuer) {
		p := s.open(s.options())
		s.NoErr(p.Install(s.file(func(c *licensefile.Claims) { c.Generation = 2 })))
		before := s.names()
		_, foreign, err := ed25519.GenerateKey(nil)
		s.NoErr(err)
		forged, err := licensefile.Sign(s.claims(), foreign)
		s.NoErr(err)
		good := s.file()
		for text, want := range map[string]error{
			"":                              licensefile.ErrTruncated,
			"garbage":                       licensefile.ErrTruncated,
			forged:                          licensefile.ErrUnknownKey,
			good[:len(good)-8] + "AAAAAAAA": licensefile.ErrSignature,
			s.file():                        licensefile.ErrOldGeneration,
			s.file(func(c *licensefile.Claims) { c.ProductID = "borealis" }):                                         licensefile.ErrProduct,
			s.file(func(c *licensefile.Claims) { c.FingerprintHash = licensefile.FingerprintHash("lic_1", "pc-2") }): licensefile.ErrFingerprint,
			s.file(func(c *licensefile.Claims) {
				c.LicenseID, c.FingerprintHash, c.IssuedAt, c.NotBefore, c.ExpiresAt = "lic_2", "", c.IssuedAt.Add(-2*day), c.NotBefore.Add(-2*day), c.IssuedAt.Add(-day)
			}): licensefile.ErrExpired,
			s.list(func(r *licensefile.Revocations) { r.ProductID = "borealis" }):             licensefile.ErrProduct,
			s.list(func(r *licensefile.Revocations) { r.Sequence += 2 * day.Milliseconds() }): licensefile.ErrListAhead,
		} {
			if err := p.Install(text); !errors.Is(err, want) {
				s.Errorf("the error is %v, want %v", err, want)
			}
		}
		s.Equal(s.names(), before)
		s.True(p.Status().Valid)
		online := client.Fixed(client.Status{})
		s.True(online.Install(good) != nil)
	})
}

// TestFileCodes: the code of a program whose only file is not usable.
func TestFileCodes(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*licensefile.Claims)
		code   client.Code
	}{
		"valid":               {func(*licensefile.Claims) {}, client.CodeValid},
		"unlimited":           {func(c *licensefile.Claims) { c.LicenseExpiresAt = time.Time{} }, client.CodeValid},
		"for any machine":     {func(c *licensefile.Claims) { c.FingerprintHash = "" }, client.CodeValid},
		"another product":     {func(c *licensefile.Claims) { c.ProductID = "borealis" }, client.CodeProductMismatch},
		"another fingerprint": {func(c *licensefile.Claims) { c.FingerprintHash = licensefile.FingerprintHash("lic_1", "pc-2") }, client.CodeFingerprintChanged},
		"early":               {func(c *licensefile.Claims) { c.NotBefore = c.NotBefore.Add(time.Hour) }, client.CodeScheduled},
		"issued in future": {func(c *licensefile.Claims) {
			c.IssuedAt, c.NotBefore = c.IssuedAt.Add(time.Hour), c.NotBefore.Add(time.Hour)
		}, client.CodeClockChanged},
		"expired": {func(c *licensefile.Claims) {
			c.IssuedAt, c.NotBefore, c.ExpiresAt, c.LicenseExpiresAt = c.IssuedAt.Add(-day), c.NotBefore.Add(-day), c.IssuedAt, c.IssuedAt
		}, client.CodeExpired},
		"file expired": {func(c *licensefile.Claims) {
			c.IssuedAt, c.NotBefore, c.ExpiresAt = c.IssuedAt.Add(-day), c.NotBefore.Add(-day), c.IssuedAt
		}, client.CodeFileExpired},
	} {
		t.Run(name, func(t *testing.T) {
			onPaper(t, func(s *issuer) {
				o := s.options()
				o.State = nil
				text := s.file(tt.change)
				o.Files = func() ([]string, error) { return []string{text}, nil } // such as os.Getenv
				p := s.open(o)
				s.Equal(p.Status().Code, tt.code)
				s.Equal(p.Status().Valid, tt.code == client.CodeValid)
				s.Equal(p.Has("export"), p.Status().Valid)
				if tt.code == client.CodeValid {
					time.Sleep(life)
					s.True(!p.Status().Valid)
					s.Equal(p.Status().Code == client.CodeFileExpired, name == "unlimited")
				}
			})
		})
	}
}

// TestTheBestFileWins: the highest generation, then the latest; one future
// file is kept.
func TestTheBestFileWins(t *testing.T) {
	onPaper(t, func(s *issuer) {
		is := s.I
		p := s.open(s.options())
		users := func(n float64, gen int64, start time.Duration) string {
			return s.file(func(c *licensefile.Claims) {
				c.Entitlements["users"], c.Generation, c.NotBefore = n, gen, c.NotBefore.Add(start)
			})
		}
		has := func(want float64) {
			s.Helper()
			n, _ := p.Number("users")
			is.Equal(n, want)
		}
		is.NoErr(p.Install(users(1, 1, 0)))
		has(1)
		time.Sleep(time.Second)
		is.NoErr(p.Install(users(2, 1, 0)))
		has(2)
		is.NoErr(p.Install(users(3, 3, 2*day))) // future, with a higher generation
		has(2)
		is.NoErr(p.Install(users(4, 2, 0)))
		has(4)
		names := slices.DeleteFunc(s.names(), func(n string) bool { return strings.HasPrefix(n, "floor-") })
		is.Equal(names, []string{"file-3.license", "file-4.license"})
		time.Sleep(2 * day)
		has(3)
		require.ErrorIs(s.T, p.Install(users(5, 2, 0)), licensefile.ErrOldGeneration)
	})
}

func TestRevocationLists(t *testing.T) {
	onPaper(t, func(s *issuer) {
		is := s.I
		p := s.open(s.options())
		file := s.file(func(c *licensefile.Claims) { c.ExpiresAt = c.ExpiresAt.Add(14 * day) })
		is.NoErr(p.Install(file))
		older := s.list(nil)
		time.Sleep(time.Minute)
		revoked := s.list(func(r *licensefile.Revocations) {
			r.Licenses = []licensefile.RevokedLicense{{Hash: licensefile.LicenseHash("lic_1"), MinGeneration: licensefile.AllGenerations, Until: r.IssuedAt.Add(14 * day)}}
		})
		is.NoErr(p.Install(older))
		is.True(p.Status().Valid)
		is.NoErr(p.Install(revoked))
		is.Equal(p.Status().Code, client.CodeRevoked)
		require.ErrorIs(s.T, p.Install(file), licensefile.ErrRevoked)
		is.True(p.Install(older) != nil)
		lists := slices.DeleteFunc(s.names(), func(n string) bool { return !strings.HasSuffix(n, ".revocations") })
		is.Equal(len(lists), 1)
		s.write("old.revocations", older) // takes nothing back
		is.NoErr(p.Close())
		p = s.open(s.options())
		is.Equal(p.Status().Code, client.CodeRevoked)

		time.Sleep(time.Minute)
		is.NoErr(p.Install(s.list(func(r *licensefile.Revocations) { r.ExpiresAt = r.IssuedAt.Add(day) }))) // reinstated
		is.True(p.Status().Valid)
		is.Equal(warnings(p), nil)
		time.Sleep(day + 10*time.Minute)
		is.True(p.Status().Valid) // a stale list warns
		is.Equal(warnings(p), []client.Code{client.CodeListStale})

		is.NoErr(p.Install(s.list(func(r *licensefile.Revocations) { r.CondemnedKeys = s.trust.IDs()[:1] })))
		is.Equal(p.Status().Code, client.CodeFileOutdated)
		require.ErrorIs(s.T, p.Install(s.file()), licensefile.ErrCondemnedKey)
		require.ErrorIs(s.T, p.Err(), client.CodeFileOutdated)
	})
}

// TestMaxListAge: no file counts without a list that is new enough.
func TestMaxListAge(t *testing.T) {
	onPaper(t, func(s *issuer) {
		is := s.I
		opts := s.options()
		opts.MaxListAge = 3 * day
		p := s.open(opts)
		is.NoErr(p.Install(s.file(func(c *licensefile.Claims) { c.ExpiresAt = c.ExpiresAt.Add(14 * day) })))
		is.Equal(p.Status().Code, client.CodeListStale) // there is none
		is.NoErr(p.Install(s.list(nil)))
		is.True(p.Status().Valid)
		time.Sleep(3*day - 10*time.Minute)
		is.True(p.Status().Valid)
		time.Sleep(20 * time.Minute)
		is.True(!p.Status().Valid)
		is.Equal(p.Status().Code, client.CodeListStale)
		is.Equal(p.Status().LicenseID, "lic_1")
		is.NoErr(p.Install(s.list(nil)))
		is.True(p.Status().Valid)
	})
}

// TestClockFloor: a start with a clock before what files have proved.
func TestClockFloor(t *testing.T) {
	onPaper(t, func(s *issuer) {
		is := s.I
		is.NoErr(os.WriteFile(filepath.Join(s.dir, "old.license"), []byte(s.file()), 0o600))
		time.Sleep(10 * time.Minute)
		p := s.open(s.options())
		is.True(p.Status().Valid)
		is.Equal(s.names(), []string{"old.license"}) // a file of ten minutes ago proves no time
		is.NoErr(p.Install(s.file()))
		is.NoErr(p.Close())
		floor := fmt.Sprintf("floor-%d", time.Now().Unix())
		require.Includes(s.T, s.names(), floor)

		s.write(fmt.Sprintf("floor-%d", time.Now().Add(5*time.Minute).Unix()), "")
		s.write("floor-x", "")
		p = s.open(s.options())
		is.True(p.Status().Valid) // within the leeway
		is.NoErr(p.Close())
		s.write(fmt.Sprintf("floor-%d", time.Now().Add(6*time.Minute).Unix()), "")
		p = s.open(s.options())
		is.Equal(p.Status().Code, client.CodeClockChanged)
		time.Sleep(7 * time.Minute) // the clock is right again
		is.True(p.Status().Valid)
	})
}

// TestSharedState: several processes use a directory with damaged files.
func TestSharedState(t *testing.T) {
	onPaper(t, func(s *issuer) {
		is := s.I
		s.write("cut.license", s.file()[:100])
		s.write("empty.license", "")
		s.write("cut.revocations", s.list(nil)[:100])
		s.write(".tmp-1", s.file())
		s.write("notes.txt", s.file())
		is.NoErr(os.Mkdir(filepath.Join(s.dir, "dir.license"), 0o700))
		var programs []*client.Program
		for range 4 {
			programs = append(programs, s.open(s.options()))
		}
		is.Equal(programs[0].Status().Code, client.CodeNoFile)
		is.Equal(warnings(programs[0]), []client.Code{client.CodeStateUnusable, client.CodeFileSkipped, client.CodeFileSkipped})
		var work sync.WaitGroup
		for i, p := range programs {
			for range 4 {
				text := s.file(func(c *licensefile.Claims) { c.Generation = int64(i + 1) })
				work.Go(func() {
					if err := p.Install(text); err != nil && !errors.Is(err, licensefile.ErrOldGeneration) {
						s.Error(err)
					}
					if err := p.Refresh(s.Context()); err != nil {
						s.Error(err)
					}
					if st := p.Status(); !st.Valid {
						s.Errorf("the status is %s", st.Code)
					}
				})
			}
		}
		work.Wait()
		time.Sleep(10 * time.Minute)
		for _, p := range programs {
			is.True(p.Status().Valid)
		}
		require.Includes(s.T, s.names(), "cut.license") // is not ours to remove
	})
}

// TestUnusableState: files that cannot be read or written.
func TestUnusableState(t *testing.T) {
	onPaper(t, func(s *issuer) {
		is := s.I
		s.write("file", "")
		s.dir = filepath.Join(s.dir, "file") // not a directory
		p := s.open(s.options())
		is.Equal(p.Status().Code, client.CodeNoFile)
		is.Equal(warnings(p), []client.Code{client.CodeStateUnusable})
		is.True(p.Install(s.file()) != nil)
		is.True(!p.Status().Valid) // it could not be kept
		is.NoErr(p.Close())

		// With files of a mount, the state is not needed.
		o := s.options()
		mount := s.TempDir()
		is.NoErr(os.WriteFile(filepath.Join(mount, "a.license"), []byte(s.file()), 0o600))
		o.Files = client.ReadFiles(mount, filepath.Join(mount, "missing"), filepath.Join(mount, "a.license"))
		p = s.open(o)
		is.True(p.Status().Valid)
	})
}

// TestWithoutState keeps installed files in memory.
func TestWithoutState(t *testing.T) {
	onPaper(t, func(s *issuer) {
		o := s.options()
		o.State = nil
		p := s.open(o)
		s.NoErr(p.Install(s.file()))
		s.NoErr(p.Install(s.list(nil)))
		time.Sleep(2 * day)
		s.True(p.Status().Valid)
		s.NoErr(p.Close())
		s.Equal(s.open(o).Status().Code, client.CodeNoFile)
	})
}

// TestUnsafeNames: the jti of a file cannot name another path.
func TestUnsafeNames(t *testing.T) {
	onPaper(t, func(s *issuer) {
		p := s.open(s.options())
		s.NoErr(p.Install(s.file(func(c *licensefile.Claims) { c.ID = "../../escape" })))
		s.True(p.Status().Valid)
		for _, name := range s.names() {
			s.True(strings.HasPrefix(name, "floor-") || len(name) == 64+len(".license"))
		}
		_, err := os.Stat(filepath.Join(s.dir, "..", "..", "escape.license"))
		s.True(os.IsNotExist(err))
	})
}

// TestRequest: a file that answers a request is accepted for that request.
func TestRequest(t *testing.T) {
	onPaper(t, func(s *issuer) {
		is := s.I
		o := s.options()
		o.Key = "AAAAA-BBBBB"
		p := s.open(o)
		text, err := p.Request()
		is.NoErr(err)
		require.NotContains(s.T, text, "AAAAA")
		r, err := licensefile.ParseRequest(text)
		is.NoErr(err)
		is.Equal(r.Fingerprint, "pc-1")
		is.Equal(r.KeyHash, licensefile.KeyHash(o.Key))
		answer := s.file(func(c *licensefile.Claims) { c.Nonce = r.Nonce })
		other := s.file(func(c *licensefile.Claims) { c.Nonce = licensefile.NewRequest("", "pc-1").Nonce })
		require.ErrorIs(s.T, p.Install(other), licensefile.ErrNonce)
		is.NoErr(p.Close())

		p = s.open(o) // the user comes back another day
		again, err := p.Request()
		is.NoErr(err)
		is.Equal(again, text)
		is.NoErr(p.Install(answer))
		is.True(p.Status().Valid)
		is.NoErr(p.Install(answer)) // it is in use
		require.ErrorIs(s.T, p.Install(other), licensefile.ErrNonce)
		is.NoErr(p.Install(s.file())) // a file without a nonce answers no request
		next, err := p.Request()
		is.NoErr(err)
		is.True(next != text)

		o.State, o.Key = nil, ""
		p = s.open(o)
		text, err = p.Request()
		is.NoErr(err)
		r, err = licensefile.ParseRequest(text)
		is.NoErr(err)
		is.NoErr(p.Install(s.file(func(c *licensefile.Claims) { c.Nonce = r.Nonce })))
		is.True(p.Status().Valid)
		_, err = client.Fixed(client.Status{}).Request()
		is.True(err != nil)
	})
}
