package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// runbook reads a kind of line of docs/operations/runbook.md, such as Log: the words in code,
// by the number of the part.
func runbook(t *testing.T, kind string) map[string][]string {
	t.Helper()
	words := map[string][]string{}
	for number, part := range runbookParts(t) {
		for line := range strings.Lines(part) {
			if rest, ok := strings.CutPrefix(line, "- **"+kind+":**"); ok {
				words[number] = append(words[number], codeWords(rest)...)
			}
		}
	}
	if len(words) == 0 {
		t.Fatalf("the runbook has no %s", kind)
	}
	return words
}

// runbookParts returns the sections of the runbook by their number, or by their heading if they have none.
func runbookParts(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operations", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		number, _, _ := strings.Cut(part, ".")
		parts[number] = part
	}
	return parts
}

// runbookTests are the tests that cause the failure of a section of the runbook and check its symptoms.
var runbookTests = map[string][]string{
	"1":  {"TestDatabaseGone", "TestChaos", "TestKilledServerLosesNoMoney", "TestReadOnlyDatabase", "TestDemotedConnections"},
	"2":  {"TestLagIsShown", "TestBoundsOfConnections", "TestLocksAreWaitedForAgain", "TestEndedWhileIdle", "TestMigrationLetsReadersPass", "TestForgottenTransactionHoldsUpOneAccount", "TestFrozenProcessHoldsUpNoOtherAccount"},
	"3":  {"TestDashboardAndRulesNameWhatIsThere", "TestRedisGone", "TestRedisThatHangs", "TestRedisComesBack"},
	"4":  {"TestDashboardAndRulesNameWhatIsThere", "TestBucketFails"},
	"5":  {"TestFullDisk", "TestFullDiskBelowSQLite", "TestFullTemporaryFolder", "TestChangedHistoryIsToldInTheLog", "TestCheckLedgerFindsFaults"},
	"6":  {"TestBrowsersCannotStart", "TestChildThatCannotWork", "TestSecondCrashFailsTheJobAndNobodyElse", "TestKilledBrowserIsReplacedAndTheJobSucceeds", "TestHangingBrowserIsReplaced", "TestCrash"},
	"7":  {"TestNotReadyWithAWrongClock", "TestWrongClocks"},
	"8":  {"TestQueueIsFull", "TestFullPoolIsBusy", "TestFullQueueTurnsAway", "TestFullQueueOfEngines"},
	"9":  {"TestLostSecretKey", "TestStallingReceiver", "TestStallingReceiversDelayNobody", "TestRetriesCarryTheSameEvent"},
	"10": {"TestLostSecretKey", "TestSecretRotate", "TestSecretsCanBeChanged"},
}

// testName finds the names of tests.
var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// TestRunbookKeepsUp looks for the words of the runbook where they come from: lines
// of the log and checks in the source, alerts in the rules, all of which it explains,
// and the tests that make its failures happen, which look for the words in turn.
func TestRunbookKeepsUp(t *testing.T) {
	var source, tests strings.Builder
	beside := map[string]string{} // the source that a test is in, by its name
	root := filepath.Join("..", "..", "..")
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		files, err := filepath.Glob(filepath.Join(root, pattern, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				tests.Write(text)
				for _, test := range testName.FindAllStringSubmatch(string(text), -1) {
					beside[test[1]] += string(text)
				}
			} else {
				source.Write(text)
			}
		}
	}
	rules, err := os.ReadFile(filepath.Join(root, "deploy", "prometheus", "rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	each := func(kind string, there func(word string) bool) {
		for part, words := range runbook(t, kind) {
			for _, word := range words {
				if !there(word) {
					t.Errorf("part %s: nothing is called %s", part, word)
				}
			}
		}
	}
	each("Log", func(word string) bool {
		if name, value, ok := strings.Cut(word, ":"); ok { // a field
			return strings.Contains(source.String(), name) && strings.Contains(source.String(), value)
		}
		return strings.Contains(source.String(), `"`+word+`"`)
	})
	each("Ready", func(word string) bool {
		check, state, ok := strings.Cut(word, ":")
		return ok && strings.Contains(source.String(), check) && strings.Contains(source.String(), state)
	})
	tried := runbookTests
	for _, kind := range []string{"Log", "Ready"} {
		for part, words := range runbook(t, kind) {
			for _, word := range words {
				looked := slices.ContainsFunc(tried[part], func(test string) bool {
					return strings.Contains(beside[test], word) || strings.Contains(beside[test], `runbook(t, "`+kind+`")[`)
				})
				if len(tried[part]) > 0 && !looked {
					t.Errorf("part %s: no test of it looks for %s", part, word)
				}
			}
		}
	}
	var explained []string
	each("Alert", func(word string) bool {
		explained = append(explained, word)
		return strings.Contains(string(rules), "alert: "+word+"\n")
	})
	for part, names := range runbookTests {
		for _, name := range names {
			if !strings.Contains(tests.String(), "func "+name+"(t *testing.T)") {
				t.Errorf("part %s: no test is called %s", part, name)
			}
		}
	}
	for _, rule := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if !slices.Contains(explained, rule[1]) {
			t.Errorf("the runbook does not say what to do about %s", rule[1])
		}
	}
	for part := range runbookTests {
		if !strings.Contains(runbookParts(t)[part], "\n- **Do") {
			t.Errorf("part %s has no remedy", part)
		}
	}
}

// codeSpan matches code in Markdown.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// codeWords returns the words in code of a line of Markdown.
func codeWords(line string) (words []string) {
	for _, match := range codeSpan.FindAllStringSubmatch(line, -1) {
		words = append(words, match[1])
	}
	return words
}
