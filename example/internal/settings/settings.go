// Package settings reads the settings of a command from flags and, for flags that are
// not given, from the environment: --store is LICENSEKIT_STORE there.
package settings

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing"
)

// An Error says what is wrong with the settings or the arguments of a command. It
// repeats none of them, because each may be the URL of a database with a password.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// A Set has the flags of one command.
type Set struct {
	flags    *flag.FlagSet
	problems []string

	store, masterKey, previousKeys *string
}

// New returns a set with the flags that every command has. usage is the form of the
// command, without its flags.
func New(usage string, help io.Writer) *Set {
	s := &Set{flags: flag.NewFlagSet("", flag.ContinueOnError)}
	s.flags.SetOutput(io.Discard) // Parse returns errors
	s.flags.Usage = func() {
		fmt.Fprintf(help, "Usage: %s\n\nA flag that is not given is read from the variable beside it.\n\n", usage)
		s.flags.VisitAll(func(f *flag.Flag) {
			usage := f.Usage
			if f.DefValue != "" {
				usage += "; default: " + f.DefValue
			}
			fmt.Fprintf(help, "  --%-28s %s\n      %s\n", f.Name, variable(f.Name), usage)
		})
	}
	s.store = s.String("store", "", "the path of a SQLite file, or the URL of a PostgreSQL database, postgres://USER@HOST/DATABASE, whose search_path, if any, names the schema")
	s.masterKey = s.String("master-key-file", "", "a file with the key that encrypts secrets in the store: at least 32 random bytes in base64")
	s.previousKeys = s.String("previous-master-keys-file", "", "a file with earlier keys, one a line, which only decrypt")
	return s
}

// String adds a flag.
func (s *Set) String(name, value, usage string) *string { return s.flags.String(name, value, usage) }

// Parse reads the flags and then the environment, and returns the other arguments. It
// returns flag.ErrHelp if help was asked for and printed.
func (s *Set) Parse(args []string) ([]string, error) {
	if err := s.flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil, err
	} else if err != nil {
		return nil, &Error{"unknown flag, or a flag without a value; see -help"}
	}
	given := make(map[string]bool)
	s.flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	s.flags.VisitAll(func(f *flag.Flag) {
		value, set := os.LookupEnv(variable(f.Name))
		switch {
		case given[f.Name] || !set:
		case value == "":
			s.Reject(f.Name, "the variable is set and empty; unset it or give it a value")
		default:
			f.Value.Set(value)
		}
	})
	return s.flags.Args(), nil
}

// Reject notes what is wrong with a flag, for Err.
func (s *Set) Reject(name, problem string) {
	s.problems = append(s.problems, fmt.Sprintf("--%s (%s): %s", name, variable(name), problem))
}

// Err returns an [*Error] with everything that was rejected, or nil.
func (s *Set) Err() error {
	if len(s.problems) == 0 {
		return nil
	}
	return &Error{strings.Join(s.problems, "\n")}
}

// Store returns the name of the store.
func (s *Set) Store() string {
	name := *s.store
	if name == "" {
		s.Reject("store", "name a SQLite file or a PostgreSQL database")
	} else if !IsPostgres(name) && (strings.Contains(name, "://") || strings.Contains(name, "=")) {
		s.Reject("store", "must be the path of a SQLite file, without = and ://, or a URL such as postgres://USER@HOST/DATABASE")
	}
	return name
}

// IsPostgres reports whether a store is the URL of a PostgreSQL database.
func IsPostgres(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}

// MasterKeys returns options with the master keys.
func (s *Set) MasterKeys() (opts licensing.Options) {
	current := s.keys("master-key-file", *s.masterKey)
	if len(current) > 1 {
		s.Reject("master-key-file", "the file has more than one key")
	}
	if len(current) == 1 {
		opts.MasterKey = current[0]
	}
	opts.PreviousMasterKeys = s.keys("previous-master-keys-file", *s.previousKeys)
	if len(opts.PreviousMasterKeys) > 0 && len(current) == 0 {
		s.Reject("previous-master-keys-file", "needs --master-key-file, the key that encrypts from now on")
	}
	return opts
}

// keys reads the keys of a file, unless it has no name.
func (s *Set) keys(flag, file string) (keys [][]byte) {
	if file == "" {
		return nil
	}
	text := s.File(flag, file)
	for word := range strings.FieldsSeq(text) {
		key, err := base64.StdEncoding.DecodeString(word)
		if err != nil || len(key) < 32 {
			s.Reject(flag, "a key must be at least 32 bytes in base64, as of: openssl rand -base64 32") // err would reveal a part of the key
			return nil
		}
		keys = append(keys, key)
	}
	return keys
}

// File returns the text of a file, which must not be empty.
func (s *Set) File(flag, name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		s.Reject(flag, err.Error())
	} else if strings.TrimSpace(string(text)) == "" {
		s.Reject(flag, "the file is empty")
	}
	return strings.TrimSpace(string(text))
}

func variable(flag string) string {
	return "LICENSEKIT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
