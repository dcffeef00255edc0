package license

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// wordKind is the kind of the entries that find licenses by words. Key is a word
// of the license's name or customer id, a space and the license's id. Whatever
// changes a license changes them in the same Update.
const wordKind = "word"

// commonWord is from how many licenses on a word is as common as any other.
const commonWord = 200

// wordsOf returns the keys of the entries of a license.
func wordsOf(l store.License) (keys []string) {
	for _, word := range terms(l.Name, l.CustomerID) {
		keys = append(keys, word+" "+l.ID)
	}
	return keys
}

// index puts and deletes the words of a license that was before and is after a
// change; the zero record stands for none.
func (tx *transaction) index(ctx context.Context, before, after store.License) error {
	var was, is []string
	if before.ID != "" {
		was = wordsOf(before)
	}
	if after.ID != "" {
		is = wordsOf(after)
	}
	var added []store.Entry
	for _, key := range is {
		if !slices.Contains(was, key) {
			added = append(added, store.Entry{Kind: wordKind, Key: key})
		}
	}
	gone := slices.DeleteFunc(was, func(key string) bool { return slices.Contains(is, key) })
	if len(gone) > 0 {
		// A license that came in another way may lack words.
		entries, err := tx.Entries(ctx, store.EntryQuery{Kind: wordKind, Keys: gone})
		if err != nil {
			return err
		}
		if err := tx.DeleteEntries(ctx, wordKind, keysOf(entries)...); err != nil {
			return err
		}
	}
	if len(added) == 0 {
		return nil
	}
	return tx.PutEntries(ctx, added...)
}

func keysOf(entries []store.Entry) []string {
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	return keys
}

// search returns the licenses of q that have all words; with no words, those of q.
// With words, q is in the order of ID.
func search(ctx context.Context, r store.Reader, q store.LicenseQuery, words []string) ([]store.License, error) {
	switch {
	case len(words) == 0:
		return r.Licenses(ctx, q)
	case q.CustomerID != "":
		return searchCustomer(ctx, r, q, words)
	}
	words, err := rarestFirst(ctx, r, words)
	if err != nil {
		return nil, err
	}
	prefix := words[0] + " "
	page := store.EntryQuery{Kind: wordKind, From: prefix, Before: store.PrefixEnd(prefix), Descending: q.Descending, Limit: commonWord}
	if q.After.ID != "" {
		page.After.ID = prefix + q.After.ID
	}
	limit := q.Limit
	q.After = store.Position{}
	var found []store.License
	for {
		entries, err := r.Entries(ctx, page)
		if err != nil {
			return nil, err
		}
		ids := make([]string, len(entries))
		for i, key := range keysOf(entries) {
			ids[i], page.After.ID = strings.TrimPrefix(key, prefix), key
		}
		for _, word := range words[1:] {
			if ids, err = having(ctx, r, word, ids); err != nil {
				return nil, err
			}
		}
		if len(ids) > 0 {
			q.IDs, q.Limit = ids, limit-len(found)
			recs, err := r.Licenses(ctx, q)
			if err != nil {
				return nil, err
			}
			found = append(found, recs...)
		}
		if len(found) >= limit || len(entries) < page.Limit {
			return found, nil
		}
	}
}

// searchCustomer looks for words in the licenses of one customer.
func searchCustomer(ctx context.Context, r store.Reader, q store.LicenseQuery, words []string) (found []store.License, err error) {
	limit := q.Limit
	q.Limit = commonWord
	for {
		recs, err := r.Licenses(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, rec := range recs {
			q.After = position(q.Order, rec)
			its := terms(rec.Name, rec.CustomerID)
			if !slices.ContainsFunc(words, func(word string) bool { return !slices.Contains(its, word) }) {
				found = append(found, rec)
			}
		}
		if len(found) >= limit {
			return found[:limit], nil
		}
		if len(recs) < q.Limit {
			return found, nil
		}
	}
}

// rarestFirst returns the words with the one first that the fewest licenses have,
// as far as a short look tells.
func rarestFirst(ctx context.Context, r store.Reader, words []string) ([]string, error) {
	if len(words) == 1 {
		return words, nil
	}
	rarest, fewest := 0, commonWord+1
	for i, word := range words {
		entries, err := r.Entries(ctx, store.EntryQuery{Kind: wordKind, From: word + " ", Before: store.PrefixEnd(word + " "), Limit: commonWord})
		if err != nil {
			return nil, err
		}
		if len(entries) < fewest {
			rarest, fewest = i, len(entries)
		}
	}
	words = slices.Clone(words)
	words[0], words[rarest] = words[rarest], words[0]
	return words, nil
}

// having returns those ids whose licenses have a word.
func having(ctx context.Context, r store.Reader, word string, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = word + " " + id
	}
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: wordKind, Keys: keys})
	if err != nil {
		return nil, err
	}
	having := make([]string, len(entries))
	for i, e := range entries {
		having[i] = strings.TrimPrefix(e.Key, word+" ")
	}
	return having, nil
}
