// Package xpath evaluates the part of XPath 2.0 that business rules about e-invoices are written in: paths with
// predicates, for, some, every and if, comparisons, exact decimals, and the common functions. Names of elements match
// by their local name; prefixes are ignored.
//
//	expression, err := xpath.Compile("sum(//Line/xs:decimal(Amount)) = xs:decimal(/Invoice/Total)")
//	holds, err := expression.Bool(xpath.NewDocument(root, nil), root)
//
// Values without a type compare as XPath prescribes: with a number as double, with a text as text.
package xpath

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Node is an element, or the document, which has no name.
type Node struct {
	// Name is the local name.
	Name     string
	Text     string
	Attrs    []Attr
	Parent   *Node
	Children []*Node
	// Origin is what the caller made the node from.
	Origin any

	// order is the place in the document, and last that of the last node below.
	order, last int
}

// Attr is an attribute.
type Attr struct{ Name, Value string }

// Attribute is a reference to an attribute of a node.
type Attribute struct {
	Of    *Node
	Index int
}

// Item is a *Node, an Attribute, or an atomic value: Untyped, string, bool, *big.Rat (a decimal), float64 or Date.
type Item any

// Untyped is the value of an element or attribute.
type Untyped string

// Date is a day.
type Date string

// Function is a function that the caller adds. Its arguments are sequences of items.
type Function func(args [][]Item) ([]Item, error)

// Library holds what expressions may use besides the standard functions.
type Library struct {
	Functions map[string]Function
	// Variables are evaluated at the document, once each, when they are needed.
	Variables map[string]*Expression
}

// Tree is a tree with an index of its names.
type Tree struct {
	Root      *Node
	library   *Library
	names     map[string][]*Node
	nodes     []*Node
	variables map[string][]Item
	// steps is the number of nodes that evaluations may still visit.
	steps int
}

// MaxSteps is the number of nodes that all evaluations on one document may visit.
const MaxSteps = 60_000_000

// Errors of an evaluation.
var (
	// ErrType means that a value has the wrong type or number of items, such as a text where a number is needed.
	ErrType = errors.New("xpath: a value has the wrong type")
	// ErrSteps means that the document is too large for its rules.
	ErrSteps = errors.New("xpath: the evaluation takes too many steps")
)

// NewDocument returns the document of a root element. It sets the parents of all nodes.
func NewDocument(root *Node, library *Library) *Tree {
	if library == nil {
		library = &Library{}
	}
	d := &Tree{
		Root: &Node{Children: []*Node{root}}, library: library, names: map[string][]*Node{},
		variables: map[string][]Item{}, steps: MaxSteps,
	}

	var number func(n *Node)
	number = func(n *Node) {
		n.order = len(d.nodes)
		d.nodes = append(d.nodes, n)
		d.names[n.Name] = append(d.names[n.Name], n)
		for _, child := range n.Children {
			child.Parent = n
			number(child)
		}
		n.last = len(d.nodes) - 1
	}
	number(d.Root)
	return d
}

// below returns the nodes of a name below a node, in their order.
func (d *Tree) below(n *Node, name string) []*Node {
	all := d.names[name]
	if name == "*" {
		all = d.nodes
	}
	from, _ := slices.BinarySearchFunc(all, n.order+1, func(m *Node, order int) int { return m.order - order })
	to, _ := slices.BinarySearchFunc(all, n.last+1, func(m *Node, order int) int { return m.order - order })
	return all[from:to]
}

// value is the text of a node and all below it.
func (n *Node) value() string {
	if len(n.Children) == 0 {
		return n.Text
	}
	var out strings.Builder
	out.WriteString(n.Text)
	for _, child := range n.Children {
		out.WriteString(child.value())
	}
	return out.String()
}

// Child returns the first child of a name; nil if there is none. The child of nil is nil.
func (n *Node) Child(name string) *Node {
	if n == nil {
		return nil
	}
	for _, child := range n.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// Trimmed is the text of an element without white space around it; empty for nil.
func (n *Node) Trimmed() string {
	if n == nil {
		return ""
	}
	return strings.TrimSpace(n.Text)
}

// Expression is compiled XPath.
type Expression struct {
	text string
	root expr
}

func (e *Expression) String() string { return e.text }

// Compile reads an expression.
func Compile(text string) (e *Expression, err error) {
	defer func() {
		if failed, ok := recover().(syntaxError); ok {
			err = fmt.Errorf("xpath: %s in %q", string(failed), text)
		}
	}()
	p := &parser{tokens: scan(text)}
	root := p.sequence()
	if p.peek().text != "" {
		panic(syntaxError("unexpected " + p.peek().text))
	}
	return &Expression{text: text, root: root}, nil
}

// Evaluate returns the value of an expression at a node.
func (e *Expression) Evaluate(d *Tree, at *Node) (value []Item, err error) {
	defer func() {
		if failed, ok := recover().(evaluationError); ok {
			err = failed.error
		}
	}()
	return e.root.eval(&context{document: d, item: at, position: 1, size: 1}), nil
}

// Bool returns the effective boolean value of an expression at a node.
func (e *Expression) Bool(d *Tree, at *Node) (holds bool, err error) {
	defer func() {
		if failed, ok := recover().(evaluationError); ok {
			err = failed.error
		}
	}()
	return truth(e.root.eval(&context{document: d, item: at, position: 1, size: 1})), nil
}

// Nodes returns the nodes that an expression selects from the document.
func (e *Expression) Nodes(d *Tree) ([]*Node, error) {
	items, err := e.Evaluate(d, d.Root)
	nodes := make([]*Node, 0, len(items))
	for _, item := range items {
		if n, ok := item.(*Node); ok {
			nodes = append(nodes, n)
		}
	}
	return nodes, err
}

type (
	syntaxError     string
	evaluationError struct{ error }
)

func fail(format string, args ...any) {
	panic(evaluationError{fmt.Errorf("%w: %s", ErrType, fmt.Sprintf(format, args...))})
}

// context is where an expression is evaluated.
type context struct {
	document       *Tree
	item           Item
	position, size int
	variables      *binding
}

// binding is a variable of for, some or every.
type binding struct {
	name  string
	value []Item
	outer *binding
}

func (c *context) visit(nodes int) {
	if c.document.steps -= nodes; c.document.steps < 0 {
		panic(evaluationError{ErrSteps})
	}
}

func (c *context) node() *Node {
	n, ok := c.item.(*Node)
	if !ok {
		fail("the context is not an element")
	}
	return n
}

// at returns the context of an item of a sequence.
func (c *context) at(item Item, position, size int) *context {
	return &context{document: c.document, item: item, position: position, size: size, variables: c.variables}
}

// bind returns the context with one more variable.
func (c *context) bind(name string, value []Item) *context {
	inner := *c
	inner.variables = &binding{name: name, value: value, outer: c.variables}
	return &inner
}

// variable returns the value of a variable: that of the nearest for, or one of the library.
func (c *context) variable(name string) []Item {
	for b := c.variables; b != nil; b = b.outer {
		if b.name == name {
			return b.value
		}
	}
	if value, ok := c.document.variables[name]; ok {
		return value
	}

	e := c.document.library.Variables[name]
	if e == nil {
		fail("there is no variable $%s", name)
	}

	value := e.root.eval(&context{document: c.document, item: c.document.Root, position: 1, size: 1})
	c.document.variables[name] = value
	return value
}

// inOrder sorts nodes into the order of the document, without repetition. Sequences with other items stay.
func inOrder(items []Item) []Item {
	sorted := true
	for i, item := range items {
		if _, ok := item.(Attribute); ok && i > 0 && items[i-1] == item {
			sorted = false
		}

		n, ok := item.(*Node)
		if !ok {
			if _, isAttribute := item.(Attribute); isAttribute {
				continue
			}
			return items
		}
		if before, ok := previous(items, i); ok && before.order >= n.order {
			sorted = false
		}
	}

	if sorted {
		return items
	}

	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b Item) int {
		an, ai := place(a)
		bn, bi := place(b)
		if an != bn {
			return an - bn
		}
		return ai - bi
	})
	return slices.CompactFunc(items, func(a, b Item) bool { return a == b })
}

func previous(items []Item, i int) (*Node, bool) {
	if i == 0 {
		return nil, false
	}
	n, ok := items[i-1].(*Node)
	return n, ok
}

// place is the place of a node or attribute in the document.
func place(item Item) (order, index int) {
	switch v := item.(type) {
	case *Node:
		return v.order, -1
	case Attribute:
		return v.Of.order, v.Index
	}
	return 0, 0
}

var (
	rat0 = new(big.Rat)
	half = big.NewRat(1, 2)
)

// Text returns the text of an optional single item. It returns ErrType for several.
func Text(items []Item) (text string, err error) {
	defer func() {
		if failed, ok := recover().(evaluationError); ok {
			err = failed.error
		}
	}()
	return textOf(items), nil
}

// Call evaluates an expression without a document. Its variables $1, $2 and so on are the arguments.
func (e *Expression) Call(args [][]Item) (value []Item, err error) {
	defer func() {
		if failed, ok := recover().(evaluationError); ok {
			err = failed.error
		}
	}()
	c := &context{document: &Tree{steps: MaxSteps, library: &Library{}}, position: 1, size: 1}
	for i, arg := range args {
		c = c.bind(string(rune('1'+i)), arg)
	}
	return e.root.eval(c), nil
}

// Use sets the library of the following evaluations.
func (d *Tree) Use(library *Library) {
	d.library = library
	d.variables = map[string][]Item{}
}
