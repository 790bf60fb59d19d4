// Command promql reads Prometheus rules (.yml) and Grafana dashboards (.json),
// fails on what Prometheus would refuse, and prints each metric that their
// expressions ask for, with the labels that they name.
//
//	go run -modfile=.ci/promql.mod ./.ci/promql FILE...
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	var failed error
	for _, file := range os.Args[1:] {
		read := rules
		if strings.HasSuffix(file, ".json") {
			read = dashboard
		}
		expressions, err := read(file)
		for _, text := range expressions {
			err = errors.Join(err, print(text))
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", file, err))
		}
	}
	if failed != nil {
		fmt.Fprintln(os.Stderr, failed)
		os.Exit(1)
	}
}

var language = parser.NewParser(parser.Options{})

// rules returns the expressions of a file of rules.
func rules(file string) (list []string, err error) {
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, language, slog.New(slog.DiscardHandler))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Annotations["summary"] == "" || rule.Labels["severity"] == "" {
				err = errors.Join(err, fmt.Errorf("%s has no summary or no severity", rule.Alert))
			}
			list = append(list, rule.Expr)
		}
	}
	return list, err
}

// variable is one of Grafana's, which stands for a time or for a choice.
var variable = regexp.MustCompile(`\$__(rate_interval|interval|range)`)

// dashboard returns the expressions of a dashboard's panels and variables.
func dashboard(file string) (list []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var content any
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			if expr, ok := v["expr"].(string); ok {
				list = append(list, variable.ReplaceAllString(expr, "5m"))
			}
			for _, one := range v {
				walk(one)
			}
		}
	}
	walk(content)
	if len(list) == 0 {
		return nil, errors.New("has no expressions")
	}
	slices.Sort(list)
	return list, nil
}

// print parses an expression and prints what it asks for.
func print(text string) error {
	expr, err := language.ParseExpr(text)
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			line := []string{selector.Name}
			for _, m := range selector.LabelMatchers {
				if m.Name != labels.MetricName {
					line = append(line, m.Name)
				}
			}
			fmt.Println(strings.Join(line, " "))
		}
		return nil
	})
	return nil
}
