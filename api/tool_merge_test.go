package api_test

import (
	"reflect"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestMergeNamesEveryMissingFile merges with two ids that are none: both are
// named at once, and nothing is charged.
func TestMergeNamesEveryMissingFile(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	before, _ := s.Balance(t)
	failure := s.Send(t, apitest.Request{
		Path: "/v1/pdf/merge",
		Body: `{"files":[{"fileId":"file_missing"},{"file":` + inline(letters("alpha")) + `},{"fileId":"file_gone"}]}`,
	}).Refused(t, wire.InvalidRequest)
	const message = "is not the ID of a stored file of this account. Files expire, after 24 hours by default"
	if want := []wire.Detail{{Field: "files[0].fileId", Message: message}, {Field: "files[2].fileId", Message: message}}; !reflect.DeepEqual(failure.Details, want) {
		t.Errorf("details %+v, want %+v", failure.Details, want)
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("the failed call cost %d and holds %d, want nothing", before-after, held)
	}
}
