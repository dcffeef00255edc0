package forms

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// openedName is the hidden value of a form of a record that says what its fields had
// when the page was made: the digest of each, so that fields that were not touched
// are known when the record has changed.
const openedName = "opened"

// opened returns the digests of the fields.
func (f *Form) opened() string {
	all := map[string]string{}
	for _, x := range f.Fields {
		all[x.Name] = digestOf(x.entered())
	}
	text, _ := json.Marshal(all) // strings always encode
	return string(text)
}

// Digest returns a version of what the form shows.
func (f *Form) Digest() string { return digestOf(f.opened()) }

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// entered returns what a field has, in words.
func (x *Field) entered() string {
	var list []string
	if value := strings.TrimSpace(x.Value); value != "" {
		if (x.Type == "datetime-local" || x.Type == "end") && len(value) == len("2006-01-02T15:04:05") {
			value = strings.TrimSuffix(value, ":00") // browsers omit seconds of zero
		}
		list = append(list, strings.Join(append([]string{value}, chosenLabels(x.Units)...), " "))
	}
	for _, p := range x.Pairs {
		if !p.Blank() {
			list = append(list, strings.TrimSpace(strings.TrimSpace(p.Name)+" "+strings.TrimSpace(p.Value)))
		}
	}
	for _, c := range x.Choices {
		list = append(list, chosenLabels(c.Options)...)
	}
	return strings.Join(append(list, chosenLabels(x.Options)...), ", ")
}

func chosenLabels(options []Option) (list []string) {
	for _, o := range options {
		if o.Chosen {
			list = append(list, o.Label)
		}
	}
	return list
}

// mergeForm returns the page of a submitted form whose record has changed since it was
// opened. A field that the operator had not touched has the value of the record; one
// that both have changed keeps what was entered, and says what the record has.
func mergeForm(v *kit.Visit, build func(*kit.Visit) (*FormPage, error)) (*FormPage, error) {
	p, err1 := buildForm(v, build)
	mine, err2 := build(v)
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	mine.Form.fill(v)
	var opened map[string]string
	_ = json.Unmarshal([]byte(v.Sent(openedName)), &opened) // without it, every field counts as touched
	for i, record := range p.Form.Fields {
		entered := mine.Form.Field(record.Name)
		was, known := opened[record.Name]
		if entered == nil || record.Type == "password" || known && digestOf(entered.entered()) == was {
			continue
		}
		if now := record.entered(); entered.Must == "" && now != entered.entered() && (!known || digestOf(now) != was) {
			if entered.Now = now; now == "" {
				entered.Now = "blank"
			}
		}
		p.Form.Fields[i] = entered
	}
	p.Form.Once = mine.Form.Once
	return p, nil
}
