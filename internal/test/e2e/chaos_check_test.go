package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The checker reads the database with statements of its own, the receiver's
// log, and the folders: it believes nothing that the code under test computes.

// open opens the database while the servers run.
func (c *chaos) open() *sql.DB {
	c.t.Helper()
	driver, source := "pgx", c.db.URL
	if path, ok := strings.CutPrefix(c.db.URL, "sqlite://"); ok {
		driver, source = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = db.Close() })
	return db
}

// number returns the one number that a query yields.
func (c *chaos) number(db *sql.DB, query string, args ...any) (n int64) {
	c.t.Helper()
	if err := db.QueryRowContext(c.t.Context(), query, args...).Scan(&n); err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// awaitCalm waits until nothing accepted is unfinished, and nothing begins for a
// second: a request whose client has left may be on its way to its hold. Attempts
// that are due in minutes or hours are made due now: the schedule has tests of
// its own.
func (c *chaos) awaitCalm() {
	c.t.Helper()
	db := c.open()
	hurry := func(query string) {
		c.t.Helper()
		if _, err := db.ExecContext(c.t.Context(), query, time.Now().UnixMicro()); err != nil {
			c.t.Fatal(err)
		}
	}
	// Attempts that went down with their process would count as lost in 45 s.
	hurry(`UPDATE deliveries SET leased_until = $1, next_attempt_at = $1 WHERE status = 'pending' AND leased_until IS NOT NULL`)
	var running, pending int64
	calm := 0
	for deadline := time.Now().Add(chaosCalm); time.Now().Before(deadline); <-time.After(200 * time.Millisecond) {
		hurry(`UPDATE deliveries SET next_attempt_at = $1 WHERE status = 'pending' AND leased_until IS NULL AND next_attempt_at > $1`)
		running = c.number(db, `SELECT COUNT(*) FROM calls WHERE status = 'running'`)
		pending = c.number(db, `SELECT COUNT(*) FROM deliveries WHERE status = 'pending'`)
		if running > 0 || pending > 0 {
			calm = 0
		} else if calm++; calm > 5 {
			return
		}
	}
	c.showRunning(db)
	for n, server := range c.servers {
		c.t.Logf("server %d: %s", n, server.dump())
	}
	c.t.Fatalf("after %v %d calls run and %d deliveries are pending", chaosCalm, running, pending)
}

// showRunning logs which process has the calls that run.
func (c *chaos) showRunning(db *sql.DB) {
	c.t.Helper()
	rows, err := db.QueryContext(c.t.Context(), `SELECT calls.id, operation, calls.lease, COALESCE(state, ''), COALESCE(tries, 0), COALESCE(jobs.lease, ''), COALESCE(started_at, 0)
		FROM calls LEFT JOIN jobs ON jobs.call_id = calls.id WHERE status = 'running'`)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, operation, lease, state, worker string
		var tries, started int64
		if err := rows.Scan(&id, &operation, &lease, &state, &tries, &worker, &started); err != nil {
			c.t.Fatal(err)
		}
		c.t.Logf("%s %s lease %q, job %q, try %d, lease %q, started %v", id, operation, lease, state, tries, worker, time.UnixMicro(started).UTC())
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *chaos) check() {
	c.t.Helper()
	db := c.open()
	c.checkMoney(db)
	c.checkPayments(db)
	c.checkJobs(db)
	c.checkResults(db)
	c.checkEvents(db)
	c.checkBlobs(db)
	c.checkExpiry(db)
}

// checkMoney adds everything up: the ledger sums to zero in total and per call, nothing is held, and revenue and
// losses of wallets are the prices of the successful calls.
func (c *chaos) checkMoney(db *sql.DB) {
	c.t.Helper()
	zero := map[string]string{
		"sum of the ledger":     `SELECT COALESCE(SUM(promotion + payment + adjustment + held + revenue + debt + wallet), 0) FROM journal`,
		"calls out of balance":  `SELECT COUNT(*) FROM (SELECT cause FROM journal WHERE cause <> '' GROUP BY cause HAVING SUM(held) <> 0) AS x`,
		"microdollars held":     `SELECT COALESCE(SUM(held), 0) FROM accounts`,
		"holds without an end":  `SELECT COALESCE(SUM(held), 0) FROM journal`,
		"calls charged twice":   `SELECT COUNT(*) FROM (SELECT cause FROM journal WHERE cause <> '' AND kind <> 'hold' GROUP BY cause HAVING COUNT(*) > 1) AS x`,
		"failed calls charged":  `SELECT COUNT(*) FROM calls WHERE status = 'failed' AND charge <> 0`,
		"jobs still in a queue": `SELECT COUNT(*) FROM jobs WHERE state <> 'ended'`,
		"claims that hang":      `SELECT COUNT(*) FROM idempotency WHERE state = 'running'`,
	}
	for what, query := range zero {
		if n := c.number(db, query); n != 0 {
			c.t.Errorf("%s: %d, want 0", what, n)
		}
	}
	prices := c.number(db, `SELECT COALESCE(SUM(CASE operation WHEN 'barcodes.create' THEN 100 WHEN 'pdf.create' THEN 2000 WHEN 'convert.create' THEN 3000 END), 0) FROM calls WHERE status = 'done'`)
	earned := c.number(db, `SELECT COALESCE(SUM(revenue), 0) FROM journal`)
	if earned != prices {
		c.t.Errorf("%d was earned, the successful calls cost %d", earned, prices)
	}
	for _, customer := range c.customers {
		if customer.pays {
			continue // checkPayments checks their journals.
		}
		balance := c.number(db, `SELECT balance FROM accounts WHERE id = $1`, customer.account.ID)
		spent := c.number(db, `SELECT COALESCE(SUM(charge), 0) FROM calls WHERE account_id = $1`, customer.account.ID)
		if want := int64(1_000_000_000) - spent; balance != want {
			c.t.Errorf("an account has %d, want %d", balance, want)
		}
	}
}

// checkJobs: every accepted job has ended, with exactly one event for each
// endpoint that was there, and its file if it was completed.
func (c *chaos) checkJobs(db *sql.DB) {
	c.t.Helper()
	for _, customer := range c.customers {
		for id := range customer.jobs {
			var call, status, account string
			err := db.QueryRowContext(c.t.Context(), `SELECT id, status, account_id FROM calls WHERE result_id = $1 AND mode = 'async'`, id).Scan(&call, &status, &account)
			if err != nil || account != customer.account.ID || status == "running" {
				c.t.Errorf("accepted job %s: %s of %s, %v", id, status, account, err)
				continue
			}
			kind := map[string]string{"done": "job.completed", "failed": "job.failed"}[status]
			if n := c.number(db, `SELECT COUNT(*) FROM events WHERE call_id = $1 AND type LIKE 'job.%'`, call); n != 1 {
				c.t.Errorf("job %s (%s) has %d events, want 1", id, status, n)
			}
			if n := c.number(db, `SELECT COUNT(*) FROM events WHERE call_id = $1 AND type = $2`, call, kind); n != 1 {
				c.t.Errorf("job %s (%s) has no %s", id, status, kind)
			}
			files := c.number(db, `SELECT COUNT(*) FROM files WHERE call_id = $1`, call)
			if (files == 1) != (status == "done") {
				c.t.Errorf("job %s (%s) has %d files", id, status, files)
			}
		}
	}
	const otherwise = `FROM calls WHERE mode = 'async' AND status = 'failed' AND error_code <> 'internal_error'`
	if failed := c.number(db, `SELECT COUNT(*) `+otherwise); failed != 0 {
		var why string
		err := db.QueryRowContext(c.t.Context(), `SELECT operation || ', ' || error_code || ': ' || error_message `+otherwise+` LIMIT 1`).Scan(&why)
		c.t.Errorf("%d jobs failed for another reason than three dead processes: %s (%v)", failed, why, err)
	}
}

// checkResults: a result that arrived was charged.
func (c *chaos) checkResults(db *sql.DB) {
	c.t.Helper()
	for _, customer := range c.customers {
		for id := range customer.results {
			if n := c.number(db, `SELECT COUNT(*) FROM calls WHERE result_id = $1 AND status = 'done' AND charge = quote`, id); n != 1 {
				c.t.Errorf("the call of result %s, which arrived, is not done", id)
			}
		}
	}
}

// checkEvents: each event reached the endpoint that always works, under one id,
// with one body, rightly signed; each callback arrived.
func (c *chaos) checkEvents(db *sql.DB) {
	c.t.Helper()
	arrived := map[string][]byte{}
	for _, d := range c.receiver.of("ok") {
		id := d.header.Get("webhook-id")
		if before, ok := arrived[id]; ok && !bytes.Equal(before, d.body) {
			c.t.Errorf("event %s came with two bodies", id)
		}
		arrived[id] = d.body
		var event struct{ ID, Type string }
		if err := json.Unmarshal(d.body, &event); err != nil || event.ID != id || event.Type != d.header.Get("Service-Event") {
			c.t.Errorf("event %s: id %s, type %s, %v", id, event.ID, event.Type, err)
		}
		if !c.signed(d) {
			c.t.Errorf("event %s has no signature by any account's secret: %v", id, d.header)
		}
	}
	rows, err := db.QueryContext(c.t.Context(), `SELECT e.id, e.body FROM events AS e JOIN deliveries AS d ON d.event_id = e.id
		WHERE d.url LIKE '%/ok'`)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	events := 0
	for rows.Next() {
		var id string
		var body []byte
		if err := rows.Scan(&id, &body); err != nil {
			c.t.Fatal(err)
		}
		events++
		if !bytes.Equal(arrived[id], body) {
			c.t.Errorf("event %s arrived as %q, want %q", id, arrived[id], body)
		}
	}
	if err := rows.Err(); err != nil || events == 0 {
		c.t.Errorf("%d events, %v", events, err)
	}
	c.checkCallbacks(db)
	if n := c.number(db, `SELECT COUNT(*) FROM webhooks AS w WHERE w.enabled AND w.url LIKE '%/gone'
		AND EXISTS (SELECT 1 FROM deliveries AS d WHERE d.endpoint_id = w.id)`); n != 0 {
		c.t.Errorf("%d endpoints that answered 410 are still enabled", n)
	}
}

// checkCallbacks: the end of every call with a callback was reported.
func (c *chaos) checkCallbacks(db *sql.DB) {
	c.t.Helper()
	reported := map[string]string{}
	for _, d := range c.receiver.of("callback") {
		var status struct{ ID, Status string }
		if err := json.Unmarshal(d.body, &status); err != nil {
			c.t.Errorf("callback %q: %v", d.body, err)
		}
		if d.header.Get("Service-Signature") != "" {
			c.t.Error("a callback is signed")
		}
		if before := reported[status.ID]; before != "" && before != status.Status {
			c.t.Errorf("call %s was reported as %s and as %s", status.ID, before, status.Status)
		}
		reported[status.ID] = status.Status
	}
	rows, err := db.QueryContext(c.t.Context(), `SELECT c.result_id, c.status FROM calls AS c JOIN callbacks AS b ON b.call_id = c.id`)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, status string
		if err := rows.Scan(&id, &status); err != nil {
			c.t.Fatal(err)
		}
		if want := map[string]string{"done": "completed", "failed": "failed"}[status]; reported[id] != want {
			c.t.Errorf("the callback of call %s says %q, want %q", id, reported[id], want)
		}
	}
	if err := rows.Err(); err != nil {
		c.t.Error(err)
	}
}

// signed verifies both signatures of a delivery with the accounts' secrets, by
// the published rules.
func (c *chaos) signed(d chaosDelivery) bool {
	stamp, mine, _ := strings.Cut(strings.TrimPrefix(d.header.Get("Service-Signature"), "t="), ",v1=")
	for _, customer := range c.customers {
		secret := customer.endpoint[d.kind]
		sum := func(key []byte, text string) []byte {
			h := hmac.New(sha256.New, key)
			h.Write([]byte(text))
			return h.Sum(nil)
		}
		raw, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		own := hex.EncodeToString(sum([]byte(secret), stamp+"."+string(d.body)))
		id, at := d.header.Get("webhook-id"), d.header.Get("webhook-timestamp")
		standard := "v1," + base64.StdEncoding.EncodeToString(sum(raw, id+"."+at+"."+string(d.body)))
		if own == mine && standard == d.header.Get("webhook-signature") {
			return true
		}
	}
	return false
}

// checkBlobs: every blob belongs to a row, and every row of a file has its blob.
func (c *chaos) checkBlobs(db *sql.DB) {
	c.t.Helper()
	// The next process to look sweeps what the dead left, if that is not too new, and sweeping is due.
	for time.Since(c.lastPart()) < 3*time.Second {
		<-time.After(100 * time.Millisecond)
	}
	if _, err := db.ExecContext(c.t.Context(), "UPDATE tasks SET due_at = 0, leased_until = 0 WHERE name = 'sweep orphaned blobs'"); err != nil {
		c.t.Fatal(err)
	}
	stopped := &chaosServer{program: c.program, env: c.env}
	if err := stopped.start(); err != nil {
		c.t.Fatal(err)
	}
	defer stopped.end(syscall.SIGTERM)
	var stray []string
	for deadline := time.Now().Add(crashPatience); time.Now().Before(deadline); <-time.After(200 * time.Millisecond) {
		stray = stray[:0]
		for _, name := range c.blobFiles() {
			if c.number(db, `SELECT COUNT(*) FROM files WHERE blob_key = $1`, name) == 0 {
				stray = append(stray, name)
			}
		}
		if len(stray) == 0 {
			break
		}
	}
	if len(stray) > 0 {
		c.t.Errorf("blobs that belong to nothing: %q", stray)
	}
	files := c.number(db, `SELECT COUNT(*) FROM files`)
	if blobs := len(c.blobFiles()); int64(blobs) != files {
		c.t.Errorf("%d blobs, %d files", blobs, files)
	}
}

// blobFiles lists all files below the folder of blobs, unfinished ones too, without the mark that names the database.
func (c *chaos) blobFiles() (names []string) {
	const mark = ".relaypdf-files"
	_ = filepath.WalkDir(c.blobs, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != mark {
			names = append(names, d.Name())
		}
		return nil
	})
	return names
}

// lastPart returns when the newest of the unfinished blobs was written.
func (c *chaos) lastPart() (last time.Time) {
	parts, _ := filepath.Glob(filepath.Join(c.blobs, "*", ".part-*"))
	for _, part := range parts {
		if info, err := os.Stat(part); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// checkExpiry checks that expired files are not served.
func (c *chaos) checkExpiry(db *sql.DB) {
	c.t.Helper()
	if _, err := db.ExecContext(c.t.Context(), `UPDATE files SET expires_at = $1`, time.Now().Add(-time.Second).UnixMicro()); err != nil {
		c.t.Fatal(err)
	}
	rows, err := db.QueryContext(c.t.Context(), `SELECT result_id FROM calls WHERE status = 'done' AND mode <> 'binary' LIMIT 50`)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			c.t.Fatal(err)
		}
		response, err := chaosHTTP.Get(c.servers[0].address() + "/v1/files/" + id)
		if err != nil {
			c.t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusNotFound {
			c.t.Errorf("expired file %s: status %d, want 404", id, response.StatusCode)
		}
	}
	if err := rows.Err(); err != nil {
		c.t.Error(err)
	}
}

// checkNothingLeft checks, when every server has stopped, that no files of servers remain in the folder for
// temporary files.
func (c *chaos) checkNothingLeft() {
	c.t.Helper()
	left, err := filepath.Glob(filepath.Join(c.dir, "temp", "*"))
	if err != nil || len(left) > 0 {
		c.t.Errorf("temporary files are left: %q, %v", left, err)
	}
	if report, err := c.store.CheckLedger(c.t.Context()); err != nil || !report.OK() {
		c.t.Errorf("ledger: %+v, %v", report, err)
	}
	db := c.open()
	defer db.Close()
	if n := c.number(db, "SELECT count(*) FROM jobs WHERE state <> 'ended'"); n != 0 {
		c.t.Errorf("%d jobs still wait or run", n)
	}
}
