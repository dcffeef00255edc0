package host

import (
	"errors"
	"flag"
	"io"
	"strings"
)

// settings hold the command-line flags.
type settings struct {
	addr      string
	lan       bool     // listen on an address that is not loopback
	database  string   // empty: a temporary one
	seed      bool     // put the sample licenses into a new database that is kept
	newClient string   // empty: none asked for
	products  []string // nil: no limit
	smtp      string   // where keys are mailed from; empty: none are
	mailFrom  string
}

func parseSettings(b Backend, args []string, usage io.Writer) (settings, error) {
	var s settings
	var products string
	flags := flag.NewFlagSet(b.Program, flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8080", "loopback `address` to listen on; if the port is taken, the next free one")
	flags.BoolVar(&s.lan, "lan", false, "accept an -addr that others on the network reach, as 0.0.0.0:8080; without TLS, for trials only")
	flags.StringVar(&s.database, b.Flag, "", b.Usage)
	flags.BoolVar(&s.seed, "seed", false, "put 40 sample licenses into a new database that is kept; a temporary one always gets them")
	flags.StringVar(&s.newClient, "new-client", "", "issue credentials for a new API client of this `name`")
	flags.StringVar(&products, "products", "", "with -new-client: limit it to these product ids, as in `a,b`")
	flags.StringVar(&s.smtp, "smtp", "", "mail the keys of new licenses, to the `email` in their metadata, with the SMTP server at this host:port; SMTP_USER and SMTP_PASSWORD sign in")
	flags.StringVar(&s.mailFrom, "mail-from", "licenses@localhost", "with -smtp: the `address` of the sender")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	if flags.NArg() > 0 {
		return settings{}, errors.New("unexpected argument " + flags.Arg(0) + "; see -help")
	}
	if products != "" {
		if s.newClient == "" {
			return settings{}, errors.New("-products limits a new client: add -new-client NAME")
		}
		for p := range strings.SplitSeq(products, ",") {
			s.products = append(s.products, strings.TrimSpace(p))
		}
	}
	return s, nil
}
