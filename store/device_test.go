package store_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// askedFor is a machine that has asked for a key.
func (f *fixture) askedFor(t *testing.T) store.DeviceCodes {
	t.Helper()
	codes, err := f.CreateDevice(t.Context(), store.NewDevice{Machine: "lantern-ci-02", System: "Linux arm64", Address: "203.0.113.40"})
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

// typed lets a user type the code of a machine.
func (f *fixture) typed(t *testing.T, codes store.DeviceCodes, person store.User) {
	t.Helper()
	if _, err := f.ClaimDevice(t.Context(), codes.Typed, person.ID); err != nil {
		t.Fatal(err)
	}
}

// member makes a user who has a role in the fixture's account.
func (f *fixture) member(t *testing.T, email, role string) store.User {
	t.Helper()
	p := f.newPerson(t, email)
	if err := f.AddMember(t.Context(), f.acc.ID, p.ID, role); err != nil {
		t.Fatal(err)
	}
	return p
}

// answers asks for a device's key and wants a refusal.
func (f *fixture) answers(t *testing.T, codes store.DeviceCodes, want error) {
	t.Helper()
	if got, err := f.CollectKey(t.Context(), codes.Secret, nil); !errors.Is(err, want) || got.Secret != "" {
		t.Errorf("got a key %v, %v; want %v", got.Secret != "", err, want)
	}
}

// TestDeviceGetsAKey: a code is typed, a user approves, and the device's request makes the key, with the approved
// permissions, an entry in the log and emails.
func TestDeviceGetsAKey(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.member(t, "owner@example.com", store.RoleOwner)
		f.member(t, "viewer@example.com", store.RoleViewer)
		dev := f.member(t, "dev@example.com", store.RoleDeveloper)
		codes := f.askedFor(t)
		if len(codes.Secret) < 40 || len(codes.Typed) != 9 || store.ShownCode(codes.Typed) != codes.Typed {
			t.Fatalf("got the codes %q and %q", codes.Secret, codes.Typed)
		}
		f.answers(t, codes, store.ErrWaiting)
		device, err := f.ClaimDevice(ctx, " "+strings.ToLower(strings.ReplaceAll(codes.Typed, "-", " ")), dev.ID)
		if err != nil || device.Machine != "lantern-ci-02" || device.System != "Linux arm64" || device.Address != "203.0.113.40" || !device.ExpiresAt.Equal(f.clock.Now().Add(store.DeviceLife)) {
			t.Fatalf("got %+v, %v", device, err)
		}
		limit, ends := 5*credit.Dollar, f.clock.Now().Add(90*24*time.Hour)
		if err := f.ApproveDevice(ctx, device.ID, dev.ID, store.NewKey{AccountID: f.acc.ID, Name: "cli lantern-ci-02", Test: true, SpendLimit: &limit, ExpiresAt: &ends}); err != nil {
			t.Fatal(err)
		}
		keys, err := f.Keys(ctx, f.acc.ID)
		if err != nil || len(keys) != 1 {
			t.Fatalf("before the device asks there are %d keys, %v; want the one of before", len(keys), err)
		}
		f.clock.Advance(store.DevicePause)
		var told []string
		got, err := f.CollectKey(ctx, codes.Secret, func(key store.Key, device store.Device, to []string) ([]store.QueuedEmail, error) {
			told = append([]string{key.Name, device.Machine}, to...)
			return []store.QueuedEmail{{ID: f.NewID("let"), Sealed: []byte("sealed")}}, nil
		})
		if err != nil || got.Account != "ada@example.com" {
			t.Fatalf("got %+v, %v", got.Key, err)
		}
		if want := []string{"cli lantern-ci-02", "lantern-ci-02", "dev@example.com", "owner@example.com"}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
		if letters, err := f.ClaimEmails(ctx, 5); err != nil || len(letters) != 1 {
			t.Errorf("%d letters wait, %v; want 1", len(letters), err)
		}
		key, account, err := f.KeyBySecret(ctx, got.Secret)
		if err != nil || account.ID != f.acc.ID || key.Name != "cli lantern-ci-02" || !key.Test || !strings.HasPrefix(got.Secret, store.TestPrefix) || key.SpendLimit == nil || *key.SpendLimit != limit ||
			key.ExpiresAt == nil || !key.ExpiresAt.Equal(ends) {
			t.Errorf("the key is %+v of %s, %v", key, account.ID, err)
		}
		entries, err := f.AuditEntries(ctx, f.acc.ID, "", 10)
		if err != nil || len(entries) != 1 || entries[0].Action != "key.made" || entries[0].Who != "dev@example.com" || entries[0].PersonID != dev.ID || entries[0].Address != "203.0.113.40" ||
			!strings.Contains(entries[0].Note, "lantern-ci-02") {
			t.Errorf("the log tells %+v, %v", entries, err)
		}
	})
}

// TestDeviceCodesWorkOnce: a second request with the same secret comes from someone else, or the response was lost:
// either way the key must not stay.
func TestDeviceCodesWorkOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		dev := f.member(t, "dev@example.com", store.RoleDeveloper)
		codes := f.askedFor(t)
		f.typed(t, codes, dev)
		key := store.NewKey{AccountID: f.acc.ID, Name: "cli"}
		if err := f.ApproveDevice(ctx, codes.Device.ID, dev.ID, key); err != nil {
			t.Fatal(err)
		}
		if err := f.ApproveDevice(ctx, codes.Device.ID, dev.ID, key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("approved twice: %v", err)
		}
		if _, err := f.ClaimDevice(ctx, codes.Typed, dev.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("typed after the decision: %v", err)
		}
		got, err := f.CollectKey(ctx, codes.Secret, nil)
		if err != nil {
			t.Fatal(err)
		}
		f.answers(t, codes, store.ErrUsed)
		if _, _, err := f.KeyBySecret(ctx, got.Secret); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a key whose code came twice works: %v", err)
		}
	})
}

// TestDeviceKeyIsMadeOnceUnderConcurrency asks from many sides at the same moment.
func TestDeviceKeyIsMadeOnceUnderConcurrency(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		dev := f.member(t, "dev@example.com", store.RoleDeveloper)
		codes := f.askedFor(t)
		f.typed(t, codes, dev)
		if err := f.ApproveDevice(ctx, codes.Device.ID, dev.ID, store.NewKey{AccountID: f.acc.ID, Name: "cli"}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for range 8 {
			wg.Go(func() {
				_, err := f.CollectKey(ctx, codes.Secret, nil)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made++
				} else if !errors.Is(err, store.ErrUsed) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		if keys, err := f.Keys(ctx, f.acc.ID); err != nil || made != 1 || len(keys) != 2 {
			t.Errorf("%d answers had a key, there are %d keys, %v; want 1 and 2", made, len(keys), err)
		}
	})
}

// TestDevicesAskPolitely: a device that asks too early waits longer each time, and expired, denied and unknown codes
// have their own errors.
func TestDevicesAskPolitely(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		dev := f.member(t, "dev@example.com", store.RoleDeveloper)
		codes := f.askedFor(t)
		f.answers(t, codes, store.ErrWaiting)
		f.answers(t, codes, store.ErrTooEarly) // waits 10 s now
		f.clock.Advance(store.DevicePause)
		f.answers(t, codes, store.ErrTooEarly) // waits 15 s now
		f.clock.Advance(3*store.DevicePause - time.Second)
		f.answers(t, codes, store.ErrWaiting)
		f.clock.Advance(3 * store.DevicePause)
		f.typed(t, codes, dev)
		if err := f.DenyDevice(ctx, codes.Device.ID, dev.ID); err != nil {
			t.Fatal(err)
		}
		f.answers(t, codes, store.ErrDenied)
		if err := f.ApproveDevice(ctx, codes.Device.ID, dev.ID, store.NewKey{AccountID: f.acc.ID}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("approved what was denied: %v", err)
		}

		late := f.askedFor(t)
		f.typed(t, late, dev)
		f.clock.Advance(store.DeviceLife)
		f.answers(t, late, store.ErrExpired)
		if _, err := f.ClaimDevice(ctx, late.Typed, dev.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("typed after its time: %v", err)
		}
		if err := f.ApproveDevice(ctx, late.Device.ID, dev.ID, store.NewKey{AccountID: f.acc.ID}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("approved after its time: %v", err)
		}
		f.answers(t, store.DeviceCodes{Secret: "guess"}, store.ErrNotFound)
		f.answers(t, store.DeviceCodes{Secret: codes.Typed}, store.ErrNotFound)
	})
}

// TestLateApprovalCanBeCollected: at the last second there is still time to ask.
func TestLateApprovalCanBeCollected(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		dev := f.member(t, "dev@example.com", store.RoleDeveloper)
		codes := f.askedFor(t)
		f.typed(t, codes, dev)
		f.clock.Advance(store.DeviceLife - time.Second)
		if err := f.ApproveDevice(t.Context(), codes.Device.ID, dev.ID, store.NewKey{AccountID: f.acc.ID, Name: "cli"}); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(30 * time.Second)
		if _, err := f.CollectKey(t.Context(), codes.Secret, nil); err != nil {
			t.Error(err)
		}
	})
}

// TestOnlyTheUserOfTheCodeDecides: an ID alone opens nothing, and a code that one user has typed is not available to
// another.
func TestOnlyTheUserOfTheCodeDecides(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		dev, other := f.member(t, "dev@example.com", store.RoleDeveloper), f.member(t, "other@example.com", store.RoleDeveloper)
		codes := f.askedFor(t)
		key := store.NewKey{AccountID: f.acc.ID}
		if err := f.ApproveDevice(ctx, codes.Device.ID, dev.ID, key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("approved before anybody typed the code: %v", err)
		}
		if _, err := f.ClaimedDevice(ctx, codes.Device.ID, dev.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an id alone shows a device: %v", err)
		}
		f.typed(t, codes, dev)
		if _, err := f.ClaimedDevice(ctx, codes.Device.ID, dev.ID); err != nil {
			t.Errorf("who typed the code: %v", err)
		}
		if _, err := f.ClaimDevice(ctx, codes.Typed, other.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("typed by another as well: %v", err)
		}
		for doing, err := range map[string]error{"approved": f.ApproveDevice(ctx, codes.Device.ID, other.ID, key), "denied": f.DenyDevice(ctx, codes.Device.ID, other.ID)} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s by another: %v", doing, err)
			}
		}
	})
}

// TestUserWhoLeavesMakesNoKey: between the approval and the device's question a user may leave, become a viewer, or the
// account be given up or suspended.
func TestUserWhoLeavesMakesNoKey(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, f *fixture, person string) error{
		"left": func(t *testing.T, f *fixture, person string) error {
			return f.RemoveMember(t.Context(), f.acc.ID, person)
		},
		"viewer": func(t *testing.T, f *fixture, person string) error {
			return f.SetMemberRole(t.Context(), f.acc.ID, person, store.RoleViewer)
		},
		"ending": func(t *testing.T, f *fixture, _ string) error {
			_, err := f.ScheduleDeletion(t.Context(), f.acc.ID)
			return err
		},
		"suspended": func(t *testing.T, f *fixture, _ string) error {
			return f.Suspend(t.Context(), f.acc.ID, "abuse")
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, f *fixture) {
				f.member(t, "owner@example.com", store.RoleOwner)
				dev := f.member(t, "dev@example.com", store.RoleDeveloper)
				codes := f.askedFor(t)
				f.typed(t, codes, dev)
				if err := f.ApproveDevice(t.Context(), codes.Device.ID, dev.ID, store.NewKey{AccountID: f.acc.ID}); err != nil {
					t.Fatal(err)
				}
				if err := change(t, f, dev.ID); err != nil {
					t.Fatal(err)
				}
				f.answers(t, codes, store.ErrDenied)
				if keys, err := f.Keys(t.Context(), f.acc.ID); err != nil || len(keys) != 1 {
					t.Errorf("there are %d keys, %v", len(keys), err)
				}
			})
		})
	}
}

// TestDeviceCodesAreForgotten: codes are deleted after a month.
func TestDeviceCodesAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		codes := f.askedFor(t)
		f.clock.Advance(store.JobRetention + time.Hour)
		fresh := f.askedFor(t)
		if err := f.DeleteExpired(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		f.answers(t, codes, store.ErrNotFound)
		f.answers(t, fresh, store.ErrWaiting)
	})
}
