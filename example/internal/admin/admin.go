// Package admin has the commands of an operator of the service: backups, checks,
// moves between stores, operators, credentials, customers, and keys. The calling
// program opens the database that --store names.
package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/licensing"
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
	{"backup", []string{"COPY"}, "copy a SQLite file, or write an archive of a PostgreSQL schema, also while it is in use", backup},
	{"restore", []string{"COPY"}, "put a copy in place of a lost SQLite file, or read an archive into an empty schema", restore},
	{"check", nil, "look for damage in a SQLite file, or read every record of a PostgreSQL schema", check},
	{"export", []string{"ARCHIVE"}, "write everything to an archive that any store reads", exportArchive},
	{"import", []string{"ARCHIVE"}, "read an archive into a new file or an empty schema", importArchive},
	{"move-in", []string{"EXPORT", "MODE"}, "read an export of Keygen (JSON) or a CSV file; MODE is check or write", moveIn},
	{"setup-code", nil, "create a code for the page that creates the first admin", setupCode},
	{"create-operator", []string{"EMAIL", "ROLE"}, "invite an operator; ROLE is admin, support or viewer", createOperator},
	{"reset-password", []string{"EMAIL"}, "let an operator choose a new password; a second factor remains", resetPassword},
	{"remove-second-factor", []string{"EMAIL"}, "let an operator who has lost the second factor sign in without it", removeSecondFactor},
	{"create-client", []string{"NAME", "SCOPES"}, "create an API client; SCOPES has commas, as in license:read,license:write", createClient},
	{"export-customer", []string{"CUSTOMER", "FILE"}, "write what is stored about a customer to a new file", exportCustomer},
	{"erase-customer", []string{"CUSTOMER"}, "delete the licenses of a customer, and blank the events about them", eraseCustomer},
	{"checkpoint", nil, "write the log of a SQLite file back, after an erasure, also while it is in use", checkpoint},
	{"create-keys", nil, "create the keys of license files if there are none, and print the published ones", createKeys},
	{"rotate-key", nil, "sign license files with the next key", rotateKey},
	{"reencrypt", nil, "encrypt secrets with the master key; the previous ones decrypt", reencrypt},
	{"verify", []string{"FILE", "KEYS"}, "check a license file with the keys of GET /file/keys", verify},
}

// A call is one run of a command.
type call struct {
	set      *settings.Set
	config   settings.Config // without secrets, after store
	args     []string
	open     Open
	out      io.Writer        // results
	progress io.Writer        // lines about long work
	now      func() time.Time // for progress
}

// Usage prints what the commands do.
func Usage(w io.Writer) {
	for _, c := range commands {
		fmt.Fprintf(w, "  %-31s %s\n", c.usage(), c.about)
	}
}

// Run runs the command that args name. Results go to out, and progress and help to
// logs. A wrong use is a [*settings.Error], which does not repeat the arguments.
func Run(ctx context.Context, program string, open Open, args []string, out, logs io.Writer) error {
	i := -1
	if len(args) > 0 {
		i = slices.IndexFunc(commands, func(c command) bool { return c.name == args[0] })
	}
	if i < 0 {
		text := "name a command first"
		if len(args) > 0 && strings.Trim(args[0], "abcdefghijklmnopqrstuvwxyz-") == "" { // and not the URL of a database
			text = fmt.Sprintf("there is no command %q", args[0])
		}
		return &settings.Error{Text: text + "; " + program + " help lists them"}
	}
	command := commands[i]
	set := settings.New(program+" "+command.name+" FLAGS "+strings.Join(command.args, " "), logs)
	set.AddConfig()
	set.AddStore()
	rest, err := set.Parse(args[1:])
	if err != nil {
		return err
	}
	if len(rest) != len(command.args) {
		return &settings.Error{Text: "usage: " + program + " " + command.name + " [--config FILE | --store STORE] " + strings.Join(command.args, " ")}
	}
	return command.run(ctx, &call{set: set, args: rest, open: open, out: out, progress: logs, now: time.Now})
}

func (c command) usage() string { return strings.Join(append([]string{c.name}, c.args...), " ") }

// store returns the name of the database.
func (c *call) store() (string, error) {
	c.config = c.set.Config("Store")
	return c.config.Store, c.set.Err()
}

// masterKeys returns options with the master keys.
func (c *call) masterKeys() (licensing.Options, error) {
	return c.set.Config("Options").Options, c.set.Err()
}

// with opens an existing database, calls fn and closes the database.
func (c *call) with(ctx context.Context, fn func(*Database) error) error {
	name, err := c.store()
	if err != nil {
		return err
	}
	db, err := c.open(ctx, name, false)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close())
}
