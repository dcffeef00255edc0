package catalog

import (
	"encoding/binary"
	"slices"
)

// The terms of a license, without duplicates in either list.
type terms struct {
	own          []string // of its record
	fingerprints []string // of its activations
}

// all returns the terms without duplicates.
func (t terms) all() []string {
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

// encode encodes the terms: the number of the own ones, and for each term its
// length and itself. Numbers are varints.
func (t terms) encode() []byte {
	n := 2
	for _, list := range [][]string{t.own, t.fingerprints} {
		for _, term := range list {
			n += len(term) + 2
		}
	}
	data := binary.AppendUvarint(make([]byte, 0, n), uint64(len(t.own)))
	for _, list := range [][]string{t.own, t.fingerprints} {
		for _, term := range list {
			data = append(binary.AppendUvarint(data, uint64(len(term))), term...)
		}
	}
	return data
}

func decodeTerms(data []byte) (t terms, err error) {
	d := decoder{rest: string(data)}
	own := d.length()
	list := make([]string, 0, min(own, maxTerms))
	for d.rest != "" {
		list = append(list, d.text(d.length()))
	}
	if d.err != nil || own > uint64(len(list)) {
		return t, errGarbled
	}
	return terms{list[:own:own], list[own:]}, nil
}
