package queue

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hold takes a slot in the background and reports on the returned channel when
// it has it; the slot is given back when release is closed.
func hold(q *Queue, account string, release <-chan struct{}) <-chan error {
	got := make(chan error, 1)
	go func() {
		done, err := q.Acquire(context.Background(), account)
		got <- err
		if err == nil {
			<-release
			done.Release(false)
		}
	}()
	return got
}

func TestQueueServesAccountsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1, Limit: 100, MaxWait: time.Hour})
		first, err := q.Acquire(t.Context(), "heavy")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan string, 8)
		for _, account := range strings.Split("heavy heavy heavy light1 light2 light1", " ") {
			go func() {
				done, err := q.Acquire(context.Background(), account)
				if err != nil {
					t.Error(err)
					return
				}
				served <- account
				done.Release(false)
			}()
			synctest.Wait() // Until it stands in line.
		}
		first.Release(false)
		synctest.Wait()
		close(served)
		var order []string
		for name := range served {
			order = append(order, name)
		}
		want := "heavy light1 light2 heavy light1 heavy"
		if got := strings.Join(order, " "); got != want {
			t.Errorf("served %s, want %s", got, want)
		}
	})
}

func TestSingleAccountUsesAllSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 2, Extra: 1})
		for range 8 { // Others were here a moment ago.
			done, err := q.Acquire(t.Context(), "other")
			if err != nil {
				t.Fatal(err)
			}
			done.Release(false)
		}
		release := make(chan struct{})
		defer func() { close(release); synctest.Wait() }()
		waits := []<-chan error{hold(q, "alone", release), hold(q, "alone", release), hold(q, "alone", release)}
		synctest.Wait()
		if got := len(waits[0]) + len(waits[1]) + len(waits[2]); got != 2 {
			t.Errorf("an account alone holds %d of 2 slots right after another's jobs, want both, and not the newcomers'", got)
		}
	})
}

func TestNewcomerGetsAnExtraSlotAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 2, Extra: 1})
		heavy, light := make(chan struct{}), make(chan struct{})
		for range 6 {
			hold(q, "heavy", heavy)
		}
		synctest.Wait()
		first := hold(q, "light", light)
		synctest.Wait()
		second, other := hold(q, "light", light), hold(q, "other", light)
		synctest.Wait()
		if len(first) != 1 || len(second) != 0 || len(other) != 0 {
			t.Errorf("served beside a heavy account: light %d and %d, the next account %d; want 1, 0 and 0", len(first), len(second), len(other))
		}
		close(light)
		synctest.Wait()
		if len(second) != 1 || len(other) != 1 {
			t.Errorf("after the extra slot became free: light's second %d, the next account %d; want both served", len(second), len(other))
		}
		if now := q.State(); now.Busy != 2 || now.Waiting != 4 {
			t.Errorf("%d busy, %d waiting; want heavy's two and four", now.Busy, now.Waiting)
		}
		close(heavy)
		synctest.Wait()
		if now := q.State(); now.Busy != 0 || now.Waiting != 0 {
			t.Errorf("%d busy, %d waiting in the end", now.Busy, now.Waiting)
		}
	})
}

func TestFreeSlotGoesToAccountWithFewestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 3})
		var heavy []*Slot
		for range 3 {
			s, err := q.Acquire(t.Context(), "heavy")
			if err != nil {
				t.Fatal(err)
			}
			heavy = append(heavy, s)
		}
		release := make(chan struct{})
		defer func() { close(release); synctest.Wait() }()
		more := hold(q, "heavy", release)
		synctest.Wait()
		light := hold(q, "light", release)
		synctest.Wait()
		two := hold(q, "light", release)
		synctest.Wait()
		heavy[0].Release(false)
		heavy[0].Release(false) // A second time changes nothing.
		synctest.Wait()
		if len(light) != 1 || len(more) != 0 || len(two) != 0 {
			t.Errorf("one slot became free: heavy's next %d, light's first %d and second %d; want 0, 1, 0", len(more), len(light), len(two))
		}
		heavy[1].Release(false)
		heavy[2].Release(false)
		synctest.Wait()
		if len(more) != 1 || len(two) != 1 {
			t.Errorf("two slots became free: heavy's next %d, light's second %d; want both", len(more), len(two))
		}
	})
}

func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1, MaxWait: 30 * time.Second})
		release := make(chan struct{})
		defer func() { close(release); synctest.Wait() }()
		hold(q, "a", release)
		synctest.Wait()
		begin := time.Now()
		if err := <-hold(q, "b", release); !errors.Is(err, ErrBusy) || time.Since(begin) != 30*time.Second {
			t.Errorf("waited %s: %v; want ErrBusy after 30s", time.Since(begin), err)
		}
		if now := q.State(); now.Waiting != 0 || now.Refused != 1 {
			t.Errorf("%d wait, %d were refused; want 0 and 1", now.Waiting, now.Refused)
		}
	})
}

func TestAccountThatKeepsRunningIntoDeadlinesIsSlowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 4, Extra: 1, Limit: 1})
		lateJob := func() {
			s, err := q.Acquire(t.Context(), "late")
			if err != nil {
				t.Fatal(err)
			}
			s.Release(true)
		}
		lateJob()
		lateJob()
		if got := q.Slowed("late"); got != 0 {
			t.Errorf("after two late jobs: slowed for %s, want not at all", got)
		}
		lateJob()
		if got := q.Slowed("late"); got != penalty {
			t.Errorf("after three late jobs: slowed for %s, want %s", got, penalty)
		}
		release := make(chan struct{})
		waits := []<-chan error{hold(q, "late", release), hold(q, "late", release)}
		synctest.Wait()
		third := hold(q, "late", release)
		synctest.Wait()
		if len(waits[0]) != 1 || len(waits[1]) != 1 || len(third) != 0 {
			t.Error("a slowed account does not hold half of the slots")
		}
		var busy *BusyError
		if err := q.Admit("late"); !errors.As(err, &busy) || busy.Slowed != penalty {
			t.Errorf("one more job: %v; want ErrBusy that says it is slowed", err)
		}
		for range 4 { // The two free slots are others', and so is the extra one.
			hold(q, "other", release)
		}
		close(release)
		synctest.Wait()
		if len(third) != 1 {
			t.Error("the waiting job of a slowed account was lost")
		}
		for range 20 {
			lateJob()
		}
		if got := q.Slowed("late"); got != maxPenalty-toleratedPenalty {
			t.Errorf("after many late jobs: slowed for %s, want %s at most", got, maxPenalty-toleratedPenalty)
		}
		time.Sleep(maxPenalty - toleratedPenalty)
		if got := q.Slowed("late"); got != 0 {
			t.Errorf("slowed for %s after it has stopped", got)
		}
	})
}

func TestOneAccountsLineIsShortWhileOthersHaveJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1, Limit: 100, MaxWait: time.Hour})
		release := make(chan struct{})
		defer func() { close(release); synctest.Wait() }()
		light := hold(q, "light", release)
		synctest.Wait()
		var heavy []<-chan error
		for range 4 * crowdedPerSlot {
			heavy = append(heavy, hold(q, "heavy", release))
			synctest.Wait()
		}
		for i, got := range heavy {
			if turnedAway := len(got) == 1; turnedAway != (i >= crowdedPerSlot) {
				t.Errorf("heavy's job %d beside another account: turned away %t", i+1, turnedAway)
			}
		}
		if err := q.Admit("heavy"); !errors.Is(err, ErrBusy) {
			t.Errorf("another job of heavy: %v, want ErrBusy", err)
		}
		if err := q.Admit("light"); err != nil {
			t.Errorf("another job of light: %v, want a place", err)
		}
		if err := <-light; err != nil {
			t.Error(err)
		}
	})
}

func TestAccountsShareTheWait(t *testing.T) {
	for accounts, want := range map[int]int{2: crowdedPerSlot, 3: 4, 6: minLine, 20: minLine} {
		synctest.Test(t, func(t *testing.T) {
			q := New(Config{Slots: 1, Limit: 1000, MaxWait: time.Hour})
			release := make(chan struct{})
			defer func() { close(release); synctest.Wait() }()
			hold(q, "running", release)
			synctest.Wait()
			lines := map[string]int{}
			for range 2 * crowdedPerSlot {
				for i := range accounts {
					name := strconv.Itoa(i)
					got := hold(q, name, release)
					synctest.Wait()
					if len(got) == 0 {
						lines[name]++
					}
				}
			}
			for name, waiting := range lines {
				if waiting != want {
					t.Errorf("account %s of %d has %d jobs waiting, want %d", name, accounts, waiting, want)
				}
			}
			if err := q.Admit("newcomer"); err != nil {
				t.Errorf("a newcomer among %d: %v, want a place", accounts, err)
			}
		})
	}
}

func TestOneAccountAloneFillsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 4 * crowdedPerSlot
		q := New(Config{Slots: 1, Limit: limit, MaxWait: time.Hour})
		release := make(chan struct{})
		defer func() { close(release); synctest.Wait() }()
		hold(q, "heavy", release)
		synctest.Wait()
		for i := range limit {
			if err := q.Admit("heavy"); err != nil {
				t.Errorf("job %d of a account alone: %v before it came", i+1, err)
			}
			got := hold(q, "heavy", release)
			synctest.Wait()
			if len(got) != 0 {
				t.Fatalf("job %d of a account alone: %v, want it to wait", i+1, <-got)
			}
		}
		if err := q.Admit("heavy"); !errors.Is(err, ErrBusy) {
			t.Errorf("a job of a account that fills the queue: %v, want ErrBusy", err)
		}
		if err := q.Admit("light"); err != nil {
			t.Errorf("a job of another account: %v, want a place", err)
		}
	})
}

func TestFullQueueTurnsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1, Limit: 2, MaxWait: time.Hour})
		release := make(chan struct{})
		first := hold(q, "heavy", release)
		synctest.Wait()
		time.Sleep(10 * time.Second)
		var heavy []<-chan error
		for range 2 {
			heavy = append(heavy, hold(q, "heavy", release))
			synctest.Wait()
		}
		var busy *BusyError
		if err := <-hold(q, "heavy", release); !errors.As(err, &busy) || !errors.Is(err, ErrBusy) {
			t.Errorf("a third waiting job: %v, want ErrBusy", err)
		}
		// A account with a shorter line takes the place of the newest of the longest.
		light := hold(q, "light", release)
		synctest.Wait()
		if err := <-heavy[1]; !errors.As(err, &busy) {
			t.Errorf("the newest job of the longest line: %v, want ErrBusy", err)
		}
		if len(heavy[0])+len(light) != 0 {
			t.Error("a job that should wait was answered")
		}
		close(release)
		for _, got := range []<-chan error{first, heavy[0], light} {
			if err := <-got; err != nil {
				t.Errorf("a job that may wait: %v", err)
			}
		}
	})
}

func TestRetryAfterFollowsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 2, Limit: 5, MaxWait: time.Hour})
		retry := func() time.Duration {
			var busy *BusyError
			if err := q.busyError(&accountQueue{}); !errors.As(err, &busy) {
				t.Fatal(err)
			}
			return busy.RetryAfter
		}
		if got := retry(); got != time.Second {
			t.Errorf("without experience: %s, want 1s", got)
		}
		done, err := q.Acquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Second)
		done.Release(false)
		if got := retry(); got != 4*time.Second {
			t.Errorf("one job of 7 s on two slots: %s, want 4s", got)
		}
	})
}

func TestLeavingTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1, Limit: 5, MaxWait: time.Hour})
		done, err := q.Acquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := q.Acquire(ctx, "b")
			left <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled wait: %v", err)
		}
		if now := q.State(); now.Busy != 1 || now.Waiting != 0 {
			t.Errorf("%d busy, %d waiting, want 1 and 0", now.Busy, now.Waiting)
		}
		waits := hold(q, "c", nil)
		synctest.Wait()
		q.Close()
		if err := <-waits; !errors.Is(err, ErrClosed) {
			t.Errorf("waiting while the queue closes: %v, want ErrClosed", err)
		}
		done.Release(false)
		if _, err := q.Acquire(t.Context(), "a"); !errors.Is(err, ErrClosed) {
			t.Errorf("after close: %v, want ErrClosed", err)
		}
	})
}

// Guests get what nobody wants, and whoever has an account finds the queue as if
// there were none of them.
func TestGuestsDoNotDelayAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1, Limit: 1, MaxWait: time.Hour})
		release := map[string]chan struct{}{}
		enter := func(name, account string) <-chan error {
			release[name] = make(chan struct{})
			got := hold(q, account, release[name])
			synctest.Wait() // Until it runs or stands in line.
			return got
		}
		running := func(name string, got <-chan error, want bool) {
			t.Helper()
			synctest.Wait()
			if (len(got) == 1) != want {
				t.Errorf("%s runs: %v, want %v", name, !want, want)
			}
		}
		first := enter("guest 1", Anonymous)
		running("the first guest", first, true)
		second := enter("guest 2", Anonymous)
		running("the second guest, beside the first", second, false)
		account := enter("account", "account")
		running("an account, beside a guest", account, true)
		if s := q.State(); s.Busy != 1 || s.Waiting != 0 {
			t.Errorf("the queue counts %+v", s)
		}
		close(release["guest 1"])
		running("the second guest, while an account has the slot", second, false)
		other := enter("other", "other")
		if extra := enter("late", "late"); len(extra) != 1 || !errors.Is(<-extra, ErrBusy) {
			t.Error("the queue is full of accounts, and took one more")
		}
		close(release["account"])
		running("an account that came after the guest", other, true)
		running("the second guest, before an account", second, false)
		close(release["other"])
		running("the second guest, at last", second, true)
		for range guestLine {
			enter("waiting", Anonymous)
		}
		if err := q.Admit(Anonymous); !errors.Is(err, ErrBusy) {
			t.Errorf("a full line of guests admits one more: %v", err)
		}
		if _, err := q.Acquire(t.Context(), Anonymous); !errors.Is(err, ErrBusy) {
			t.Errorf("a full line of guests takes one more: %v", err)
		}
		if err := q.Admit("account"); err != nil {
			t.Errorf("a full line of guests turns an account away: %v", err)
		}
		q.Close() // Turns away those in line.
		close(release["guest 2"])
	})
}

// TestSlowedAccountGetsNoExtraSlot has an account without a slot that is slowed, and
// one that is not, ask while others hold all.
func TestSlowedAccountGetsNoExtraSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1, Extra: 1})
		for range 3 {
			s, err := q.Acquire(t.Context(), "late")
			if err != nil {
				t.Fatal(err)
			}
			s.Release(true)
		}
		release := make(chan struct{})
		hold(q, "heavy", release)
		synctest.Wait()
		late := hold(q, "late", release)
		synctest.Wait()
		light := hold(q, "light", release)
		synctest.Wait()
		if len(late) != 0 || len(light) != 1 {
			t.Errorf("served beside a heavy account: the slowed one %d, the other %d; want 0 and 1", len(late), len(light))
		}
		close(release)
		synctest.Wait()
		if len(late) != 1 {
			t.Error("the job of the slowed account was lost")
		}
	})
}

// TestFullQueueServesANewcomerAtOnce has a full queue and an extra slot: the newcomer
// takes it, and no job that waits makes room.
func TestFullQueueServesANewcomerAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 1, Extra: 1, Limit: 1})
		release := make(chan struct{})
		hold(q, "heavy", release)
		synctest.Wait()
		waiting := hold(q, "heavy", release)
		synctest.Wait()
		if err := q.Admit("light"); err != nil {
			t.Errorf("a newcomer would be turned away: %v", err)
		}
		light := hold(q, "light", release)
		synctest.Wait()
		if len(light) != 1 || len(waiting) != 0 {
			t.Errorf("the newcomer was served %d times, and %d jobs of the line were answered; want 1 and 0", len(light), len(waiting))
		}
		close(release)
		synctest.Wait()
	})
}

// TestTrialsLeaveASlot: accounts that have never paid use every slot, but not the last extra one, however many they
// are. An account that has paid gets that at once.
func TestTrialsLeaveASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 2, Extra: 1})
		release := make(chan struct{})
		defer func() { close(release); synctest.Wait() }()

		got := 0
		for i := range 5 {
			wait := hold(q, Trial("trial"+strconv.Itoa(i)), release)
			synctest.Wait()
			got += len(wait)
		}
		if got != 2 {
			t.Errorf("accounts that have never paid hold %d slots, want 2", got)
		}

		paid := hold(q, "paid", release)
		synctest.Wait()
		if len(paid) == 0 {
			t.Error("an account that has paid waits for those that have not")
		}
	})
}

// TestTrialGetsTheExtraSlot: a new account that has not paid gets the extra slot beside one that has paid and uses all
// others.
func TestTrialGetsTheExtraSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 2, Extra: 1})
		release := make(chan struct{})
		defer func() { close(release); synctest.Wait() }()
		for range 4 {
			hold(q, "paid", release)
		}
		synctest.Wait()

		trial := hold(q, Trial("new"), release)
		synctest.Wait()
		if len(trial) == 0 {
			t.Error("a new account waits for one that uses every slot")
		}
	})
}

// TestTrialsAreSlowedTogether: jobs at their deadline count against all accounts that have never paid, as each may be
// new; and not against those that have paid.
func TestTrialsAreSlowedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config{Slots: 4, Extra: 1})
		for i := range 3 {
			slot, err := q.Acquire(t.Context(), Trial("late"+strconv.Itoa(i)))
			if err != nil {
				t.Fatal(err)
			}
			slot.Release(true)
		}

		held := func(name func(int) string) int {
			release := make(chan struct{})
			defer func() { close(release); synctest.Wait() }()
			n := 0
			for i := range 4 {
				wait := hold(q, name(i), release)
				synctest.Wait()
				n += len(wait)
			}
			return n
		}
		trials := func(i int) string { return Trial("new" + strconv.Itoa(i)) }
		if got := held(trials); got != 2 {
			t.Errorf("they hold %d of 4 slots, want half", got)
		}
		if got := held(func(i int) string { return "paid" + strconv.Itoa(i) }); got != 4 {
			t.Errorf("accounts that have paid hold %d of 4 slots", got)
		}

		<-time.After(maxPenalty)
		if got := held(trials); got != 4 {
			t.Errorf("later they hold %d of 4 slots, want all", got)
		}
	})
}
