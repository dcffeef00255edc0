// Package settings reads the settings of a command from flags, for flags that are not given
// from the environment, where --store is LICENSEKIT_STORE, and from a configuration file.
package settings

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
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
	given    map[string]bool // whether a flag or its variable is
	problems []string
	config   string                     // the path of the configuration file; empty: none
	values   map[string]json.RawMessage // what the file says, by path
}

// New returns a set without flags. usage is the form of the command, without its flags.
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
	return s
}

// AddConfig adds the flag of the configuration file.
func (s *Set) AddConfig() {
	s.flags.StringVar(&s.config, "config", "", "a configuration file; other flags, and variables, win over what it says")
}

// AddStore adds the flags of the store and of its keys.
func (s *Set) AddStore() {
	s.String("store", "", "the path of a SQLite file, or the URL of a PostgreSQL database, postgres://USER@HOST/DATABASE, whose search_path, if any, names the schema")
	s.String("master-key-file", "", "a file with the key that encrypts secrets in the store: at least 32 random bytes in base64")
	s.String("previous-master-keys-file", "", "a file with earlier keys, one a line, which only decrypt")
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
	s.given = make(map[string]bool)
	s.flags.Visit(func(f *flag.Flag) { s.given[f.Name] = true })
	s.flags.VisitAll(func(f *flag.Flag) {
		value, set := os.LookupEnv(variable(f.Name))
		switch {
		case s.given[f.Name] || !set:
		case value == "":
			s.Reject(f.Name, "the variable is set and empty; unset it or give it a value")
		default:
			f.Value.Set(value)
			s.given[f.Name] = true
		}
	})
	return s.flags.Args(), nil
}

// ParseFlags is Parse for a command that has no other arguments.
func (s *Set) ParseFlags(args []string) error {
	rest, err := s.Parse(args)
	if err == nil && len(rest) > 0 {
		err = &Error{"this command has flags only; see -help"}
	}
	return err
}

// value returns the value of a flag or of its variable, also if the command lacks the flag.
func (s *Set) value(name string) (value string, given bool) {
	if f := s.flags.Lookup(name); f != nil {
		return f.Value.String(), s.given[name]
	}
	value = os.Getenv(variable(name))
	return value, value != ""
}

// Reject notes what is wrong with a flag, or with the setting at a path, such as TLSCert, for
// Err. It names the setting where it was made.
func (s *Set) Reject(name, problem string) {
	flag := name
	if name[0] >= 'A' && name[0] <= 'Z' {
		flag = flagOf[name]
		if _, given := s.value(flag); flag == "" || s.config != "" && !given {
			s.note(s.config + ": " + name + " " + problem)
			return
		}
	}
	s.note(fmt.Sprintf("--%s (%s): %s", flag, variable(flag), problem))
}

// note notes a problem once.
func (s *Set) note(problem string) {
	if !slices.Contains(s.problems, problem) {
		s.problems = append(s.problems, problem)
	}
}

// Err returns an [*Error] with everything that was rejected, or nil.
func (s *Set) Err() error {
	if len(s.problems) == 0 {
		return nil
	}
	return &Error{strings.Join(s.problems, "\n")}
}

// IsPostgres reports whether a store is the URL of a PostgreSQL database.
func IsPostgres(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}

// masterKeys puts the master keys of flags into options.
func (s *Set) masterKeys(opts *licensing.Options) {
	current, isGiven := s.value("master-key-file")
	previous, arePreviousGiven := s.value("previous-master-keys-file")
	if isGiven {
		opts.MasterKey = nil
		if keys := s.keys("master-key-file", current); len(keys) > 1 {
			s.Reject("master-key-file", "the file has more than one key")
		} else if len(keys) == 1 {
			opts.MasterKey = keys[0]
		}
	}
	if arePreviousGiven {
		opts.PreviousMasterKeys = s.keys("previous-master-keys-file", previous)
	}
}

// keys reads the keys of a file.
func (s *Set) keys(flag, file string) (keys [][]byte) {
	text := s.ReadFile(flag, file)
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

// ReadFile returns the text of a file, which must not be empty.
func (s *Set) ReadFile(flag, name string) string {
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
