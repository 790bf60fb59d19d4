package store

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
)

// table holds the parts of the paid path's prepared statements that derive from the type of a row: its columns are
// listed there, for them and for bun.
type table[Row any] struct {
	name   string
	fields []*schema.Field
}

// Tables of the paid path. Their names and columns are the same for both databases.
var (
	models        = schema.NewTables(sqlitedialect.New())
	accountsTable = tableOf[accountRow]()
	callsTable    = tableOf[callRow]()
	claimsTable   = tableOf[claimRow]()
	filesTable    = tableOf[fileRow]()
	keysTable     = tableOf[keyRow]()
	versionsTable = tableOf[templateVersionRow]()
)

func tableOf[Row any]() table[Row] {
	t := models.Get(reflect.TypeFor[Row]())
	return table[Row]{t.Name, t.Fields}
}

// columns lists the columns, of the table or of its alias.
func (t table[Row]) columns(alias string) string {
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		names[i] = alias + "." + f.Name
	}
	return strings.Join(names, ", ")
}

// insert is the statement that adds a row. Its parameters are the row's values.
func (t table[Row]) insert() string {
	names := make([]string, len(t.fields))
	placeholders := make([]string, len(t.fields))
	for i, f := range t.fields {
		names[i] = f.Name
		placeholders[i] = "$" + strconv.Itoa(i+1)
	}
	return "INSERT INTO " + t.name + " AS added (" + strings.Join(names, ", ") + ") VALUES (" +
		strings.Join(placeholders, ", ") + ")"
}

// values returns the values of a row in the order of the columns.
func (t table[Row]) values(row *Row) []any {
	from := reflect.ValueOf(row).Elem()
	values := make([]any, len(t.fields))
	for i, f := range t.fields {
		values[i] = f.Value(from).Interface()
	}
	return values
}

// pointers returns pointers to the values of a row, in the order of the columns.
func (t table[Row]) pointers(row *Row) []any {
	to := reflect.ValueOf(row).Elem()
	pointers := make([]any, len(t.fields))
	for i, f := range t.fields {
		pointers[i] = f.Value(to).Addr().Interface()
	}
	return pointers
}
