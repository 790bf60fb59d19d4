package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

func TestInputsAreStoredOnlyIfEnabled(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c := f.begin(t, f.newCall(2000))
		add := func() {
			t.Helper()
			if err := f.AddStoredInput(t.Context(), f.acc.ID, c.ID, []byte("sealed")); err != nil {
				t.Fatal(err)
			}
		}
		want := func(text string) {
			t.Helper()
			got, err := f.StoredInput(t.Context(), f.acc.ID, c.ID)
			if string(got) != text || (text == "") != errors.Is(err, store.ErrNotFound) {
				t.Errorf("got %q, %v, want %q", got, err, text)
			}
		}
		choose := func(keep bool) {
			t.Helper()
			if err := f.SetKeepInputs(t.Context(), f.acc.ID, keep); err != nil {
				t.Fatal(err)
			}
			if account, err := f.Account(t.Context(), f.acc.ID); err != nil || account.KeepInputs != keep {
				t.Errorf("the account is %+v, %v", account, err)
			}
		}
		add()
		want("") // unset
		choose(true)
		add()
		add()
		want("sealed")
		if _, err := f.StoredInput(t.Context(), "acc_other", c.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another account reads the input: %v", err)
		}
		choose(false)
		want("")
		choose(true)
		if err := f.AddStoredInput(t.Context(), f.acc.ID, c.ID, make([]byte, store.MaxStoredInput+1)); err != nil {
			t.Error(err)
		}
		want("") // too long
		add()
		f.clock.Advance(store.StoredInputLife)
		want("")
		if err := f.DeleteExpired(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if left, err := f.DB().NewSelect().Table("kept_inputs").Count(t.Context()); err != nil || left != 0 {
			t.Errorf("%d inputs are left, %v", left, err)
		}
		if err := f.SetKeepInputs(t.Context(), "acc_unknown", true); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown account: %v", err)
		}
	})
}

func TestStepsAddUp(t *testing.T) {
	t.Parallel()
	var s store.Steps
	s = s.With("load", time.Millisecond).With("upload", 2*time.Millisecond).With("print", 3*time.Millisecond).With("load", 1500*time.Microsecond).With("tiny", time.Microsecond)
	if s != "load 2500,upload 2000,print 3000" {
		t.Errorf("got %q", s)
	}
	if list := s.List(); len(list) != 3 || list[0] != (store.Step{Name: "load", Took: 2500 * time.Microsecond}) {
		t.Errorf("got %v", list)
	}
	for range 100 {
		s = s.With("step"+time.Duration(len(s)).String(), time.Hour)
	}
	if len(s) > 400 {
		t.Errorf("the steps take %d bytes", len(s))
	}
}
