package render_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
)

// withoutNamespaces is set where the kernel refuses them, and browsers and engines
// are locked in from outside.
const withoutNamespaces = "RENDER_TEST_WITHOUT_NAMESPACES"

// atLevel are the tests that show what documents of different accounts know of
// each other and do to each other, and that none reaches the inner network.
const atLevel = "^(TestPagesLeaveNothing|TestPagesDoNotHearEachOther|TestInlineDocumentsLeaveNothing|" +
	"TestNothingReachesTheCanary|TestOfflineDocumentsReachNothing|TestNamesThatResolveInwards|TestOwnFonts|TestReducedIsReduced|TestAttacksWithoutNamespaces)$"

// TestIsolationWithoutNamespaces runs the tests of isolation again as an ordinary
// user who may make no namespaces, as in many containers.
func TestIsolationWithoutNamespaces(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	if os.Getenv(withoutNamespaces) != "" {
		t.Skip("it is running already")
	}
	// A folder where an ordinary user may read the executable.
	dir, err := os.MkdirTemp("", "render-reduced-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o1777); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "render.test")
	copyProgram(t, program)
	// The limit holds for the namespaces inside of this one.
	command := append(ordinary(t), "unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c",
		`echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"`, "sh",
		program, "-test.timeout=40m", "-test.v", "-test.run", atLevel)
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), withoutNamespaces+"=1", "TMPDIR="+dir, "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name := range strings.SplitSeq(strings.Trim(atLevel, "^$()"), "|") {
		if !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%s was not run:\n%s", name, out)
		}
	}
}

// TestReducedIsReduced checks that the other tests of this file ran at the sandbox level that they claim.
func TestReducedIsReduced(t *testing.T) {
	t.Parallel()
	if os.Getenv(withoutNamespaces) == "" {
		t.Skip("it is for TestIsolationWithoutNamespaces")
	}
	if level, lacks := launch(t, render.Config{}).Sandbox(); level != render.SandboxReduced || lacks == nil {
		t.Errorf("the sandbox is %q (%v), want %q", level, lacks, render.SandboxReduced)
	}
}

// TestAttacksWithoutNamespaces prints small documents of one account while another account runs an attack of each
// kind. TestAttacksHurtNobodyElse of render/chrome does the same with namespaces.
func TestAttacksWithoutNamespaces(t *testing.T) {
	if os.Getenv(withoutNamespaces) == "" {
		t.Skip("it is for TestIsolationWithoutNamespaces")
	}
	r := launch(t, render.Config{Slots: 2})
	for _, a := range sharedtest.Attacks() {
		t.Run(a.Name, func(t *testing.T) {
			struck := make(chan error, 1)
			go func() { struck <- strike(t.Context(), r.For("acct_attacker"), a) }()
			for {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				doc, err := r.For("acct_neighbour").PDF(ctx, render.Source{HTML: "<p>neighbour"}, render.PageSettings{Timeout: time.Minute}, render.PDF{})
				cancel()
				if err == nil {
					err = doc.Body.Close()
				}
				if err != nil {
					t.Fatalf("the neighbour's document: %v", err)
				}
				select {
				case err := <-struck:
					var load *chrome.LoadError
					var size *chrome.SizeError
					if err != nil && !errors.Is(err, chrome.ErrTimeout) && !errors.Is(err, chrome.ErrCrashed) && !errors.Is(err, chrome.ErrTooLarge) &&
						!errors.As(err, &load) && !errors.As(err, &size) {
						t.Errorf("the attack got %v, want an error that says what its document did", err)
					}
					return
				default:
				}
			}
		})
	}
}

// strike makes a hostile document.
func strike(ctx context.Context, of *render.Account, a sharedtest.Attack) error {
	page := render.PageSettings{Timeout: 3 * time.Second}
	if a.Screenshot {
		img, err := of.Screenshot(ctx, render.Source{HTML: a.HTML}, page, chrome.Screenshot{FullPage: true})
		if err == nil {
			err = img.Body.Close()
		}
		return err
	}
	doc, err := of.PDF(ctx, render.Source{HTML: a.HTML}, page, render.PDF{PrintBackground: true})
	if err == nil {
		err = doc.Body.Close()
	}
	return err
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	// By a process of its own: a child that another test starts meanwhile would inherit a descriptor that writes.
	if out, err := exec.CommandContext(t.Context(), "install", "-m", "755", os.Args[0], to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// ordinary returns the prefix of a command that runs as a user who is not root.
func ordinary(t *testing.T) []string {
	t.Helper()
	if os.Geteuid() != 0 {
		return []string{"env"}
	}
	u, err := user.Lookup("games")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"setpriv", "--reuid=" + u.Uid, "--regid=" + u.Gid, "--clear-groups"}
}
