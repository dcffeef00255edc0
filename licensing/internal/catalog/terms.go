package catalog

import (
	"encoding/binary"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/record"
)

// The terms of a license: what it is counted by, and the words that find it,
// without duplicates in either list.
type terms struct {
	counted      counted
	own          []string // words of its record
	fingerprints []string // words of its activations
}

// termsOf returns the terms of a license whose activations have these words.
func termsOf(l record.License, fingerprints []string) (t terms, err error) {
	t.counted, t.fingerprints = countedOf(l), fingerprints
	t.own, err = recordTerms(l)
	return t, err
}

func (t terms) equal(u terms) bool {
	return t.counted == u.counted && slices.Equal(t.own, u.own) && slices.Equal(t.fingerprints, u.fingerprints)
}

// words returns all words without duplicates.
func (t terms) words() []string {
	if len(t.fingerprints) == 0 {
		return t.own
	}
	list := slices.Clone(t.own)
	for _, term := range t.fingerprints {
		if !slices.Contains(t.own, term) {
			list = append(list, term)
		}
	}
	return list
}

// encode encodes the terms: what the license is counted by, the number of its own
// words, and all words. Each text follows its length. Numbers are varints.
func (t terms) encode() []byte {
	c := t.counted
	n := len(c.state) + len(c.product) + len(c.customer) + 30
	for _, list := range [][]string{t.own, t.fingerprints} {
		for _, term := range list {
			n += len(term) + 2
		}
	}
	data := make([]byte, 0, n)
	for _, text := range []string{c.state, c.product, c.customer} {
		data = appendText(data, text)
	}
	for _, ms := range []int64{c.created, c.starts, c.expires} {
		data = binary.AppendVarint(data, ms)
	}
	data = binary.AppendUvarint(data, uint64(len(t.own)))
	for _, list := range [][]string{t.own, t.fingerprints} {
		for _, term := range list {
			data = appendText(data, term)
		}
	}
	return data
}

func appendText(data []byte, text string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(text))), text...)
}

func decodeTerms(data []byte) (t terms, err error) {
	d := decoder{rest: string(data)}
	t.counted = counted{
		state: d.text(d.length()), product: d.text(d.length()), customer: d.text(d.length()),
		created: d.integer(), starts: d.integer(), expires: d.integer(),
	}
	own := d.length()
	list := make([]string, 0, min(own, maxTerms))
	for d.rest != "" {
		list = append(list, d.text(d.length()))
	}
	if d.err != nil || own > uint64(len(list)) {
		return terms{}, errGarbled
	}
	t.own, t.fingerprints = list[:own:own], list[own:]
	return t, nil
}
