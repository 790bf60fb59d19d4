package blob

import (
	"context"
	"errors"
	"strings"
)

// pair is a place and a former one, from which blobs are moved.
type pair struct {
	Store

	former Store
}

// NewPair returns blobs in two places: what is put goes to the first, and what
// is not there is looked for in the former one. List tells of what is in both twice.
func NewPair(first, former Store) Store { return &pair{first, former} }

// Open looks into the first place again at the end: the blob may have been moved
// meanwhile.
func (p *pair) Open(ctx context.Context, key string) (Content, int64, error) {
	content, size, err := p.Store.Open(ctx, key)
	if err == nil {
		return content, size, nil
	}
	content, size, formerErr := p.former.Open(ctx, key)
	switch {
	case formerErr == nil:
		return content, size, nil
	case !errors.Is(err, ErrMissing):
		return nil, 0, err
	case !errors.Is(formerErr, ErrMissing):
		return nil, 0, formerErr
	}
	return p.Store.Open(ctx, key)
}

// Delete begins with the former place: what is moved from it meanwhile is then
// deleted where it went, or an orphan there.
func (p *pair) Delete(ctx context.Context, key string) error {
	return errors.Join(p.former.Delete(ctx, key), p.Store.Delete(ctx, key))
}

// formerPlace begins places in the former place; no other does.
const formerPlace = "former/"

func (p *pair) List(ctx context.Context, after string, yield func(Entry) error) error {
	after, inFormer := strings.CutPrefix(after, formerPlace)
	if !inFormer {
		if err := p.Store.List(ctx, after, yield); err != nil {
			return err
		}
		after = ""
	}
	return p.former.List(ctx, after, func(e Entry) error {
		e.Place = formerPlace + e.Place
		return yield(e)
	})
}

func (p *pair) Sweep(ctx context.Context) error {
	return errors.Join(p.Store.Sweep(ctx), p.former.Sweep(ctx))
}

// Unwrap returns the first place.
func (p *pair) Unwrap() Store { return p.Store }

// As finds what a store, or the one that it stands before, can do besides.
func As[T any](s Store) (T, bool) {
	for {
		if found, ok := s.(T); ok {
			return found, true
		}
		before, ok := s.(interface{ Unwrap() Store })
		if !ok {
			var none T
			return none, false
		}
		s = before.Unwrap()
	}
}
