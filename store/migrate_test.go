package store_test

import (
	"testing"

	"relaypdf/store/storetest"
)

// TestMigrationLockEndsWithItsTransaction: no connection of the pool keeps the
// lock, whichever of them a pooler hands it out on.
func TestMigrationLockEndsWithItsTransaction(t *testing.T) {
	t.Parallel()
	s := storetest.BarePostgres(t).Open(t, nil)
	var held int
	err := s.DB().NewRaw("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(t.Context(), &held)
	if err != nil || held != 0 {
		t.Errorf("got %d advisory locks after the start, %v; want none", held, err)
	}
}
