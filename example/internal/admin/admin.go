// Package admin has the commands of an operator of the service: backups, checks,
// moves between stores, operators, credentials, customers, and keys. The calling
// command opens its database.
package admin

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Database is an open store.
type Database struct {
	store.Store
	Close func() error
	// Discard closes the store and removes what Open created. Nil: nothing
	// can be removed.
	Discard func() error
}

// Open opens the database of that name: one that exists or, if create is true,
// a new one.
type Open func(ctx context.Context, name string, create bool) (*Database, error)

// A command is one of the things that the program does.
type command struct {
	name  string
	args  []string // the names of its arguments
	about string
	run   func(ctx context.Context, c *call) error
}

var commands = []command{
	{"backup", []string{"DATABASE", "COPY"}, "copy a SQLite database, also while it is in use", backup},
	{"restore", []string{"COPY", "DATABASE"}, "put a copy in place of a lost SQLite database", restore},
	{"check", []string{"DATABASE"}, "look for damage in a SQLite database", check},
	{"export", []string{"DATABASE", "ARCHIVE"}, "write everything to an archive that any store reads", exportArchive},
	{"import", []string{"ARCHIVE", "DATABASE"}, "read an archive into a new database", importArchive},
	{"move-in", []string{"DATABASE", "EXPORT", "MODE"}, "read an export of Keygen (JSON) or a CSV file; MODE is check or write", moveIn},
	{"create-operator", []string{"DATABASE", "EMAIL", "ROLE"}, "invite an operator; ROLE is admin, support or viewer", createOperator},
	{"reset-password", []string{"DATABASE", "EMAIL"}, "let an operator choose a new password; a second factor remains", resetPassword},
	{"remove-second-factor", []string{"DATABASE", "EMAIL"}, "let an operator who has lost the second factor sign in without it", removeSecondFactor},
	{"create-client", []string{"DATABASE", "NAME", "SCOPES"}, "create API credentials; SCOPES has commas, as in license:read,license:write", createClient},
	{"erase-customer", []string{"DATABASE", "CUSTOMER"}, "delete the licenses of a customer, and blank the events about them", eraseCustomer},
	{"create-keys", []string{"DATABASE"}, "create the keys of license files if there are none, and print the published ones", createKeys},
	{"rotate-key", []string{"DATABASE"}, "sign license files with the next key; LICENSING_MASTER_KEY is the master key", rotateKey},
	{"reencrypt", []string{"DATABASE"}, "encrypt secrets with LICENSING_MASTER_KEY; LICENSING_PREVIOUS_MASTER_KEYS decrypts", reencrypt},
	{"verify", []string{"FILE", "KEYS"}, "check a license file with the keys of GET /file/keys", verify},
}

// A call is one run of a command.
type call struct {
	args     []string
	open     Open
	out      io.Writer        // results
	progress io.Writer        // lines about long work
	now      func() time.Time // for progress
}

// Main is the main function of a command.
func Main(program string, open Open) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	err := Run(ctx, program, open, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(1)
	}
}

// Run runs the command that args name. Results go to out, and progress and
// help to logs.
func Run(ctx context.Context, program string, open Open, args []string, out, logs io.Writer) error {
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	flags.SetOutput(logs)
	flags.Usage = func() {
		fmt.Fprintf(logs, "Usage: %s COMMAND ARGUMENTS\n\n", program)
		for _, c := range commands {
			fmt.Fprintf(logs, "  %-40s %s\n", c.usage(), c.about)
		}
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return errors.New("name a command")
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == flags.Arg(0) })
	if i < 0 {
		flags.Usage()
		return fmt.Errorf("unknown command %q", flags.Arg(0))
	}
	c := commands[i]
	if flags.NArg() != 1+len(c.args) {
		return errors.New("usage: " + program + " " + c.usage())
	}
	return c.run(ctx, &call{args: flags.Args()[1:], open: open, out: out, progress: logs, now: time.Now})
}

func (c command) usage() string { return c.name + " " + strings.Join(c.args, " ") }

// with opens an existing database, calls fn and closes the database.
func (c *call) with(ctx context.Context, name string, fn func(*Database) error) error {
	db, err := c.open(ctx, name, false)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close())
}
