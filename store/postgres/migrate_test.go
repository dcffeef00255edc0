package postgres

import (
	"testing"
	"testing/fstest"

	"github.com/matryer/is"
)

func TestMigrationsAreInOrder(t *testing.T) {
	for _, test := range []struct {
		name  string
		files []string
		want  string // in order; empty: an error
	}{
		{"one", []string{"0001_a"}, "0001_a "},
		{"by number", []string{"0002_a", "0001_b", "0003_c"}, "0001_b 0002_a 0003_c "},
		{"missing number", []string{"0001_a", "0003_c"}, ""},
		{"does not start at one", []string{"0002_a"}, ""},
		{"duplicate number", []string{"0001_a", "0001_b"}, ""},
		{"too few digits", []string{"1_a"}, ""},
		{"no number", []string{"a"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			files := fstest.MapFS{}
			for _, name := range test.files {
				files["migrations/"+name+".sql"] = &fstest.MapFile{Data: []byte(name + " ")}
			}
			texts, err := migrations(files)
			is.Equal(err != nil, test.want == "")
			got := ""
			for _, text := range texts {
				got += text
			}
			is.Equal(got, test.want)
		})
	}
}

func TestOwnMigrations(t *testing.T) {
	is := is.New(t)
	texts, err := migrations(migrationFiles)
	is.NoErr(err)
	is.Equal(len(texts), 1)
}
