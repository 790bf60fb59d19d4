package render

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/records"
)

// MaxRecordsTotal is the maximum size of all records of a bulk job as JSON, in bytes.
const MaxRecordsTotal = records.MaxTotal

// RecordsError is a file of records that cannot be read.
type RecordsError = records.Error

// ReadRecords reads the records of a file: a JSON array, JSON Lines, CSV or XLSX. Names of columns are paths, unless
// flat. Each record is a JSON object, or the reason why it cannot be read as a JSON text. Errors are *RecordsError
// and those of runEngine.
func (e *Engines) ReadRecords(ctx context.Context, file engine.Content, flat bool) (list []json.RawMessage, err error) {
	result, err := e.runEngine(ctx, engine.Job{
		Name: records.Job, Args: records.Options{Flat: flat}, Files: []engine.File{{Name: records.InputName, Content: file}},
	})
	if err != nil {
		return nil, records.FromJob(err)
	}

	output := result.Output(0)
	defer func() { err = errors.Join(err, output.Close()) }()
	if output.Size() > records.MaxTotal+records.Max {
		return nil, fmt.Errorf("records: the engine wrote %d bytes", output.Size())
	}

	text, err := io.ReadAll(bufio.NewReader(output.Open()))
	for line := range bytes.Lines(text) {
		if len(list) == records.Max {
			return nil, errors.New("records: the engine wrote too many records")
		}
		list = append(list, json.RawMessage(bytes.TrimSuffix(line, []byte("\n"))))
	}

	return list, err
}
