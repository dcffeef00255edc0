//go:build linux

package office

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

var namespaces = flag.Bool("namespaces", false, "run TestQuarter in network namespaces, in which machines reach the office only, and the office reaches nothing, and to the end of a license file")

// TestQuarter: the work with an office is done with texts that are carried by hand. It lends
// seats, gets more and fewer, new terms, and a revocation list, and reports usage.
func TestQuarter(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	s := newSite(t, api.Terms{
		MaxActivations: new(int64(8)), Entitlements: map[string]any{"users": 25}, Meters: map[string]api.Meter{"exports": {Limit: new(int64(100))}},
	})
	if *namespaces {
		s.separate()
	}
	users := func(want float64) func(saying) bool {
		return func(s saying) bool { return s.Code == api.VerdictValid && s.Users == want }
	}
	exports := func() int64 {
		page, err := s.vendor.Metering().ListUsage(ctx, api.ListUsageParams{LicenseID: s.license.ID})
		is.NoErr(err)
		if len(page.Data) == 0 {
			return 0
		}
		return page.Data[0].Used
	}

	s.carry(s.answer(s.request(2), api.Duration{Days: 10}))
	s.start()
	s.setLease(lease)
	m1, m2 := s.boot(job{Programs: 1, Exports: 3}), s.boot(job{Programs: 1, Exports: 4})
	for _, m := range []*machine{m1, m2} {
		m.until(t, "25 users", users(25))
	}
	m3 := s.boot(job{Programs: 1})
	m3.await(t, api.VerdictActivationLimit)

	// A renewal with new terms and more seats. The request reports usage.
	_, err := s.vendor.Service().Update(ctx, api.UpdateLicenseParams{ID: s.license.ID, Entitlements: api.To(map[string]any{"users": 30})})
	is.NoErr(err)
	is.Equal(exports(), int64(0))
	request := s.request(3)
	s.answer(request, api.Duration{Days: 10})
	s.carry(s.answer(request, api.Duration{Days: 10}))
	is.Equal(exports(), int64(7))
	for _, m := range []*machine{m1, m2, m3} {
		m.until(t, "30 users", users(30))
	}

	// Fewer seats: a lease later, one program may run.
	s.carry(s.answer(s.request(1), api.Duration{Days: 10}))
	s.awaitLog(`"seats":1,`)
	fewer := time.Now().Add(lease)
	time.Sleep(lease + time.Second)
	var spans []span
	for _, m := range []*machine{m1, m2, m3} {
		m.stop()
		spans = append(spans, m.spans()...)
	}
	n, _ := most(spans, fewer)
	is.True(n <= 1)
	s.eventually(api.VerdictValid)

	// A revocation list is put after the same file. A program asks for the list when it
	// starts. An answer of after a reinstatement is good again.
	_, err = s.vendor.Service().Suspend(ctx, api.ChangeStateParams{ID: s.license.ID})
	is.NoErr(err)
	list, err := s.vendor.Files().LicenseRevocations(ctx, "atlas", s.license.ID)
	is.NoErr(err)
	file, err := os.ReadFile(s.path("office.license"))
	is.NoErr(err)
	s.carry(strings.Fields(string(file))[0] + "\n" + list)
	s.eventually(api.VerdictRevoked)
	_, err = s.vendor.Service().Reinstate(ctx, api.ChangeStateParams{ID: s.license.ID})
	is.NoErr(err)
	last := api.Duration{Days: 10}
	if *namespaces {
		last = api.Duration{Minutes: 1}
	}
	s.carry(s.answer(s.request(1), last))
	ends := time.Now().Add(time.Minute)
	s.eventually(api.VerdictValid)

	if *namespaces {
		m1 = s.boot(job{Programs: 1, Exports: 5})
		m1.await(t, program.CodeFileExpired)
		is.True(time.Now().After(ends.Add(-10 * time.Second))) // the clock of a process is a little ahead
		s.carry(s.answer(s.request(1), api.Duration{Days: 10}))
		is.Equal(exports(), int64(12))
		m1.await(t, api.VerdictValid)
		m1.stop()
		s.isolated()
	}
	s.stop()
}

// awaitLog waits until the office has logged a text.
func (s *site) awaitLog(text string) {
	s.t.Helper()
	for range 600 {
		if strings.Contains(s.office.Log(), text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.t.Fatalf("the office has not logged %s:\n%s", text, s.office.Log())
}

// eventually starts a program again and again until it has a code.
func (s *site) eventually(code api.Code) {
	s.t.Helper()
	var got api.Code
	for range 60 {
		m := s.boot(job{Programs: 1})
		got = m.until(s.t, "anything", func(saying) bool { return true }).Code
		m.stop()
		if got == code {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	s.t.Fatalf("the program is %s, not %s", got, code)
}

// separate makes two network namespaces, one for the office and one for the machines, with
// a link between them and nothing else. They end with the test.
func (s *site) separate() {
	s.t.Helper()
	var ids []string
	for _, network := range []*[]string{&s.lender, &s.programs} {
		holder := exec.CommandContext(s.t.Context(), "sleep", "infinity")
		holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
		is.New(s.t).NoErr(holder.Start())
		s.t.Cleanup(func() { holder.Wait() })
		ids = append(ids, fmt.Sprint(holder.Process.Pid))
		*network = []string{"nsenter", "--net=/proc/" + ids[len(ids)-1] + "/ns/net", "--"}
	}
	s.shell(nil, "ip link add office netns "+ids[0]+" type veth peer name machines netns "+ids[1])
	s.shell(s.lender, "ip address add 10.77.0.1/24 dev office && ip link set office up")
	s.shell(s.programs, "ip address add 10.77.0.2/24 dev machines && ip link set machines up")
	s.addr = "10.77.0.1:8181"
}

// shell runs a command line in a network, and returns its output.
func (s *site) shell(network []string, line string) string {
	s.t.Helper()
	out, err := s.within(network, "sh", "-c", line).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// isolated checks that the machines can reach nothing but the office, and that the office
// has never tried to reach anything.
func (s *site) isolated() {
	s.t.Helper()
	is := is.New(s.t)
	is.Equal(strings.Fields(s.shell(s.programs, "ip route")), strings.Fields("10.77.0.0/24 dev machines proto kernel scope link src 10.77.0.2"))
	is.Equal(strings.Fields(s.shell(s.lender, "ip route")), strings.Fields("10.77.0.0/24 dev office proto kernel scope link src 10.77.0.1"))
	opened := func(network []string) (connections, datagrams string) {
		rows := strings.Split(s.shell(network, "cat /proc/net/snmp"), "\n")
		value := func(protocol, name string) string {
			i := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, protocol+": ") })
			return strings.Fields(rows[i+1])[slices.Index(strings.Fields(rows[i]), name)]
		}
		return value("Tcp", "ActiveOpens"), value("Udp", "OutDatagrams")
	}
	connections, datagrams := opened(s.programs)
	is.True(connections != "0")
	is.Equal(datagrams, "0")
	connections, datagrams = opened(s.lender)
	is.Equal(connections, "0")
	is.Equal(datagrams, "0")
}
