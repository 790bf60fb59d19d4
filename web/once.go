package web

import (
	"encoding/base64"
	"encoding/json"
)

// A new secret is shown once, by the page that its form redirects to. Reloading that page neither creates another
// secret nor shows this one again.
const (
	onceKey     = "once"
	oncePurpose = "shown once on "
)

// redirectOnce redirects the visitor to a page, which shows a value once.
func (v *pageRequest) redirectOnce(path string, value any) error {
	if err := v.putSealed(onceKey, oncePurpose+path, value); err != nil {
		return err
	}
	return v.redirect(path)
}

// takeOnce returns the value that the page shows this time only, or nil.
func takeOnce[T any](v *pageRequest) *T {
	var value T
	if !v.openSealed(onceKey, oncePurpose+v.r.URL.Path, &value) {
		return nil
	}
	v.web.scs.Remove(v.ctx(), onceKey)
	return &value
}

// putSealed stores a value in the session, encrypted for a purpose.
func (v *pageRequest) putSealed(key, purpose string, value any) error {
	plain, err := json.Marshal(value)
	if err != nil {
		return err
	}

	sealed, err := v.web.box.Seal(purpose, plain)
	if err != nil {
		return err
	}

	v.web.scs.Put(v.ctx(), key, base64.StdEncoding.EncodeToString(sealed))
	return nil
}

// openSealed reads a value of putSealed, and reports whether there is one for this purpose.
func (v *pageRequest) openSealed(key, purpose string, value any) bool {
	sealed, err := base64.StdEncoding.DecodeString(v.web.scs.GetString(v.ctx(), key))
	if err != nil || len(sealed) == 0 {
		return false
	}
	plain, err := v.web.box.Open(purpose, sealed)
	return err == nil && json.Unmarshal(plain, value) == nil
}
