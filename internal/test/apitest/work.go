package apitest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Work runs the server's jobs, two at once, until the returned function is called. That function waits for running
// jobs.
func (s *Server) Work(t testing.TB) (stop func()) {
	t.Helper()
	return s.WorkBy(t, 2)
}

// WorkBy is Work with a number of jobs at once.
func (s *Server) WorkBy(t testing.TB, workers int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.API.Calls.Work(ctx, workers, 10*time.Second) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("work: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// Enqueue sends a request for a job and returns the response's job.
func (s *Server) Enqueue(t testing.TB, q Request) wire.JobStatus {
	t.Helper()
	answer := s.Send(t, q)
	if answer.Status != http.StatusAccepted {
		t.Fatalf("got status %d: %s, want 202", answer.Status, answer.Body)
	}
	return s.job(t, answer)
}

// Job asks for a job.
func (s *Server) Job(t testing.TB, id string) wire.JobStatus {
	t.Helper()
	return s.job(t, s.Send(t, Request{Method: http.MethodGet, Path: "/v1/jobs/" + id}).OK(t))
}

func (s *Server) job(t testing.TB, answer Response) wire.JobStatus {
	t.Helper()
	var job wire.JobStatus
	if err := json.Unmarshal([]byte(answer.Body), &job); err != nil {
		t.Fatalf("the job is not JSON: %v in %q", err, answer.Body)
	}
	return job
}

// jobPause paces the wait for a job.
const jobPause = 10 * time.Millisecond

// Await polls a job until it has ended.
func (s *Server) Await(t testing.TB, id string) wire.JobStatus {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(jobPause) {
		if job := s.Job(t, id); job.Status != "processing" {
			return job
		}
	}
	t.Fatalf("job %s is not done after %v", id, patience)
	return wire.JobStatus{}
}

// Kinds are the kinds of jobs that the server's workers know.
func (s *Server) Kinds() (known []string) {
	table, err := schema.NewTable(s.Operations)
	if err != nil {
		panic(err) // The server was made of them.
	}
	for _, operation := range table.All() {
		known = append(known, call.JobKind(operation.Name))
	}
	return known
}
