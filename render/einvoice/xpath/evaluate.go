package xpath

import (
	"math/big"
)

// expr is a node of a compiled expression.
type expr interface{ eval(c *context) []Item }

type (
	sequenceExpr   struct{ list []expr }
	literalExpr    struct{ value []Item }
	variableExpr   struct{ name string }
	ifExpr         struct{ condition, yes, no expr }
	orExpr         struct{ left, right expr }
	andExpr        struct{ left, right expr }
	unionExpr      struct{ left, right expr }
	arithmeticExpr struct {
		operator    string
		left, right expr
	}
	compareExpr struct {
		operator    string
		single      bool
		left, right expr
	}
	castExpr struct {
		kind     string
		castable bool
		of       expr
	}
	callExpr struct {
		name string
		args []expr
	}
	loopExpr struct {
		kind  string
		names []string
		in    []expr
		body  expr
	}
	pathExpr struct {
		start start
		steps []step
	}
)

type start int

const (
	startContext start = iota
	startDocument
)

type axis int

const (
	axisChild axis = iota
	axisDescendant
	axisDescendantOrSelf
	axisSelf
	axisParent
	axisAncestor
	axisAncestorOrSelf
	axisAttribute
	axisPrecedingSibling
	axisFollowingSibling
	axisPreceding
	axisValue // an expression instead of nodes
)

// step is a step of a path.
type step struct {
	axis       axis
	name       string
	deep       bool
	value      expr
	predicates []predicate
}

// predicate is a condition of a step.
type predicate struct {
	of expr
	// positional means that the value can depend on the position.
	positional bool
}

// positional reports whether a condition can be a number, or asks for the position.
func positional(e expr) bool {
	switch v := e.(type) {
	case *orExpr:
		return positional(v.left) || positional(v.right)
	case *andExpr:
		return positional(v.left) || positional(v.right)
	case *compareExpr:
		return positional(v.left) || positional(v.right)
	case *literalExpr:
		_, number := v.value[0].(*big.Rat)
		return number
	case *pathExpr:
		return false
	case *callExpr:
		switch v.name {
		case "not", "exists", "empty", "boolean", "normalize-space", "upper-case", "contains", "starts-with",
			"ends-with", "matches", "string", "true", "false":
			for _, arg := range v.args {
				if _, isPath := arg.(*pathExpr); !isPath && positional(arg) {
					return true
				}
			}
			return false
		}
	}
	return true
}

func (e *sequenceExpr) eval(c *context) (all []Item) {
	for _, part := range e.list {
		all = append(all, part.eval(c)...)
	}
	return all
}

func (e *literalExpr) eval(*context) []Item { return e.value }

func (e *variableExpr) eval(c *context) []Item { return c.variable(e.name) }

func (e *ifExpr) eval(c *context) []Item {
	if truth(e.condition.eval(c)) {
		return e.yes.eval(c)
	}
	return e.no.eval(c)
}

func (e *orExpr) eval(c *context) []Item {
	return boolean(truth(e.left.eval(c)) || truth(e.right.eval(c)))
}

func (e *andExpr) eval(c *context) []Item {
	return boolean(truth(e.left.eval(c)) && truth(e.right.eval(c)))
}

func (e *unionExpr) eval(c *context) []Item {
	left := e.left.eval(c)
	right := e.right.eval(c)
	both := make([]Item, 0, len(left)+len(right))
	return inOrder(append(append(both, left...), right...))
}

func (e *arithmeticExpr) eval(c *context) []Item {
	left, ok := number(e.left.eval(c))
	if !ok {
		return nil
	}
	right, ok := number(e.right.eval(c))
	if !ok {
		return nil
	}
	return []Item{calculate(e.operator, left, right)}
}

func (e *compareExpr) eval(c *context) []Item {
	left := e.left.eval(c)
	right := e.right.eval(c)
	if e.single {
		if len(left) == 0 || len(right) == 0 {
			return nil
		}
		return boolean(compare(e.operator, text1(atom(one(left))), text1(atom(one(right)))))
	}

	for _, a := range left {
		for _, b := range right {
			c.visit(1)
			if compare(e.operator, atom(a), atom(b)) {
				return boolean(true)
			}
		}
	}
	return boolean(false)
}

func (e *castExpr) eval(c *context) (value []Item) {
	of := e.of.eval(c)
	if e.castable {
		defer func() {
			if _, failed := recover().(evaluationError); failed {
				value = boolean(false)
			}
		}()
		cast(e.kind, of)
		return boolean(len(of) == 1)
	}
	return cast(e.kind, of)
}

func (e *loopExpr) eval(c *context) []Item {
	return e.from(c, 0)
}

// from evaluates the loop from one of its variables on.
func (e *loopExpr) from(c *context, variable int) (all []Item) {
	if variable == len(e.names) {
		value := e.body.eval(c)
		if e.kind == "for" {
			return value
		}
		return boolean(truth(value))
	}

	for _, item := range e.in[variable].eval(c) {
		value := e.from(c.bind(e.names[variable], []Item{item}), variable+1)
		switch holds := e.kind != "for" && truth(value); {
		case e.kind == "for":
			all = append(all, value...)
		case e.kind == "some" && holds:
			return boolean(true)
		case e.kind == "every" && !holds:
			return boolean(false)
		}
	}

	if e.kind == "for" {
		return all
	}
	return boolean(e.kind == "every")
}

func (e *pathExpr) eval(c *context) []Item {
	var items []Item
	if e.start == startDocument {
		items = []Item{c.document.Root}
	} else {
		items = []Item{c.item}
	}

	for i := range e.steps {
		s := &e.steps[i]
		if i == 0 && e.start == startContext && s.axis == axisValue {
			items = s.filtered(c, s.value.eval(c))
			continue
		}

		var next []Item
		for position, item := range items {
			next = append(next, s.eval(c.at(item, position+1, len(items)))...)
		}
		if len(items) > 1 || s.deep {
			next = inOrder(next)
		}
		items = next
	}
	return items
}

// eval returns what a step selects from the item of the context.
func (s *step) eval(c *context) []Item {
	if s.axis == axisValue {
		all := s.filtered(c, s.value.eval(c))
		if s.deep {
			for _, m := range c.document.below(c.node(), "*") {
				all = append(all, s.filtered(c, s.value.eval(c.at(m, 1, 1)))...)
			}
		}
		return all
	}

	if a, ok := c.item.(Attribute); ok {
		return s.fromAttribute(c, a)
	}
	if s.axis == axisSelf && s.name == "node()" {
		return s.filtered(c, []Item{c.item})
	}

	n := c.node()
	if !s.deep {
		return s.filtered(c, s.select1(c, n))
	}

	// The index finds all nodes of a name; a position counts among siblings.
	indexed := s.axis == axisChild && s.name != "text()" && s.name != "node()"
	for _, p := range s.predicates {
		indexed = indexed && !p.positional
	}
	if indexed {
		return s.filtered(c, nodeItems(c, c.document.below(n, s.name)))
	}

	all := s.filtered(c, s.select1(c, n))
	for _, m := range c.document.below(n, "*") {
		all = append(all, s.filtered(c, s.select1(c, m))...)
	}
	return all
}

// fromAttribute is eval at an attribute, which has an element and a value only.
func (s *step) fromAttribute(c *context, a Attribute) []Item {
	switch s.axis {
	case axisParent:
		return s.filtered(c, []Item{a.Of})
	case axisSelf:
		return s.filtered(c, []Item{a})
	case axisAncestor:
		return s.filtered(c, append([]Item{a.Of}, s.select1(c, a.Of)...))
	}
	return nil
}

func nodeItems(c *context, nodes []*Node) []Item {
	c.visit(len(nodes))
	items := make([]Item, len(nodes))
	for i, n := range nodes {
		items[i] = n
	}
	return items
}

// is reports whether a node has the name of the step.
func (s *step) is(n *Node) bool {
	return s.name == n.Name || n.Name != "" && s.name == "*" || s.name == "node()"
}

// select1 returns the nodes of the axis from one node, the nearest first.
func (s *step) select1(c *context, n *Node) (found []Item) { //nolint:gocyclo // a case for each axis
	add := func(nodes ...*Node) {
		c.visit(len(nodes))
		for _, m := range nodes {
			if s.is(m) {
				found = append(found, m)
			}
		}
	}

	switch s.axis {
	case axisChild:
		if s.name == "text()" {
			if n.Text != "" {
				return []Item{Untyped(n.Text)}
			}
			return nil
		}
		add(n.Children...)
	case axisDescendant, axisDescendantOrSelf:
		if s.axis == axisDescendantOrSelf {
			add(n)
		}
		for _, m := range c.document.below(n, "*") {
			add(m)
		}
	case axisSelf:
		add(n)
	case axisParent:
		if n.Parent != nil && (n.Parent.Name != "" || s.name == "node()") {
			add(n.Parent)
		}
	case axisAncestor, axisAncestorOrSelf:
		m := n
		if s.axis == axisAncestor {
			m = n.Parent
		}
		for ; m != nil; m = m.Parent {
			add(m)
		}
	case axisAttribute:
		for i, a := range n.Attrs {
			if a.Name == s.name || s.name == "*" {
				found = append(found, Attribute{n, i})
			}
		}
	case axisPrecedingSibling, axisFollowingSibling:
		add(siblings(n, s.axis == axisPrecedingSibling)...)
	case axisPreceding:
		for _, m := range c.document.nodes[1:n.order] {
			if m.last < n.order {
				add(m)
			}
		}
	case axisValue:
	}

	return found
}

// siblings are the nodes before or after a node below the same parent.
func siblings(n *Node, before bool) (found []*Node) {
	if n.Parent == nil {
		return nil
	}

	after := false
	for _, m := range n.Parent.Children {
		switch {
		case m == n:
			after = true
		case after != before:
			found = append(found, m)
		}
	}
	return found
}

// filtered returns the items that meet all predicates.
func (s *step) filtered(c *context, items []Item) []Item {
	for _, p := range s.predicates {
		kept := items[:0:0]
		for i, item := range items {
			inner := c.at(item, i+1, len(items))
			value := p.of.eval(inner)
			position, isNumber := positionOf(value)
			if isNumber && position == i+1 || !isNumber && truth(value) {
				kept = append(kept, item)
			}
		}
		items = kept
	}

	return items
}

// positionOf returns the position that a predicate asks for.
func positionOf(value []Item) (int, bool) {
	if len(value) != 1 {
		return 0, false
	}

	switch v := value[0].(type) {
	case *big.Rat:
		if !v.IsInt() || !v.Num().IsInt64() {
			return -1, true
		}
		return int(v.Num().Int64()), true
	case float64:
		return int(v), true
	}

	return 0, false
}
