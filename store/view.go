package store

import "context"

// ReaderFromView returns a Reader that makes each call in a View of its own, so
// that a backend which has View need not write the methods of its Store's
// [Reader]:
//
//	type Store struct{ store.Reader }
//
//	func New() *Store {
//		s := &Store{}
//		s.Reader = store.ReaderFromView(s.View)
//		return s
//	}
func ReaderFromView(view func(context.Context, func(Reader) error) error) Reader {
	return viewReader(view)
}

type viewReader func(context.Context, func(Reader) error) error

func inView[R any](ctx context.Context, view viewReader, read func(Reader) (R, error)) (found R, err error) {
	err = view(ctx, func(r Reader) error {
		found, err = read(r)
		return err
	})
	return found, err
}

func (v viewReader) License(ctx context.Context, id string) (License, error) {
	return inView(ctx, v, func(r Reader) (License, error) { return r.License(ctx, id) })
}

func (v viewReader) LicenseByKey(ctx context.Context, key string) (License, error) {
	return inView(ctx, v, func(r Reader) (License, error) { return r.LicenseByKey(ctx, key) })
}

func (v viewReader) Licenses(ctx context.Context, q LicenseQuery) ([]License, error) {
	return inView(ctx, v, func(r Reader) ([]License, error) { return r.Licenses(ctx, q) })
}

func (v viewReader) FindLicenses(ctx context.Context, q LicenseQuery) (found []License, next Position, err error) {
	found, err = inView(ctx, v, func(r Reader) (found []License, err error) {
		found, next, err = r.FindLicenses(ctx, q)
		return found, err
	})
	return found, next, err
}

func (v viewReader) CountLicenses(ctx context.Context, q LicenseQuery, edges ...Position) ([]int64, error) {
	return inView(ctx, v, func(r Reader) ([]int64, error) { return r.CountLicenses(ctx, q, edges...) })
}

func (v viewReader) LicenseNames(ctx context.Context, q NamesQuery) ([]NameCount, error) {
	return inView(ctx, v, func(r Reader) ([]NameCount, error) { return r.LicenseNames(ctx, q) })
}

func (v viewReader) Activation(ctx context.Context, licenseID, fingerprint string) (Activation, error) {
	return inView(ctx, v, func(r Reader) (Activation, error) { return r.Activation(ctx, licenseID, fingerprint) })
}

func (v viewReader) Activations(ctx context.Context, q ActivationQuery) ([]Activation, error) {
	return inView(ctx, v, func(r Reader) ([]Activation, error) { return r.Activations(ctx, q) })
}

func (v viewReader) Events(ctx context.Context, q EventQuery) ([]Event, error) {
	return inView(ctx, v, func(r Reader) ([]Event, error) { return r.Events(ctx, q) })
}

func (v viewReader) Entry(ctx context.Context, kind, key string) (Entry, error) {
	return inView(ctx, v, func(r Reader) (Entry, error) { return r.Entry(ctx, kind, key) })
}

func (v viewReader) Entries(ctx context.Context, q EntryQuery) ([]Entry, error) {
	return inView(ctx, v, func(r Reader) ([]Entry, error) { return r.Entries(ctx, q) })
}
