package find

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	pastedWords  = 500 // of a pasted text that are looked at
	keyWords     = 9   // that a generated key can be written as: five groups with dashes between them
	pastedLookUp = 10  // texts that can be keys or IDs

	punctuation = `"'` + "`" + `<>()[]{},;:.!?*|` // around a word
)

// FindPasted returns the license whose ID or key is a text or, in any form of a key, a part of
// it, such as of a sentence of a mail.
func (s Service) FindPasted(ctx context.Context, text string) (l api.License, ok bool, err error) {
	for _, part := range keysIn(text) {
		row, err := s.byName(ctx, part)
		if errors.Is(err, store.ErrNotFound) || err == nil && !s.Sees(row.ProductID) {
			continue
		}
		if err == nil {
			l, err = licenses.FromRow(row, s.Now())
		}
		return s.Shown(l), err == nil, err
	}
	return l, false, nil
}

// keysIn returns the text and those parts of it that can be IDs or keys, generated keys first.
func keysIn(text string) (parts []string) {
	words := slices.DeleteFunc(strings.Fields(text), func(word string) bool { return word == ">" }) // of a quoted mail
	words = words[:min(len(words), pastedWords)]
	parts = append(parts, text)
	for i := range words {
		for n := 1; n <= min(keyWords, len(words)-i); n++ {
			if key, ok := call.ParseKey(strings.Join(words[i:i+n], " ")); ok {
				parts = append(parts, key)
			}
		}
	}
	for _, word := range words {
		if word = strings.Trim(word, punctuation); call.IsKey(call.CanonicalKey(word)) {
			parts = append(parts, word)
		}
	}
	return parts[:min(len(parts), pastedLookUp)]
}

// byName returns the license with an ID or a typed key; the error is [store.ErrNotFound] if there
// is none.
func (s Service) byName(ctx context.Context, text string) (row store.License, err error) {
	r := s.Reader()
	err = store.ErrNotFound
	if record.IsID("lic", text) {
		row, err = r.License(ctx, text)
	}
	if !s.keyless && errors.Is(err, store.ErrNotFound) && call.IsKey(call.CanonicalKey(text)) {
		row, err = licenses.Of(s.Call).RowByKey(ctx, r, text)
	}
	return row, err
}

// AddressIn returns the first email address in a text; empty: there is none.
func (s Service) AddressIn(text string) string {
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(strings.TrimPrefix(strings.Trim(word, punctuation), "mailto:"), punctuation)
		if address := call.Address(word); address != "" && strings.EqualFold(address, word) {
			return word
		}
	}
	return ""
}
