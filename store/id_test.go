package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

func TestIDsSortByTimeAndNameTheirRegion(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock(time.UnixMilli(0))
	db := storetest.SQLite(t)
	s, err := store.Open(t.Context(), store.Config{URL: db.URL, DataDir: db.DataDir, Now: clock.Now, Region: "fra"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var ids []string
	for _, step := range []time.Duration{0, time.Millisecond, time.Second, 24 * time.Hour, 50 * 365 * 24 * time.Hour, 200 * 365 * 24 * time.Hour} {
		clock.Advance(step)
		ids = append(ids, s.NewID("file"))
	}
	if !slices.IsSorted(ids) {
		t.Errorf("ids do not sort by time: %q", ids)
	}
	for _, id := range ids {
		if region, ok := store.RegionOf(id); region != "fra" || !ok || len(id) != len("file_")+39 || strings.ToLower(id) != id {
			t.Errorf("%s: got region %q, %v; want fra in 39 lower-case characters", id, region, ok)
		}
		call := store.CallID(id)
		if call[:len("call_")+13] != "call_"+id[5:18] || call != store.CallID(id) || call[18:] == id[18:] {
			t.Errorf("the call of %s is %s; want the same time and region and another end", id, call)
		}
	}
	if store.CallID(ids[0])[18:] == store.CallID(s.NewID("file"))[18:] {
		t.Error("two results have one call")
	}
	for _, id := range []string{"", "file", "file_x", "file_" + strings.Repeat("u", 39), ids[0] + "0"} {
		if region, ok := store.RegionOf(id); ok {
			t.Errorf("%q: got region %q, want none", id, region)
		}
	}
	for _, region := range []string{"fr", "fran", "FRA", "f-a"} {
		if s, err := store.Open(t.Context(), store.Config{DataDir: t.TempDir(), Region: region}); err == nil {
			_ = s.Close()
			t.Errorf("region %q was accepted", region)
		}
	}
}

func TestAccountsHaveAHome(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		region, _ := store.RegionOf(f.acc.ID)
		got, err := f.Account(t.Context(), f.acc.ID)
		if err != nil || got.Region != store.DefaultRegion || region != got.Region {
			t.Errorf("got region %q and an id of %q, %v; want %q", got.Region, region, err, store.DefaultRegion)
		}
	})
}
