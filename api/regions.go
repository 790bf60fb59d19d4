package api

import (
	"net/http"

	"relaypdf/api/apierror"
	"relaypdf/api/call"
	"relaypdf/api/middleware"
	"relaypdf/store"
)

// Regions tells how files are read whose bytes are in another region than this.
// The zero value is an installation whose processes all reach the same bytes.
type Regions struct {
	// Here is where this process runs.
	Here string
	// Replay asks Fly's proxy to give the request to a machine of the file's region.
	Replay bool
	// URLs are the addresses of other regions, by their names, to which clients are
	// sent.
	URLs map[string]string
}

const (
	// replayedHeader tells that Fly's proxy was asked for another region.
	replayedHeader = "Fly-Replay-Src"
	// sentFrom is the parameter of requests that were sent here by another region.
	sentFrom = "from"
)

// elsewhere tells whether a file's bytes are in another region that can be asked.
// A request that was sent here by another region is answered here, whatever
// comes of it: nobody goes round in circles.
func (r Regions) elsewhere(file store.File, sent bool) bool {
	return file.Region != "" && file.Region != r.Here && !sent && (r.Replay || r.URLs[file.Region] != "")
}

// sentHere tells whether another region has sent a request here. Who writes that
// himself is answered here, and no worse off than with one region.
func sentHere(r *http.Request) bool {
	return r.Header.Get(replayedHeader) != "" || r.URL.Query().Has(sentFrom)
}

// replayLimit is how long a body may be, in bytes, that Fly's proxy sends again.
const replayLimit = 1_000_000

// pass sends the client of an operation to the region that keeps its files, before
// anything is held for it. Where nobody can, the error says what to do.
func (r Regions) pass(w http.ResponseWriter, asked *http.Request, away *call.ElsewhereError) error {
	switch {
	case sentHere(asked):
	case r.Replay && asked.ContentLength >= 0 && asked.ContentLength <= replayLimit:
		middleware.PassOn(w, away.Region) // and nobody sees the error
	case r.URLs[away.Region] != "":
		w.Header().Set("Cache-Control", privately)
		w.Header().Set("Location", r.URLs[away.Region]+asked.URL.Path+"?"+sentFrom+"="+r.Here)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return nil
	}
	return away
}

// lostKey tells who was sent here and has left the key out on the way, as most
// clients do at another host, what to do.
func (r Regions) lostKey(asked *http.Request, refused error) error {
	if len(r.URLs) == 0 || !asked.URL.Query().Has(sentFrom) || bearer(asked.Header) != "" {
		return refused
	}
	return &apierror.Error{
		Code:    apierror.Unauthorized,
		Message: "Another region has sent the request to this one, which keeps its files, and the client has left out the key on the way. Send it to this region's address in the first place.",
	}
}

// redirect sends the client of a download to the file's region.
func (r Regions) redirect(w http.ResponseWriter, file store.File) error {
	w.Header().Set("Cache-Control", privately)
	if r.Replay {
		middleware.PassOn(w, file.Region)
		// Nobody sees this where Fly's proxy is in front.
		return &apierror.Error{Code: apierror.StorageUnavailable, Message: "The file is in another region, and no proxy has asked it."}
	}
	w.Header().Set("Location", r.URLs[file.Region]+"/v1/files/"+file.ID+"?"+sentFrom+"="+r.Here)
	w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}
